/**
 * One search from plan to ranked documents: what may match and what does (`matching.ts`), how it is ordered
 * (`ranking.ts`), and what is injected (`injecting.ts`). Rendering hits, facets and the envelope is in `search/answer`;
 * several executions together make a union.
 */
import type { SearchPlan } from "../../plan.ts"
import { hasBit, type ReadonlyBits } from "../../index/bits.ts"
import type { CollectionReader } from "../../index/reader.ts"
import { Allowance, Cutoff, spend, within } from "../../budget/cutoff.ts"
import type { FacetedSet } from "../facets/facet-rows.ts"
import { allowedBits } from "../filter/filters.ts"
import { Grouping } from "../rank/groups.ts"
import type { Ranked } from "../rank/rank.ts"
import type { KeyColumn } from "../rank/sort-keys.ts"
import type { SearchScope } from "../scope.ts"
import { newMatches, releaseMatches, type SegmentMatches } from "../text/segment-matches.ts"
import { Injecting } from "./injecting.ts"
import { collectMatches, narrowed, type Matched } from "./matching.ts"
import { placeAmong, type FixedDocument, type Placed } from "./placed.ts"
import { Ranking } from "./ranking.ts"
import type { SearchRequest } from "./request.ts"

/** Cost, in steps, of looking up an id in a segment and of finding the group of a document. */
const LOOK_UP_STEPS = 16,
  GROUP_STEPS = 16
/** Minimum time for ordering the matches, granted even after the deadline. */
const RANK_MIN_MS = 5

interface RankedGroup {
  readonly group: number
  readonly found: number
  readonly members: ReadonlyArray<Placed>
}
interface Found {
  readonly matches: ReadonlyArray<SegmentMatches>
  readonly matched: Matched
  readonly ranking: Ranking
}

/**
 * Matches a plan. `rankedMax`: number of positions that will be requested; documents that cannot be among them need no
 * score. Matches found before the deadline are kept, and `isCutOff` reports that there may be more. Call `release` on
 * the execution when nothing of it is read anymore.
 */
export const execute = (
  scope: SearchScope,
  reader: CollectionReader,
  plan: SearchPlan,
  rankedMax = Infinity,
  cutoff = new Cutoff(new Allowance(), plan.cutoff_ms)
): Execution => {
  const grouping = plan.group === undefined ? undefined : new Grouping(plan.group, reader.views)
  const request: SearchRequest = { scope, reader, plan, grouping, rankedMax }
  return new Execution(
    request,
    within(cutoff, () => find(request)),
    cutoff
  )
}
const find = (request: SearchRequest): Found => {
  const { plan, reader, scope } = request
  const filtered = allowedBits(scope, reader, plan.filter)
  const curated = pinnedDocuments(request, filtered)
  const injecting =
    plan.injected === undefined || plan.injected.length === 0 ? undefined : new Injecting(request, filtered)
  const pinned = injecting === undefined ? curated : injecting.documents(curated)
  const matches = reader.views.map((view, s) => newMatches(view, narrowed(request, filtered[s], s)))
  try {
    const matched = collectMatches(request, matches, pinned)
    const ranking = new Ranking(request, matches, matched, pinned)
    // The best match for a slot can only be chosen once the matches are known.
    if (injecting?.asksForBest === true) ranking.pinned = injecting.withBest(curated, ranking)
    return { matches, matched, ranking }
  } catch (error) {
    releaseMatches(matches)
    throw error
  }
}
/** Pins of the caller that exist and may be shown. */
const pinnedDocuments = (
  { plan, reader, scope }: SearchRequest,
  filtered: ReadonlyArray<ReadonlyBits | undefined>
): ReadonlyArray<FixedDocument> => {
  if (plan.pinned.length === 0) return []
  const hidden = new Set(plan.hidden)
  // A key's restrictions apply to pins whatever the request says about filters.
  const pinnable = plan.filterCuratedHits ? filtered : allowedBits(scope, reader, plan.pinnedFilter)
  // If several pins name one position, or one document, only the first applies.
  const positions = new Set<number>(),
    documents = new Set<string>()
  const existing = plan.pinned.flatMap(({ id, position }) => {
    spend(LOOK_UP_STEPS)
    const place = hidden.has(id) ? undefined : reader.locate(id)
    if (place === undefined) return []
    const key = `${place.at} ${place.doc}`
    const isFirst = !positions.has(position) && !documents.has(key)
    positions.add(position)
    documents.add(key)
    return isFirst ? [{ s: place.at, doc: place.doc, position }] : []
  })
  // Pins that are filtered out leave their positions to those after them.
  return existing
    .filter(({ s, doc }) => pinnable[s] === undefined || hasBit(pinnable[s]!, doc))
    .map((pin, i) => ({ ...pin, position: existing[i].position }))
}

