/** The window of a search over a server's answer, whose hits contain all fields that stages read. */
import { valueAt } from "../documents/mod.ts"
import type { FieldValue, Hit, HitWindow } from "../plan.ts"
import { fieldNamed } from "../query/mod.ts"
import type { CollectionSchema } from "../schema.ts"

interface Placed {
  readonly id: string
  readonly position: number
}
/** `shown`: converts a hit to what the answer shows. */
export const windowOf = (
  schema: CollectionSchema,
  organic: ReadonlyArray<Hit>,
  placed: ReadonlyArray<Hit>,
  fixed: ReadonlyArray<Placed>,
  shown: (hit: Hit) => Hit
): HitWindow => {
  const hits = organic.map(shown)
  const known = new Map(placed.map((hit) => [String(hit.document.id), hit]))
  return {
    organic: hits,
    ids: organic.map(({ document }) => String(document.id)),
    injected: fixed.flatMap(({ id, position }) => {
      const hit = known.get(id)
      return hit === undefined ? [] : [{ id, hit: shown(hit), position }]
    }),
    value: (i, field) => fieldValue(schema, organic[i]!.document, field),
    // The entire window is in memory already.
    keep: () => {}
  }
}

const fieldValue = (schema: CollectionSchema, document: Hit["document"], name: string): FieldValue | undefined => {
  const { value } = valueAt(document, name, name.split("."))
  const field = fieldNamed(schema, name)
  if (field !== undefined && field.num_dim > 0)
    return Array.isArray(value) ? Float32Array.from(value as ReadonlyArray<number>) : undefined
  // An empty list of texts is no value, as in a column of texts.
  if (field?.type === "string[]" && Array.isArray(value) && value.length === 0) return undefined
  // Every engine converts long integers to numbers for stages.
  if (typeof value === "bigint") return Number(value)
  return isValue(value) || (Array.isArray(value) && value.every(isValue)) ? value : undefined
}
const isValue = (value: unknown): value is string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean"
