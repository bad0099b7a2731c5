/** Curation sets and their items (`docs/contract/curation.md#sets`). */
import { isObject } from "../documents/json.ts"
import { fail, invalid, ok, type Result } from "../errors.ts"
import type { CurationItem, CurationRule } from "../query/query-context.ts"
import { namedSets } from "./named-sets.ts"
import { BAD_REQUEST } from "./operation.ts"

const METHODS: ReadonlySet<string> = new Set(["equality", "jaccard", "vector_distance"])
const ACTIONS = [
  "includes",
  "excludes",
  "metadata",
  "filter_by",
  "sort_by",
  "remove_matched_tokens",
  "replace_query",
  "diversity"
] as const
const refuse = (message: string): Result<never> => fail(invalid(message))
type Raw = { readonly [key: string]: unknown }

const parseItem = (raw: unknown, pathId?: string): Result<CurationItem> => {
  if (!isObject(raw)) return refuse(BAD_REQUEST)
  const id = pathId ?? raw.id
  if (id === undefined) return refuse("Curation `id` not provided.")
  if (typeof id !== "string") return refuse(BAD_REQUEST)
  const rule = parseRule(raw.rule)
  if (!rule.ok) return rule
  if (!ACTIONS.some((action) => raw[action] !== undefined))
    return refuse(
      "Must contain one of: `includes`, `excludes`, `metadata`, `filter_by`, `sort_by`, `remove_matched_tokens`, `replace_query`."
    )
  const problem = listProblem(raw) ?? scalarProblem(raw) ?? diversityProblem(raw.diversity)
  if (problem !== undefined) return refuse(problem)
  const optional: Record<string, unknown> = {}
  for (const key of [
    "diversity",
    "effective_from_ts",
    "effective_to_ts",
    "filter_by",
    "metadata",
    "replace_query",
    "sort_by"
  ])
    if (raw[key] !== undefined) optional[key] = raw[key]
  return ok({
    ...optional,
    id,
    ...(rule.value === undefined ? {} : { rule: rule.value }),
    includes: ((raw.includes ?? []) as Array<{ id: string; position: number }>).map((include) => ({
      id: include.id,
      position: include.position
    })),
    excludes: ((raw.excludes ?? []) as Array<{ id: string }>).map((exclude) => ({ id: exclude.id })),
    filter_curated_hits: (raw.filter_curated_hits as boolean | undefined) ?? false,
    remove_matched_tokens: (raw.remove_matched_tokens as boolean | undefined) ?? raw.filter_by !== undefined,
    stop_processing: (raw.stop_processing as boolean | undefined) ?? true
  })
}
/** Only keys that are set are kept; a rule without any is dropped. */
const parseRule = (raw: unknown): Result<CurationRule | undefined> => {
  if (!isObject(raw)) return refuse("Missing `rule` definition.")
  const hasQuery = raw.query !== undefined && raw.match !== undefined
  if (raw.tags === undefined && raw.filter_by === undefined && !hasQuery)
    return refuse("The `rule` definition must contain either a `tags` or a `query` and `match`.")
  if (raw.match !== undefined && raw.query === undefined)
    return refuse("The `rule` definition must contain either a `tags` or a `query` and `match`.")
  if (raw.tags !== undefined && (!Array.isArray(raw.tags) || !raw.tags.every((tag) => typeof tag === "string")))
    return refuse("The `tags` value must be an array of strings.")
  for (const key of ["query", "match", "filter_by", "stemming_dictionary"])
    if (raw[key] !== undefined && typeof raw[key] !== "string") return refuse(BAD_REQUEST)
  for (const key of ["synonyms", "stem"])
    if (raw[key] !== undefined && typeof raw[key] !== "boolean")
      return refuse(`The \`${key}\` of a rule must be a boolean.`)
  const rule: Record<string, unknown> = {}
  for (const key of ["filter_by", "match", "query", "stem", "stemming_dictionary", "synonyms"])
    if (raw[key] !== undefined && raw[key] !== "") rule[key] = raw[key]
  if (Array.isArray(raw.tags) && raw.tags.length > 0) rule.tags = raw.tags
  return ok(Object.keys(rule).length === 0 ? undefined : (rule as CurationRule))
}
const listProblem = (raw: Raw): string | undefined => {
  if (raw.includes !== undefined) {
    if (!Array.isArray(raw.includes)) return "The `includes` value must be an array."
    for (const include of raw.includes as unknown[]) {
      if (!isObject(include)) return "The `includes` value must be an array of objects."
      if (include.id === undefined || include.position === undefined)
        return "Inclusion definition must define both `id` and `position` keys."
      if (typeof include.id !== "string") return "Inclusion `id` must be a string."
      if (!Number.isInteger(include.position)) return "Inclusion `position` must be an integer."
    }
  }
  if (raw.excludes === undefined) return undefined
  if (!Array.isArray(raw.excludes)) return "The `excludes` value must be an array."
  for (const exclude of raw.excludes as unknown[]) {
    if (!isObject(exclude)) return "The `excludes` value must be an array of objects."
    if (exclude.id === undefined) return "Exclusion definition must define an `id`."
    if (typeof exclude.id !== "string") return "Exclusion `id` must be a string."
  }
  return undefined
}
const scalarProblem = (raw: Raw): string | undefined => {
  if (raw.filter_by !== undefined && typeof raw.filter_by !== "string") return "The `filter_by` must be a string."
  if (raw.filter_by === "") return "The `filter_by` must be a non-empty string."
  if (raw.metadata !== undefined && !isObject(raw.metadata)) return "The `metadata` must be a JSON object."
  if (raw.remove_matched_tokens !== undefined && typeof raw.remove_matched_tokens !== "boolean")
    return "The `remove_matched_tokens` must be a boolean."
  if (raw.replace_query !== undefined && typeof raw.replace_query !== "string")
    return "The `replace_query` must be a string."
  if (raw.replace_query !== undefined && raw.remove_matched_tokens === true)
    return "Only one of `replace_query` or `remove_matched_tokens` can be specified."
  if (raw.stop_processing !== undefined && typeof raw.stop_processing !== "boolean")
    return "The `stop_processing` must be a boolean."
  if (raw.filter_curated_hits !== undefined && typeof raw.filter_curated_hits !== "boolean")
    return "The `filter_curated_hits` must be a boolean."
  if (raw.sort_by !== undefined && typeof raw.sort_by !== "string") return BAD_REQUEST
  for (const key of ["effective_from_ts", "effective_to_ts"])
    if (raw[key] !== undefined && !Number.isInteger(raw[key])) return BAD_REQUEST
  return undefined
}
const diversityProblem = (raw: unknown): string | undefined => {
  if (raw === undefined) return undefined
  const metrics = isObject(raw) ? raw.similarity_metric : undefined
  if (!Array.isArray(metrics) || metrics.length === 0)
    return "The `similarity_metric` of `diversity` must be an array of objects."
  for (const metric of metrics as unknown[]) {
    if (!isObject(metric) || typeof metric.field !== "string")
      return "The `similarity_metric` of `diversity` must be an array of objects."
    if (typeof metric.method !== "string" || !METHODS.has(metric.method))
      return `\`method\` not found: ${JSON.stringify(metric)}`
    if (metric.weight !== undefined && typeof metric.weight !== "number")
      return "The `weight` of a similarity metric must be a number."
  }
  return undefined
}

export const curationSets = namedSets("curation_set", "Curation index not found", parseItem)
