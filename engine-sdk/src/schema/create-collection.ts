/**
 * Parses the body of a collection to create, or to clone (`docs/contract/collections.md#creating`). Pure: whether named
 * sets exist is checked through the context; whether the name is taken is checked by the engine.
 */
import { isObject } from "../documents/json.ts"
import { fail, invalid, notFound, ok, type Result } from "../errors.ts"
import type { CollectionSchema, Field } from "../schema.ts"
import { charactersOf, parseField, type FieldOptions } from "./field-attributes.ts"
import { isNamePattern } from "../documents/name-pattern.ts"

export interface SchemaContext {
  readonly hasSynonymSet: (name: string) => boolean
  readonly hasCurationSet: (name: string) => boolean
  readonly modelDimensions?: FieldOptions["modelDimensions"]
  /** The kind of input that a model accepts; default: texts. */
  readonly modelKind?: ((config: Readonly<Record<string, unknown>>) => "text" | "image") | undefined
}
const refuse = (message: string, parameter?: string): Result<never> => fail(invalid(message, parameter))

/** The checked schema. Checks run in a fixed order that clients rely on, and the first failure is returned. */
export const parseCreateBody = (body: unknown, context: SchemaContext): Result<CollectionSchema> => {
  if (!isObject(body)) return refuse("Bad JSON.")
  const name = nameOf(body)
  if (!name.ok) return name
  if (body.fields === undefined) return refuse("Parameter `fields` is required.", "fields")
  if (!Array.isArray(body.fields) || body.fields.length === 0)
    return refuse(
      "The `fields` value should be an array of objects containing `name`, `type` and optionally, `facet` properties.",
      "fields"
    )
  const sorting = body.default_sorting_field ?? ""
  if (typeof sorting !== "string")
    return refuse(
      "`default_sorting_field` should be a string. It should be the name of an int32/float field.",
      "default_sorting_field"
    )
  const nested = body.enable_nested_fields ?? false
  if (typeof nested !== "boolean") return refuse("`enable_nested_fields` should be a boolean.", "enable_nested_fields")
  const rest = sharedParts(body, context)
  if (!rest.ok) return rest
  const fields = parseFields(body.fields, {
    collection: name.value,
    nestedFields: nested,
    creating: true,
    modelDimensions: context.modelDimensions
  })
  if (!fields.ok) return fields
  const problem = sortingProblem(sorting, fields.value) ?? embedProblem(fields.value, context.modelKind)
  if (problem !== undefined) return refuse(problem)
  return ok({
    name: name.value,
    fields: fields.value,
    default_sorting_field: sorting,
    enable_nested_fields: nested,
    ...rest.value
  })
}
const nameOf = (body: { readonly [key: string]: unknown }): Result<string> => {
  if (body.name === undefined) return refuse("Parameter `name` is required.", "name")
  return typeof body.name === "string" && body.name !== ""
    ? ok(body.name)
    : refuse("Parameter `name` must be a non-empty string.", "name")
}
type SharedParts = Pick<
  CollectionSchema,
  "token_separators" | "symbols_to_index" | "synonym_sets" | "curation_sets" | "metadata" | "voice_query_model"
>
const sharedParts = (body: { readonly [key: string]: unknown }, context: SchemaContext): Result<SharedParts> => {
  const separators = Array.isArray(body.token_separators ?? []) ? charactersOf(body.token_separators) : undefined
  if (separators === undefined)
    return refuse("`token_separators` should be an array of character symbols.", "token_separators")
  const symbols = Array.isArray(body.symbols_to_index ?? []) ? charactersOf(body.symbols_to_index) : undefined
  if (symbols === undefined)
    return refuse("`symbols_to_index` should be an array of character symbols.", "symbols_to_index")
  const synonyms = parseSetNames(body.synonym_sets, "`synonym_sets` should be an array of synonym sets.", (set) =>
    context.hasSynonymSet(set) ? undefined : `Synonym set \`${set}\` not found.`
  )
  if (!synonyms.ok) return synonyms
  const curations = parseSetNames(body.curation_sets, "`curation_sets` should be an array of curation sets.", (set) =>
    context.hasCurationSet(set) ? undefined : `Curation set \`${set}\` not found.`
  )
  if (!curations.ok) return curations
  if (body.metadata !== undefined && !isObject(body.metadata))
    return refuse("The `metadata` value should be an object.", "metadata")
  const voice = voiceModelOf(body.voice_query_model)
  if (!voice.ok) return voice
  if (
    body.num_memory_shards !== undefined &&
    (!Number.isInteger(body.num_memory_shards) || (body.num_memory_shards as number) <= 0)
  )
    return refuse("`num_memory_shards` should be a positive integer.", "num_memory_shards")
  return ok({
    token_separators: separators,
    symbols_to_index: symbols,
    synonym_sets: synonyms.value,
    curation_sets: curations.value,
    ...(body.metadata === undefined ? {} : { metadata: body.metadata as Record<string, unknown> }),
    ...(voice.value === undefined ? {} : { voice_query_model: voice.value })
  })
}
/** Reads names of sets, which must exist. */
export const parseSetNames = (
  value: unknown,
  shape: string,
  problemOf: (name: string) => string | undefined
): Result<ReadonlyArray<string>> => {
  if (value === undefined) return ok([])
  if (!Array.isArray(value) || !value.every((item) => typeof item === "string" && item !== "")) return refuse(shape)
  for (const name of value as string[]) {
    const problem = problemOf(name)
    if (problem !== undefined) return fail(notFound(problem))
  }
  return ok([...new Set(value as string[])])
}
const voiceModelOf = (value: unknown): Result<CollectionSchema["voice_query_model"]> => {
  if (value === undefined) return ok(undefined)
  if (!isObject(value)) return refuse("Parameter `voice_query_model` must be an object.", "voice_query_model")
  if (typeof value.model_name !== "string" || value.model_name === "")
    return refuse("Parameter `voice_query_model.model_name` is required.", "voice_query_model")
  return ok({ model_name: value.model_name })
}

