/** Parses geo filters: circles and polygons. */
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { Filter, GeoArea } from "../filter.ts"
import type { Field } from "../schema.ts"
import { isDecimal, splitOutside } from "./text-scanner.ts"
import { isList } from "./filter-values.ts"

// ---- places ---------------------------------------------------------------------------------------------------------

const METRES_PER_MILE = 1_609.34
const EXACT_FILTER_RADIUS_M = 10_000
/** Parses `5 km` or `3 mi` to metres; an unknown unit and a missing number are different failures. */
export const metresOf = (text: string): number | "unit" | "number" => {
  const match = /^([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*([a-zA-Z]*)$/.exec(text.trim())
  if (match === null || !isDecimal(match[1])) return "number"
  const unit = match[2].toLowerCase()
  if (unit !== "km" && unit !== "mi") return "unit"
  return Number(match[1]) * (unit === "km" ? 1_000 : METRES_PER_MILE)
}
const geoFormat = (name: string): Result<never> =>
  fail(
    invalid(
      `Value of filter field \`${name}\`: must be in the \`(-44.50, 170.29, 0.75 km)\` or (56.33, -65.97, 23.82, -127.82) format.`,
      "filter_by"
    )
  )

export const parseGeo = (field: Field, raw: string): Result<Filter> => {
  const value = raw.startsWith("=") ? raw.slice(1).trim() : raw
  const items = isList(value) ? splitOutside(value.slice(1, -1), ",") : [value]
  const areas: GeoArea[] = []
  for (const item of items) {
    if (!item.startsWith("(") || !item.endsWith(")")) return geoFormat(field.name)
    const area = areaOf(field.name, splitOutside(item.slice(1, -1), ","))
    if (!area.ok) return area
    areas.push(area.value)
  }
  return ok({ kind: "geo", field: field.name, areas })
}
const areaOf = (name: string, parts: ReadonlyArray<string>): Result<GeoArea> => {
  if (parts[0]?.startsWith("[")) return areaWithOptions(name, parts)
  const last = parts.at(-1) ?? ""
  if (isDecimal(last)) return polygonOf(name, parts, EXACT_FILTER_RADIUS_M)
  if (parts.length !== 3) return geoFormat(name)
  return radiusOf(name, parts[0], parts[1], last, EXACT_FILTER_RADIUS_M)
}
const areaWithOptions = (name: string, parts: ReadonlyArray<string>): Result<GeoArea> => {
  if (!parts[0].endsWith("]")) return geoFormat(name)
  const numbers = splitOutside(parts[0].slice(1, -1), ",")
  let radius: string | undefined
  let exact = EXACT_FILTER_RADIUS_M
  for (const option of parts.slice(1)) {
    const [key, value] = splitOption(option)
    if (key === "radius") radius = value
    else if (key === "exact_filter_radius") {
      const metres = metresOf(value)
      if (metres === "unit") return fail(invalid("Unit must be either `km` or `mi`.", "filter_by"))
      if (metres === "number") return geoFormat(name)
      exact = metres
    } else return geoFormat(name)
  }
  if (radius === undefined) return polygonOf(name, numbers, exact)
  return numbers.length === 2 ? radiusOf(name, numbers[0], numbers[1], radius, exact) : geoFormat(name)
}
/** Splits `key: value` and trims both; the value is empty if there is no colon. */
export const splitOption = (text: string): [key: string, value: string] => {
  const colon = text.indexOf(":")
  return colon < 0 ? [text.trim(), ""] : [text.slice(0, colon).trim(), text.slice(colon + 1).trim()]
}
const radiusOf = (name: string, lat: string, lng: string, radius: string, exact: number): Result<GeoArea> => {
  if (!isDecimal(lat) || !isDecimal(lng)) return geoFormat(name)
  const metres = metresOf(radius)
  if (metres === "unit") return fail(invalid("Unit must be either `km` or `mi`.", "filter_by"))
  if (metres === "number") return geoFormat(name)
  return ok({ kind: "radius", lat: Number(lat), lng: Number(lng), radius_m: metres, exactFilterRadius_m: exact })
}
const polygonOf = (name: string, parts: ReadonlyArray<string>, exact: number): Result<GeoArea> => {
  if (parts.length < 6 || parts.length % 2 !== 0 || !parts.every(isDecimal)) return geoFormat(name)
  const points: Array<readonly [number, number]> = []
  for (let i = 0; i < parts.length; i += 2) points.push([Number(parts[i]), Number(parts[i + 1])])
  const [first, last] = [points[0], points[points.length - 1]]
  if (first[0] === last[0] && first[1] === last[1]) points.pop()
  const problem = polygonProblem(points)
  return problem === undefined
    ? ok({ kind: "polygon", points, exactFilterRadius_m: exact })
    : fail(invalid(`Polygon is invalid: ${problem}`, "filter_by"))
}
const POLYGON_POINTS_CHECKED_MAX = 500
/** Finds repeated or crossing edges. O(n²) up to a bound; beyond it only repeats are checked. */
const polygonProblem = (points: ReadonlyArray<readonly [number, number]>): string | undefined => {
  if (points.length < 3) return "Loop must have at least 3 vertices."
  const seen = new Map<string, number>()
  for (let i = 0; i < points.length; i++) {
    const key = points[i].join()
    const before = seen.get(key)
    if (before !== undefined) return `Edge ${before} has duplicate vertex with edge ${i}`
    seen.set(key, i)
  }
  if (points.length > POLYGON_POINTS_CHECKED_MAX) return undefined
  for (let i = 0; i < points.length; i++) {
    for (let j = i + 2; j < points.length; j++) {
      if (i === 0 && j === points.length - 1) continue
      if (crosses(points[i], points[i + 1], points[j], points[(j + 1) % points.length]))
        return `Edge ${i} crosses edge ${j}`
    }
  }
  return undefined
}
type Point = readonly [number, number]
const side = (a: Point, b: Point, c: Point): number =>
  Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
const crosses = (a: Point, b: Point, c: Point, d: Point): boolean =>
  side(a, b, c) * side(a, b, d) < 0 && side(c, d, a) * side(c, d, b) < 0

export const parsePolygonPoint = (field: Field, raw: string): Result<Filter> => {
  if (isList(raw)) return geoFormat(field.name)
  const parts = raw.startsWith("(") && raw.endsWith(")") ? splitOutside(raw.slice(1, -1), ",") : []
  if (parts.length !== 2 || !parts.every(isDecimal))
    return fail(invalid("Value of geopolygon filter field must be in the format `(-44.50, 170.29)`", "filter_by"))
  return ok({ kind: "geo_contains", field: field.name, lat: Number(parts[0]), lng: Number(parts[1]) })
}
