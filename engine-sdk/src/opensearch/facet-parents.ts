/** The object around each value of a facet that is shown: of the document with it that was inserted first. */
import { ok, type Result } from "../errors.ts"
import type { CollectionReader } from "../index/reader.ts"
import type { FacetRequest } from "../plan.ts"
import type { Counted } from "../search/facets/facet-rows.ts"
import { parentOf } from "../search/facets/facet-parents.ts"
import type { FacetRow } from "./aggregations.ts"
import type { FacetTrips } from "./facet-trips.ts"

/** By value; one more trip where it is asked for. */
export const parentsOf = async (
  trips: FacetTrips,
  { field, ranges, returnParent }: FacetRequest,
  rows: ReadonlyArray<FacetRow>
): Promise<Result<ReadonlyMap<string, { readonly parent?: unknown }>>> => {
  // A range has no value that an object could hold.
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
/** The package's own reading of a document, given the one text that it asks for. */
const parentIn = ({ plan }: FacetTrips, field: string, value: string, text: string): { parent?: unknown } => {
  const reader = { documents: { text: () => text } } as unknown as CollectionReader
  const counted = { count: 1, view: { segment: { seqs: [0] } }, doc: 0 } as unknown as Counted
  return parentOf(reader, plan, field, value, counted)
}
