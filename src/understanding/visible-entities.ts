/**
 * Values that a query names, as far as its caller may see them. A caller that sees the entire collection sees every
 * value. For any other, the engine is searched for a document with the value, by a search of this caller, so that all
 * restrictions of the key apply; and the value is shown as that document spells it.
 */
import type { Awaitable, CollectionInfo } from "@dowser/engine-sdk"
import {
  type OperationContext,
  prepareSearch,
  type Reach,
  readSearch,
  runSearch,
  type SearchRequest
} from "@dowser/engine-sdk/operations"
import { covers } from "@dowser/engine-sdk/query"
import { chosenEntities, type Entity, type EntityCandidate, type EntityIndex } from "@dowser/engine-sdk/understanding"
import { valueFilter } from "../suggestions/filter-text.ts"
import { wordsOf } from "./words-of.ts"

/** Searches of one request for its answers, for restricted callers. */
export const LOOKS_MAX = 24

interface Asking {
  readonly context: OperationContext
  readonly reach: Reach
  readonly collection: CollectionInfo
  readonly bounds: SearchRequest["bounds"]
  readonly seesWhole: boolean
  /** What remains of `LOOKS_MAX`. */ readonly looks: { left: number }
  /** Fields whose values are recognized. */ readonly fields: ReadonlyArray<string>
}

export const visibleEntities = (
  asking: Asking,
  index: EntityIndex,
  words: ReadonlyArray<string>
): Awaitable<ReadonlyArray<Entity>> => {
  const { fields, reach } = asking
  const mayBeNamed = (field: string): boolean =>
    fields.includes(field) && (reach.fields === undefined || covers(reach.fields, field))
  const candidates = index.candidates(words).flatMap((candidate): ReadonlyArray<EntityCandidate> => {
    const values = candidate.values.filter(({ field }) => mayBeNamed(field))
    return values.length === 0 ? [] : [{ ...candidate, values }]
  })
  if (asking.seesWhole) return chosenEntities(candidates, (_field, value) => value)
  return chosenEntities(candidates, (field, value, text) =>
    asking.looks.left-- > 0 ? visibleValue(asking, field, value, text) : undefined
  )
}

/** A value with the same words in a document that the caller finds. A failure hides it. */
const visibleValue = async (
  { bounds, collection, context, reach }: Asking,
  field: string,
  value: string,
  text: string
): Promise<string | undefined> => {
  const filter_by = valueFilter(field, value)
  if (filter_by === undefined) return undefined
  const asked = { q: "*", filter_by, per_page: 1, include_fields: field, enable_curations: false }
  const request = readSearch(context, collection.schema.name, asked, reach.restrictions)
  if (!request.ok) return undefined
  const planned = await prepareSearch(context, { ...request.value, bounds }, reach)
  const found = planned.ok ? await runSearch(context, planned.value) : planned
  const [hit] = found.ok ? (found.value.answer.hits ?? []) : []
  if (hit === undefined) return undefined
  const analyzer = wordsOf(collection.schema)
  return textsAt(hit.document, field.split(".")).find((each) => analyzer.tokenize(each).join(" ") === text)
}
/** Texts at a path, through objects and lists. */
const textsAt = (value: unknown, path: ReadonlyArray<string>): ReadonlyArray<string> => {
  if (Array.isArray(value)) return value.flatMap((each: unknown) => textsAt(each, path))
  const [name, ...rest] = path
  if (name === undefined) return typeof value === "string" ? [value] : []
  if (typeof value !== "object" || value === null) return []
  const own = Object.getOwnPropertyDescriptor(value, name)?.value as unknown
  return own === undefined ? [] : textsAt(own, rest)
}
