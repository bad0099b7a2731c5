/**
 * The order of the matches: sort keys, blocks of equal hits, diversity, and sizes of groups. Pinned documents keep
 * their positions and are not ranked.
 */
import type { SortKey } from "../../plan.ts"
import { andInto, bitsOf, countBits, setBit, type Bits } from "../../index/bits.ts"
import { spend } from "../../budget/cutoff.ts"
import type { FacetedSet } from "../facets/facet-rows.ts"
import { rankMatches, type Ranked } from "../rank/rank.ts"
import { keyColumns, type KeyColumn } from "../rank/sort-keys.ts"
import type { SegmentMatches } from "../text/segment-matches.ts"
import type { Matched } from "./matching.ts"
import type { FixedDocument } from "./placed.ts"
import { bucketed, diversified, windowOf } from "./reordering.ts"
import type { SearchRequest } from "./request.ts"

/** Cost, in steps, of finding the group of a document. */
const GROUP_STEPS = 16

export class Ranking {
  /** Sort keys by segment; filled once the matches have been ranked. */ columns: KeyColumn[][] = []
  /** Pinned and injected documents, ascending by position. */ pinned: ReadonlyArray<FixedDocument>
  private readonly request: SearchRequest
  private readonly matches: ReadonlyArray<SegmentMatches>
  private readonly matched: Matched
  private groupSizes: ReadonlyMap<number, number> | undefined

  constructor(
    request: SearchRequest,
    matches: ReadonlyArray<SegmentMatches>,
    matched: Matched,
    pinned: ReadonlyArray<FixedDocument>
  ) {
    this.request = request
    this.matches = matches
    this.matched = matched
    this.pinned = pinned
  }

  /** What facets count: matches and pinned hits, as sets per segment. */
  facetedSets(): FacetedSet[] {
    const { grouping, plan } = this.request
    const isAll =
      plan.text === undefined &&
      plan.vector === undefined &&
      plan.filter === undefined &&
      plan.hidden.length === 0 &&
      !plan.matchesNothing
    return this.matches.map(({ view, found, count, docs }, s) => {
      const pins = this.pinned.filter((pin) => pin.s === s)
      const bits = pins.length === 0 ? found : found.slice()
      for (const { doc } of pins) setBit(bits, doc)
      return {
        view,
        bits,
        isAll,
        ...(pins.length === 0 ? { count } : {}),
        ...(pins.length === 0 && docs !== undefined ? { docs } : {}),
        ...(grouping === undefined ? {} : { groupOf: (doc: number) => grouping.groupOf(s, doc) })
      }
    })
  }
  /** Number of documents per group number, counting matches and pinned documents. */
  sizesOfGroups(): ReadonlyMap<number, number> {
    if (this.groupSizes !== undefined) return this.groupSizes
    const grouping = this.request.grouping!
    const sizes = new Map<number, number>()
    this.groupSizes = sizes
    for (const [s, { bits }] of this.facetedSets().entries())
      for (let w = 0; w < bits.length; w++)
        for (let word = bits[w] | 0; word !== 0; word &= word - 1) {
          if (spend(GROUP_STEPS)) return sizes
          const group = grouping.groupOf(s, (w << 5) + 31 - Math.clz32(word & -word))
          sizes.set(group, (sizes.get(group) ?? 0) + 1)
        }
    return sizes
  }

  /** The first `end` organic documents in order, without pinned ones. */
  first(end: number): Ranked[] {
    this.prepareColumns()
    const { grouping, plan } = this.request
    const best = rankMatches(this.matches, plan.sort, this.columns, windowOf(plan, end), this.pinnedSets())
    const ranked = bucketed(best, plan.sort, this.columns)
    return plan.diversity !== undefined && grouping === undefined
      ? diversified(ranked, plan.diversity, this.matches, this.matched.distances)
      : ranked
  }
  private prepareColumns(): void {
    const { grouping, plan, reader, scope } = this.request
    const { distances, hybrid } = this.matched
    let groupSize: ((s: number, doc: number) => number) | undefined
    if (grouping !== undefined && plan.sort.some(({ kind }) => kind === "group_found")) {
      const sizes = this.sizesOfGroups()
      groupSize = (s, doc) => sizes.get(grouping.groupOf(s, doc)) ?? 0
    }
    this.columns = keyColumns(
      { scope, reader, distances, fused: hybrid?.fused, groupSize, filter: plan.filter },
      plan.sort,
      this.matches
    )
  }
  private pinnedSets(): Array<Bits | undefined> | undefined {
    if (this.pinned.length === 0) return undefined
    return this.matches.map(({ view }, s) => {
      const pins = this.pinned.filter((pin) => pin.s === s)
      if (pins.length === 0) return undefined
      const bits = bitsOf(view.segment.docs)
      for (const { doc } of pins) setBit(bits, doc)
      return bits
    })
  }

  /** The best match within `within`, by the sort keys; undefined if there is none. */
  bestWithin(within: ReadonlyArray<Bits>): Ranked | undefined {
    this.prepareColumns()
    const matches = this.matches.map((match, s) => onlyThose(match, andInto(match.found.slice(), within[s])))
    return bestOf(matches, this.request.plan.sort, this.columns)
  }
  /** The best document of `within`, whether or not it matches; only sort keys that need no match apply. */
  bestAnywhere(within: ReadonlyArray<Bits>): Ranked | undefined {
    const { plan, reader, scope } = this.request
    const sort = plan.sort.filter(
      ({ kind }) => kind === "field" || kind === "boosts" || kind === "geo" || kind === "eval"
    )
    const matches = this.matches.map((match, s) => onlyThose(match, within[s]))
    const columns = keyColumns(
      { scope, reader, distances: undefined, fused: undefined, groupSize: undefined },
      sort,
      matches
    )
    return bestOf(matches, sort, columns)
  }
}
const onlyThose = (match: SegmentMatches, found: Bits): SegmentMatches => ({
  ...match,
  found,
  scored: found,
  scoredDocs: undefined,
  docs: undefined,
  count: countBits(found)
})
const bestOf = (
  matches: ReadonlyArray<SegmentMatches>,
  sort: ReadonlyArray<SortKey>,
  columns: KeyColumn[][]
): Ranked | undefined =>
  matches.every(({ count }) => count === 0) ? undefined : rankMatches(matches, sort, columns, 1).at(0)
