/** Requests to the cluster that decide which values of a facet are shown, if the counts alone do not. */
import { byPlace, pickByBatch, placesAmong, type Age } from "../compat/value-age.ts"
import { BATCH_DOCS } from "../compat/batch-order.ts"
import { flatten } from "../documents/mod.ts"
import { ok, type Result } from "../errors.ts"
import type { FacetRequest, SearchPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { compareCounts } from "../search/facets/facet-rows.ts"
import type { Bucket, FacetRow } from "./aggregations.ts"
import { FACET_VALUES_MAX } from "./capabilities.ts"
import type { ClusterClient } from "./client.ts"
import { compileAllValues, facetSlot } from "./compile-facets.ts"
import { allOf } from "./compile-filter.ts"
import type { Entry } from "./directory.ts"
import { KEPT_SMALL } from "./mapping.ts"
import { ownFilter } from "./placement.ts"
import { documentOf } from "./stored-form.ts"
import { askAll, type Found, type SearchResponse } from "./trips.ts"
import { wholeText } from "./vector-text.ts"

/** Maximum tied values that are ordered by age; with more, the order of display decides. */
const TIED_MAX = 1_000

export class FacetTrips {
  readonly schema: CollectionSchema
  readonly plan: SearchPlan
  readonly found: Found
  readonly #client: ClusterClient
  readonly #left: () => number
  constructor(client: ClusterClient, { record }: Entry, plan: SearchPlan, found: Found, left: () => number) {
    this.#client = client
    this.schema = record.schema
    this.plan = plan
    this.found = found
    this.#left = left
  }
  async #ask(body: object): Promise<Result<SearchResponse>> {
    const left_ms = this.#left()
    const answered = await askAll(this.#client, this.found.requests.scope.placement, [body], Math.max(1, left_ms))
    return answered.ok ? ok(answered.value[0]) : answered
  }
  get #own(): object {
    return ownFilter(this.found.requests.scope.placement)
  }
  /** All values of a facet among the matches. */
  async allValues(request: FacetRequest, slot: string): Promise<Result<ReadonlyArray<Bucket>>> {
    const { requests, words } = this.found
    const values = compileAllValues(requests.scope, this.plan, request, slot)
    const answered = await this.#ask(requests.facets(words, { values }, this.#left()))
    return answered.ok ? ok(answered.value.aggregations?.values?.buckets ?? []) : answered
  }
  /** By key: the stored text of the first inserted document that was found and has the value. */
  async firstTexts(
    field: string,
    keys: ReadonlyArray<string | number>
  ): Promise<Result<ReadonlyMap<string | number, string>>> {
    const { requests, words } = this.found
    const slot = facetSlot(requests.scope, field)
    if (slot === undefined) return ok(new Map())
    const first = { top_hits: { size: 1, sort: [{ seq: "asc" }], _source: ["d", "e"] } }
    const values = { terms: { field: slot, include: keys, size: keys.length }, aggs: { first } }
    const answered = await this.#ask(requests.facets(words, { values }, this.#left()))
    if (!answered.ok) return answered
    const buckets = answered.value.aggregations?.values?.buckets ?? []
    return ok(
      new Map(
        buckets.flatMap(({ first: hits, key }) =>
          (hits?.hits.hits ?? []).map(({ _source: { d, e } }) => [key, e === undefined ? d : wholeText(d, e)])
        )
      )
    )
  }
  /** Number of documents of each value in the entire collection. */
  async totals(field: string): Promise<Result<ReadonlyMap<string | number, number>>> {
    const slot = facetSlot(this.found.requests.scope, field)!
    const answered = await this.#ask({
      query: this.#own,
      size: 0,
      aggs: { values: { terms: { field: slot, size: FACET_VALUES_MAX } } }
    })
    if (!answered.ok) return answered
    const buckets = answered.value.aggregations?.values?.buckets ?? []
    return ok(new Map(buckets.map(({ doc_count, key }) => [key, doc_count])))
  }
  /** Picks `wanted` of equally frequent values by when they were added or last changed (`compat/value-age.ts`). */
  async byAge(
    field: string,
    tied: ReadonlyArray<FacetRow>,
    wanted: number,
    age: Age
  ): Promise<Result<ReadonlyArray<FacetRow>>> {
    if (tied.length > TIED_MAX)
      return ok([...tied].sort((a, b) => compareCounts(a.value, a.count, b.value, b.count)).slice(0, wanted))
    const slot = facetSlot(this.found.requests.scope, field)!
    const keys = tied.map(({ key }) => key)
    const seq = { [age === "born" ? "min" : "max"]: { field: "seq" } }
    const answered = await this.#ask({
      query: allOf([this.#own, { terms: { [slot]: keys } }]),
      size: 0,
      aggs: { values: { terms: { field: slot, include: keys, size: keys.length }, aggs: { seq } } }
    })
    if (!answered.ok) return answered
    const buckets = answered.value.aggregations?.values?.buckets ?? []
    const numbers = new Map(buckets.map(({ key, seq: number }) => [key, number?.value ?? 0]))
    const batches = keys.map((key) => Math.floor((numbers.get(key) ?? 0) / BATCH_DOCS))
    const { atEdge, edge, picked, room } = pickByBatch(batches, wanted, age)
    const sure = picked.map((i) => tied[i])
    if (room === 0) return ok(sure)
    const places = await this.#placesIn(field, slot, edge)
    if (!places.ok) return places
    const chosen = byPlace(atEdge, (i) => places.value.get(tied[i].value) ?? 0, age).slice(0, room)
    return ok([...sure, ...chosen.map((i) => tied[i])])
  }
  /** The first position of each value within a batch of documents. */
  async #placesIn(field: string, slot: string, batch: number): Promise<Result<ReadonlyMap<string, number>>> {
    const range = { gte: batch * BATCH_DOCS, lt: (batch + 1) * BATCH_DOCS }
    const answered = await this.#ask({
      query: allOf([this.#own, { range: { seq: range } }, { exists: { field: slot } }]),
      size: BATCH_DOCS,
      sort: [{ seq: "asc" }],
      _source: KEPT_SMALL,
      track_total_hits: false
    })
    if (!answered.ok) return answered
    const stored = (answered.value.hits?.hits ?? []).map(({ _source }) => _source)
    const valuesOf = (at: number): ReadonlyArray<string> => {
      const value = flatten(this.schema, documentOf(stored[at])).get(field)
      return (Array.isArray(value) ? value : [value]).map(String)
    }
    return ok(
      placesAmong(
        stored.map(({ seq }) => seq),
        valuesOf
      )
    )
  }
}
