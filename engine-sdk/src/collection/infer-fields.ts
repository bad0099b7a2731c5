/**
 * Infers fields from documents, for a collection that declares none. The engine's own detection fixes a type at the
 * first value it sees, so a rating of 5 would turn every later 4.5 into a 4. Here an entire batch is read first, and an
 * integer field that later gets a fraction becomes a float field. Pure.
 */
import { isObject } from "../documents/json.ts"
import type { Document, Field, FieldType } from "../schema.ts"

/** If the first batch contains a longer text, the field is prose, and counting its values would only cost memory. */
const FACET_LENGTH_MAX = 100
const DEPTH_MAX = 8

interface Seen {
  type: "string" | "bool" | "int64" | "float"
  isArray: boolean
  length_max: number
}
interface InferredField {
  readonly name: string
  readonly type: FieldType
  readonly optional: true
  readonly facet: boolean
}
/** Matches fields that first appear in a later batch. This pattern is used because `.*` may not be a facet. */
export const LATER_FIELDS = { name: "..*", type: "auto", optional: true, facet: true } as const

/**
 * One field per name with values, in order of appearance; children of objects by their path. If a name has values of
 * different kinds, the first kind is used; the engine refuses the others by name. O(values).
 */
export const inferFields = (documents: Iterable<Document>): ReadonlyArray<InferredField> => {
  const seen = new Map<string, Seen>()
  for (const document of documents)
    for (const name of Object.keys(document)) if (name !== "id") look(seen, name, document[name], false, 0)
  return [...seen].map(([name, { isArray, length_max, type }]) => ({
    name,
    type: isArray ? (`${type}[]` as const) : type,
    optional: true,
    facet: length_max <= FACET_LENGTH_MAX
  }))
}
const look = (seen: Map<string, Seen>, name: string, value: unknown, isArray: boolean, depth: number): void => {
  if (value === null || value === undefined || depth > DEPTH_MAX) return
  if (Array.isArray(value)) {
    for (const item of value) if (!Array.isArray(item)) look(seen, name, item, true, depth + 1)
    return
  }
  if (isObject(value)) {
    for (const key of Object.keys(value)) look(seen, `${name}.${key}`, value[key], isArray, depth + 1)
    return
  }
  const type = scalarOf(value)
  if (type === undefined) return
  const known = seen.get(name)
  const length = typeof value === "string" ? value.length : 0
  if (known === undefined) {
    seen.set(name, { type, isArray, length_max: length })
    return
  }
  if (known.type === "int64" && type === "float") known.type = "float"
  known.isArray ||= isArray
  known.length_max = Math.max(known.length_max, length)
}
const scalarOf = (value: unknown): Seen["type"] | undefined => {
  switch (typeof value) {
    case "string":
      return "string"
    case "boolean":
      return "bool"
    case "bigint":
      return "int64"
    case "number":
      return Number.isInteger(value) ? "int64" : "float"
    default:
      return undefined
  }
}

/**
 * Integer fields that must become float fields before the documents can be stored. O(values); no cost for fields of
 * other types.
 */
export const widenedFields = (known: ReadonlyArray<Field>, documents: Iterable<Document>): ReadonlyArray<Field> => {
  const whole = new Map(
    known.filter(({ type }) => type === "int64" || type === "int64[]").map((field) => [field.name, field])
  )
  if (whole.size === 0) return []
  return inferFields(documents).flatMap(({ name, type }) => {
    const field = whole.get(name)
    return field === undefined || !type.startsWith("float")
      ? []
      : [{ ...field, type: field.type === "int64" ? ("float" as const) : ("float[]" as const) }]
  })
}
