/**
 * What `usage` reports about vector fields: how many vectors, how many of them are in an approximate index, and how
 * good it is.
 */
import type { VectorUsage } from "../../engine.ts"
import { countBits } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import { graphOf } from "../../index/vector-graph.ts"

/**
 * Empty if the schema has no vector field. `missing`: why there can be no index, or "" if there can. Counts include
 * deleted documents until a merge drops them.
 */
export const vectorUsage = (
  reader: CollectionReader,
  missing: string
): { readonly vectors?: ReadonlyArray<VectorUsage> } => {
  const fields = reader.schema.fields.filter(({ num_dim, index }) => num_dim > 0 && index)
  if (fields.length === 0) return {}
  return {
    vectors: fields.map(({ name }): VectorUsage => {
      let vectors = 0,
        approximate = 0,
        bytes = 0,
        recall = 1,
        memory_bytes = 0,
        disk_bytes = 0,
        note = missing === "" ? undefined : missing
      for (const { segment } of reader.views) {
        const column = segment.vectors(name)
        if (column === undefined) continue
        const own = countBits(column.has)
        vectors += own
        memory_bytes += column.has.byteLength + (column.isInFile ? 0 : column.bytes)
        if (column.isInFile) disk_bytes += column.bytes
        const graph = graphOf(segment, name)
        if (graph === undefined) continue
        if (graph.region !== undefined) bytes += graph.record.bytes
        if (graph.region === undefined || graph.record.ef === 0) {
          note =
            graph.failure ??
            `No width of the approximate index reached the recall that is asked for; best ${graph.record.recall.toFixed(3)}.`
          continue
        }
        approximate += graph.record.vectors
        recall = Math.min(recall, graph.record.recall)
      }
      return {
        field: name,
        vectors,
        approximate,
        graph_bytes: bytes,
        memory_bytes,
        disk_bytes,
        recall,
        ...(note === undefined ? {} : { note })
      }
    })
  }
}
