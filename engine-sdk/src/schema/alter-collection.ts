/**
 * Parses the body of a schema change (`docs/contract/collections.md#schema-changes`) into drops and additions. The
 * engine checks stored documents with `revalidate`; here only the definitions are checked.
 */
import { isObject } from "../documents/json.ts"
import type { SchemaChange } from "../engine.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { duplicateProblem, embedProblem, parseSetNames, type SchemaContext } from "./create-collection.ts"
import { parseField } from "./field-attributes.ts"
import { isNamePattern, namePattern } from "../documents/name-pattern.ts"

const ALLOWED: ReadonlySet<string> = new Set(["fields", "metadata", "synonym_sets", "curation_sets"])
const WRONG_FIELDS =
  "The `fields` value should be an array of objects containing the field `name` and other properties."
const refuse = (message: string): Result<never> => fail(invalid(message))

/** Drops include children of objects and fields created by patterns. O(fields²) over the entries. */
export const parseAlterBody = (
  body: unknown,
  schema: CollectionSchema,
  context: SchemaContext
): Result<SchemaChange> => {
  if (!isObject(body)) return refuse("Bad JSON.")
  if (Object.keys(body).length === 0) return refuse("Alter payload is empty.")
  if (Object.keys(body).some((key) => !ALLOWED.has(key)))
    return refuse("Only `fields`, `metadata` and `synonym_sets` can be updated at the moment.")
  if (body.metadata !== undefined && !isObject(body.metadata))
    return refuse("The `metadata` value should be an object.")
  const synonyms = parseSetNames(body.synonym_sets, "The `synonym_sets` value should be an array.", (name) =>
    context.hasSynonymSet(name) ? undefined : `Synonym set \`${name}\` not found.`
  )
  if (!synonyms.ok) return synonyms
  const curations = parseSetNames(body.curation_sets, "The `curation_sets` value should be an array.", (name) =>
    context.hasCurationSet(name) ? undefined : `Curation set \`${name}\` not found.`
  )
  if (!curations.ok) return curations
  const fields = body.fields === undefined ? ok({ drop: [], add: [] }) : parseFieldChanges(body.fields, schema, context)
  if (!fields.ok) return fields
  return ok({
    ...fields.value,
    ...(body.metadata === undefined ? {} : { metadata: body.metadata as Record<string, unknown> }),
    ...(body.synonym_sets === undefined ? {} : { synonym_sets: synonyms.value }),
    ...(body.curation_sets === undefined ? {} : { curation_sets: curations.value })
  })
}
interface FieldChanges {
  readonly drop: ReadonlyArray<string>
  readonly add: ReadonlyArray<Field>
}
const parseFieldChanges = (raw: unknown, schema: CollectionSchema, context: SchemaContext): Result<FieldChanges> => {
  if (!Array.isArray(raw) || raw.length === 0 || !raw.every(isObject)) return refuse(WRONG_FIELDS)
  const drop = new Set<string>()
  for (const entry of raw) {
    if (typeof entry.name !== "string") return refuse(WRONG_FIELDS)
    if (entry.name === "id") return refuse("Field `id` cannot be altered.")
    if (entry.drop === undefined) continue
    if (entry.drop !== true) return refuse(`Field \`${entry.name}\` must have a drop value of \`true\`.`)
    const dropped = droppedBy(entry.name, schema)
    if (dropped.length === 0) return refuse(`Field \`${entry.name}\` is not part of collection schema.`)
    for (const name of dropped) drop.add(name)
  }
  const add: Field[] = []
  for (const entry of raw) {
    if (entry.drop !== undefined) continue
    const { drop: _drop, ...definition } = entry
    const field = parseField(definition, {
      collection: schema.name,
      nestedFields: schema.enable_nested_fields,
      creating: false,
      modelDimensions: context.modelDimensions
    })
    if (!field.ok) return field
    if (field.value === undefined) continue
    const existing = schema.fields.find((known) => known.name === entry.name && !drop.has(known.name))
    if (existing !== undefined) {
      if (!onlyKeyChanges(existing, field.value))
        return refuse(
          `Field \`${entry.name}\` is already part of the schema: To change this field, drop it first before adding it back to the schema.`
        )
      drop.add(existing.name)
    }
    add.push(field.value)
  }
  const sources = withoutDroppedSources(schema, drop, add)
  const fields = [...schema.fields.filter((field) => !sources.drop.has(field.name)), ...sources.add]
  const problem = duplicateProblem(fields) ?? embedProblem(fields, context.modelKind, sources.add)
  return problem === undefined ? ok({ drop: [...sources.drop], add: sources.add }) : refuse(problem)
}
const droppedBy = (name: string, schema: CollectionSchema): ReadonlyArray<string> => {
  const field = schema.fields.find((known) => known.name === name)
  if (field === undefined) return []
  const names = [name]
  if (field.type === "object" || field.type === "object[]")
    names.push(...schema.fields.filter((child) => child.name.startsWith(`${name}.`)).map((child) => child.name))
  const pattern = isNamePattern(name) ? namePattern(name) : undefined
  if (pattern !== undefined)
    names.push(
      ...schema.fields
        .filter((child) => child.detected === true && pattern.matches(child.name))
        .map((child) => child.name)
    )
  return names
}
/** An embedding field may be sent again if only its credential differs. */
const onlyKeyChanges = (known: Field, next: Field): boolean => {
  if (known.embed === undefined || next.embed === undefined) return false
  const plain = (field: Field): string =>
    JSON.stringify({
      ...field,
      embed: { ...field.embed, model_config: { ...(field.embed?.model_config as object), api_key: "" } }
    })
  return plain(known) === plain(next)
}
/** Embeddings lose dropped sources, and are dropped when none is left. */
const withoutDroppedSources = (
  schema: CollectionSchema,
  drop: Set<string>,
  add: Field[]
): { readonly drop: Set<string>; readonly add: Field[] } => {
  const readded = new Set(add.map((field) => field.name))
  for (const field of schema.fields) {
    if (field.embed === undefined || drop.has(field.name) || !Array.isArray(field.embed.from)) continue
    const from = (field.embed.from as string[]).filter((name) => !drop.has(name) || readded.has(name))
    if (from.length === field.embed.from.length) continue
    drop.add(field.name)
    if (from.length > 0) add.push({ ...field, embed: { ...field.embed, from } })
  }
  return { drop, add }
}