/** What a search found, to be ordered and shown. */
export class Execution {
  readonly scope: SearchScope
  readonly reader: CollectionReader
  readonly plan: SearchPlan
  readonly grouping: Grouping | undefined
  readonly matches: ReadonlyArray<SegmentMatches>
  readonly matched: Matched
  readonly cutoff: Cutoff
  isCutOff: boolean
  private readonly ranking: Ranking

  constructor({ grouping, plan, reader, scope }: SearchRequest, { matched, matches, ranking }: Found, cutoff: Cutoff) {
    this.scope = scope
    this.reader = reader
    this.plan = plan
    this.grouping = grouping
    this.matches = matches
    this.matched = matched
    this.cutoff = cutoff
    this.isCutOff = cutoff.isPast
    this.ranking = ranking
  }
  release(): void {
    releaseMatches(this.matches)
  }
  /** Pinned and injected documents, ascending by position. */
  get pinned(): ReadonlyArray<FixedDocument> {
    return this.ranking.pinned
  }
  /** Sort keys by segment; available once the matches have been ranked. */
  get columns(): KeyColumn[][] {
    return this.ranking.columns
  }
  /** Documents that matched. */
  get organicDocuments(): number {
    let total = 0
    for (const { count } of this.matches) total += count
    return total
  }
  /** Documents that matched plus pinned documents, each counted once. */
  get foundDocuments(): number {
    let total = this.organicDocuments
    for (const { s, doc } of this.pinned) if (!hasBit(this.matches[s].found, doc)) total++
    return total
  }
  /** Documents that keep the position of their rank: `found_docs` leaves out pinned ones, as in recorded answers. */
  get unplacedDocuments(): number {
    let total = this.organicDocuments
    for (const { s, doc } of this.pinned) if (hasBit(this.matches[s].found, doc)) total--
    return total
  }
  /** What facets count: matches and pinned hits, as sets per segment. */
  facetedSets(): FacetedSet[] {
    return this.ranking.facetedSets()
  }

  /** The first `end` organic documents in order, without pinned ones. */
  rank(end: number): Ranked[] {
    return this.ordering(() => this.ranking.first(end))
  }
  /** The hits at positions [from, end): organic documents and pins. */
  page(from: number, end: number): Placed[] {
    if (end <= from) return []
    return placeAmong(this.rank(end), this.pinned, end).slice(from, end)
  }
  /** The groups at positions [from, end), and the total number of groups. */
  groupPage(from: number, end: number): { groups: RankedGroup[]; total: number } {
    return this.ordering(() => this.grouped(from, end))
  }
  /** Grants `run` a few milliseconds of its own, even after the deadline. */
  private ordering<A>(run: () => A): A {
    const cutoff = this.cutoff.atLeast(RANK_MIN_MS)
    const answer = within(cutoff, run)
    this.isCutOff ||= cutoff.isPast
    return answer
  }
  private grouped(from: number, end: number): { groups: RankedGroup[]; total: number } {
    const grouping = this.grouping!
    const limit = this.plan.group!.limit
    const all = this.ranking.first(Math.max(1, this.foundDocuments))
    const placed = placeAmong(all, this.pinned, Infinity)
    const sizes = this.ranking.sizesOfGroups()
    const known = new Map<number, { group: number; members: Placed[] }>()
    for (const one of placed) {
      spend(GROUP_STEPS)
      const group = grouping.groupOf(one.s, one.doc)
      let entry = known.get(group)
      if (entry === undefined) known.set(group, (entry = { group, members: [] }))
      if (entry.members.length < limit) entry.members.push(one)
    }
    return {
      total: known.size,
      groups: [...known.values()]
        .slice(from, end)
        .map(({ group, members }) => ({ group, members, found: sizes.get(group) ?? members.length }))
    }
  }
}
