/** Answers as they travel between threads: documents as their text, hits without the getters that read them late. */
import { parseJson, StoredDocument, stringifyJson } from "../documents/mod.ts"
import type { EngineError, Result } from "../errors.ts"
import type { FieldValue, Hit, HitWindow, SearchAnswer, SearchPlan, UnionAnswer, UnionPlan } from "../plan.ts"
import { idOfHit, wholeTextOf, partialHit, storedHit } from "../search/answer-json.ts"

interface PortableHit { readonly text: string; readonly isWhole: boolean; readonly id: string; readonly rest: Omit<Hit, "document"> }
interface PortableWindow {
  readonly organic: ReadonlyArray<PortableHit>
  readonly ids: ReadonlyArray<string>
  readonly injected: ReadonlyArray<{ readonly id: string; readonly hit: PortableHit; readonly position: number }>
  readonly values: ReadonlyMap<string, ReadonlyArray<FieldValue | undefined>>
}
type Answer = SearchAnswer | UnionAnswer
export type Portable<A extends Answer> = Omit<A, "hits" | "grouped_hits" | "window"> & {
  readonly hits?: ReadonlyArray<PortableHit>
  readonly grouped_hits?: ReadonlyArray<{ readonly group_key: Array<unknown>; readonly found: number; readonly hits: ReadonlyArray<PortableHit> }>
  readonly window?: PortableWindow
}
export type PortableResult<A extends Answer> = { readonly ok: true; readonly value: Portable<A> } | { readonly ok: false; readonly error: EngineError }

const packedHit = (hit: Hit): PortableHit => {
  const whole = wholeTextOf(hit), rest: Record<string, unknown> = {}
  // Getters among them are read here.
  for (const key of Object.keys(hit) as Array<keyof Hit>) if (key !== "document" && hit[key] !== undefined) rest[key] = hit[key]
  return { text: whole ?? stringifyJson(hit.document), isWhole: whole !== undefined, id: idOfHit(hit), rest: rest as unknown as PortableHit["rest"] }
}
const unpackedHit = ({ id, isWhole, rest, text }: PortableHit): Hit => {
  const hit = isWhole ? storedHit(new StoredDocument(text), rest.highlight) : partialHit(new StoredDocument(JSON.stringify({ id })), parseJson(text) as Hit["document"], rest.highlight)
  return Object.assign(hit, rest)
}
const packedWindow = (window: HitWindow, fields: ReadonlyArray<string>): PortableWindow => ({
  organic: window.organic.map(packedHit), ids: window.ids,
  injected: window.injected.map(({ hit, id, position }) => ({ id, hit: packedHit(hit), position })),
  values: new Map(fields.map((field) => [field, window.ids.map((_id, i) => lasting(window.value(i, field)))]))
})
/** Vectors are views into a segment. */
const lasting = (value: FieldValue | undefined): FieldValue | undefined => value instanceof Float32Array ? value.slice() : value
const unpackedWindow = ({ ids, injected, organic, values }: PortableWindow): HitWindow => ({
  organic: organic.map(unpackedHit), ids,
  injected: injected.map(({ hit, id, position }) => ({ id, hit: unpackedHit(hit), position })),
  value: (i, field) => values.get(field)?.[i],
  keep: () => { /* Nothing is read from an index any more. */ }
})

export const packed = <A extends Answer>(answer: Result<A>, { window }: Pick<SearchPlan | UnionPlan, "window">): PortableResult<A> => {
  if (!answer.ok) return answer
  const { grouped_hits, hits, window: found } = answer.value
  // Members keep their places: an answer reads the same wherever it was found.
  return { ok: true, value: {
    ...answer.value,
    ...(hits === undefined ? {} : { hits: hits.map(packedHit) }),
    ...(grouped_hits === undefined ? {} : { grouped_hits: grouped_hits.map((group) => ({ ...group, hits: group.hits.map(packedHit) })) }),
    ...(found === undefined ? {} : { window: packedWindow(found, window?.fields ?? []) })
  } as unknown as Portable<A> }
}
export const unpacked = <A extends Answer>(answer: PortableResult<A>): Result<A> => {
  if (!answer.ok) return answer
  const { grouped_hits, hits, window } = answer.value
  return { ok: true, value: {
    ...answer.value,
    ...(hits === undefined ? {} : { hits: hits.map(unpackedHit) }),
    ...(grouped_hits === undefined ? {} : { grouped_hits: grouped_hits.map((group) => ({ ...group, hits: group.hits.map(unpackedHit) })) }),
    ...(window === undefined ? {} : { window: unpackedWindow(window) })
  } as unknown as A }
}
