/**
 * The common facet, by count over all values and without a query, groups or ranges. Only values that are shown are
 * decoded, so a field with a million values costs one pass over numbers.
 */
import type { CollectionReader } from "../../index/reader.ts"
import type { FacetCount, FacetRequest, SearchPlan } from "../../plan.ts"
import { sortSpending, spend } from "../../budget/cutoff.ts"
import { chooseByAge, chooseByHash, chooseByNumber, cutByCount } from "../../compat/facet-cut.ts"
import { countByDictionary, largestFirst, type DictionaryCounts } from "./dictionary-counts.ts"
import { parentOf } from "./facet-parents.ts"
import { compareCounts, type FacetedSet } from "./facet-rows.ts"

/** If at most this many values are shown, the best are kept in order during the pass; more are sorted afterwards. */
const KEPT_IN_ORDER_MAX = 256
/** The counts, and the examined values in their order: sums of numbers cover only these. */
interface Counted {
  readonly facet: FacetCount
  readonly looked: () => Array<{ readonly value: string; readonly count: number }>
}
/** The common facet (by count over all values, no query, no groups, no ranges) needs no row per value. */
export const isPlain = (request: FacetRequest, plan: SearchPlan, sets: ReadonlyArray<FacetedSet>): boolean =>
  request.ranges.length === 0 &&
  request.order.kind === "count" &&
  plan.facetQuery?.field !== request.field &&
  sets.every(({ groupOf }) => groupOf === undefined)
/** The values with the highest counts, in order; of equal counts, the lower number first. */
interface Best {
  readonly best: number[]
  /** Number of values that were counted. */ readonly total: number
  /** The highest count of a value that is not among the best; 0 if there is none. */ readonly highestLeft: number
}
const keptInOrder = (counts: Uint32Array, most: number): Best => {
  const best: number[] = []
  let total = 0,
    highestLeft = 0
  for (let value = 0; value < counts.length; value++) {
    const count = counts[value]
    if (count === 0) continue
    if (spend(1)) break
    total++
    if (best.length === most) {
      if (most === 0) continue
      if (count <= counts[best[most - 1]]) {
        if (count > highestLeft) highestLeft = count
        continue
      }
      highestLeft = counts[best.pop()!]
    }
    let at = best.length
    while (at > 0 && count > counts[best[at - 1]]) at--
    best.splice(at, 0, value)
  }
  return { best, total, highestLeft }
}
const sorted = (counts: Uint32Array, most: number): Best => {
  const best: number[] = []
  for (let value = 0; value < counts.length; value++) {
    if (counts[value] === 0) continue
    if (spend(1)) break
    best.push(value)
  }
  const total = best.length
  sortSpending(best, (a, b) => counts[b] - counts[a])
  const highestLeft = total > most ? counts[best[most]] : 0
  best.length = Math.min(total, most)
  return { best, total, highestLeft }
}
/** `isMatchAll`: counts are taken from lists, so only as many values are examined as are shown. */
export const plainFacet = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>,
  isMatchAll: boolean
): Counted => {
  if (isMatchAll && !request.returnParent && sets.every(({ isAll }) => isAll === true))
    return wholeFacet(reader, request, plan, sets)
  const counted = countByDictionary(reader, request.field, sets, !request.returnParent)
  const { dictionary, counts } = counted
  const most = plan.facetValuesMax
  const { best, highestLeft, total } = most <= KEPT_IN_ORDER_MAX ? keptInOrder(counts, most) : sorted(counts, most)
  if (most > 0 && highestLeft > 0 && highestLeft === counts[best[most - 1]]) {
    const above = best.filter((value) => counts[value] > highestLeft)
    const tied: number[] = []
    spend(counts.length)
    for (let value = 0; value < counts.length; value++) if (counts[value] === highestLeft) tied.push(value)
    const choose = isMatchAll
      ? chooseByAge<number>(reader, request.field, identity, "changed")
      : chooseByNumber<number>(reader, request.field, (value) => dictionary.text(value), identity)
    best.splice(0, most, ...above, ...choose(tied, most - above.length))
  }
  const shown = isMatchAll ? Math.min(total, most) : total
  return {
    facet: countOf(reader, plan, request, sets, counted, inOrder(counted, best), shown),
    looked: () => textsOf(counted, total <= most ? [...best].sort((a, b) => a - b) : best)
  }
}
/** Counts over the entire collection, whose values are already ordered. */
const wholeFacet = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): Counted => {
  const largest = largestFirst(reader, request.field),
    { totals } = largest,
    counted: DictionaryCounts = { dictionary: reader.dictionary(request.field), counts: totals, seen: undefined }
  const most = plan.facetValuesMax,
    best: number[] = []
  let next = largest.at(0)
  for (; next !== undefined && best.length < most && !spend(1); next = largest.at(best.length)) best.push(next)
  const isLeft = next !== undefined
  if (most > 0 && next !== undefined && totals[next] === totals[best[most - 1]]) {
    const edge = totals[next],
      above = best.filter((value) => totals[value] > edge),
      tied: number[] = []
    for (
      let at = above.length, value = largest.at(at);
      value !== undefined && totals[value] === edge && !spend(1);
      value = largest.at(++at)
    )
      tied.push(value)
    const choose = chooseByAge<number>(reader, request.field, identity, "changed")
    best.splice(0, most, ...above, ...choose(tied, most - above.length))
  }
  return {
    facet: countOf(reader, plan, request, sets, counted, inOrder(counted, best), best.length),
    looked: () => textsOf(counted, isLeft ? best : [...best].sort((a, b) => a - b))
  }
}
const textsOf = ({ counts, dictionary }: DictionaryCounts, values: ReadonlyArray<number>) =>
  values.map((value) => {
    spend(16)
    return { value: dictionary.text(value), count: counts[value] }
  })
