/** Answers as JSON text. `text_match` exceeds 2^53 and is a bigint here: it is written as plain digits. */
import { stringifyJson, type StoredDocument } from "../documents/mod.ts"
import type { Hit, SearchAnswer, TextMatchInfo, UnionAnswer } from "../plan.ts"

/** The stored document behind a hit, kept in a private field of the plain object: unlike a WeakMap it costs no collection, and a copy of the hit has none. */
class Given { constructor(hit: Hit) { return hit } }
class Source extends Given {
  readonly #stored: StoredDocument
  readonly #isWhole: boolean
  private constructor(hit: Hit, stored: StoredDocument, isWhole: boolean) { super(hit); this.#stored = stored; this.#isWhole = isWhole }
  static put(hit: Hit, stored: StoredDocument, isWhole: boolean): void { new Source(hit, stored, isWhole) }
  static of(hit: object): StoredDocument | undefined { return #stored in hit ? hit.#stored : undefined }
  /** Where the hit shows the document as it is stored. */
  static wholeOf(hit: object): StoredDocument | undefined { return #isWhole in hit && hit.#isWhole ? Source.of(hit) : undefined }
}
/** One pair of functions for all hits: a pair of its own would give each hit a shape of its own. */
const lazyDocument: PropertyDescriptor & ThisType<Hit> = {
  enumerable: true, configurable: true,
  get() { return Source.of(this)!.value },
  set(value: Hit["document"]) { Source.of(this)!.value = value }
}
/** A hit whose document is parsed only when it is read, and written as it is stored until then. */
export const storedHit = (stored: StoredDocument, highlight: Record<string, unknown>): Hit => {
  const hit = Object.defineProperty({}, "document", lazyDocument) as Hit
  Source.put(hit, stored, true)
  hit.highlight = highlight
  return hit
}

/** A hit that shows a part of its stored document. */
export const partialHit = (stored: StoredDocument, document: Hit["document"], highlight: Record<string, unknown>): Hit => {
  const hit: Hit = { document, highlight }
  Source.put(hit, stored, false)
  return hit
}
/** Also where the answer does not show the id. */
export const idOfHit = (hit: Hit): string => {
  const source = Source.wholeOf(hit) === undefined ? Source.of(hit) : undefined
  return String((source === undefined ? hit.document.id : source.pick(["id"])[0]) ?? "")
}

/** The same for hits of which few are read: `content` is asked once, for whatever of it is read first. `stored` where the document is shown whole. */
export const lazyHit = (stored: StoredDocument | undefined, content: () => Partial<Pick<Hit, "document" | "highlights">> & Pick<Hit, "highlight">): Hit => {
  let known: ReturnType<typeof content> | undefined
  const made = (): ReturnType<typeof content> => known ??= content()
  const hit: Hit = {
    get document() { return stored === undefined ? made().document! : stored.value },
    set document(value) { if (stored === undefined) known = { ...made(), document: value }; else stored.value = value },
    get highlight() { return made().highlight },
    get highlights() { return made().highlights },
  }
  if (stored !== undefined) Source.put(hit, stored, true)
  return hit
}

/** Hits are written part by part, so that the native writer does everything but the scores. O(answer). */
export const answerToJson = (answer: SearchAnswer | UnionAnswer): string => {
  let out = ""
  for (const key of Object.keys(answer) as Array<keyof typeof answer>) {
    const value: unknown = answer[key]
    if (value === undefined) continue
    out += out === "" ? "{" : ","
    if (key === "hits") out += `"hits":${hitsToJson(answer.hits ?? [])}`
    else if (key === "grouped_hits") out += `"grouped_hits":[${(answer.grouped_hits ?? []).map(({ found, group_key, hits }) => `{"found":${found},"group_key":${plain(group_key)},"hits":${hitsToJson(hits)}}`).join(",")}]`
    else out += `${JSON.stringify(key)}:${plain(value)}`
  }
  return `${out === "" ? "{" : out}}`
}
const hitsToJson = (hits: ReadonlyArray<Hit>): string => {
  let out = "["
  let info: TextMatchInfo | undefined, infoText = ""
  for (let i = 0; i < hits.length; i++) {
    const hit = hits[i]
    const stored = Source.wholeOf(hit)?.text
    let text = stored === undefined ? "" : `{"document":${stored}`
    for (const key of Object.keys(hit) as Array<keyof Hit>) {
      if (key === "document" && stored !== undefined) continue
      const value = hit[key]
      if (value === undefined) continue
      // Hits of one score share the object.
      if (key === "text_match_info" && value !== info) infoText = plain(info = hit.text_match_info)
      text += `${text === "" ? "{" : ","}"${key}":${key === "text_match_info" ? infoText : typeof value === "bigint" ? value.toString() : plain(value)}`
    }
    out += `${i === 0 ? "" : ","}${text === "" ? "{" : text}}`
  }
  return `${out}]`
}
/** A document may hold 64-bit integers; only then the exact writer is needed. */
const plain = (value: unknown): string => {
  try { return JSON.stringify(value) } catch (error) {
    if (error instanceof TypeError) return stringifyJson(value)
    throw error
  }
}
