/**
 * The format in which answers are sent between threads: documents, highlights and long facets as text, hits without
 * their lazy getters. The hits of a page are concatenated in one text for all answers of a message, so sending costs
 * both sides no more than a copy.
 */
import { StoredDocument, stringifyJson } from "../documents/mod.ts"
import type { EngineError, Result } from "../errors.ts"
import type {
  FacetCount,
  FieldValue,
  Hit,
  HitWindow,
  SearchAnswer,
  SearchPlan,
  UnionAnswer,
  UnionPlan
} from "../plan.ts"
import { foundPageOf, idOfHit, partialHit, putPage, storedHit, wholeTextOf } from "../search/answer/answer-json.ts"
import { type FoundPage, type PageIndex, pageText, plain, WrittenPage } from "../search/answer/page-text.ts"
import { FACET_HEAD, putWritten } from "../search/answer/written.ts"

type WrittenMember = "highlight" | "highlights"
interface PortableHit {
  readonly text: string
  readonly isWhole: boolean
  readonly id: string
  readonly written: ReadonlyArray<readonly [WrittenMember, string]>
  readonly rest: Omit<Hit, "document" | WrittenMember>
}
/** `counts`: the values of a facet, as text; if there are many, the first of them are also included parsed. */
interface PortableFacet {
  readonly facet: FacetCount
  readonly counts?: { readonly text: string | LengthInTexts; readonly length: number }
}
/** Length of a text that is next among the texts of the message. */
type LengthInTexts = number
interface PortableWindow {
  readonly organic: ReadonlyArray<PortableHit>
  readonly ids: ReadonlyArray<string>
  readonly injected: ReadonlyArray<{ readonly id: string; readonly hit: PortableHit; readonly position: number }>
  readonly values: ReadonlyMap<string, ReadonlyArray<FieldValue | undefined>>
}
/** A page of unread hits: the lengths of its text and of its index among the texts of the message. */
interface PortablePage {
  readonly v1: boolean
  readonly text: LengthInTexts
  readonly index: LengthInTexts
}
type Answer = SearchAnswer | UnionAnswer
type Portable<A extends Answer> = Omit<A, "hits" | "grouped_hits" | "facet_counts" | "window"> & {
  readonly facet_counts?: ReadonlyArray<PortableFacet>
  readonly hits?: ReadonlyArray<PortableHit>
  readonly grouped_hits?: ReadonlyArray<{
    readonly group_key: Array<unknown>
    readonly found: number
    readonly hits: ReadonlyArray<PortableHit>
  }>
  readonly window?: PortableWindow
  /** Replaces the hits, which are then empty. */ readonly page_hits?: PortablePage
}
export type PortableResult<A extends Answer> =
  | { readonly ok: true; readonly value: Portable<A> }
  | { readonly ok: false; readonly error: EngineError }

const packedHit = (hit: Hit): PortableHit => {
  const whole = wholeTextOf(hit),
    rest: Record<string, unknown> = {},
    written: Array<readonly [WrittenMember, string]> = []
  // Getters are evaluated here.
  for (const key of Object.keys(hit) as Array<keyof Hit>) {
    const value = key === "document" ? undefined : hit[key]
    if (value === undefined) continue
    if (key === "highlight" || key === "highlights") written.push([key, plain(value)])
    else rest[key] = value
  }
  return {
    text: whole ?? stringifyJson(hit.document),
    isWhole: whole !== undefined,
    id: idOfHit(hit),
    written,
    rest: rest as PortableHit["rest"]
  }
}
const unpackedHit = ({ id, isWhole, rest, text, written }: PortableHit): Hit => {
  const hit = isWhole
    ? storedHit(new StoredDocument(text), {})
    : partialHit(new StoredDocument(JSON.stringify({ id })), {}, {})
  if (!isWhole) putWritten(hit, "document", text)
  for (const [key, json] of written) putWritten(hit, key, json)
  return Object.assign(hit, rest)
}
const packedFacet = (facet: FacetCount, texts: Texts | undefined): PortableFacet => {
  const { length } = facet.counts,
    head = length <= FACET_HEAD ? [] : facet.counts.slice(0, FACET_HEAD)
  if (texts === undefined)
    return length <= FACET_HEAD
      ? { facet }
      : { facet: { ...facet, counts: head }, counts: { text: plain(facet.counts), length } }
  return { facet: { ...facet, counts: head }, counts: { text: texts.put(plain(facet.counts)), length } }
}
const unpackedFacet = ({ counts, facet }: PortableFacet, texts: TextReader): FacetCount => {
  if (counts === undefined) return facet
  const text = typeof counts.text === "number" ? texts.next(counts.text) : counts.text,
    { length } = counts
  putWritten(facet, "counts", text, length <= FACET_HEAD ? { length } : { head: facet.counts, length })
  return facet
}
const packedWindow = (window: HitWindow, fields: ReadonlyArray<string>): PortableWindow => ({
  organic: window.organic.map(packedHit),
  ids: window.ids,
  injected: window.injected.map(({ hit, id, position }) => ({ id, hit: packedHit(hit), position })),
  values: new Map(fields.map((field) => [field, window.ids.map((_id, i) => lasting(window.value(i, field)))]))
})
/** A vector is a view into a segment, so it is copied. */
const lasting = (value: FieldValue | undefined): FieldValue | undefined =>
  value instanceof Float32Array ? value.slice() : value