const parseFields = (raw: ReadonlyArray<unknown>, options: FieldOptions): Result<ReadonlyArray<Field>> => {
  const fields: Field[] = []
  for (const item of raw) {
    if (!isObject(item)) return refuse("Bad request.")
    const field = parseField(item, options)
    if (!field.ok) return field
    if (field.value !== undefined) fields.push(field.value)
  }
  const problem = duplicateProblem(fields)
  return problem === undefined ? ok(fields) : refuse(problem, "fields")
}
/** Reports duplicate names; at most one static and one dynamic definition may share a name. */
export const duplicateProblem = (fields: ReadonlyArray<Field>): string | undefined => {
  const seen = new Set<string>()
  for (const field of fields) {
    const dynamic = isNamePattern(field.name) || field.type === "auto" || field.type === "string*"
    const key = `${dynamic && field.detected !== true}:${field.name}`
    if (seen.has(key))
      return field.name === ".*"
        ? "There can be only one field named `.*`."
        : "There are duplicate field names in the schema."
    seen.add(key)
  }
  return undefined
}
const sortingProblem = (name: string, fields: ReadonlyArray<Field>): string | undefined => {
  if (name === "") return undefined
  if (name === "id") return "Invalid `default_sorting_field` value: cannot be `id`."
  const field = fields.find((candidate) => candidate.name === name)
  if (field === undefined) return `Default sorting field is defined as \`${name}\` but is not found in the schema.`
  if (field.type.startsWith("geopoint")) return "Default sorting field cannot be of type geopoint."
  if (!field.sort) return `Default sorting field \`${name}\` is not a sortable type.`
  return field.optional ? `Default sorting field \`${name}\` cannot be an optional field.` : undefined
}
const TEXTS: ReadonlySet<string> = new Set(["string", "string[]", "auto", "string*"])
/** Types of picture fields: base64, or texts that name pictures. */
const PICTURES: ReadonlySet<string> = new Set(["string", "string[]", "image"])
/** Sources of embeddings must be texts or, for pictures, what contains or names one. `made`: the fields to check. */
export const embedProblem = (
  fields: ReadonlyArray<Field>,
  kindOf: SchemaContext["modelKind"] = () => "text",
  made: ReadonlyArray<Field> = fields
): string | undefined => {
  for (const { embed, name } of made) {
    if (embed === undefined) continue
    const from = Array.isArray(embed.from) ? (embed.from as string[]) : []
    const isOfPictures = kindOf((embed.model_config ?? {}) as Readonly<Record<string, unknown>>) === "image"
    if (isOfPictures && from.length !== 1)
      return `Property \`embed.from\` of the field \`${name}\` must name one field: its model makes a vector of one picture.`
    for (const each of from) {
      const source = fields.find((candidate) => candidate.name === each)
      if (source === undefined || !(isOfPictures ? PICTURES : TEXTS).has(source.type))
        return "Property `embed.from` can only refer to string, string array or image (for supported models) fields."
    }
  }
  return undefined
}

/** The schema of a copy: everything except the name. */
export const parseCloneBody = (body: unknown, source: CollectionSchema): Result<CollectionSchema> => {
  if (!isObject(body)) return refuse("Bad JSON.")
  const name = nameOf(body)
  return name.ok ? ok({ ...source, name: name.value }) : name
}
