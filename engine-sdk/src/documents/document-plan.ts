/**
 * What a schema requires of every document, computed once per schema object: where each field is read, which names are
 * patterns, and the type that a newly seen value gets (`docs/contract/collections.md#types`). Contains no document.
 */
import { BoundedMap } from "../bounded-map.ts"
import { isNamePattern, namePattern, type NamePattern } from "./name-pattern.ts"
import type { CollectionSchema, DirtyValues, Field, FieldType } from "../schema.ts"

export interface NestedField {
  readonly field: Field
  readonly path: ReadonlyArray<string>
}
interface DynamicField {
  readonly field: Field
  readonly pattern: NamePattern | undefined
  readonly all: boolean
}
export interface DocumentPlan {
  readonly schema: CollectionSchema
  /** Fields read under their own name. */ readonly plain: ReadonlyArray<Field>
  /** Fields read through objects. */ readonly nested: ReadonlyArray<NestedField>
  /** Declared or detected `object` and `object[]` fields by name. */ readonly objects: ReadonlyMap<string, Field>
  readonly byName: ReadonlyMap<string, Field>
  readonly dynamic: ReadonlyArray<DynamicField>
  readonly unstored: ReadonlyArray<string>
  /** Fields whose referenced documents must exist (`docs/contract/documents.md#references`). */
  readonly references: ReadonlyArray<Field>
  readonly defaultMode: DirtyValues
  readonly nestedEnabled: boolean
}
/** Bound of the cache of one schema, which exists as long as the schema is in use. */
const NAMES_MATCHED_BYTES_MAX = 2_000_000
const matched = new WeakMap<DocumentPlan, BoundedMap<string, Field | null>>()
const plans = new WeakMap<CollectionSchema, DocumentPlan>()

/** A definition that is resolved by values: pattern names, `auto`, `string*`. */
export const isDynamic = (field: Field): boolean =>
  field.detected !== true && (isNamePattern(field.name) || field.type === "auto" || field.type === "string*")

/** Cached per schema object; O(fields) the first time. */
export const documentPlanOf = (schema: CollectionSchema): DocumentPlan => {
  const known = plans.get(schema)
  if (known !== undefined) return known
  const plain: Field[] = []
  const nested: NestedField[] = []
  const objects = new Map<string, Field>()
  const byName = new Map<string, Field>()
  const dynamic: DynamicField[] = []
  for (const field of schema.fields) {
    if (isDynamic(field)) {
      dynamic.push({
        field,
        pattern: isNamePattern(field.name) ? namePattern(field.name) : undefined,
        all: field.name === ".*"
      })
      continue
    }
    byName.set(field.name, field)
    const isNested = schema.enable_nested_fields && field.name.includes(".")
    if (field.type === "object" || field.type === "object[]") objects.set(field.name, field)
    else if (isNested) nested.push({ field, path: field.name.split(".") })
    else plain.push(field)
  }
  dynamic.sort((a, b) => Number(a.all) - Number(b.all))
  const plan: DocumentPlan = {
    schema,
    plain,
    nested,
    objects,
    byName,
    dynamic,
    unstored: schema.fields.filter((field) => !field.store).map((field) => field.name),
    references: schema.fields.filter(({ async_reference, reference }) => reference !== "" && !async_reference),
    defaultMode: dynamic.length > 0 ? "coerce_or_reject" : "reject",
    nestedEnabled: schema.enable_nested_fields
  }
  plans.set(schema, plan)
  return plan
}

/**
 * The dynamic definition that covers a name that no field has, or undefined. Names that are patterns themselves never
 * match.
 */
export const dynamicFieldFor = (plan: DocumentPlan, name: string): Field | undefined => {
  if (plan.dynamic.length === 0 || isNamePattern(name)) return undefined
  let names = matched.get(plan)
  if (names === undefined)
    matched.set(
      plan,
      (names = new BoundedMap({ bytes_max: NAMES_MATCHED_BYTES_MAX, bytesOf: (matchedName) => matchedName.length * 2 }))
    )
  const known = names.get(name)
  if (known !== undefined) return known ?? undefined
  const found = plan.dynamic.find((entry) =>
    entry.pattern === undefined ? entry.field.name === name : entry.all || entry.pattern.matches(name)
  )?.field
  names.set(name, found ?? null)
  return found
}

/**
 * The field type for an undeclared value; undefined if it implies none (null, empty array), `invalid` if it is not a
 * field value.
 */
export const typeOfValue = (value: unknown): FieldType | "invalid" | undefined => {
  if (value === null || value === undefined) return undefined
  if (!Array.isArray(value)) return scalarTypeOf(value)
  if (value.length === 0) return undefined
  const element = Array.isArray(value[0]) || value[0] === null ? "invalid" : scalarTypeOf(value[0])
  return element === "invalid" ? "invalid" : (`${element}[]` as FieldType)
}
const scalarTypeOf = (value: unknown): FieldType | "invalid" => {
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "bool"
    case "bigint":
      return "int64"
    case "number":
      return Number.isInteger(value) ? "int64" : "float"
    case "object":
      return "object"
    default:
      return "invalid"
  }
}
const SORTABLE: ReadonlySet<FieldType> = new Set([
  "int32",
  "int64",
  "float",
  "bool",
  "geopoint",
  "geopoint[]",
  "geopolygon"
])
/** A field found in a document: the definition's attributes with the name and type seen; always optional. */
export const detectedField = (
  definition: Field,
  name: string,
  type: FieldType,
  nested?: { readonly array: boolean }
): Field => ({
  ...definition,
  name,
  type,
  optional: true,
  detected: true,
  sort: SORTABLE.has(type) || (definition.sort && type === "string"),
  ...(nested === undefined ? {} : { nested: true, nested_array: nested.array, reference: "", async_reference: false })
})
/**
 * Resolves `auto` to the type seen, and `string*` to text, whatever the value is. A concrete type stays, except that
 * objects remain objects.
 */
export const resolveType = (definition: FieldType, seen: FieldType): FieldType => {
  if (definition === "string*") return seen.endsWith("[]") ? "string[]" : "string"
  if (seen === "object" || seen === "object[]") return seen
  return definition === "auto" || definition === "object" || definition === "object[]" ? seen : definition
}
