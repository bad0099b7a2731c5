/** Facets of an answer: of the collection itself, of the hits shown, and of related collections. */
import type { FacetCount, SearchPlan } from "../../plan.ts"
import { bitsOf, hasBit, setBit } from "../../index/bits.ts"
import type { CollectionReader, SegmentView } from "../../index/reader.ts"
import { sortSpending, spend, within } from "../../budget/cutoff.ts"
import { chooseByNumber, cutByCount, numberOfValue } from "../../compat/facet-cut.ts"
import type { Execution } from "../execution/execution.ts"
import type { Placed } from "../execution/placed.ts"
import { eachOrdinal } from "../../index/columns.ts"
import { countFacets } from "../facets/facets.ts"
import { compareCounts, type FacetedSet } from "../facets/facet-rows.ts"
import { allowedDocuments, isAllowed, joinedFilter } from "../filter/join-filter.ts"
import { relatedDocs, relationOf, type Relation } from "../filter/relations.ts"
import type { SearchScope } from "../scope.ts"

/** Minimum time for counting facets, granted even after the deadline. */
const FACETS_MIN_MS = 5

/** `shown`: the hits that facets of the page alone count. */
export const facetsOf = (execution: Execution, shown: ReadonlyArray<Placed>): FacetCount[] => {
  const { plan, reader, scope } = execution
  if (plan.facets.length === 0) return []
  const cutoff = execution.cutoff.atLeast(FACETS_MIN_MS)
  const counted = within(cutoff, () => countedFacets(scope, reader, plan, execution.facetedSets(), shown))
  execution.isCutOff ||= cutoff.isPast
  return counted
}
const countedFacets = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  sets: FacetedSet[],
  shown: ReadonlyArray<Placed>
): FacetCount[] => {
  const own = countFacets(
    reader,
    { ...plan, facets: plan.facets.filter(({ topK, collection }) => !topK && collection === undefined) },
    sets
  )
  const topSets = plan.facets.some(({ topK }) => topK)
    ? sets.map(({ view, groupOf }, s) => {
        const bits = bitsOf(view.segment.docs)
        for (const one of shown) if (one.s === s) setBit(bits, one.doc)
        return { view, bits, groupOf }
      })
    : []
  const top = countFacets(
    reader,
    { ...plan, facets: plan.facets.filter(({ topK, collection }) => topK && collection === undefined) },
    topSets
  )
  let o = 0,
    t = 0
  return plan.facets.map((request) =>
    request.collection !== undefined
      ? joinedFacet(scope, reader, plan, request, sets)
      : request.topK
        ? top[t++]
        : own[o++]
  )
}

/**
 * A facet of another collection counts the documents that are related to a match and pass the join's own filter, each
 * once. Decision: if the search matches everything and has no query, all documents of the other collection are counted,
 * as recorded.
 */
const joinedFacet = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  request: SearchPlan["facets"][number],
  sets: ReadonlyArray<FacetedSet>
): FacetCount => {
  const other = scope.collection(request.collection!)
  const relation = other === undefined ? undefined : relationOf(reader.schema, other.schema)
  const counts = new Map<string, number>()
  const count = (view: SegmentView, doc: number): void => {
    const column = view.segment.values(request.field)
    if (column !== undefined)
      eachOrdinal(column, doc, (ordinal) => {
        const value = column.table.text(ordinal)
        if (!counts.has(value)) plan.budget?.hold(value.length, "facets")
        counts.set(value, (counts.get(value) ?? 0) + 1)
      })
  }
  if (other !== undefined && relation !== undefined) {
    if (sets.every(({ isAll }) => isAll === true)) eachDocument(other, count)
    else eachRelated(scope, reader, plan, other, relation, sets, count)
  }
  const numberOf = other === undefined ? undefined : numberOfValue(other, request.field)
  const shown =
    other === undefined || numberOf === undefined
      ? []
      : cutByCount(
          [...counts],
          plan.facetValuesMax,
          ([, count]) => count,
          chooseByNumber(
            other,
            request.field,
            ([value]) => value,
            ([value]) => numberOf(value)
          )
        )
  sortSpending(shown, (a, b) => compareCounts(a[0], a[1], b[0], b[1]))
  return {
    field_name: `${request.collection}(${request.field})`,
    sampled: false,
    counts: shown.map(([value, count]) => ({
      value,
      highlighted: value,
      count,
      facet_filter: `$${request.collection}(${request.field}: \`${value}\`)`
    })),
    stats: {
      ...statsOf(other?.schema.fields.find(({ name }) => name === request.field)?.type ?? "", counts),
      total_values: counts.size
    }
  }
}
const eachDocument = (other: CollectionReader, count: (view: SegmentView, doc: number) => void): void => {
  for (const view of other.views)
    for (let doc = 0; doc < view.segment.docs && !spend(8); doc++)
      if (view.deleted === undefined || !hasBit(view.deleted, doc)) count(view, doc)
}
/** Documents of the other collection that are related to a match, each once, even if several matches lead to it. */
const eachRelated = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  other: CollectionReader,
  relation: Relation,
  sets: ReadonlyArray<FacetedSet>,
  count: (view: SegmentView, doc: number) => void
): void => {
  const inner = joinedFilter(plan.filter, relation, other.schema.name)
  const allowed = inner === undefined ? undefined : allowedDocuments(scope, other, inner)
  const counted = new Map<SegmentView, Set<number>>()
  for (const { view, bits } of sets)
    for (let doc = 0; doc < view.segment.docs; doc++) {
      if (!hasBit(bits, doc)) continue
      if (spend(8)) break
      for (const target of relatedDocs(reader, view, doc, other, relation)) {
        if (allowed !== undefined && !isAllowed(allowed, target.view, target.doc)) continue
        let seen = counted.get(target.view)
        if (seen === undefined) counted.set(target.view, (seen = new Set()))
        if (seen.has(target.doc)) continue
        seen.add(target.doc)
        count(target.view, target.doc)
      }
    }
}
/** Statistics of a number field, from its values and how many documents have each. */
const statsOf = (type: string, counts: ReadonlyMap<string, number>): Omit<FacetCount["stats"], "total_values"> => {
  if (counts.size === 0 || !/^(int|float)/.test(type)) return {}
  let min = Infinity,
    max = -Infinity,
    sum = 0,
    elements = 0
  for (const [text, count] of counts) {
    const value = type.startsWith("float") ? Math.fround(Number(text)) : Number(text)
    min = Math.min(min, value)
    max = Math.max(max, value)
    sum += value * count
    elements += count
  }
  return { min, max, sum, avg: sum / elements }
}
