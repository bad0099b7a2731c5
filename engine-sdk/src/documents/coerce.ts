/**
 * Checks one value against one field type under a `dirty_values` mode (`docs/contract/documents.md#validation`). Pure:
 * returns the value to store, the removal of the field, or a refusal message.
 */
import type { DirtyValues, Field, FieldType } from "../schema.ts"

export type GeoPoint = readonly [lat: number, lng: number]
export type IndexScalar = string | number | bigint | boolean
export type IndexValue =
  | IndexScalar
  | ReadonlyArray<string>
  | ReadonlyArray<number>
  | ReadonlyArray<bigint | number>
  | ReadonlyArray<boolean>
  | GeoPoint
  | ReadonlyArray<GeoPoint>

/** `dropped` removes the value; `error` is the message. Otherwise `value` is stored and indexed. */
export type Coerced =
  | { readonly value: unknown; readonly dropped?: undefined; readonly error?: undefined }
  | { readonly dropped: true; readonly value?: undefined; readonly error?: undefined }
  | { readonly error: string; readonly dropped?: undefined; readonly value?: undefined }

const DROPPED: Coerced = { dropped: true }
const INT32_MAX = 2_147_483_647
const INT64_MAX = 9_223_372_036_854_775_807n
const NOT_COERCIBLE = Symbol("not coercible")
/** Wrong in every coercing mode, even `coerce_or_drop`: a text that is not a boolean. */
const ALWAYS_WRONG = Symbol("always wrong")

export const elementTypeOf = (type: FieldType): FieldType =>
  type.endsWith("[]") ? (type.slice(0, -2) as FieldType) : type
const nounOf = (type: FieldType): string =>
  type === "int32" ? "an int32" : type === "int64" ? "an int64" : `a ${type}`
const arrayNounOf = (type: FieldType): string =>
  type === "float" || type === "bool" ? `a array of ${type}` : `an array of ${type}`

/** Whether a JSON value has the scalar type without conversion. Integers are valid floats. */
const hasType = (type: FieldType, value: unknown): boolean => {
  switch (type) {
    case "string":
    case "image":
      return typeof value === "string"
    case "int32":
    case "int64":
      return typeof value === "bigint" || Number.isInteger(value)
    case "float":
      return typeof value === "number" || typeof value === "bigint"
    case "bool":
      return typeof value === "boolean"
    default:
      return false
  }
}
const coerceScalar = (type: FieldType, value: unknown): unknown => {
  switch (type) {
    case "string":
    case "image":
      return typeof value === "number" || typeof value === "boolean" || typeof value === "bigint"
        ? String(value)
        : NOT_COERCIBLE
    case "int32":
    case "int64":
      if (typeof value === "number") return Math.trunc(Math.fround(value))
      if (typeof value === "boolean") return value ? 1 : 0
      return typeof value === "string" ? integerOf(value, type) : NOT_COERCIBLE
    case "float": {
      if (typeof value === "boolean") return value ? 1 : 0
      if (typeof value !== "string" || value.trim() === "") return NOT_COERCIBLE
      const parsed = Number(value)
      return Number.isFinite(parsed) && /^[\s]*[-+]?[\d.]/.test(value) ? parsed : NOT_COERCIBLE
    }
    case "bool":
      if (value === 0 || value === 1) return value === 1
      if (typeof value !== "string") return NOT_COERCIBLE
      return /^true$/i.test(value) ? true : /^false$/i.test(value) ? false : ALWAYS_WRONG
    default:
      return NOT_COERCIBLE
  }
}
const integerOf = (text: string, type: FieldType): unknown => {
  if (!/^[-+]?\d{1,20}$/.test(text)) return NOT_COERCIBLE
  const parsed = Number(text)
  if (type === "int32") return parsed <= INT32_MAX && parsed >= -INT32_MAX - 1 ? parsed : NOT_COERCIBLE
  if (Number.isSafeInteger(parsed)) return parsed
  const big = BigInt(text)
  return big <= INT64_MAX && big >= -INT64_MAX - 1n ? big : NOT_COERCIBLE
}

/** The number that an index stores: 32-bit integers wrap as in the reference engine, floats stay doubles. */
export const indexNumber = (type: FieldType, value: unknown): number | bigint => {
  if (type === "int32") return typeof value === "bigint" ? Number(BigInt.asIntN(32, value)) : (value as number) | 0
  if (type === "int64") return typeof value === "bigint" ? BigInt.asIntN(64, value) : (value as number)
  return Number(value)
}

