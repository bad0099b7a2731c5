/** The object around each shown value of a facet, read from the first inserted document that has the value. */
import { ok, type Result } from "../errors.ts"
import type { CollectionReader } from "../index/reader.ts"
import type { FacetRequest } from "../plan.ts"
import type { Counted } from "../search/facets/facet-rows.ts"
import { parentOf } from "../search/facets/facet-parents.ts"
import type { FacetRow } from "./aggregations.ts"
import type { FacetTrips } from "./facet-trips.ts"

/** Parents by value; costs one more request if they are requested. */
export const parentsOf = async (
  trips: FacetTrips,
  { field, ranges, returnParent }: FacetRequest,
  rows: ReadonlyArray<FacetRow>
): Promise<Result<ReadonlyMap<string, { readonly parent?: unknown }>>> => {
  // A range is not a value that an object could contain.
  if (!returnParent || ranges.length > 0 || rows.length === 0) return ok(new Map())
  const texts = await trips.firstTexts(
    field,
    rows.map(({ key }) => key)
  )
  if (!texts.ok) return texts
  const parents = rows.map(({ key, value }): readonly [string, { parent?: unknown }] => {
    const text = texts.value.get(key)
    return [value, text === undefined ? {} : parentIn(trips, field, value, text)]
  })
  return ok(new Map(parents))
}
/** Uses the package's own code to read a parent, with a reader that returns the given text. */
const parentIn = ({ plan }: FacetTrips, field: string, value: string, text: string): { parent?: unknown } => {
  const reader = { documents: { text: () => text } } as unknown as CollectionReader
  const counted = { count: 1, view: { segment: { seqs: [0] } }, doc: 0 } as unknown as Counted
  return parentOf(reader, plan, field, value, counted)
}