const unpackedWindow = ({ ids, injected, organic, values }: PortableWindow): HitWindow => ({
  organic: organic.map(unpackedHit),
  ids,
  injected: injected.map(({ hit, id, position }) => ({ id, hit: unpackedHit(hit), position })),
  value: (i, field) => values.get(field)?.[i],
  keep: () => {
    /* The values were copied, so the index is no longer read. */
  }
})

/** The long texts of all answers of one message, in order. */
export class Texts {
  text = ""
  put(text: string): LengthInTexts {
    this.text += text
    return text.length
  }
}
/** Reads the texts of a message in sequence. */
export class TextReader {
  private readonly text: string
  private at = 0
  constructor(text: string) {
    this.text = text
  }
  next(length: number): string {
    return this.text.slice(this.at, (this.at += length))
  }
}
const packedPage = (page: FoundPage, texts: Texts): PortablePage => {
  const index: PageIndex = { hits: [], infos: [] },
    text = texts.put(pageText(page, undefined, index))
  return { v1: page.v1, text, index: texts.put(JSON.stringify(index)) }
}
const unpackedPage = ({ index, text, v1 }: PortablePage, texts: TextReader): FoundPage =>
  new WrittenPage(texts.next(text), v1, texts.next(index))

/** `texts`: the message's buffer, to which hits of a page may be written; without it they stay in their answer. */
export const packed = <A extends Answer>(
  answer: Result<A>,
  { window }: Pick<SearchPlan | UnionPlan, "window">,
  texts?: Texts
): PortableResult<A> => {
  if (!answer.ok) return answer
  const value = answer.value as SearchAnswer
  const page = texts === undefined ? undefined : foundPageOf(value)
  const member = (key: keyof SearchAnswer): unknown => {
    switch (key) {
      case "facet_counts":
        return value.facet_counts.map((facet) => packedFacet(facet, texts))
      case "hits":
        return page === undefined ? value.hits?.map(packedHit) : []
      case "grouped_hits":
        return value.grouped_hits?.map((group) => ({ ...group, hits: group.hits.map(packedHit) }))
      case "window":
        return value.window === undefined ? undefined : packedWindow(value.window, window?.fields ?? [])
      default:
        return value[key]
    }
  }
  const portable = new Map<string, unknown>()
  if (page !== undefined && texts !== undefined) portable.set("page_hits", packedPage(page, texts))
  // Members keep their order, so that an answer is the same wherever it was made.
  for (const key of Object.keys(value) as Array<keyof SearchAnswer>) portable.set(key, member(key))
  return { ok: true, value: Object.fromEntries(portable) as unknown as Portable<A> }
}
/** `texts`: those of the message, which its answers read in sequence. */
export const unpacked = <A extends Answer>(answer: PortableResult<A>, texts = new TextReader("")): Result<A> => {
  if (!answer.ok) return answer
  const { page_hits, ...value } = answer.value as unknown as Portable<SearchAnswer>
  const page = page_hits === undefined ? undefined : unpackedPage(page_hits, texts)
  const whole = {} as SearchAnswer & Record<string, unknown>
  for (const key of Object.keys(value) as Array<keyof typeof value>) {
    if (key === "hits" && page !== undefined) putPage(whole, page)
    else if (key === "facet_counts")
      whole.facet_counts = (value.facet_counts ?? []).map((facet) => unpackedFacet(facet, texts))
    else if (key === "hits") whole.hits = (value.hits ?? []).map(unpackedHit)
    else if (key === "grouped_hits")
      whole.grouped_hits = (value.grouped_hits ?? []).map((group) => ({
        ...group,
        hits: group.hits.map(unpackedHit)
      }))
    else if (key === "window" && value.window !== undefined) whole.window = unpackedWindow(value.window)
    else (whole as Record<string, unknown>)[key] = value[key]
  }
  return { ok: true, value: whole as unknown as A }
}
