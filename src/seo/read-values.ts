/**
 * Values of a rule's field and the documents of each, as visitors find them: the collection's exclusion rules apply.
 * The values take one engine call; their documents are read in batches with a pause in between, so that concurrent
 * searches wait for a few plans at most.
 */
import { Effect } from "effect"
import type { FacetCount, SearchAnswer } from "@dowser/engine-sdk"
import { isAway } from "@dowser/engine-sdk/operations"
import { JobFailed } from "../jobs/job-worker.ts"
import type { RankFailure } from "../search/ranked.ts"
import type { Search } from "../search/search.ts"
import { valueFilter } from "../suggestions/filter-text.ts"
import type { CountedValue } from "./decide-pages.ts"
import { plainText } from "./placeholders.ts"
import { FIELDS_READ, type Facts, factsOf, LOOKED_AT } from "./page-facts.ts"
import { VALUE_BYTES_MAX, VALUES_MAX } from "./schema.ts"
import type { StoredRule } from "./rules-repository.ts"

const ATTEMPTS_MAX = 5
/** Values whose documents are requested in one call: some milliseconds of the searching thread. */
export const BATCH = 5
const REST = 0.5
const REST_MAX_MS = 50

type Asked = Pick<StoredRule, "collection" | "facet_field" | "organization_id">
type Browsed = Omit<Parameters<Search["Service"]["browse"]>[0], "signal" | "collection" | "organizationId">

/**
 * Undefined if the search is refused, so that a value that no filter can express does not affect the others. An
 * unavailable engine is retried; then the job fails.
 */
const browsed = Effect.fnUntraced(function* (
  search: Search["Service"],
  { collection, organization_id: organizationId }: Asked,
  asked: Browsed
): Effect.fn.Return<ReadonlyArray<SearchAnswer | undefined>, JobFailed> {
  for (let attempt = 1; ; attempt++) {
    const found = yield* Effect.promise((signal) => search.browse({ organizationId, collection, ...asked, signal }))
    const answers = found.ok ? found.value : []
    const failures = found.ok ? answers.flatMap((each) => (each.ok ? [] : [each.error])) : [found.error]
    const failure = failures.find((each) => !isOfSearch(each)) ?? (found.ok ? undefined : found.error)
    if (failure === undefined) return answers.map((each) => (each.ok ? each.value : undefined))
    if ("_tag" in failure || !isAway(failure) || attempt >= ATTEMPTS_MAX)
      return yield* new JobFailed({ message: failure.message })
    yield* Effect.sleep(100 * 2 ** attempt)
  }
})

const isOfSearch = (failure: RankFailure): boolean => !("_tag" in failure) && failure.kind === "Invalid"

interface Values {
  readonly values: ReadonlyArray<CountedValue>
  /** Too long for a page, not expressible in a filter, or with the fewest documents beyond `VALUES_MAX`. */
  readonly left_out: number
}
const isNameable = (field: string, value: string): boolean =>
  plainText(value) !== "" &&
  !value.includes("\u0000") &&
  value.isWellFormed() &&
  Buffer.byteLength(value) <= VALUE_BYTES_MAX &&
  valueFilter(field, value) !== undefined

/** Sorted by number of documents, most first. */
export const readValues = Effect.fnUntraced(function* (
  search: Search["Service"],
  asked: Asked
): Effect.fn.Return<Values, JobFailed> {
  const { facet_field } = asked
  const [answer] = yield* browsed(search, asked, {
    searches: [{ facet_by: facet_field, facet_strategy: "exhaustive", per_page: "0" }],
    limit: 0,
    facetValuesMax: VALUES_MAX + 1
  })
  if (answer === undefined) return yield* new JobFailed({ message: `\`${facet_field}\` is no facet field any more.` })
  const counts = countsOf(answer, facet_field)
  const nameable = counts.filter(({ value }) => isNameable(facet_field, value))
  const values = nameable.slice(0, VALUES_MAX).map(({ count, value }) => ({ value, count }))
  return { values, left_out: counts.length - values.length }
})
const countsOf = (answer: SearchAnswer, field: string): FacetCount["counts"] =>
  (answer.facet_counts.find(({ field_name }) => field_name === field)?.counts ?? []).filter(({ count }) => count > 0)

/** Facts about the documents of some values; undefined if none are found. `hasPrices`: `price` is a facet. */
export const readFacts = Effect.fnUntraced(function* (
  search: Search["Service"],
  asked: Asked,
  values: ReadonlyArray<CountedValue>,
  hasPrices: boolean
): Effect.fn.Return<ReadonlyArray<Facts | undefined>, JobFailed> {
  const began = performance.now()
  const answers = yield* browsed(search, asked, {
    searches: values.map(({ count, value }) => ({
      filter_by: valueFilter(asked.facet_field, value)!,
      include_fields: FIELDS_READ,
      per_page: String(LOOKED_AT),
      // With fewer documents every price is read.
      ...(hasPrices && count > LOOKED_AT ? { facet_by: "price", max_facet_values: "1" } : {})
    })),
    limit: LOOKED_AT
  })
  yield* Effect.sleep(Math.min(REST_MAX_MS, REST * (performance.now() - began)))
  return answers.map((answer, i) => {
    const documents = (answer?.hits ?? []).map(({ document }) => document as Readonly<Record<string, unknown>>)
    if (answer === undefined || documents.length === 0) return undefined
    const prices = answer.facet_counts.find(({ field_name }) => field_name === "price")?.stats
    return factsOf(values[i]!.count, documents, prices)
  })
})
