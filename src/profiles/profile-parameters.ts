/**
 * Applies a profile to the parameters of a search: policy, then profile, then what a client may still send. Pure.
 * Anything else a client sends is ignored, and listed in `explain`.
 */
import { fail, invalid, ok, type Result } from "@dowser/engine-sdk"
import { joinFilterTexts, type Parameters, PARAMETER_OWNERS } from "@dowser/engine-sdk/query"
import type { ProfileManifest } from "./manifest.ts"

/** Parameters that a client may send along with a profile. */
const OF_CLIENTS: ReadonlySet<string> = new Set([
  "q",
  "collection",
  "page",
  "per_page",
  "limit",
  "offset",
  "filter_by",
  "max_facet_values",
  "facet_query",
  "facet_query_num_typos",
  "group_by",
  "group_limit",
  "group_missing_values",
  "highlight_start_tag",
  "highlight_end_tag",
  "x_user_id",
  "x_anonymous_id",
  "x_surface",
  "x_device",
  "x_language",
  "x_country",
  "x_experiment_variant",
  "x_personalization_strength",
  "query_rewrite",
  "query_rewrite_min_found",
  "refinements",
  "enable_analytics",
  "analytics_tag",
  "use_cache",
  "cache_ttl",
  "debug",
  "preset"
])
/** Parameters that the profile itself reads. */
const OF_PROFILES: ReadonlySet<string> = new Set(["profile", "sort"])

export interface Ignored {
  readonly parameter: string
  readonly value: string
  readonly why: string
}
const IGNORED = "a profile decides it"
const VALUE_CHARACTERS_MAX = 200

const listed = (text: string): ReadonlyArray<string> =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "")

/** The fields that a search with a profile uses. */
export interface ProfileFields {
  readonly searchable: ReadonlyArray<string>
  readonly facets: ReadonlyArray<string>
  readonly highlight: ReadonlyArray<string>
}
const fieldsOfManifest = ({ facet_fields, highlight_fields, searchable_fields }: ProfileManifest): ProfileFields => ({
  searchable: searchable_fields,
  facets: facet_fields.map(({ field }) => field),
  highlight: highlight_fields
})

/** The id of the sort that a client selects, or of the default one; Invalid for one that the profile does not have. */
export const sortIdOf = (manifest: ProfileManifest, asked: string | undefined): Result<string | undefined> => {
  const id = asked === undefined || asked === "" ? manifest.default_sort_id : asked
  if (id === "") return ok(undefined)
  return manifest.sorts.some((sort) => sort.id === id)
    ? ok(id)
    : fail(invalid(`The profile has no sort \`${id.slice(0, 80)}\`.`, "sort"))
}

/** Policy and profile: the parameters under the client's. O(parameters). */
export const baseParameters = (
  manifest: ProfileManifest,
  fields: ProfileFields,
  policy: Parameters | undefined,
  sortId: string | undefined
): Parameters => {
  const { sort: _sort, ...own } = policy ?? {}
  const sort_by = manifest.sorts.find(({ id }) => id === sortId)?.sort_by
  return {
    ...fitting(own, fields.searchable.length),
    query_by: fields.searchable.join(","),
    facet_by: fields.facets.join(","),
    ...(sort_by === undefined ? {} : { sort_by }),
    ...(fields.highlight.length === 0 ? {} : { highlight_fields: fields.highlight.join(",") })
  }
}
/** Parameters with one value per field of `query_by`; all but weights may have a single one for all fields. */
const PER_FIELD: ReadonlySet<string> = new Set(["query_by_weights", "num_typos", "prefix", "infix"])
/** Drops lists for another number of fields, because they would make every search fail. */
const fitting = (policy: Parameters, fields: number): Parameters =>
  Object.fromEntries(
    Object.entries(policy).filter(([name, value]) => {
      if (!PER_FIELD.has(name)) return true
      const { length } = listed(value)
      return length === fields || (length === 1 && name !== "query_by_weights")
    })
  )

/** A page is never larger than the profile allows; a value that is not a number is kept, and refused later. */
const pageSizeOf = (manifest: ProfileManifest, base: Parameters, asked: Parameters): string | undefined => {
  const given = asked.per_page ?? asked.limit ?? base.per_page ?? base.limit
  const max = manifest.per_page_max
  if (given === undefined) return max < PAGE_BY_DEFAULT && !asksFacetValues(asked) ? String(max) : undefined
  if (!/^\d+$/.test(given)) return undefined
  return Number(given) > max || given !== asked.per_page ? String(Math.min(max, Number(given))) : undefined
}
const PAGE_BY_DEFAULT = 10
/** Whether facet values are requested; then a page is empty by default. */
const asksFacetValues = ({ facet_query }: Parameters): boolean => (facet_query ?? "") !== ""

export interface Profiled {
  readonly parameters: Parameters
  readonly ignored: ReadonlyArray<Ignored>
}
/**
 * The resulting parameters: `asked` are those of the request, of its key and of a preset that it names; `isFilterable`
 * returns why its filter is not allowed, if so. Invalid for a group or a filter by fields that the profile does not
 * list. O(parameters).
 */
export const profiledParameters = (
  manifest: ProfileManifest,
  fields: ProfileFields,
  base: Parameters,
  asked: Parameters,
  isFilterable: (text: string) => Result<unknown>
): Result<Profiled> => {
  const parameters: Record<string, string> = { ...base }
  const ignored: Array<Ignored> = []
  for (const name in asked) {
    const value = asked[name]!
    if (OF_CLIENTS.has(name)) parameters[name] = value
    else if (!OF_PROFILES.has(name) && Object.hasOwn(PARAMETER_OWNERS, name))
      ignored.push({ parameter: name, value: value.slice(0, VALUE_CHARACTERS_MAX), why: IGNORED })
  }
  const { filter_by } = asked
  if (filter_by !== undefined && filter_by.trim() !== "") {
    const filterable = isFilterable(filter_by)
    if (!filterable.ok) return fail(invalid(filterable.error.message, "filter_by"))
  }
  const { group_by } = asked
  const foreign = group_by === undefined ? undefined : listed(group_by).find((name) => !fields.facets.includes(name))
  if (foreign !== undefined)
    return fail(
      invalid(`The profile groups only by its facets, and \`${foreign.slice(0, 80)}\` is not one of them.`, "group_by")
    )
  const size = pageSizeOf(manifest, base, asked)
  if (size !== undefined) parameters.per_page = size
  if (filter_by === undefined || base.filter_by === undefined) return ok({ parameters, ignored })
  const filter = joinFilterTexts(filter_by, base.filter_by)
  return filter.ok ? ok({ parameters: { ...parameters, filter_by: filter.value ?? "" }, ignored }) : filter
}

/** A search with an unpublished manifest: policy and profile, and the filter that nothing bypasses. */
export const manifestParameters = (
  manifest: ProfileManifest,
  policy?: Parameters
): { readonly parameters: Parameters; readonly fixedFilter: string | undefined } => {
  const sort = sortIdOf(manifest, undefined)
  return {
    parameters: baseParameters(manifest, fieldsOfManifest(manifest), policy, sort.ok ? sort.value : undefined),
    fixedFilter: manifest.fixed_filter_by.trim() === "" ? undefined : manifest.fixed_filter_by
  }
}
