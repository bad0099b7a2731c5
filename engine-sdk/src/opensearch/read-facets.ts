/**
 * Reads the facets that the cluster counted (`docs/contract/facets.md#counts`). If the cut at `max_facet_values` falls
 * among ties, or only the most frequent values of the collection are examined, further requests decide.
 */
import { chooseByBits, chooseByHash, cutThrough, goesByAge } from "../compat/facet-cut.ts"
import { ok, type Result } from "../errors.ts"
import { floatText } from "../index/value-builder.ts"
import { compareUtf8 } from "../index/bytes.ts"
import type { FacetCount, FacetRequest, SearchPlan } from "../plan.ts"
import type { CollectionSchema } from "../schema.ts"
import { matchingValues } from "../search/facets/facet-query.ts"
import { compareCounts } from "../search/facets/facet-rows.ts"
import { sumOf } from "../search/facets/numeric-stats.ts"
import { highlightTokens } from "../search/highlight/highlight-text.ts"
import type { Aggregation, Bucket, FacetRow } from "./aggregations.ts"
import { clusterFacets, facetSlot, isAsked, isMatchAll, lookedAt, looksAtAll } from "./compile-facets.ts"
import { parentsOf } from "./facet-parents.ts"
import { FacetTrips } from "./facet-trips.ts"
import { groupsIn } from "./groups.ts"

/** From this many matches on, only the most frequent values of a collection are examined, unless there are many. */
const LARGE_RESULT = 1_000,
  FEW_VALUES = 250

/** The counts of one facet. */
interface Counted {
  readonly rows: ReadonlyArray<FacetRow>
  /** Whether these are all rows. */ readonly isWhole: boolean
  readonly distinct: number
  readonly stats: object
}
interface Shown {
  readonly rows: ReadonlyArray<FacetRow>
  readonly stats: object
  readonly total: number
}

/** The facets as the contract shows them, in the order of the requests that the cluster counts. `all`: documents. */
export const readFacets = async (trips: FacetTrips, all: number): Promise<Result<FacetCount[]>> => {
  const { plan } = trips
  const facets: FacetCount[] = []
  for (const [i, request] of clusterFacets(plan).entries()) {
    const counted = countedIn(trips, request, i)
    const field = new FacetReading(trips, request, counted, all)
    const read = await field.read()
    if (!read.ok) return read
    facets.push(read.value)
  }
  return ok(facets)
}
const typeOf = (schema: CollectionSchema, name: string): string =>
  (schema.fields.find((field) => field.name === name)?.type ?? "").replace("[]", "")
const countedIn = ({ found, plan, schema }: FacetTrips, { field }: FacetRequest, i: number): Counted => {
  const own = found.aggregations?.[`f${i}`]
  const rows = rowsOf(plan, own?.buckets ?? [], typeOf(schema, field))
  const distinct = Math.max(rows.length, found.aggregations?.[`d${i}`]?.value ?? 0)
  const stats = statsOf(found.aggregations?.[`s${i}`])
  return { rows, distinct, stats, isWhole: (own?.sum_other_doc_count ?? 0) === 0 && rows.length >= distinct }
}
const statsOf = (stats: Aggregation | undefined): object =>
  stats === undefined || (stats.count ?? 0) === 0
    ? {}
    : { min: stats.min, max: stats.max, sum: stats.sum, avg: stats.avg }
/** Numbers that are shown as the same text are one value. */
const rowsOf = (plan: SearchPlan, buckets: ReadonlyArray<Bucket>, type: string): FacetRow[] => {
  const rows = new Map<string, FacetRow>()
  for (const bucket of buckets) {
    const { key, key_as_string, by } = bucket
    const value =
      typeof key === "number" && type === "float"
        ? floatText(key)
        : type === "bool"
          ? (key_as_string ?? String(key))
          : String(key)
    const known = rows.get(value)
    const count = groupsIn(plan, bucket) + (known?.count ?? 0)
    if (count > 0) rows.set(value, { value, key, count, sibling: by?.value ?? known?.sibling ?? 0 })
  }
  return [...rows.values()]
}
const countOf = ({ count }: FacetRow): number => count
const textOf = ({ value }: FacetRow): string => value