const drops = (mode: DirtyValues): boolean => mode === "drop" || mode === "coerce_or_drop"
const coerces = (mode: DirtyValues): boolean => mode === "coerce_or_reject" || mode === "coerce_or_drop"

/** O(value). The caller has already handled absence, and null of optional fields. */
export const coerceValue = (field: Field, value: unknown, mode: DirtyValues): Coerced => {
  const { type } = field
  if (type === "geopoint") return coercePoint(field, value, mode)
  if (type === "geopoint[]" || type === "geopolygon" || type.endsWith("[]")) return coerceArray(field, value, mode)
  if (hasType(type, value)) return { value }
  const refusal = (): Coerced => ({
    error: `Field \`${field.name}\` must be ${nounOf(type === "image" ? "string" : type)}.`
  })
  if (mode === "reject") return refusal()
  if (mode === "drop") return field.optional ? DROPPED : refusal()
  const coerced = coerceScalar(type, value)
  if (coerced === ALWAYS_WRONG) return refusal()
  if (coerced !== NOT_COERCIBLE) return { value: coerced }
  return mode === "coerce_or_drop" && field.optional ? DROPPED : refusal()
}

const isPair = (value: unknown): value is [unknown, unknown] => Array.isArray(value) && value.length === 2
const pointOf = (pair: [unknown, unknown], coercing: boolean): GeoPoint | undefined => {
  if (typeof pair[0] === "number" && typeof pair[1] === "number") return pair as unknown as GeoPoint
  if (!coercing) return undefined
  const lat = coerceScalar("float", String(pair[0]))
  const lng = coerceScalar("float", String(pair[1]))
  return typeof lat === "number" && typeof lng === "number" ? [lat, lng] : undefined
}
const coercePoint = (field: Field, value: unknown, mode: DirtyValues): Coerced => {
  if (!isPair(value)) return { error: `Field \`${field.name}\` must be a 2 element array: [lat, lng].` }
  const point = pointOf(value, coerces(mode))
  if (point !== undefined) return { value: point }
  return drops(mode) && field.optional ? DROPPED : { error: `Field \`${field.name}\` must be a geopoint.` }
}

const coerceArray = (field: Field, value: unknown, mode: DirtyValues): Coerced => {
  if (!Array.isArray(value))
    return field.optional && drops(mode) ? DROPPED : { error: `Field \`${field.name}\` must be an array.` }
  if (field.num_dim > 0 && value.length !== field.num_dim) return dimensionMismatch(field, value)
  if (field.type === "geopoint[]") return coercePoints(field, value, mode)
  const element = field.type === "geopolygon" ? "float" : elementTypeOf(field.type)
  let allRight = true
  for (let i = 0; i < value.length; i++)
    if (!hasType(element, value[i])) {
      allRight = false
      break
    }
  if (allRight) return { value }
  const refusal: Coerced = { error: `Field \`${field.name}\` must be ${arrayNounOf(element)}.` }
  if (mode === "reject") return refusal
  const kept: unknown[] = []
  for (const item of value) {
    if (hasType(element, item)) {
      kept.push(item)
      continue
    }
    if (mode === "drop") continue
    const coerced = coerceScalar(element, item)
    if (coerced === ALWAYS_WRONG) return refusal
    if (coerced !== NOT_COERCIBLE) kept.push(coerced)
    else if (mode === "coerce_or_reject") return refusal
  }
  if (field.num_dim > 0 && kept.length !== field.num_dim) return { error: "Vector size mismatch." }
  return { value: kept }
}
const dimensionMismatch = (field: Field, value: ReadonlyArray<unknown>): Coerced => {
  if (field.embed !== undefined)
    return value.length === 0 && field.optional
      ? DROPPED
      : { error: `Field \`${field.name}\` contains an invalid embedding.` }
  return { error: `Field \`${field.name}\` must have ${field.num_dim} dimensions.` }
}
const coercePoints = (field: Field, value: ReadonlyArray<unknown>, mode: DirtyValues): Coerced => {
  const points: GeoPoint[] = []
  for (const item of value) {
    if (!isPair(item)) return { error: `Field \`${field.name}\` must contain 2 element arrays: [ [lat, lng],... ].` }
    const point = pointOf(item, coerces(mode))
    if (point !== undefined) points.push(point)
    else if (!drops(mode)) return { error: `Field \`${field.name}\` must be an array of geopoint.` }
  }
  return { value: points }
}
