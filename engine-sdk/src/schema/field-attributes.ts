/**
 * Parses one field of a schema as a caller writes it (`docs/contract/collections.md#fields`): types, defaults and all
 * errors. The target of a reference is not looked up, because it may be created later.
 */
import { isLocale } from "../analysis/locale-analyzer.ts"
import { hasStemmer, stemmerMissing, TRUNCATE_LENGTH } from "../analysis/mod.ts"
import { isObject } from "../documents/json.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import { DEFAULT_VECTOR_PARAMS, type Field, type FieldType, type VectorParams } from "../schema.ts"
import { isNamePattern, namePattern } from "../documents/name-pattern.ts"

const TYPES: ReadonlySet<string> = new Set([
  "string",
  "string[]",
  "int32",
  "int32[]",
  "int64",
  "int64[]",
  "float",
  "float[]",
  "bool",
  "bool[]",
  "geopoint",
  "geopoint[]",
  "geopolygon",
  "object",
  "object[]",
  "auto",
  "string*",
  "image"
])
const SORTED_BY_DEFAULT: ReadonlySet<string> = new Set([
  "int32",
  "int64",
  "float",
  "bool",
  "geopoint",
  "geopoint[]",
  "geopolygon"
])
const NUMERIC = /^(int32|int64|float)(\[\])?$/
const BOOLEANS = [
  "facet",
  "optional",
  "index",
  "sort",
  "infix",
  "stem",
  "store",
  "range_index",
  "async_reference",
  "cascade_delete"
] as const
type BooleanAttribute = (typeof BOOLEANS)[number]
const WRONG_FORMAT =
  "Wrong format for `fields`. It should be an array of objects containing `name`, `type`, `optional` and `facet` properties."

export interface FieldOptions {
  readonly collection: string
  readonly nestedFields: boolean
  /** Dimensions of an embedding model's vectors; undefined if the model is unknown. */ readonly modelDimensions?: (
    modelConfig: Readonly<Record<string, unknown>>
  ) => number | undefined
  /** Creating a collection refuses `drop`. */ readonly creating: boolean
}
const refuse = (message: string): Result<never> => fail(invalid(message, "fields"))

/** A complete definition; undefined for `id`, which every collection has. */
export const parseField = (
  raw: Readonly<Record<string, unknown>>,
  options: FieldOptions
): Result<Field | undefined> => {
  const { name, type } = raw
  if (typeof name !== "string" || typeof type !== "string") return refuse(WRONG_FORMAT)
  if (options.creating && raw.drop !== undefined)
    return refuse(`Invalid property \`drop\` on field \`${name}\`: it is allowed only during schema update.`)
  if (name === "") return refuse("Field name cannot be empty.")
  if (name === "id") return ok(undefined)
  const flags = booleansOf(raw, name)
  if (!flags.ok) return flags
  const locale = localeOf(raw.locale, name)
  if (!locale.ok) return locale
  if (!TYPES.has(type))
    return refuse(`Field \`${name}\` has an invalid data type \`${type}\`, see docs for supported data types.`)
  if ((type === "object" || type === "object[]") && !options.nestedFields)
    return refuse(
      "Type `object` or `object[]` can be used only when nested fields are enabled by setting` enable_nested_fields` to true."
    )
  const isDynamic = isNamePattern(name) || type === "auto" || type === "string*"
  if (isNamePattern(name) && namePattern(name) === undefined)
    return refuse(`Field name \`${name}\` is not a supported pattern.`)
  if (isDynamic && flags.value.optional === false) return refuse(`Field \`${name}\` must be an optional field.`)
  const text = textAttributes(raw, name)
  if (!text.ok) return text
  const vector = vectorAttributes(raw, name, type, options)
  if (!vector.ok) return vector
  const field = assemble(name, type as FieldType, flags.value, locale.value, text.value, vector.value, isDynamic)
  const problem = problemOf(field, flags.value, options)
  return problem === undefined ? ok(field) : refuse(problem)
}
type Flags = Partial<Record<BooleanAttribute, boolean>>
const booleansOf = (raw: Readonly<Record<string, unknown>>, name: string): Result<Flags> => {
  const flags: Flags = {}
  for (const attribute of BOOLEANS) {
    const value = raw[attribute]
    if (value === undefined) continue
    if (typeof value !== "boolean")
      return refuse(`The \`${attribute}\` property of the field \`${name}\` should be a boolean.`)
    flags[attribute] = value
  }
  return ok(flags)
}
const localeOf = (value: unknown, name: string): Result<string> => {
  if (value === undefined) return ok("")
  if (typeof value !== "string") return refuse(`The \`locale\` property of the field \`${name}\` should be a string.`)
  return value === "" || (value.length === 2 && isLocale(value)) || value === "de_en"
    ? ok(value)
    : refuse(`The \`locale\` value of the field \`${name}\` is not valid.`)
}
interface TextAttributes {
  readonly stem_dictionary: string
  readonly reference: string
  readonly token_separators: ReadonlyArray<string>
  readonly symbols_to_index: ReadonlyArray<string>
  readonly truncate_len: number
}
const textAttributes = (raw: Readonly<Record<string, unknown>>, name: string): Result<TextAttributes> => {
  for (const attribute of ["stem_dictionary", "reference"]) {
    if (raw[attribute] !== undefined && typeof raw[attribute] !== "string")
      return refuse(`The \`${attribute}\` property of the field \`${name}\` should be a string.`)
  }
  const separators = charactersOf(raw.token_separators)
  if (separators === undefined) return refuse("The `token_separators` must be an array of characters.")
  const symbols = charactersOf(raw.symbols_to_index)
  if (symbols === undefined) return refuse("The `symbols_to_index` must be an array of characters.")
  const truncate = raw.truncate_len ?? TRUNCATE_LENGTH
  if (!Number.isInteger(truncate) || (truncate as number) < 1)
    return refuse(`The \`truncate_len\` property of the field \`${name}\` should be a positive integer.`)
  return ok({
    stem_dictionary: (raw.stem_dictionary as string | undefined) ?? "",
    reference: (raw.reference as string | undefined) ?? "",
    token_separators: separators,
    symbols_to_index: symbols,
    truncate_len: truncate as number
  })
}
/** Reads a list of one-character strings; a single such string counts as a list of one. */
export const charactersOf = (value: unknown): ReadonlyArray<string> | undefined => {
  if (value === undefined) return []
  const list = typeof value === "string" ? [...value] : value
  return Array.isArray(list) &&
    list.every((item) => typeof item === "string" && item.length === 1 && item.charCodeAt(0) < 128)
    ? (list as string[])
    : undefined
}

