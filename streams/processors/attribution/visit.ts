/**
 * A visit: the searches of one visitor in one collection, in order of time, and the clicks, carts and purchases of that
 * visitor that named no search. What a visit contributes to the rollups is a function of what it holds and of nothing
 * else, above all not of the order in which records came: whoever changes it retracts what the touched searches
 * contributed, changes them, and asserts what they contribute now. So figures are exact at any moment, and a replay in
 * another interleaving of the topics ends in the same state.
 *
 * A run is a row of keystrokes: each query a prefix of the next, less than 4 s apart (contract part 3). A run counts as
 * one search, its last; what followed any of its searches belongs to that last one.
 */
import type { FilterUse } from "../../figures/filter-uses.ts"
import { together, type Who } from "../popularity/makers.ts"
import { type DeltaRow, type Money, type Rollups } from "../rollups/rollups.ts"

/** Contract part 3. */
const KEYSTROKE_GAP_MS = 4_000
const SESSION_ATTRIBUTION_MS = 30 * 60_000

/** Bounds of one visit. What falls out keeps what it has contributed and is not moved any more. */
const SEARCHES_PER_VISIT_MAX = 256
const INTERACTIONS_MAX = 256

/**
 * What one source (the answer itself, or a `search` event) says about a search, or both. Texts are in their analytics
 * form.
 */
export interface SearchFacts {
  readonly at: number
  readonly q: string
  readonly collection: string
  readonly hasNoResults: boolean
  readonly visitor: string
  readonly device: string
  readonly country: string
  readonly surface: string
  readonly who: Who
  /** Filters and facets it used; undefined for none. */
  readonly uses: ReadonlyArray<FilterUse> | undefined
  /** The filter as it was asked for, and the search's tag: what rules may group by. */
  readonly filter: string
  readonly tag: string
  /** A `search` event told of it. */
  readonly isExplicit: boolean
  /** The rows of the current rollups that it was counted in last, since finding them costs more than counting. */
  row: DeltaRow | undefined
  asked: DeltaRow | undefined
}

export type InteractionKind = "click" | "add_to_cart" | "purchase"
export interface Interaction {
  /** Its place in the log: the same on every replay. Two numbers, since a text would be most of what is kept of it. */
  readonly offset: number
  readonly index: number
  readonly kind: InteractionKind
  readonly at: number
  /** Cart value or revenue. */
  readonly money: Money
}

export interface Search {
  /** The query id, or a mark of the event's place. */
  readonly id: string
  served: SearchFacts | undefined
  event: SearchFacts | undefined
  /** Interactions that named it. */
  named: Array<Interaction>
  /** Kinds seen among interactions that the bounds did not keep. */
  hadClick: boolean
  hadPurchase: boolean
  /** Derived from `served` and `event`, or the one that is there; see `facts`. */
  derived: SearchFacts
}

export interface Visit {
  readonly organizationId: string
  searches: Array<Search>
  /** By time. */
  loose: Array<Interaction>
}

/** Few are in a list, and lists are many: one that grows by itself has room for seventeen from its first on. */
const COPIED_MAX = 8
const appended = <A>(list: Array<A>, one: A): Array<A> => {
  if (list.length < COPIED_MAX) return [...list, one]
  list.push(one)
  return list
}

/** The answer knows better what was searched; either source may know who searched, and on what. */
export const facts = (served: SearchFacts | undefined, event: SearchFacts | undefined): SearchFacts => {
  if (served === undefined) return event!
  if (event === undefined) return served
  served.row = served.asked = event.row = event.asked = undefined
  return {
    at: served.at,
    q: served.q,
    collection: served.collection,
    hasNoResults: served.hasNoResults,
    visitor: served.visitor || event.visitor,
    device: served.device || event.device,
    country: served.country || event.country,
    surface: served.surface || event.surface,
    uses: served.uses ?? event.uses,
    filter: served.filter || event.filter,
    tag: served.tag || event.tag,
    isExplicit: true,
    who: together(served.who, event.who),
    row: undefined,
    asked: undefined
  }
}

/**
 * Of several `search` events with one query id the first by time speaks, ties settled by content: order of arrival must
 * not matter.
 */
export const earlier = (a: SearchFacts, b: SearchFacts): SearchFacts => {
  if (a.at !== b.at) return a.at < b.at ? a : b
  const [x, y] = [a, b].map((one) => JSON.stringify({ ...one, row: undefined, asked: undefined })) as [string, string]
  return x <= y ? a : b
}

