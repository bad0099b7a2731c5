/** Converts a program's search options to the engine's parameters, and its answer to what a program reads. Pure. */
import type { SearchExtras, Trace } from "../pipeline/mod.ts"
import type { FacetCount, Hit, SearchAnswer } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { searchableFields } from "../query/query-context.ts"
import type { Stored } from "./document-types.ts"

/** Field names of the document, for completion in editors; any other name (a path, a pattern) is also allowed. */
export type FieldName<D> = (keyof D & string) | (string & {})

export interface SearchOptions<D, F extends string = string> {
  /** `price:<100 && brand:[Nike, Puma]`: the filter grammar of the reference engine. */ readonly filter?: string
  /** Fields whose values are counted over all hits, optionally in ranges: `price(cheap:[0, 50], dear:[50, 500])`. */
  readonly facets?: ReadonlyArray<F | FieldName<D>>
  /** `price:asc,rating:desc`; at most three keys. Default: by relevance. */ readonly sort?: string
  /** From 1. */ readonly page?: number
  /** 0 to 250; default 10. */ readonly perPage?: number
  /** Fields in which words are searched, the heaviest first. Default: all text fields, `title` or `name` first. */
  readonly queryBy?: ReadonlyArray<FieldName<D>>
  /**
   * Default: `relevance` (better by measurement); `compatible` scores as the reference engine does; `bm25` is the plain
   * baseline.
   */
  readonly ranking?: "relevance" | "compatible" | "bm25"
  /** Segments of the visitor, for rules that apply only to some. */ readonly device?: "desktop" | "mobile" | "tablet"
  /** `en`, `en-GB`. */ readonly language?: string
  readonly country?: string
  /** `false`: search as if there were no rules, for comparison. */ readonly rules?: false
  /** Collect moves and parts of scores in the `trace`. */ readonly explain?: boolean
  /** Cancels the search, which then throws TimedOut. */ readonly signal?: AbortSignal
  /**
   * Any search parameter of the engine by its wire name: `{ group_by: "brand", num_typos: 1 }`. Overrides the other
   * options.
   */
  readonly parameters?: {
    readonly [name: string]: string | number | boolean
  }
}

const QUERY_FIELDS_MAX = 100
/**
 * Decision: a field with such a name is what people search for first; the relevance ranking counts the first field
 * fourfold.
 */
const TITLES = ["title", "name"]
/** Text fields of a collection in the order in which a search without `queryBy` uses them; at most 100. */
const defaultQueryBy = (schema: CollectionSchema): ReadonlyArray<string> => {
  const names = searchableFields(schema)
    .filter(({ index, type }) => index && (type === "string" || type === "string[]"))
    .map(({ name }) => name)
  const title = TITLES.find((name) => names.includes(name))
  return (title === undefined ? names : [title, ...names.filter((name) => name !== title)]).slice(0, QUERY_FIELDS_MAX)
}

export const parametersOf = <D>(
  q: string,
  options: SearchOptions<D>,
  schema: CollectionSchema
): { readonly [name: string]: string | number | boolean } => {
  const { facets, filter, page, parameters, perPage, queryBy, ranking = "relevance", sort } = options
  return {
    q,
    query_by: (queryBy ?? defaultQueryBy(schema)).join(","),
    ...(filter === undefined ? {} : { filter_by: filter }),
    ...(facets === undefined || facets.length === 0 ? {} : { facet_by: facets.join(",") }),
    ...(sort === undefined ? {} : { sort_by: sort }),
    ...(page === undefined ? {} : { page }),
    ...(perPage === undefined ? {} : { per_page: perPage }),
    ...(ranking === "compatible" ? {} : { ranking }),
    ...parameters
  }
}

export interface SearchHit<D> {
  readonly document: Stored<D>
  /** Higher is better; comparable within one answer. 0 if the search has no words. */
  readonly score: number
  /** By field: what matched, with marks around it. */ readonly highlight: Readonly<Record<string, unknown>>
}
export interface FacetValue {
  readonly value: string
  readonly count: number
}
/** `price` of `price(cheap:[0, 50])`. */
export type FacetName<F> = F extends `${infer Name}(${string}` ? Name : F
/**
 * A page, with what rules add to it: a `redirect` (then nothing was searched), `banners`, `suggestions`,
 * `facet_suggestions`; absent if no such rule fired.
 */
export interface SearchPage<D, F extends string = string> extends SearchExtras {
  /** Number of all matches, not only those of the page. */ readonly found: number
  readonly hits: ReadonlyArray<SearchHit<D>>
  /** By field, most frequent first. */ readonly facets: { readonly [K in F]: ReadonlyArray<FacetValue> }
  /** The engine's complete answer: groups, facet statistics, distances, what matched. */ readonly answer: SearchAnswer
  /** Which rules fired, what each stage moved, and microseconds; undefined before the first document. */
  readonly trace: Trace | undefined
}
/** Scores of the named rankings are in millionths, as integers. */
const SCORE_UNIT = 1e6
interface PageParts {
  readonly answer: SearchAnswer
  readonly extras: SearchExtras
  readonly trace: Trace | undefined
}
/** `parameters` are those of the answer: they determine which facets were requested and what a score is. */
export const pageOf = <D, F extends string>(
  { answer, extras, trace }: PageParts,
  parameters: { readonly [name: string]: unknown },
  facets: ReadonlyArray<string>
): SearchPage<D, F> => {
  const unit = parameters.ranking === "relevance" || parameters.ranking === "bm25" ? SCORE_UNIT : 1
  const asked = facets.map((facet): [string, ReadonlyArray<FacetValue>] => [facet.split("(", 1)[0], []])
  const counted = answer.facet_counts.map((facet): [string, ReadonlyArray<FacetValue>] => [
    facet.field_name,
    valuesOf(facet)
  ])
  return {
    ...extras,
    trace,
    found: answer.found,
    hits: (answer.hits ?? []).map((hit) => hitOf<D>(hit, unit)),
    facets: Object.fromEntries([...asked, ...counted]) as SearchPage<D, F>["facets"],
    answer
  }
}
const hitOf = <D>({ document, highlight, text_match = 0n }: Hit, unit: number): SearchHit<D> => ({
  document: document as Stored<D>,
  score: Number(text_match) / unit,
  highlight
})
const valuesOf = (facet: FacetCount): ReadonlyArray<FacetValue> =>
  facet.counts.map(({ count, value }) => ({ value, count }))
/** The answer of a collection that has received no documents and therefore has no fields yet. */
export const emptyParts = (collection: string, q: string, perPage: number): PageParts => ({
  answer: {
    found: 0,
    out_of: 0,
    page: 1,
    hits: [],
    facet_counts: [],
    search_cutoff: false,
    request_params: { collection_name: collection, first_q: q, per_page: perPage, q }
  },
  extras: {},
  trace: undefined
})
