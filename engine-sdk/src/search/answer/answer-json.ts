/** Answers as JSON text. `text_match` exceeds 2^53 and is a bigint here, so it is written as plain digits. */
import type { StoredDocument } from "../../documents/mod.ts"
import type { AnswerBudget } from "../../budget/answer-budget.ts"
import type { Hit, SearchAnswer, TextMatchInfo, UnionAnswer } from "../../plan.ts"
import type { HitMarks } from "../highlight/marks.ts"
import { type FoundPage, pageText, plain, WrittenMarks } from "./page-text.ts"
import { Given, putWritten, writtenText } from "./written.ts"

/**
 * The stored document behind a hit, in a private field of the plain object. Unlike a WeakMap entry it does not burden
 * the garbage collector, and a copy of the hit does not have it.
 */
class Source extends Given {
  readonly #stored: StoredDocument
  readonly #isWhole: boolean
  private constructor(hit: Hit, stored: StoredDocument, isWhole: boolean) {
    super(hit)
    this.#stored = stored
    this.#isWhole = isWhole
  }
  static put(hit: Hit, stored: StoredDocument, isWhole: boolean): void {
    new Source(hit, stored, isWhole)
  }
  static of(hit: object): StoredDocument | undefined {
    return #stored in hit ? hit.#stored : undefined
  }
  /** The stored document, if the hit shows it unchanged. */
  static wholeOf(hit: object): StoredDocument | undefined {
    return #isWhole in hit && hit.#isWhole ? Source.of(hit) : undefined
  }
}
/** All hits share one pair of accessors; a pair per hit would give each hit a different object shape. */
const lazyDocument: PropertyDescriptor & ThisType<Hit> = {
  enumerable: true,
  configurable: true,
  get() {
    return Source.of(this)!.value
  },
  set(value: Hit["document"]) {
    Source.of(this)!.value = value
  }
}
/** A hit whose document is parsed only when it is read; until then it is written as stored. */
export const storedHit = (stored: StoredDocument, highlight: Record<string, unknown>): Hit => {
  const hit = Object.defineProperty({}, "document", lazyDocument) as Hit
  Source.put(hit, stored, true)
  hit.highlight = highlight
  return hit
}

/** A hit that shows part of its stored document. */
export const partialHit = (
  stored: StoredDocument,
  document: Hit["document"],
  highlight: Record<string, unknown>
): Hit => {
  const hit: Hit = { document, highlight }
  Source.put(hit, stored, false)
  return hit
}
/** The text of the document, if the hit shows all of it and no code has read the parsed object. */
export const wholeTextOf = (hit: Hit): string | undefined => Source.wholeOf(hit)?.text
/** The id of a hit, even if the answer does not show it. */
export const idOfHit = (hit: Hit): string => {
  const source = Source.wholeOf(hit) === undefined ? Source.of(hit) : undefined
  return String((source === undefined ? hit.document.id : source.pick(["id"])[0]) ?? "")
}

/**
 * Like `storedHit`, for hits that are rarely read: `content` is called once, when any part of it is first read.
 * `stored` is given if the entire document is shown.
 */
export const lazyHit = (
  stored: StoredDocument | undefined,
  content: () => Partial<Pick<Hit, "document" | "highlights">> & Pick<Hit, "highlight">
): Hit => {
  let known: ReturnType<typeof content> | undefined
  const made = (): ReturnType<typeof content> => (known ??= content())
  const hit: Hit = {
    get document() {
      return stored === undefined ? made().document! : stored.value
    },
    set document(value) {
      if (stored === undefined) known = { ...made(), document: value }
      else stored.value = value
    },
    get highlight() {
      return made().highlight
    },
    get highlights() {
      return made().highlights
    }
  }
  if (stored !== undefined) Source.put(hit, stored, true)
  return hit
}

const markedHit = (stored: StoredDocument, marks: HitMarks, v1: boolean): Hit => {
  const isWritten = marks instanceof WrittenMarks
  const hit = storedHit(stored, isWritten ? {} : marks.highlight)
  if (isWritten) {
    putWritten(hit, "highlight", marks.highlightJson)
    if (v1) putWritten(hit, "highlights", marks.highlightsJson)
  } else if (v1) hit.highlights = marks.highlights
  return hit
}
/**
 * Hits of an answer that become objects when they are first read. Hits that only go to the wire are written without
 * creating objects.
 */
