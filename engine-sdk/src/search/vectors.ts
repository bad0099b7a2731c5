/** Exact vector distances (engine-contract 13): every vector of a segment against one query, in single precision storage. */
import type { VectorQuery } from "../plan.ts"
import { hasBit } from "../index/bits.ts"
import type { CollectionReader } from "../index/reader.ts"
import type { Segment } from "../index/segment.ts"

/** Distance per document; NaN where a document has no vector. */
export type DistanceTable = Float64Array

/** The query's vector: its own, or the one of the document it names. undefined when that document has none. */
export const queryVector = (query: VectorQuery, reader: CollectionReader): ReadonlyArray<number> | Float32Array | undefined => {
  if (query.likeId === undefined) return query.vector
  const place = reader.locate(query.likeId)
  if (place === undefined) return undefined
  const column = reader.views[place.at].segment.vectors(query.field)
  if (column === undefined || !hasBit(column.has, place.doc)) return undefined
  return column.values.slice(place.doc * column.dimensions, (place.doc + 1) * column.dimensions)
}

/** O(documents · dimensions). `only` limits it to documents that can count. */
export const vectorDistances = (segment: Segment, query: VectorQuery, reader: CollectionReader, only?: Uint32Array): DistanceTable => {
  const table = new Float64Array(segment.docs).fill(NaN)
  const vector = queryVector(query, reader)
  const column = segment.vectors(query.field)
  if (vector === undefined || column === undefined) return table
  const isCosine = (reader.schema.fields.find(({ name }) => name === query.field)?.vec_dist ?? "cosine") === "cosine"
  const { values, dimensions, has } = column
  let norm = 0
  for (let i = 0; i < dimensions; i++) norm += vector[i] * vector[i]
  const queryNorm = Math.sqrt(norm)
  for (let doc = 0; doc < segment.docs; doc++) {
    if (!hasBit(has, doc) || (only !== undefined && !hasBit(only, doc))) continue
    let dot = 0, own = 0
    for (let i = 0, at = doc * dimensions; i < dimensions; i++, at++) { dot += vector[i] * values[at]; own += values[at] * values[at] }
    table[doc] = Math.fround(isCosine ? 1 - dot / (queryNorm * Math.sqrt(own) || 1) : 1 - dot)
  }
  return table
}
