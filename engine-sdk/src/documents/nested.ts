/**
 * Values inside objects: reads a dotted path through objects and arrays of objects, and finds the children of an object
 * field. A key that literally equals the dotted name wins over the path (`docs/contract/collections.md#types`).
 */
import { isObject } from "./json.ts"
import { ownValue, putOwn } from "./own-value.ts"

const DEPTH_MAX = 64
interface PathValue {
  readonly value: unknown
  /** Whether the path leads through an array of objects. */ readonly throughArray: boolean
  readonly found: boolean
}
const ABSENT: PathValue = { value: undefined, throughArray: false, found: false }

/** The value at a path; below an array, the elements' values as one flat array. Nulls are absent. O(elements). */
export const valueAt = (
  document: { readonly [key: string]: unknown },
  name: string,
  path: ReadonlyArray<string>
): PathValue => {
  const literal = ownValue(document, name)
  if (literal !== undefined && literal !== null) return { value: literal, throughArray: false, found: true }
  let current: unknown = document
  for (let depth = 0; depth < path.length; depth++) {
    if (Array.isArray(current)) {
      const out: unknown[] = []
      const found = collect(current, path, depth, out)
      return { value: out, throughArray: true, found: found || out.length > 0 }
    }
    if (!isObject(current)) return ABSENT
    current = ownValue(current, path[depth])
  }
  return current === undefined || current === null ? ABSENT : { value: current, throughArray: false, found: true }
}
const collect = (
  values: ReadonlyArray<unknown>,
  path: ReadonlyArray<string>,
  depth: number,
  out: unknown[]
): boolean => {
  let found = false
  for (const item of values) {
    if (Array.isArray(item)) {
      found = collect(item, path, depth, out) || found
      continue
    }
    if (!isObject(item)) continue
    let current: unknown = item
    let at = depth
    while (at < path.length && isObject(current)) current = ownValue(current, path[at++])
    if (Array.isArray(current) && at < path.length) {
      found = collect(current, path, at, out) || found
      continue
    }
    if (at < path.length || current === undefined || current === null) continue
    found = true
    if (Array.isArray(current)) for (const element of current) out.push(element)
    else out.push(current)
  }
  return found
}

/** Leaves below an object value, as dotted paths. `sample` is the first value seen there. */
export const leavesOf = (
  prefix: string,
  value: unknown,
  throughArray: boolean,
  emit: (path: string, sample: unknown, throughArray: boolean) => void,
  depth = 0
): void => {
  if (depth > DEPTH_MAX) return
  if (Array.isArray(value)) {
    if (value.some(isObject)) {
      for (const item of value) if (isObject(item)) leavesOf(prefix, item, true, emit, depth + 1)
    } else emit(prefix, value, throughArray)
    return
  }
  if (!isObject(value)) {
    if (value !== null && value !== undefined) emit(prefix, value, throughArray)
    return
  }
  for (const key of Object.keys(value)) leavesOf(`${prefix}.${key}`, value[key], throughArray, emit, depth + 1)
}

/** Copies the objects along a path and sets its last key, or removes it if the value is undefined. */
export const withValueAt = (
  document: { [key: string]: unknown },
  path: ReadonlyArray<string>,
  value: unknown
): void => {
  let current = document
  for (let i = 0; i < path.length - 1; i++) {
    const next = ownValue(current, path[i])
    if (!isObject(next)) return
    const copy = { ...next }
    putOwn(current, path[i], copy)
    current = copy
  }
  if (value === undefined) delete current[path[path.length - 1]]
  else putOwn(current, path[path.length - 1], value)
}
