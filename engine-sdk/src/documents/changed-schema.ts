/** A collection's schema after a change. Pure. */
import type { SchemaChange } from "../engine.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { isDynamic } from "./document-plan.ts"

/** The schema with fields that documents added. */
export const withDetected = (schema: CollectionSchema, detected: ReadonlyArray<Field>): CollectionSchema => {
  const known = new Set(schema.fields.filter((field) => !isDynamic(field)).map(({ name }) => name))
  return { ...schema, fields: [...schema.fields, ...detected.filter(({ name }) => !known.has(name))] }
}
/** The schema after a checked change: drops are applied before additions. */
export const withChange = (schema: CollectionSchema, change: SchemaChange): CollectionSchema => {
  const dropped = new Set(change.drop)
  return {
    ...schema,
    fields: [...schema.fields.filter(({ name }) => !dropped.has(name)), ...change.add],
    ...(change.metadata === undefined ? {} : { metadata: change.metadata }),
    ...(change.synonym_sets === undefined ? {} : { synonym_sets: change.synonym_sets }),
    ...(change.curation_sets === undefined ? {} : { curation_sets: change.curation_sets })
  }
}
