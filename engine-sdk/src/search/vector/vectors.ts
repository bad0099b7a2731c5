/**
 * Exact vector distances (`docs/contract/vectors.md`): every vector of a segment against one query; vectors are stored
 * in single precision.
 */
import type { VectorQuery } from "../../plan.ts"
import { hasBit } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { Segment } from "../../index/segment.ts"
import { distanceTo, normOf } from "../../index/vector-graph.ts"
import { spend } from "../../budget/cutoff.ts"

/** Distance per document; NaN or undefined if a document has none. */
export interface DistanceTable {
  readonly [doc: number]: number | undefined
}

/** The query's vector: its own, or that of the document it refers to. undefined if that document has no vector. */
export const queryVector = (
  query: VectorQuery,
  reader: CollectionReader
): ReadonlyArray<number> | Float32Array | undefined => {
  if (query.likeId === undefined) return query.vector
  const place = reader.locate(query.likeId)
  if (place === undefined) return undefined
  const column = reader.views[place.at].segment.vectors(query.field)
  if (column === undefined || !hasBit(column.has, place.doc)) return undefined
  return column.vector(place.doc).slice()
}
export const isCosineField = (reader: CollectionReader, field: string): boolean =>
  (reader.schema.fields.find(({ name }) => name === field)?.vec_dist ?? "cosine") === "cosine"

/** Distances of all documents; NaN for those that were not reached in time. O(documents · dimensions). */
export const vectorDistances = (segment: Segment, query: VectorQuery, reader: CollectionReader): Float64Array => {
  const table = new Float64Array(segment.docs).fill(NaN)
  const vector = queryVector(query, reader)
  const column = segment.vectors(query.field)
  if (vector === undefined || column === undefined) return table
  const isCosine = isCosineField(reader, query.field),
    norm = normOf(vector)
  for (let doc = 0; doc < segment.docs; doc++)
    if (hasBit(column.has, doc)) {
      if (spend(column.dimensions)) break
      table[doc] = distanceTo(vector, norm, column, doc, isCosine)
    }
  return table
}
/** Distances of single documents to one query; NaN if there is none. */
export const distanceIn = (reader: CollectionReader, query: VectorQuery): ((s: number, doc: number) => number) => {
  const vector = queryVector(query, reader)
  const isCosine = isCosineField(reader, query.field),
    norm = vector === undefined ? 0 : normOf(vector)
  const columns = reader.views.map(({ segment }) => segment.vectors(query.field))
  return (s, doc) => {
    const column = columns[s]
    spend(vector?.length ?? 0)
    return vector === undefined || column === undefined || !hasBit(column.has, doc)
      ? NaN
      : distanceTo(vector, norm, column, doc, isCosine)
  }
}
