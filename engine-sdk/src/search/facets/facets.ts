/**
 * Facet counts over all matches (`docs/contract/facets.md`): how a field is counted, and how its values are ordered.
 * `compat/facet-cut.ts` decides which of several equally frequent values are shown.
 */
import { countBits } from "../../index/bits.ts"
import { compareUtf8 } from "../../index/bytes.ts"
import type { CollectionReader } from "../../index/reader.ts"
import type { FacetCount, FacetRequest, SearchPlan } from "../../plan.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import { chooseByAge, chooseByHash, chooseByNumber, cutByCount, numberOfValue } from "../../compat/facet-cut.ts"
import { highlightTokens } from "../highlight/highlight-text.ts"
import { beginCounting, largestFirst } from "./dictionary-counts.ts"
import { parentOf } from "./facet-parents.ts"
import { matchingRows } from "./facet-query.ts"
import { countRanges, inRanges } from "./facet-ranges.ts"
import { compareCounts, rowsOf, type FacetedSet, type Row } from "./facet-rows.ts"
import { numericStats, sumOf } from "./numeric-stats.ts"
import { isPlain, plainFacet, topFacet } from "./plain-facet.ts"
import { countValues } from "./value-counts.ts"

const LARGE_RESULT = 1_000
/** Cost, in steps, of a facet before anything is counted. */
const FACET_STEPS = 256
const FEW_VALUES = 250

/** One entry per request, in order; fields not counted in time have no values. */
export const countFacets = (
  reader: CollectionReader,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): FacetCount[] => {
  beginCounting()
  return plan.facets
    .filter((request) => request.collection === undefined)
    .map((request) =>
      spend(FACET_STEPS)
        ? { field_name: request.field, sampled: false, counts: [], stats: { total_values: 0 } }
        : facetOf(reader, request, plan, sets)
    )
}

const countOfRow = (row: Row): number => row.counted.count
const textOfRow = (row: Row): string => row.value
const valueOfRow = (reader: CollectionReader, field: string): ((row: Row) => number) => {
  const numberOf = numberOfValue(reader, field)
  return (row) => row.counted.value ?? numberOf(row.value)
}

const facetOf = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): FacetCount => {
  const field = reader.schema.fields.find(({ name }) => name === request.field)
  const isNumeric = field !== undefined && /^(int|float)/.test(field.type)
  const isMatchAll = plan.text === undefined && plan.vector === undefined && plan.filter === undefined
  const byTopValues = usesTopValues(reader, request, plan, sets, isMatchAll)
  if (isPlain(request, plan, sets)) {
    const { facet, looked } =
      byTopValues && !isMatchAll
        ? topFacet(reader, request, plan, sets)
        : plainFacet(reader, request, plan, sets, byTopValues)
    const own = isNumeric ? numericStats(request.field, sets) : undefined
    if (own === undefined) return facet
    return { ...facet, stats: { ...own, ...(byTopValues ? sumOf(looked()) : {}), ...facet.stats } }
  }
  let rows =
    request.ranges.length > 0 && !byTopValues
      ? rowsOf(countRanges(request, sets))
      : rowsOf(countValues(reader, request, sets, request.order.kind === "field" ? request.order.field : undefined))
  const { facetQuery } = plan
  if (facetQuery?.field === request.field && facetQuery.tokens.length > 0)
    rows = matchingRows(reader.schema, request.field, rows, facetQuery)
  let stats = isNumeric ? numericStats(request.field, sets) : undefined
  if (byTopValues) {
    rows = topValues(reader, request, rows, isMatchAll ? plan.facetValuesMax : plan.facetValuesMax * 2, isMatchAll)
    if (stats !== undefined)
      stats = { ...stats, ...sumOf(rows.map(({ counted, value }) => ({ value, count: counted.count }))) }
    if (request.ranges.length > 0) rows = inRanges(request, rows)
  }
  const total_values = rows.length
  const picked =
    request.ranges.length > 0
      ? rows
      : cutByCount(
          rows,
          plan.facetValuesMax,
          countOfRow,
          byTopValues
            ? chooseByHash(textOfRow)
            : chooseByNumber(reader, request.field, textOfRow, valueOfRow(reader, request.field))
        )
  sortSpending(picked, (a, b) => compareCounts(a.value, a.counted.count, b.value, b.counted.count))
  picked.splice(plan.facetValuesMax)
  const { order } = request
  if (order.kind === "alpha")
    sortSpending(picked, (a, b) =>
      order.order === "asc" ? compareUtf8(a.value, b.value) : compareUtf8(b.value, a.value)
    )
  else if (order.kind === "field") {
    const sign = order.order === "asc" ? 1 : -1
    sortSpending(picked, (a, b) => sign * ((a.counted.sibling ?? 0) - (b.counted.sibling ?? 0)))
  }
  return {
    field_name: request.field,
    sampled: false,
    counts: picked.map(({ value, counted, found }) => {
      const highlighted =
        found === undefined
          ? value
          : highlightTokens(value, found.spans, found.matcher, {
              startTag: plan.highlight.startTag,
              endTag: plan.highlight.endTag,
              bytesMax: plan.highlight.bytes_max
            })
      plan.budget?.hold(value.length + highlighted.length, "facets")
      return {
        value,
        highlighted,
        count: counted.count,
        ...(request.returnParent ? parentOf(reader, plan, request.field, value, counted) : {})
      }
    }),
    stats: { ...stats, total_values }
  }
}
/**
 * Decision: with `top_values`, and under `automatic` for large results, only the values that are most frequent in the
 * entire collection are examined, and sums and ranges cover only those, as in the reference engine's recorded answers.
 */
const usesTopValues = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>,
  isMatchAll: boolean
): boolean => {
  if (plan.group !== undefined || request.order.kind === "field" || request.strategy === "exhaustive") return false
  if (request.strategy === "top_values" || isMatchAll || request.order.kind === "alpha") return true
  let found = 0,
    distinct = 0
  for (const { bits, view, count } of sets) {
    found += count ?? countBits(bits)
    distinct = Math.max(distinct, view.segment.values(request.field)?.table.size ?? 0)
  }
  return found > LARGE_RESULT && (distinct < FEW_VALUES || found * 2 > reader.documentCount)
}
/** The first `most` rows in the order of their counts in the collection, or in alphabetical order if requested. */
const topValues = (
  reader: CollectionReader,
  request: FacetRequest,
  rows: Row[],
  most: number,
  isMatchAll: boolean
): Row[] => {
  if (rows.length <= most) return rows
  const { order } = request
  if (order.kind === "alpha")
    return sortSpending(rows, (a, b) =>
      order.order === "asc" ? compareUtf8(a.value, b.value) : compareUtf8(b.value, a.value)
    ).slice(0, most)
  const valueOf = valueOfRow(reader, request.field)
  const totals = isMatchAll ? undefined : largestFirst(reader, request.field).totals
  return cutByCount(
    rows,
    most,
    totals === undefined ? countOfRow : (row) => totals[valueOf(row)],
    chooseByAge(reader, request.field, valueOf, "changed")
  )
}