const identity = (value: number): number => value
/** The common facet of a large result: of the values that are most frequent in the collection, those that matched. */
export const topFacet = (
  reader: CollectionReader,
  request: FacetRequest,
  plan: SearchPlan,
  sets: ReadonlyArray<FacetedSet>
): Counted => {
  const counted = countByDictionary(reader, request.field, sets, !request.returnParent)
  const { dictionary, counts } = counted
  const largest = largestFirst(reader, request.field),
    { totals } = largest
  const most = plan.facetValuesMax * 2
  const found: number[] = []
  for (let at = 0, first = largest.at(0); first !== undefined && found.length < most && !spend(2);) {
    const equals: number[] = [],
      total = totals[first]
    let value: number | undefined = first
    for (; value !== undefined && totals[value] === total; value = largest.at(++at))
      if (counts[value] > 0) equals.push(value)
    first = value
    const room = most - found.length
    for (const value of equals.length > room
      ? chooseByAge<number>(reader, request.field, identity, "changed")(equals, room)
      : equals)
      found.push(value)
  }
  const total = found.length
  // If all values fit, they are examined in the order of their numbers.
  const looked = total < most || isAll(counts, total) ? [...found].sort((a, b) => a - b) : [...found]
  const best = cutByCount(
    found,
    plan.facetValuesMax,
    (value) => counts[value],
    chooseByHash((value) => dictionary.text(value))
  )
  return {
    facet: countOf(reader, plan, request, sets, counted, inOrder(counted, best), total),
    looked: () => textsOf(counted, looked)
  }
}
/** Whether `values` is the number of all values that were counted. */
const isAll = (counts: Uint32Array, values: number): boolean => {
  spend(counts.length)
  let left = values
  for (let value = 0; value < counts.length && left >= 0; value++) if (counts[value] > 0) left--
  return left === 0
}
/** The values in the order shown; each text is read once. */
const inOrder = ({ counts, dictionary }: DictionaryCounts, values: ReadonlyArray<number>): number[] =>
  sortSpending(
    values.map((value) => {
      spend(16)
      return { value, text: dictionary.text(value) }
    }),
    (a, b) => compareCounts(a.text, counts[a.value], b.text, counts[b.value])
  ).map(({ value }) => value)
const countOf = (
  reader: CollectionReader,
  plan: SearchPlan,
  request: FacetRequest,
  sets: ReadonlyArray<FacetedSet>,
  { dictionary, counts, seen }: DictionaryCounts,
  values: ReadonlyArray<number>,
  total: number
): FacetCount => ({
  field_name: request.field,
  sampled: false,
  counts: values.map((value) => {
    spend(32)
    const text = dictionary.text(value)
    plan.budget?.hold(text.length * 2, "facets")
    return {
      value: text,
      highlighted: text,
      count: counts[value],
      ...(request.returnParent
        ? parentOf(reader, plan, request.field, text, {
            count: counts[value],
            view: sets[seen![value * 2]].view,
            doc: seen![value * 2 + 1]
          })
        : {})
    }
  }),
  stats: { total_values: total }
})