interface VectorAttributes {
  readonly num_dim: number
  readonly vec_dist: "cosine" | "ip"
  readonly hnsw_params?: VectorParams
  readonly embed?: Record<string, unknown>
}
const vectorAttributes = (
  raw: Readonly<Record<string, unknown>>,
  name: string,
  type: string,
  options: FieldOptions
): Result<VectorAttributes> => {
  let num_dim = 0
  if (raw.num_dim !== undefined) {
    if (!Number.isInteger(raw.num_dim) || (raw.num_dim as number) < 0)
      return refuse("Property `num_dim` must be a positive integer.")
    num_dim = raw.num_dim as number
    if (num_dim > 0 && type !== "float[]") return refuse("Property `num_dim` is only allowed on a float array field.")
  }
  const vec_dist = raw.vec_dist ?? "cosine"
  if (vec_dist !== "cosine" && vec_dist !== "ip") return refuse("Property `vec_dist` is invalid.")
  const params = vectorParams(raw.hnsw_params)
  if (!params.ok) return params
  if (raw.embed === undefined || raw.embed === null)
    return ok({ num_dim, vec_dist, ...(num_dim > 0 ? { hnsw_params: params.value } : {}) })
  const embed = embedOf(raw.embed, name, type)
  if (!embed.ok) return embed
  const dimensions =
    num_dim > 0 ? num_dim : options.modelDimensions?.(embed.value.model_config as Record<string, unknown>)
  if (dimensions === undefined || dimensions <= 0)
    return refuse(`Property \`embed.model_config.model_name\` of the field \`${name}\` names no available model.`)
  return ok({ num_dim: dimensions, vec_dist, hnsw_params: params.value, embed: embed.value })
}
const vectorParams = (value: unknown): Result<VectorParams> => {
  if (value === undefined) return ok(DEFAULT_VECTOR_PARAMS)
  if (!isObject(value)) return refuse("Property `hnsw_params` must be an object.")
  const params: { [K in keyof VectorParams]: VectorParams[K] } = { ...DEFAULT_VECTOR_PARAMS }
  for (const key of ["M", "ef_construction", "ef", "max_elements"] as const) {
    if (value[key] === undefined) continue
    if (!Number.isInteger(value[key]) || (value[key] as number) <= 0)
      return refuse(`Property \`hnsw_params.${key}\` must be a positive integer.`)
    ;(params as Record<string, number>)[key] = value[key] as number
  }
  return ok(params)
}
const embedOf = (value: unknown, name: string, type: string): Result<Record<string, unknown>> => {
  if (type !== "float[]") return refuse("Fields with the `embed` parameter can only be of type `float[]`.")
  if (!isObject(value)) return refuse("Property `embed` must be an object.")
  if (!Array.isArray(value.from)) return refuse("Property `embed.from` must be an array.")
  if (value.from.length === 0) return refuse("Property `embed.from` must have at least one element.")
  if (!value.from.every((item) => typeof item === "string"))
    return refuse("Property `embed.from` must contain only field names as strings.")
  if (value.mapping !== undefined && (!Array.isArray(value.mapping) || value.mapping.length !== value.from.length))
    return refuse("Property `embed.mapping` must be an array of the same length as `embed.from`.")
  if (!isObject(value.model_config)) return refuse("Property `embed.model_config` not found.")
  const model = value.model_config.model_name
  if (typeof model !== "string" || model === "")
    return refuse("Property `embed.model_config.model_name` must be a non-empty string.")
  return ok(value)
}

