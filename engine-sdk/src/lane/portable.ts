/**
 * Answers as they travel between threads: documents, highlights and long facets as their text, hits without the getters
 * that read them late.
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
import { idOfHit, partialHit, plain, storedHit, wholeTextOf } from "../search/answer/answer-json.ts"
import { FACET_HEAD, putWritten } from "../search/answer/written.ts"

type WrittenMember = "highlight" | "highlights"
interface PortableHit {
  readonly text: string
  readonly isWhole: boolean
  readonly id: string
  readonly written: ReadonlyArray<readonly [WrittenMember, string]>
  readonly rest: Omit<Hit, "document" | WrittenMember>
}
/** `counts`: of a facet with many values, as text, with the first of them. */
interface PortableFacet {
  readonly facet: FacetCount
  readonly counts?: { readonly text: string; readonly length: number }
}
interface PortableWindow {
  readonly organic: ReadonlyArray<PortableHit>
  readonly ids: ReadonlyArray<string>
  readonly injected: ReadonlyArray<{ readonly id: string; readonly hit: PortableHit; readonly position: number }>
  readonly values: ReadonlyMap<string, ReadonlyArray<FieldValue | undefined>>
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
}
export type PortableResult<A extends Answer> =
  | { readonly ok: true; readonly value: Portable<A> }
  | { readonly ok: false; readonly error: EngineError }

const packedHit = (hit: Hit): PortableHit => {
  const whole = wholeTextOf(hit),
    rest: Record<string, unknown> = {},
    written: Array<readonly [WrittenMember, string]> = []
  // Getters among them are read here.
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
const packedFacet = (facet: FacetCount): PortableFacet =>
  facet.counts.length <= FACET_HEAD
    ? { facet }
    : {
        facet: { ...facet, counts: facet.counts.slice(0, FACET_HEAD) },
        counts: { text: plain(facet.counts), length: facet.counts.length }
      }
const unpackedFacet = ({ counts, facet }: PortableFacet): FacetCount => {
  if (counts !== undefined) putWritten(facet, "counts", counts.text, { head: facet.counts, length: counts.length })
  return facet
}
const packedWindow = (window: HitWindow, fields: ReadonlyArray<string>): PortableWindow => ({
  organic: window.organic.map(packedHit),
  ids: window.ids,
  injected: window.injected.map(({ hit, id, position }) => ({ id, hit: packedHit(hit), position })),
  values: new Map(fields.map((field) => [field, window.ids.map((_id, i) => lasting(window.value(i, field)))]))
})
/** Vectors are views into a segment. */
const lasting = (value: FieldValue | undefined): FieldValue | undefined =>
  value instanceof Float32Array ? value.slice() : value
const unpackedWindow = ({ ids, injected, organic, values }: PortableWindow): HitWindow => ({
  organic: organic.map(unpackedHit),
  ids,
  injected: injected.map(({ hit, id, position }) => ({ id, hit: unpackedHit(hit), position })),
  value: (i, field) => values.get(field)?.[i],
  keep: () => {
    /* Nothing is read from an index any more. */
  }
})

export const packed = <A extends Answer>(
  answer: Result<A>,
  { window }: Pick<SearchPlan | UnionPlan, "window">
): PortableResult<A> => {
  if (!answer.ok) return answer
  const { grouped_hits, hits, window: found } = answer.value,
    facets = "facet_counts" in answer.value ? answer.value.facet_counts : undefined
  // Members keep their places: an answer reads the same wherever it was found.
  return {
    ok: true,
    value: {
      ...answer.value,
      ...(facets === undefined ? {} : { facet_counts: facets.map(packedFacet) }),
      ...(hits === undefined ? {} : { hits: hits.map(packedHit) }),
      ...(grouped_hits === undefined
        ? {}
        : { grouped_hits: grouped_hits.map((group) => ({ ...group, hits: group.hits.map(packedHit) })) }),
      ...(found === undefined ? {} : { window: packedWindow(found, window?.fields ?? []) })
    } as unknown as Portable<A>
  }
}
export const unpacked = <A extends Answer>(answer: PortableResult<A>): Result<A> => {
  if (!answer.ok) return answer
  const { facet_counts, grouped_hits, hits, window } = answer.value
  return {
    ok: true,
    value: {
      ...answer.value,
      ...(facet_counts === undefined ? {} : { facet_counts: facet_counts.map(unpackedFacet) }),
      ...(hits === undefined ? {} : { hits: hits.map(unpackedHit) }),
      ...(grouped_hits === undefined
        ? {}
        : { grouped_hits: grouped_hits.map((group) => ({ ...group, hits: group.hits.map(unpackedHit) })) }),
      ...(window === undefined ? {} : { window: unpackedWindow(window) })
    } as unknown as A
  }
}
