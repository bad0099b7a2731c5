/** Converts gateway bodies to search parameters: every value becomes text that the engine package parses. Pure. */
import { isClosedFilterText, joinFilterTexts } from "@dowser/engine-sdk/query"
import type { CollectionInfo } from "@dowser/engine-sdk"
import { SEARCHES_MAX } from "./limits.ts"

export type Parameters = Readonly<Record<string, string>>
/** A mistake and its field. */
export interface Fault {
  readonly path: string
  readonly message: string
}
type Body = Readonly<Record<string, unknown>>

export const isObject = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && !Array.isArray(value)
export const isFault = (value: object): value is Fault =>
  "path" in value && "message" in value && Object.keys(value).length === 2 && typeof value.path === "string"

/** `null` counts as an absent parameter. */
export const parametersOf = (body: Body, path = ""): { readonly values: Parameters } | Fault => {
  const values = Object.create(null) as Record<string, string>
  for (const [name, value] of Object.entries(body)) {
    if (value === null) continue
    if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean")
      return { path: `${path}${name}`, message: "A text, a number or a boolean" }
    values[name] = String(value)
  }
  return { values }
}

interface Entries {
  readonly indexes: ReadonlyArray<string>
  readonly entries: ReadonlyArray<Parameters>
}
/**
 * The searches of a multi-search or federated search. Keys inside searches, which the tenant API accepts, are refused
 * because they would bypass the bearer's key.
 */
export const entriesOf = ({ searches }: Body): Entries | Fault => {
  if (!Array.isArray(searches) || searches.length === 0 || searches.length > SEARCHES_MAX)
    return { path: "searches", message: `A list of 1 to ${SEARCHES_MAX} searches` }
  const indexes: Array<string> = [],
    entries: Array<Parameters> = []
  for (const [i, search] of searches.entries()) {
    if (!isObject(search)) return { path: `searches[${i}]`, message: "An object" }
    const { index, collection: _collection, ...rest } = search
    if (typeof index !== "string" || index === "")
      return { path: `searches[${i}].index`, message: "The name of an index" }
    const key = Object.keys(rest).find((name) => name.toLowerCase().endsWith("-api-key"))
    if (key !== undefined)
      return { path: `searches[${i}].${key}`, message: "The gateway accepts one key, in `Authorization`" }
    const parameters = parametersOf(rest, `searches[${i}].`)
    if (isFault(parameters)) return parameters
    indexes.push(index)
    entries.push({ ...parameters.values, collection: index })
  }
  return { indexes, entries }
}

const between = (value: unknown, min: number, max: number): value is number =>
  typeof value === "number" && value >= min && value <= max
/** Half the Earth's circumference, so everything is within. */
const RADIUS_MAX_KM = 20_038
/** Plain digits, because filters and sorts do not accept exponents. */
const digits = (value: number): string => value.toFixed(9).replace(/\.?0+$/, "")

/** Decision: pinned documents must be within the radius too, unless the request says `filter_curated_hits: false`. */
export const geoSearchOf = (
  body: Body,
  { schema }: CollectionInfo,
  reachesField: (name: string) => boolean
): { readonly field: string; readonly values: Parameters } | Fault => {
  const { field, lat, lng, radius_km, ...rest } = body
  const points = schema.fields
    .filter(({ name, type }) => (type === "geopoint" || type === "geopoint[]") && reachesField(name))
    .map(({ name }) => name)
  if (typeof field !== "string" || !points.includes(field))
    return {
      path: "field",
      message:
        points.length === 0 ? "The index has no geopoint field" : `A geopoint field of the index: ${points.join(", ")}`
    }
  if (!between(lat, -90, 90)) return { path: "lat", message: "A number from -90 to 90" }
  if (!between(lng, -180, 180)) return { path: "lng", message: "A number from -180 to 180" }
  if (!between(radius_km, 0.001, RADIUS_MAX_KM))
    return { path: "radius_km", message: `A number from 0.001 to ${RADIUS_MAX_KM}` }
  const parameters = parametersOf(rest)
  if (isFault(parameters)) return parameters
  const { filter_by, sort_by, use_cache: _cache, ...others } = parameters.values
  if (filter_by !== undefined && !isClosedFilterText(filter_by))
    return { path: "filter_by", message: "Unbalanced parentheses" }
  const point = `${digits(lat)}, ${digits(lng)}`
  const filter = joinFilterTexts(`${field}:(${point}, ${digits(radius_km)} km)`, filter_by ?? "")
  if (!filter.ok) return { path: "filter_by", message: filter.error.message }
  return {
    field,
    values: {
      q: "*",
      filter_curated_hits: "true",
      ...others,
      filter_by: filter.value ?? "",
      sort_by: `${field}(${point}):asc${sort_by === undefined || sort_by === "" ? "" : `,${sort_by}`}`
    }
  }
}