const precedes = (a: Search, b: Search): boolean => {
  const x = a.derived,
    y = b.derived
  if (x.at !== y.at) return x.at < y.at
  if (x.q.length !== y.q.length) return x.q.length < y.q.length
  return x.q !== y.q ? x.q < y.q : a.id < b.id
}

const isKeystrokeBefore = (a: Search, b: Search): boolean =>
  b.derived.at - a.derived.at < KEYSTROKE_GAP_MS && b.derived.q.startsWith(a.derived.q)

/** First and last index of the run that holds `index`. */
const runAround = (searches: ReadonlyArray<Search>, index: number): readonly [number, number] => {
  let first = index
  let last = index
  while (first > 0 && isKeystrokeBefore(searches[first - 1]!, searches[first]!)) first--
  while (last + 1 < searches.length && isKeystrokeBefore(searches[last]!, searches[last + 1]!)) last++
  return [first, last]
}

// Slots of `Deltas` for QUERY_MEASURES.
const SEARCHES = 0,
  ZERO_RESULTS = 1,
  WITH_CLICK = 2,
  WITH_PURCHASE = 3,
  CLICKS = 4,
  CARTS = 5,
  PURCHASES = 6,
  CART_UNITS = 7,
  CART_MICROS = 8,
  REVENUE_UNITS = 9,
  REVENUE_MICROS = 10

// Slots of `Deltas` for ASKED_MEASURES.
const FOUND = 0,
  MISSED = 1

const rowOf = (rollups: Rollups, organizationId: string, f: SearchFacts): DeltaRow =>
  f.row?.generation === rollups.queries.generation
    ? f.row
    : (f.row = rollups.queries.row(organizationId, f.collection, f.device, f.country, f.surface, f.q))

const askedRowOf = (rollups: Rollups, organizationId: string, f: SearchFacts): DeltaRow => {
  if (f.asked?.generation === rollups.asked.generation) return f.asked
  return (f.asked = rollups.asked.row(organizationId, f.collection, f.isExplicit ? "1" : "", f.filter, f.tag, f.q))
}

/** Counts what a search has once, with the filters and facets it used. `row` is the query's. */
const countSearch = (
  rollups: Rollups,
  organizationId: string,
  f: SearchFacts,
  row: DeltaRow,
  slot: number,
  sign: number
): void => {
  const { filters, queries } = rollups
  queries.add(row, f.at, slot, sign)
  if (f.uses === undefined) return
  for (const [type, field, value] of f.uses) {
    const row = filters.row(
      organizationId,
      f.collection,
      f.device,
      f.country,
      f.surface,
      `${type}\u0000${field}\u0000${value}`
    )
    filters.add(row, f.at, slot, sign)
  }
}

const countInteraction = (
  { queries }: Rollups,
  row: DeltaRow,
  { at, kind, money }: Interaction,
  sign: number
): void => {
  if (kind === "click") return queries.add(row, at, CLICKS, sign)
  const isCart = kind === "add_to_cart"
  queries.add(row, at, isCart ? CARTS : PURCHASES, sign)
  queries.add(row, at, isCart ? CART_UNITS : REVENUE_UNITS, sign * money.units)
  queries.add(row, at, isCart ? CART_MICROS : REVENUE_MICROS, sign * money.micros)
}

/** Index of the search that a loose interaction at `at` follows: the last one not after it; -1 for none in time. */
const ownerOf = (searches: ReadonlyArray<Search>, at: number): number => {
  for (let i = searches.length - 1; i >= 0; i--) {
    const searchedAt = searches[i]!.derived.at
    if (searchedAt <= at) return at - searchedAt <= SESSION_ATTRIBUTION_MS ? i : -1
  }
  return -1
}

