/**
 * Filters on one element of a list of objects (`docs/contract/filters.md#objects-in-lists`). Columns do not record
 * which values share an element, so they only narrow down the documents; the stored document decides.
 */
import { analyzerOf } from "../../analysis/analyzer.ts"
import type { Filter, StringFilter } from "../../filter.ts"
import type { CollectionSchema } from "../../schema.ts"

/** Number of comparisons for one element. */
export const checksOf = (filter: Filter): number => {
  switch (filter.kind) {
    case "and":
    case "or":
      return checksOf(filter.left) + checksOf(filter.right)
    case "not":
      return checksOf(filter.filter)
    case "string":
      return filter.values.length
    case "number":
      return filter.ranges.length
    default:
      return 1
  }
}
/** A necessary condition that columns can check, without negated parts: these say nothing about other elements. */
export const withoutNegations = (filter: Filter): Filter => {
  switch (filter.kind) {
    case "and":
    case "or":
      return { kind: filter.kind, left: withoutNegations(filter.left), right: withoutNegations(filter.right) }
    case "not":
      return { kind: "all" }
    default:
      return filter
  }
}
/** True when an element at `path` of the stored text passes. */
export const hasMatchingElement = (schema: CollectionSchema, filter: Filter, text: string, path: string): boolean =>
  elementsAt(JSON.parse(text), path.split(".")).some((element) => matchesElement(schema, filter, element, path))

const elementsAt = (value: unknown, path: ReadonlyArray<string>): unknown[] => {
  if (Array.isArray(value)) return value.flatMap((element) => elementsAt(element, path))
  if (path.length === 0) return [value]
  if (typeof value !== "object" || value === null) return []
  const record = value as Record<string, unknown>
  const joined = path.join(".")
  if (path.length > 1 && Object.hasOwn(record, joined)) return elementsAt(record[joined], [])
  return Object.hasOwn(record, path[0]) ? elementsAt(record[path[0]], path.slice(1)) : []
}
const matchesElement = (schema: CollectionSchema, filter: Filter, element: unknown, path: string): boolean => {
  switch (filter.kind) {
    case "and":
      return matchesElement(schema, filter.left, element, path) && matchesElement(schema, filter.right, element, path)
    case "or":
      return matchesElement(schema, filter.left, element, path) || matchesElement(schema, filter.right, element, path)
    case "not":
      return !matchesElement(schema, filter.filter, element, path)
    case "all":
      return true
    case "string":
    case "number":
    case "bool": {
      const values = elementsAt(element, filter.field.slice(path.length + 1).split("."))
      if (filter.kind === "bool")
        return values.some((value) => typeof value === "boolean" && filter.values.includes(value))
      if (filter.kind === "number")
        return values.some(
          (value) =>
            typeof value === "number" &&
            filter.ranges.some((range) => {
              const v = filter.type === "float" ? Math.fround(value) : value
              const min = filter.type === "float" ? Math.fround(Number(range.min)) : range.min,
                max = filter.type === "float" ? Math.fround(Number(range.max)) : range.max
              return (range.minOpen === true ? v > min : v >= min) && (range.maxOpen === true ? v < max : v <= max)
            })
        )
      const field = schema.fields.find((candidate) => candidate.name === filter.field)
      if (field === undefined) return false
      const analyzer = analyzerOf(schema, field)
      return values.some(
        (value) =>
          typeof value === "string" && filter.values.some((wanted) => matchesText(analyzer.tokenize(value), wanted))
      )
    }
    // The compiler allows no other kind inside braces.
    default:
      return false
  }
}
const matchesText = (tokens: ReadonlyArray<string>, wanted: StringFilter["values"][number]): boolean => {
  const n = wanted.tokens.length
  if (n === 0) return false
  const fits = (token: string, i: number): boolean =>
    wanted.prefix && i === n - 1 ? token.startsWith(wanted.tokens[i]) : token === wanted.tokens[i]
  const runAt = (from: number): boolean =>
    wanted.tokens.every((_token, i) => from + i < tokens.length && fits(tokens[from + i], i))
  if (wanted.match === "equals") return runAt(0) && (wanted.prefix || tokens.length === n)
  if (wanted.match === "phrase") return tokens.some((_token, from) => runAt(from))
  return wanted.tokens.every((_token, i) => tokens.some((token) => fits(token, i)))
}