class FacetReading {
  readonly #trips: FacetTrips
  readonly #request: FacetRequest
  readonly #counted: Counted
  readonly #all: number
  readonly #type: string
  constructor(trips: FacetTrips, request: FacetRequest, counted: Counted, all: number) {
    this.#trips = trips
    this.#request = request
    this.#counted = counted
    this.#all = all
    this.#type = typeOf(trips.schema, request.field)
  }
  async read(): Promise<Result<FacetCount>> {
    const { plan, schema } = this.#trips
    const { field } = this.#request
    const { facetQuery } = plan
    const rows = await this.#rows()
    if (!rows.ok) return rows
    const matched =
      facetQuery !== undefined && isAsked(plan, field)
        ? matchingValues(schema, field, rows.value.map(textOf), facetQuery)
        : undefined
    const kept = matched === undefined ? rows.value : rows.value.filter(({ value }) => matched.has(value))
    const shown = await this.#shown(kept, matched !== undefined)
    if (!shown.ok) return shown
    const parents = await parentsOf(this.#trips, this.#request, shown.value.rows)
    if (!parents.ok) return parents
    return ok({
      field_name: field,
      sampled: false,
      counts: shown.value.rows.map(({ value, count }) => {
        const found = matched?.get(value)
        const { startTag, endTag, bytes_max } = plan.highlight
        const highlighted =
          found === undefined
            ? value
            : highlightTokens(value, found.spans, found.matcher, { startTag, endTag, bytesMax: bytes_max })
        return { value, highlighted, count, ...parents.value.get(value) }
      }),
      stats: { ...shown.value.stats, total_values: shown.value.total }
    })
  }

  /** All values found if the choice depends on them, else at least those that may be shown. */
  async #rows(): Promise<Result<ReadonlyArray<FacetRow>>> {
    const { found, plan } = this.#trips
    const { isWhole, rows } = this.#counted
    const { order, ranges } = this.#request
    const slot = facetSlot(found.requests.scope, this.#request.field)
    const byTop = this.#byTopValues
    const hasRanges = ranges.length > 0
    const isComplete = hasRanges
      ? !byTop
      : isWhole ||
        order.kind === "alpha" ||
        isAsked(plan, this.#request.field) ||
        !(byTop && !isMatchAll(plan) ? this.#counted.distinct > lookedAt(plan, this.#request) : this.#endsInTie)
    if (isComplete || slot === undefined) return ok(rows)
    const all = await this.#trips.allValues(this.#request, slot)
    return all.ok ? ok(rowsOf(plan, all.value, this.#type)) : all
  }
  /** Whether values that were not returned may be as frequent as the last one that may be shown. */
  get #endsInTie(): boolean {
    const { rows } = this.#counted
    const counts = rows.map(countOf).sort((a, b) => b - a)
    const edge = counts[this.#trips.plan.facetValuesMax - 1]
    return edge !== undefined && edge === counts.at(-1)
  }
  /**
   * Decision: with `top_values`, and under `automatic` for large results, only the values that are most frequent in the
   * entire collection are examined, and sums and ranges cover only those (`search/facets/facets.ts`).
   */
  get #byTopValues(): boolean {
    const { found, plan } = this.#trips
    const { order, strategy } = this.#request
    if (looksAtAll(plan, this.#request)) return false
    if (strategy === "top_values" || isMatchAll(plan) || order.kind === "alpha") return true
    const isRanged = this.#request.ranges.length > 0
    const isFew = !isRanged && this.#counted.distinct < FEW_VALUES
    return found.total > LARGE_RESULT && (isFew || found.total * 2 > this.#all)
  }
  async #shown(rows: ReadonlyArray<FacetRow>, isMatched: boolean): Promise<Result<Shown>> {
    const { plan } = this.#trips
    const { order, ranges } = this.#request
    const byTop = this.#byTopValues
    const looked = byTop ? await this.#topValues([...rows]) : ok(rows)
    if (!looked.ok) return looked
    const isNumeric = /^(int|float)/.test(this.#type)
    const stats =
      byTop && isNumeric && Object.keys(this.#counted.stats).length > 0
        ? { ...this.#counted.stats, ...sumOf(looked.value) }
        : this.#counted.stats
    const own = ranges.length > 0 && byTop ? inRanges(ranges, looked.value) : looked.value
    const picked = ranges.length > 0 ? ok(own) : await this.#cut([...own], plan.facetValuesMax, countOf, byTop)
    if (!picked.ok) return picked
    const sorted = [...picked.value]
      .sort((a, b) => compareCounts(a.value, a.count, b.value, b.count))
      .slice(0, plan.facetValuesMax)
    const isCounted = isMatched || ranges.length > 0 || byTop
    const total = isCounted ? own.length : Math.max(own.length, this.#counted.distinct)
    return ok({ rows: ordered(sorted, order), stats, total })
  }
  async #topValues(rows: FacetRow[]): Promise<Result<ReadonlyArray<FacetRow>>> {
    const { plan } = this.#trips
    const { order } = this.#request
    const most = lookedAt(plan, this.#request)
    if (rows.length <= most) return ok(rows)
    if (order.kind === "alpha") return ok(ordered(rows, order).slice(0, most))
    if (isMatchAll(plan)) return this.#cut(rows, most, countOf, false, "changed")
    const totals = await this.#trips.totals(this.#request.field)
    if (!totals.ok) return totals
    return this.#cut(rows, most, ({ key }) => totals.value.get(key) ?? 0, false, "changed")
  }
  /** Cuts rows to `most`. If `age` is undefined, the field's type determines how ties are broken. */
  async #cut(
    rows: FacetRow[],
    most: number,
    worthOf: (row: FacetRow) => number,
    byHash: boolean,
    age?: "changed"
  ): Promise<Result<ReadonlyArray<FacetRow>>> {
    const { above, tied, wanted } = cutThrough(rows, most, worthOf)
    if (tied.length === 0) return ok(above)
    if (byHash) return ok([...above, ...chooseByHash(textOf)(tied, wanted)])
    if (age === undefined && !goesByAge(this.#type))
      return ok([...above, ...chooseByBits(this.#type, textOf)(tied, wanted)])
    const chosen = await this.#trips.byAge(this.#request.field, tied, wanted, age ?? "born")
    return chosen.ok ? ok([...above, ...chosen.value]) : chosen
  }
}
/** Turns rows of values into rows of ranges, which are contiguous. */
const inRanges = (ranges: FacetRequest["ranges"], rows: ReadonlyArray<FacetRow>): FacetRow[] =>
  ranges.flatMap(({ from, label, to }) => {
    const count = rows.reduce(
      (sum, row) => sum + (Number(row.value) >= from && Number(row.value) < to ? row.count : 0),
      0
    )
    return count === 0 ? [] : [{ value: label, key: label, count, sibling: 0 }]
  })
const ordered = (rows: FacetRow[], order: FacetRequest["order"]): FacetRow[] => {
  if (order.kind === "count") return rows
  const sign = order.order === "asc" ? 1 : -1
  return rows.sort((a, b) =>
    order.kind === "alpha" ? sign * compareUtf8(a.value, b.value) : sign * (a.sibling - b.sibling)
  )
}