/** Adds (`sign` 1) or takes back (-1) everything the run from `first` to `last` contributes. */
const countRun = (visit: Visit, first: number, last: number, rollups: Rollups, sign: number): void => {
  const { loose, organizationId, searches } = visit
  const root = searches[last]!.derived
  const row = rowOf(rollups, organizationId, root)
  let hasClick = false
  let hasPurchase = false
  for (let i = first; i <= last; i++) {
    const { hadClick, hadPurchase, named } = searches[i]!
    hasClick ||= hadClick
    hasPurchase ||= hadPurchase
    for (const interaction of named) {
      hasClick ||= interaction.kind === "click"
      hasPurchase ||= interaction.kind === "purchase"
      countInteraction(rollups, row, interaction, sign)
    }
  }
  if (loose.length > 0) {
    const from = searches[first]!.derived.at
    for (const interaction of loose) {
      if (interaction.at < from) continue
      const owner = ownerOf(searches, interaction.at)
      if (owner > last) break
      if (owner < first) continue
      hasClick ||= interaction.kind === "click"
      hasPurchase ||= interaction.kind === "purchase"
      countInteraction(rollups, row, interaction, sign)
    }
  }
  rollups.makers.add(row, root.who, sign)
  rollups.asked.add(askedRowOf(rollups, organizationId, root), root.at, root.hasNoResults ? MISSED : FOUND, sign)
  countSearch(rollups, organizationId, root, row, SEARCHES, sign)
  if (root.hasNoResults) countSearch(rollups, organizationId, root, row, ZERO_RESULTS, sign)
  if (hasClick) countSearch(rollups, organizationId, root, row, WITH_CLICK, sign)
  if (hasPurchase) countSearch(rollups, organizationId, root, row, WITH_PURCHASE, sign)
}

/** Counts the distinct runs that hold any of the given indexes. */
const countRuns = (visit: Visit, indexes: ReadonlyArray<number>, rollups: Rollups, sign: number): void => {
  let done = -1
  for (const index of indexes) {
    if (index <= done || index < 0 || index >= visit.searches.length) continue
    const run = runAround(visit.searches, index)
    countRun(visit, run[0], run[1], rollups, sign)
    done = run[1]
  }
}

export const insertSearch = (visit: Visit, search: Search, rollups: Rollups): void => {
  const { loose, searches } = visit
  let at = searches.length
  while (at > 0 && precedes(search, searches[at - 1]!)) at--
  // As it usually comes: behind everything, and no keystroke. Nothing that was counted changes.
  if (
    at === searches.length &&
    (at === 0 || !isKeystrokeBefore(searches[at - 1]!, search)) &&
    (loose.length === 0 || loose[loose.length - 1]!.at < search.derived.at)
  ) {
    visit.searches = appended(searches, search)
    return countRun(visit, at, at, rollups, 1)
  }
  countRuns(visit, [at - 1, at], rollups, -1)
  searches.splice(at, 0, search)
  countRuns(visit, [at - 1, at, at + 1], rollups, 1)
}

/** Takes a search out and everything it contributed back. */
export const removeSearch = (visit: Visit, search: Search, rollups: Rollups): void => {
  const at = visit.searches.indexOf(search)
  countRuns(visit, [at - 1, at, at + 1], rollups, -1)
  visit.searches.splice(at, 1)
  countRuns(visit, [at - 1, at], rollups, 1)
}

/**
 * Lets the oldest search beyond the bound go, with what it contributed left as it stands. It answers as the search it
 * counted as, so that what names it later still finds its query; a keystroke hands what it has to the next one of its
 * run.
 */
export const dropOldest = (visit: Visit): Search | undefined => {
  const { loose, searches } = visit
  if (searches.length <= SEARCHES_PER_VISIT_MAX) return undefined
  const oldest = searches[0]!
  const [, last] = runAround(searches, 0)
  const heir = last > 0 ? searches[1]! : oldest
  const root = searches[last]!
  for (let settled = 0; settled < loose.length && loose[settled]!.at < searches[1]!.derived.at; settled++) {
    if (ownerOf(searches, loose[settled]!.at) === 0) markKind(heir, loose[settled]!.kind)
  }
  if (heir !== oldest) {
    heir.hadClick ||= oldest.hadClick
    heir.hadPurchase ||= oldest.hadPurchase
    for (const interaction of oldest.named) {
      if (heir.named.length < INTERACTIONS_MAX) heir.named.push(interaction)
      else markKind(heir, interaction.kind)
    }
  }
  const members = searches.slice(0, last + 1)
  searches.shift()
  while (loose.length > 0 && loose[0]!.at < searches[0]!.derived.at) loose.shift()
  const has = (kind: InteractionKind, flag: (search: Search) => boolean) =>
    members.some((m) => flag(m) || m.named.some((n) => n.kind === kind))
  return {
    ...oldest,
    named: [],
    derived: { ...root.derived, row: undefined, asked: undefined },
    hadClick: has("click", (m) => m.hadClick),
    hadPurchase: has("purchase", (m) => m.hadPurchase)
  }
}