const assemble = (
  name: string,
  type: FieldType,
  flags: Flags,
  locale: string,
  text: TextAttributes,
  vector: VectorAttributes,
  isDynamic: boolean
): Field => ({
  name,
  type,
  facet: flags.facet ?? false,
  optional: flags.optional ?? isDynamic,
  index: flags.index ?? true,
  sort: flags.sort ?? (vector.num_dim > 0 ? false : SORTED_BY_DEFAULT.has(type)),
  infix: flags.infix ?? false,
  locale,
  stem: (flags.stem ?? false) || text.stem_dictionary !== "",
  store: flags.store ?? true,
  range_index: flags.range_index ?? false,
  async_reference: flags.async_reference ?? false,
  cascade_delete: flags.cascade_delete ?? true,
  ...text,
  ...vector
})
const problemOf = (field: Field, flags: Flags, options: FieldOptions): string | undefined => {
  const { name, type } = field
  if (field.name === ".*") {
    if (field.facet) return "Field `.*` cannot be a facet field."
    if (!field.index) return "Field `.*` must be an index field."
    if (field.reference !== "") return "Field `.*` cannot be a reference field."
  }
  if (field.num_dim > 0) {
    if (field.facet) return "Property `facet` is not allowed on a vector field."
    if (flags.sort === true) return "Property `sort` cannot be enabled on a vector field."
  }
  if (!field.index && field.facet) return `Field \`${name}\` cannot be a facet since it's marked as non-indexable.`
  if (flags.sort === true && !SORTED_BY_DEFAULT.has(type) && type !== "string" && type !== "auto" && type !== "string*")
    return `Field \`${name}\` cannot be a sortable field.`
  if (flags.sort === false && type.startsWith("geo"))
    return `Field \`${name}\` must be a sortable field, because searches by distance need it.`
  if (field.range_index && !NUMERIC.test(type))
    return "The `range_index` property is only allowed for the numerical fields`"
  if (field.stem && type !== "string" && type !== "string[]" && type !== "auto" && type !== "string*")
    return "The `stem` property is only allowed for string and string[] fields."
  if (field.stem && field.stem_dictionary === "") {
    if (!hasStemmer(field.locale)) return `The \`locale\` value of the field \`${name}\` is not supported for stem.`
    const missing = stemmerMissing(field.locale)
    if (missing !== undefined) return missing
  }
  return referenceProblem(field, flags, options)
}
const referenceProblem = (field: Field, flags: Flags, options: FieldOptions): string | undefined => {
  const { name, reference } = field
  if (reference === "")
    return flags.async_reference === true
      ? `Property \`async_reference\` of the field \`${name}\` is only allowed with \`reference\`.`
      : undefined
  const dot = reference.indexOf(".")
  if (dot <= 0 || dot === reference.length - 1) return `Invalid reference \`${reference}\`.`
  if (isNamePattern(name)) return `Wildcard field cannot have a reference.`
  const target = reference.slice(0, dot)
  if (target === options.collection)
    return `Referencing a field of the same collection is not allowed: \`${name}\` field references \`${target}\` collection.`
  return flags.cascade_delete === false && !field.async_reference
    ? `Property \`cascade_delete\` of the field \`${name}\` can be false only with \`async_reference: true\`.`
    : undefined
}
