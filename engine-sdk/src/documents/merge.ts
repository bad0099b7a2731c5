/**
 * Applies partial writes to a stored document (`docs/contract/documents.md#merging`): objects merge, arrays and scalars
 * replace, null removes, and `$operations.increment` adds to integers. Never modifies its inputs.
 */
import type { CollectionSchema, Document } from "../schema.ts"
import { isObject } from "./json.ts"
import { ownValue, putOwn } from "./own-value.ts"

const OPERATIONS_KEY = "$operations"

/** The stored document with a patch applied. O(patch + copied objects). */
export const mergeDocument = (stored: Document, patch: Document): { [key: string]: unknown } => {
  const out: { [key: string]: unknown } = { ...stored }
  for (const key of Object.keys(patch)) {
    const value = patch[key]
    if (value === null) delete out[key]
    else if (isObject(value)) {
      const known = ownValue(out, key)
      putOwn(out, key, mergeDocument(isObject(known) ? known : {}, value))
    } else putOwn(out, key, Array.isArray(value) ? withoutNulls(value) : value)
  }
  return out
}
const withoutNulls = (values: ReadonlyArray<unknown>): ReadonlyArray<unknown> =>
  values.includes(null) ? values.filter((value) => value !== null) : values

/** Deep equality of JSON values. */
export const sameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
}

/**
 * The document without `$operations`, with its increments applied to the values of `base` (absent counts as 0). Only
 * integer fields are affected.
 */
export const applyOperations = (schema: CollectionSchema, document: Document, base: Document | undefined): Document => {
  if (document[OPERATIONS_KEY] === undefined) return document
  const { [OPERATIONS_KEY]: operations, ...kept } = document
  const rest: { [key: string]: unknown } = kept
  const increments = isObject(operations) ? operations.increment : undefined
  if (!isObject(increments)) return rest
  for (const [name, by] of Object.entries(increments)) {
    const field = schema.fields.find(
      (candidate) => candidate.name === name && (candidate.type === "int32" || candidate.type === "int64")
    )
    if (field === undefined || !isInteger(by)) continue
    const before = base === undefined ? undefined : ownValue(base, name)
    putOwn(rest, name, add(isInteger(before) ? before : 0, by))
  }
  return rest
}
const isInteger = (value: unknown): value is number | bigint => typeof value === "bigint" || Number.isInteger(value)
const add = (a: number | bigint, b: number | bigint): number | bigint => {
  const sum = BigInt(a) + BigInt(b)
  return sum >= BigInt(Number.MIN_SAFE_INTEGER) && sum <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(sum) : sum
}