const markKind = (search: Search, kind: InteractionKind): void => {
  if (kind === "click") search.hadClick = true
  if (kind === "purchase") search.hadPurchase = true
}

/** Whether the run [first, last] has an interaction of a kind that it contributes as a flag. */
const hasKind = (
  { loose, searches }: Visit,
  [first, last]: readonly [number, number],
  kind: "click" | "purchase"
): boolean => {
  for (let i = first; i <= last; i++) {
    const search = searches[i]!
    if (kind === "click" ? search.hadClick : search.hadPurchase) return true
    for (const named of search.named) if (named.kind === kind) return true
  }
  for (const interaction of loose) {
    if (interaction.kind !== kind || interaction.at < searches[first]!.derived.at) continue
    const owner = ownerOf(searches, interaction.at)
    if (owner >= first && owner <= last) return true
  }
  return false
}

/** Adds what one more interaction contributes to a run that does not hold it yet. */
const countOneMore = (
  visit: Visit,
  run: readonly [number, number],
  interaction: Interaction,
  rollups: Rollups
): void => {
  const root = visit.searches[run[1]]!.derived
  const row = rowOf(rollups, visit.organizationId, root)
  countInteraction(rollups, row, interaction, 1)
  const { kind } = interaction
  if (kind === "add_to_cart" || hasKind(visit, run, kind)) return
  countSearch(rollups, visit.organizationId, root, row, kind === "click" ? WITH_CLICK : WITH_PURCHASE, 1)
}

/** An interaction that named a search of this visit. */
export const addNamed = (visit: Visit, search: Search, interaction: Interaction, rollups: Rollups): void => {
  countOneMore(visit, runAround(visit.searches, visit.searches.indexOf(search)), interaction, rollups)
  if (search.named.length < INTERACTIONS_MAX) search.named = appended(search.named, interaction)
  else markKind(search, interaction.kind)
}

/**
 * An interaction that named no known search: it belongs to the visit's last search before it, if any within 30 minutes.
 */
export const addLoose = (visit: Visit, interaction: Interaction, rollups: Rollups): void => {
  const owner = ownerOf(visit.searches, interaction.at)
  if (owner >= 0) countOneMore(visit, runAround(visit.searches, owner), interaction, rollups)
  let at = visit.loose.length
  while (at > 0 && visit.loose[at - 1]!.at > interaction.at) at--
  if (at === visit.loose.length) visit.loose = appended(visit.loose, interaction)
  else visit.loose.splice(at, 0, interaction)
  if (visit.loose.length > INTERACTIONS_MAX) settleOldestLoose(visit)
}

/** The oldest loose interaction leaves; its search keeps it for good. */
const settleOldestLoose = (visit: Visit): void => {
  const oldest = visit.loose.shift()!
  const owner = ownerOf(visit.searches, oldest.at)
  if (owner < 0) return
  // A flag without the counts: those stand where they were counted and stay there when runs change later.
  markKind(visit.searches[owner]!, oldest.kind)
}

/** Takes a loose interaction back, because the search it named has come. */
export const removeLoose = (visit: Visit, { index, offset }: Interaction, rollups: Rollups): void => {
  const at = visit.loose.findIndex((interaction) => interaction.offset === offset && interaction.index === index)
  if (at < 0) return
  const owner = ownerOf(visit.searches, visit.loose[at]!.at)
  countRuns(visit, [owner], rollups, -1)
  visit.loose.splice(at, 1)
  countRuns(visit, [owner], rollups, 1)
}

/** An interaction with a search that its visit has already let go. */
export const addSettled = (
  organizationId: string,
  search: Search,
  interaction: Interaction,
  rollups: Rollups
): void => {
  const f = search.derived
  const row = rowOf(rollups, organizationId, f)
  countInteraction(rollups, row, interaction, 1)
  if (interaction.kind === "click" && !search.hadClick) countSearch(rollups, organizationId, f, row, WITH_CLICK, 1)
  if (interaction.kind === "purchase" && !search.hadPurchase)
    countSearch(rollups, organizationId, f, row, WITH_PURCHASE, 1)
  markKind(search, interaction.kind)
}

export const newSearch = (id: string, served: SearchFacts | undefined, event: SearchFacts | undefined): Search => ({
  id,
  served,
  event,
  named: [],
  hadClick: false,
  hadPurchase: false,
  derived: facts(served, event)
})
