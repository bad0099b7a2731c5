/**
 * What the named rankings need from a request (`ranking: "relevance"`): the query as written, and the names of
 * `query_by` with their weights, before wildcards and objects are resolved to fields.
 */
import type { RelevanceQuery, RelevanceUnit } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { listParameter, type Parameters } from "./parameters.ts"
import { fieldNamed, searchableFields } from "./query-context.ts"
import { isInteger } from "./text-scanner.ts"

/**
 * Weight of the first of several names if the request gives none; it is usually the title of a product or an article (3
 * to 6 are equally good).
 */
const FIRST_WEIGHT = 4
/** The weight of a name with weight 0, as a share of the least positive weight. */
const ZERO_SHARE = 0.1

export const rankingOf = (parameters: Parameters): RelevanceQuery["ranking"] | undefined => {
  const name = parameters.ranking
  // Unknown names are ignored, like other unknown values of enumerations (`docs/contract/search.md#parameters`).
  return name === "relevance" || name === "bm25" ? name : undefined
}

/**
 * Decision: given weights keep their ratios, scaled so that the least is 1, because the saturation of BM25F is in units
 * of plain text; without weights the first name counts as a title.
 */
const weightsOf = (parameters: Parameters, count: number): ReadonlyArray<number> => {
  const given = listParameter(parameters, "query_by_weights").filter(isInteger).map(Number)
  if (given.length !== count) return Array.from({ length: count }, (_, i) => (i === 0 && count > 1 ? FIRST_WEIGHT : 1))
  const least = Math.min(...given.filter((weight) => weight > 0))
  return given.map((weight) => (weight > 0 ? weight / least : ZERO_SHARE))
}

/** `visible`: the fields that the caller may search, unless all are visible. */
export const relevanceUnits = (
  parameters: Parameters,
  schema: CollectionSchema,
  visible: CollectionSchema = schema
): ReadonlyArray<RelevanceUnit> => {
  const names = listParameter(parameters, "query_by")
  const weights = weightsOf(parameters, names.length)
  const units = new Map<string, RelevanceUnit>()
  names.forEach((name, i) => {
    const weight = weights[i]
    if (units.has(name)) return
    if (name.endsWith("*")) {
      const prefix = name.slice(0, -1)
      const matching = searchableFields(schema).filter((field) => field.name.startsWith(prefix) && isText(field.type))
      // An index of all fields with the prefix would contain the words of hidden fields.
      if (matching.some(({ name: field }) => fieldNamed(visible, field) === undefined)) {
        for (const field of matching)
          if (fieldNamed(visible, field.name) !== undefined && field.index && !units.has(field.name))
            units.set(field.name, { name: field.name, locale: field.locale, weight })
        return
      }
      const first = matching[0]
      if (first !== undefined) units.set(name, { name, prefix, locale: first.locale, weight })
      return
    }
    const field = fieldNamed(visible, name)
    if (field === undefined || !field.index) return
    if (field.type === "object" || field.type === "object[]")
      units.set(name, { name, prefix: `${name}.`, locale: field.locale, weight })
    else if (isText(field.type)) units.set(name, { name, locale: field.locale, weight })
  })
  return [...units.values()]
}
const isText = (type: string): boolean => type === "string" || type === "string[]"

/** The query without exclusions (`-word`, `-"a phrase"`), quotation marks and stop words. */
export const askedText = (q: string, stopwords: ReadonlySet<string>, words_max = Infinity): string => {
  const without = q
    .replace(/(^|\s)-"[^"]*"/g, " ")
    .replace(/(^|\s)-\S+/g, " ")
    .replaceAll('"', " ")
  const words =
    stopwords.size === 0 ? undefined : without.split(/\s+/).filter((word) => !stopwords.has(word.toLowerCase()))
  if (without.length <= words_max * 2) return words === undefined ? without : words.join(" ")
  return (words ?? without.split(/\s+/)).slice(0, words_max).join(" ")
}

/** undefined unless a named ranking was requested and the query has text to rank by. */
export const relevanceQuery = (
  parameters: Parameters,
  schema: CollectionSchema,
  text: string,
  variants: ReadonlyArray<ReadonlyArray<string>>,
  dropTokensThreshold: number,
  visible: CollectionSchema = schema
): RelevanceQuery | undefined => {
  const ranking = rankingOf(parameters)
  if (ranking === undefined) return undefined
  const units = relevanceUnits(parameters, schema, visible)
  if (units.length === 0) return undefined
  const typos = listParameter(parameters, "num_typos")
  return {
    ranking,
    text,
    units,
    variants: variants.map((tokens) => tokens.join(" ")),
    corrects: ranking === "relevance" && (typos.length === 0 || typos.some((count) => count !== "0")),
    completes:
      ranking === "relevance" &&
      (parameters.prefix === undefined || listParameter(parameters, "prefix").includes("true")),
    mayDropWords: dropTokensThreshold > 0
  }
}