class Page extends Given {
  readonly #page: FoundPage
  #isRead = false
  private constructor(answer: SearchAnswer, page: FoundPage) {
    super(answer)
    this.#page = page
  }
  static put(answer: SearchAnswer, page: FoundPage): void {
    new Page(answer, page)
  }
  static hitsOf(answer: object): Array<Hit> {
    const { found, v1 } = (answer as Page).#page
    return found.map(({ info, marks, score, stored }) => {
      const hit = markedHit(stored, marks, v1)
      if (score !== undefined) {
        hit.text_match = score
        if (info !== undefined) hit.text_match_info = info
      }
      return hit
    })
  }
  static read(answer: object, hits: SearchAnswer["hits"]): void {
    ;(answer as Page).#isRead = true
    Object.defineProperty(answer, "hits", { value: hits, writable: true, enumerable: true, configurable: true })
  }
  /** The page, as long as its hits have not been read. */
  static of(answer: object): FoundPage | undefined {
    return #page in answer && !answer.#isRead ? answer.#page : undefined
  }
}
const lazyHits: PropertyDescriptor & ThisType<SearchAnswer> = {
  enumerable: true,
  configurable: true,
  get() {
    const hits = Page.hitsOf(this)
    Page.read(this, hits)
    return hits
  },
  set(hits: SearchAnswer["hits"]) {
    Page.read(this, hits)
  }
}
/** Attaches the hits of a page to an answer that has no hits yet. */
export const putPage = (answer: SearchAnswer, page: FoundPage): void => {
  // Redefining an existing member would change the object's shape.
  Object.defineProperty(answer, "hits", lazyHits)
  Page.put(answer, page)
}

/** undefined if the hits are objects already or were not found as a page. */
export const foundPageOf = (answer: object): FoundPage | undefined => Page.of(answer)

/**
 * Hits are written part by part, so that the native writer does everything except the scores. O(answer). Throws
 * AnswerRefused as soon as the text exceeds the remaining budget.
 *
 * @example
 * ```ts
 * import { answerToJson, createSearch } from "@dowser/engine-sdk"
 *
 * const products = createSearch({ fields: { title: "string", price: "float" } })
 * await products.add({ title: "Trail running shoe", price: 89.5 })
 * const { answer } = await products.search("shoe")
 * answerToJson(answer) // the answer as Typesense clients read it
 * ```
 */
export const answerToJson = (answer: SearchAnswer | UnionAnswer, budget?: AnswerBudget): string =>
  `${openAnswer(answer, budget)}}`
/** The same without the closing brace. Cutting it off would copy the text. */
export const openAnswer = (answer: SearchAnswer | UnionAnswer, budget?: AnswerBudget): string => {
  let out = ""
  const found = Page.of(answer),
    page = found === undefined ? undefined : pageText(found, budget)
  for (const key of Object.keys(answer) as Array<keyof typeof answer>) {
    if (page !== undefined && key === "hits") {
      out += `${out === "" ? "{" : ","}"hits":${page}`
      continue
    }
    const value: unknown = answer[key]
    if (value === undefined) continue
    out += out === "" ? "{" : ","
    if (key === "hits") out += `"hits":${hitsToJson(answer.hits ?? [], 0, budget)}`
    else if (key === "grouped_hits") {
      let groups = ""
      for (const { found, group_key, hits } of answer.grouped_hits ?? [])
        groups += `${groups === "" ? "" : ","}{"found":${found},"group_key":${plain(group_key)},"hits":${hitsToJson(hits, groups.length, budget)}}`
      out += `"grouped_hits":[${groups}]`
    } else if ((key as string) === "facet_counts" && Array.isArray(value)) {
      out += `"facet_counts":[${value.map(facetToJson).join(",")}]`
      budget?.room(out.length, "facets")
    } else {
      out += `${JSON.stringify(key)}:${plain(value)}`
      budget?.room(out.length, "facets")
    }
  }
  return out === "" ? "{" : out
}
const facetToJson = (facet: object): string => {
  if (writtenText(facet, "counts") === undefined) return plain(facet)
  return `{${Object.keys(facet)
    .map((key) => `${JSON.stringify(key)}:${writtenText(facet, key) ?? plain(facet[key as keyof typeof facet])}`)
    .join(",")}}`
}
/** `before`: number of characters of the answer that are already written. */
const hitsToJson = (hits: ReadonlyArray<Hit>, before: number, budget: AnswerBudget | undefined): string => {
  let out = "["
  let info: TextMatchInfo | undefined,
    infoText = ""
  for (let i = 0; i < hits.length; i++) {
    const hit = hits[i]
    const stored = Source.wholeOf(hit)?.text
    let text = stored === undefined ? "" : `{"document":${stored}`
    for (const key of Object.keys(hit) as Array<keyof Hit>) {
      if (key === "document" && stored !== undefined) continue
      const written = writtenText(hit, key)
      if (written !== undefined) {
        text += `${text === "" ? "{" : ","}"${key}":${written}`
        continue
      }
      const value = hit[key]
      if (value === undefined) continue
      // Hits with the same score share the info object.
      if (key === "text_match_info" && value !== info) infoText = plain((info = hit.text_match_info))
      text += `${text === "" ? "{" : ","}"${key}":${key === "text_match_info" ? infoText : typeof value === "bigint" ? value.toString() : plain(value)}`
    }
    out += `${i === 0 ? "" : ","}${text === "" ? "{" : text}}`
    budget?.room(before + out.length, "documents")
  }
  return `${out}]`
}
