/** Facets of an answer: of the collection itself, of the hits that are shown, and of related collections. */
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
import { relatedDocs, relationOf } from "../filter/relations.ts"
import type { SearchScope } from "../scope.ts"
import { joinFilterBits } from "./joined-documents.ts"

/** For counting what was found, when the time is over. */
const FACETS_MIN_ms = 5

/** `shown`: hits that facets of the page count. */
export const facetsOf = (execution: Execution, shown: ReadonlyArray<Placed>): FacetCount[] => {
  const { plan, reader, scope } = execution
  if (plan.facets.length === 0) return []
  const cutoff = execution.cutoff.atLeast(FACETS_MIN_ms)
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
 * A facet of another collection: its documents that are related to a match (and pass the join's own filter) are
 * counted.
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
  const counted = new Map<SegmentView, Set<number>>()
  if (other !== undefined && relation !== undefined) {
    const allowed = joinFilterBits(scope, other, plan.filter, request.collection!)
    for (const { view, bits } of sets)
      for (let doc = 0; doc < view.segment.docs; doc++) {
        if (!hasBit(bits, doc)) continue
        if (spend(8)) break
        for (const target of relatedDocs(reader, view, doc, other, relation)) {
          const set = allowed?.get(target.view)
          if (set !== undefined && !hasBit(set, target.doc)) continue
          // A related document counts once, however many matches lead to it.
          let seen = counted.get(target.view)
          if (seen === undefined) counted.set(target.view, (seen = new Set()))
          if (seen.has(target.doc)) continue
          seen.add(target.doc)
          const column = target.view.segment.values(request.field)
          if (column !== undefined)
            eachOrdinal(column, target.doc, (ordinal) => {
              const value = column.table.text(ordinal)
              if (!counts.has(value)) plan.budget?.hold(value.length, "facets")
              counts.set(value, (counts.get(value) ?? 0) + 1)
            })
        }
      }
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
    stats: { total_values: counts.size }
  }
}
