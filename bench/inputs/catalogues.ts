/**
 * Real catalogues stored next to the project (`../shared/data`), with queries drawn from their own titles: one to
 * four adjacent words, many of which are in most titles, the last often cut short, as while it is typed.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { makeRandom, type Random } from "../../fixtures/random.ts"
import { readLines } from "../harness/harness.ts"
import { Texts } from "./texts.ts"

interface Catalogue {
  readonly name: string
  readonly title: string
  readonly query_by: string
  readonly facet_by: string
  readonly default_sorting_field?: string
  readonly fields: ReadonlyArray<Readonly<Record<string, unknown>>>
}
const text = { type: "string", optional: true },
  value = { type: "string", facet: true, optional: true }
const all: ReadonlyArray<Catalogue> = [
  {
    name: "chorus_icecat",
    title: "title",
    query_by: "title,supplier,short_description",
    facet_by: "supplier,attr_t_product_colour",
    fields: [
      { name: "title", ...text },
      { name: "short_description", ...text },
      { name: "supplier", ...value },
      { name: "attr_t_product_colour", ...value },
      { name: "price", type: "int64", optional: true }
    ]
  },
  {
    name: "catalogue_goodbooks10k",
    title: "title",
    query_by: "title,authors",
    facet_by: "language_code,authors",
    default_sorting_field: "ratings_count",
    fields: [
      { name: "title", ...text },
      { name: "authors", ...value },
      { name: "language_code", ...value },
      { name: "ratings_count", type: "int64" },
      { name: "average_rating", type: "float", optional: true }
    ]
  },
  {
    name: "catalogue_world_cities",
    title: "name",
    query_by: "name,alternatenames",
    facet_by: "country,timezone",
    default_sorting_field: "population",
    fields: [
      { name: "name", ...text },
      { name: "alternatenames", ...text },
      { name: "country", ...value },
      { name: "timezone", ...value },
      { name: "population", type: "int64" }
    ]
  }
]
export const catalogueNames = ["chorus_icecat", "catalogue_goodbooks10k", "catalogue_world_cities"] as const

const data = new URL("../../../shared/data/", import.meta.url).pathname
const fileOf = (name: string): string => join(data, name, "docs.jsonl.gz")
/** The reason why the catalogue is missing, or undefined. */
export const catalogueMissing = (name: string): string | undefined =>
  existsSync(fileOf(name)) ? undefined : `the data ${name} is not beside the project (../shared/data)`

const WORDS_MAX = 4,
  CUT_SHARE = 0.4,
  WARM_MAX = 2_000
const queryOf = (random: Random, title: string): { readonly q: string; readonly isCut: boolean } => {
  const words = title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ["a"]
  const from = random.below(words.length)
  const taken = words.slice(from, from + 1 + random.below(WORDS_MAX))
  const last = [...taken[taken.length - 1]]
  const isCut = last.length > 1 && random.chance(CUT_SHARE)
  if (isCut) taken[taken.length - 1] = last.slice(0, 1 + random.below(last.length - 1)).join("")
  return { q: taken.join(" "), isCut }
}

/** Documents, schema and queries of one of the catalogues. */
export const catalogueInputs = async (
  name: string,
  { queryCount, seed }: { readonly queryCount: number; readonly seed: number }
) => {
  const catalogue = all.find((each) => each.name === name)
  if (catalogue === undefined) throw new Error(`There is no catalogue ${name}: ${catalogueNames.join(", ")}.`)
  const missing = catalogueMissing(name)
  if (missing !== undefined) throw new Error(missing)
  const lines = await readLines(fileOf(name))
  const titles = lines.map((line) => String((JSON.parse(line) as Record<string, unknown>)[catalogue.title] ?? ""))
  const { default_sorting_field, facet_by, fields, query_by } = catalogue
  const drawn = (part: string, count: number) => {
    const random = makeRandom(seed).fork(`${name} ${part}`)
    return Array.from({ length: count }, () => queryOf(random, random.pick(titles)))
  }
  const parameters = (queries: ReadonlyArray<{ readonly q: string }>) =>
    queries.map(({ q }) => ({ q, query_by, facet_by, per_page: 10 }))
  const measured = drawn("measured", queryCount)
  return {
    schema: { name, fields, ...(default_sorting_field === undefined ? {} : { default_sorting_field }) },
    documents: Texts.of(lines),
    queries: parameters(measured),
    warm: parameters(drawn("warm", Math.min(queryCount, WARM_MAX))),
    classes: measured.map(({ isCut }) => (isCut ? "last word cut" : "whole words"))
  }
}
