/** Fields that documents brought along, as part of their collection's schema. Pure. */
import { isDynamic } from "../documents/mod.ts"
import type { CollectionSchema, Field } from "../schema.ts"

export const withDetected = (schema: CollectionSchema, detected: ReadonlyArray<Field>): CollectionSchema => {
  const known = new Set(schema.fields.filter((field) => !isDynamic(field)).map(({ name }) => name))
  return { ...schema, fields: [...schema.fields, ...detected.filter(({ name }) => !known.has(name))] }
}
