/**
 * Prints a filter tree as `filter_by` text: for engines behind HTTP that take text, for explanations, and as the
 * inverse of the parser in tests. Values have been analysed, so the text contains tokens instead of the caller's words.
 */
import type { Filter, GeoArea, NumberFilter, StringFilter } from "../filter.ts"

/** Prints text that parses to an equal tree under the same schema. O(tree). */
export const printFilter = (filter: Filter): string => print(filter, "")

/** `within` is the object path that names are relative to, "" outside braces. */
const print = (filter: Filter, within: string): string => {
  switch (filter.kind) {
    case "and":
    case "or":
      return printPair(filter.kind, filter, print, within)
    case "not":
      return printNegated(filter.filter, within)
    case "all":
      return "id:*"
    case "none":
      return "id:!=*"
    case "element":
      return `${filter.path}.{${print(filter.filter, `${filter.path}.`)}}`
    case "join":
      return `$${filter.collection}(${print(filter.filter, "")})`
    default:
      return printLeaf(filter, within, "")
  }
}
type Pair = Extract<Filter, { readonly kind: "and" | "or" }>
type Printer = (filter: Filter, within: string) => string
/** A chain of one operator needs no parentheses; each pair would add a level of nesting, which is bounded. */
const printPair = (kind: Pair["kind"], { kind: own, left, right }: Pair, printer: Printer, within: string): string => {
  const first = printer(left, within)
  const text = left.kind === own ? first : `(${first})`
  return `${text} ${kind === "and" ? "&&" : "||"} (${printer(right, within)})`
}
const printNegated = (filter: Filter, within: string): string => {
  switch (filter.kind) {
    case "not":
      return print(filter.filter, within)
    case "all":
      return "id:!=*"
    case "none":
      return "id:*"
    case "and":
      return printPair("or", filter, printNegated, within)
    case "or":
      return printPair("and", filter, printNegated, within)
    case "join":
      return `!${print(filter, within)}`
    case "element":
    case "geo":
    case "geo_contains":
      throw new Error(`a negated ${filter.kind} filter has no text form`)
    default:
      return printLeaf(filter, within, "!")
  }
}
type Leaf = Exclude<Filter, { readonly kind: "and" | "or" | "not" | "all" | "none" | "element" | "join" }>
const printLeaf = (filter: Leaf, within: string, negation: string): string => {
  const name =
    filter.kind === "ids" ? "id" : filter.field.startsWith(within) ? filter.field.slice(within.length) : filter.field
  switch (filter.kind) {
    case "ids":
      return `id:${negation}=[${filter.ids.map((id) => `\`${id}\``).join(", ")}]`
    case "string":
      return `${name}:${negation}${filter.values.some((value) => value.match === "equals") ? "=" : ""}[${filter.values.map(printValue).join(", ")}]`
    case "number":
      return `${name}:${negation}[${filter.ranges.map(printRange).join(", ")}]`
    case "bool":
      return `${name}:${negation}[${filter.values.join(", ")}]`
    case "geo":
      return `${name}:[${filter.areas.map(printArea).join(", ")}]`
    case "geo_contains":
      return `${name}:(${filter.lat}, ${filter.lng})`
  }
}
const printValue = ({ tokens, match, prefix }: StringFilter["values"][number]): string => {
  const text = tokens.join(" ")
  if (match === "phrase") return `"${text}"`
  const isPlain = /^[\p{L}\p{N} ]+$/u.test(text)
  return prefix ? `${isPlain ? text : `\`${text}\``}*` : `\`${text}\``
}
const INT32_MAX = 2_147_483_647
const INT64_MAX = 9_223_372_036_854_775_807n
const isLowest = (bound: number | bigint): boolean =>
  bound === Number.NEGATIVE_INFINITY || bound === -INT32_MAX - 1 || bound === -INT64_MAX - 1n
const isHighest = (bound: number | bigint): boolean =>
  bound === Number.POSITIVE_INFINITY || bound === INT32_MAX || bound === INT64_MAX
const printRange = ({ min, max, minOpen, maxOpen }: NumberFilter["ranges"][number]): string => {
  if (minOpen === true) return `>${min}`
  if (maxOpen === true) return `<${max}`
  if (min === max) return `${min}`
  if (isLowest(min)) return `<=${max}`
  return isHighest(max) ? `>=${min}` : `${min}..${max}`
}
/** The metres as kilometres; if that value times a thousand is not exactly the metres, the adjacent number that is. */
const kilometres = (metres: number): string => {
  const thousandth = metres / 1_000
  const near = [thousandth, thousandth * (1 + Number.EPSILON), thousandth * (1 - Number.EPSILON)]
  return `${near.find((value) => value * 1_000 === metres) ?? thousandth} km`
}
const printArea = (area: GeoArea): string =>
  area.kind === "radius"
    ? `([${area.lat}, ${area.lng}], radius: ${kilometres(area.radius_m)}, exact_filter_radius: ${kilometres(area.exactFilterRadius_m)})`
    : `([${area.points.map((point) => point.join(", ")).join(", ")}], exact_filter_radius: ${kilometres(area.exactFilterRadius_m)})`
