/**
 * What a visit contributes, as facts: whoever changes it retracts what the touched searches contributed, changes them,
 * and asserts what they contribute now. So figures are exact at any moment, and a replay in another interleaving of the
 * topics ends in the same state.
 */
import type { Facts, Interaction, InteractionKind, SearchFacts, Sign } from "../../facts/facts.ts"
import type { Subject } from "../../facts/subjects.ts"
import { hasKind, isKeystrokeBefore, ownerOf, precedes, runAround, type Search, type Visit } from "./visit.ts"

/** Bounds of one visit. What falls out keeps what it has contributed and is not moved any more. */
const SEARCHES_PER_VISIT_MAX = 256
const INTERACTIONS_MAX = 256

/** Few are in a list, and lists are many: one that grows by itself has room for seventeen from its first on. */
const COPIED_MAX = 8
const appended = <A>(list: Array<A>, one: A): Array<A> => {
  if (list.length < COPIED_MAX) return [...list, one]
  list.push(one)
  return list
}

const queryOf = (facts: Facts, organizationId: string, f: SearchFacts): Subject =>
  f.query?.generation === facts.queries.generation
    ? f.query
    : (f.query = facts.queries.of(organizationId, f.collection, f.device, f.country, f.surface, f.q))

/** Adds (`sign` 1) or takes back (-1) everything the run from `first` to `last` contributes. */
const countRun = (visit: Visit, first: number, last: number, facts: Facts, sign: Sign): void => {
  const { loose, organizationId, searches } = visit
  const root = searches[last]!.derived
  const query = queryOf(facts, organizationId, root)
  let hasClick = false
  let hasPurchase = false
  for (let i = first; i <= last; i++) {
    const { hadClick, hadPurchase, named } = searches[i]!
    hasClick ||= hadClick
    hasPurchase ||= hadPurchase
    for (const interaction of named) {
      hasClick ||= interaction.kind === "click"
      hasPurchase ||= interaction.kind === "purchase"
      facts.interaction(query, interaction, sign)
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
      facts.interaction(query, interaction, sign)
    }
  }
  facts.search(query, root, sign)
  if (hasClick) facts.converted(query, root, "click", sign)
  if (hasPurchase) facts.converted(query, root, "purchase", sign)
}

/** Counts the distinct runs that hold any of the given indexes. */
const countRuns = (visit: Visit, indexes: ReadonlyArray<number>, facts: Facts, sign: Sign): void => {
  let done = -1
  for (const index of indexes) {
    if (index <= done || index < 0 || index >= visit.searches.length) continue
    const run = runAround(visit.searches, index)
    countRun(visit, run[0], run[1], facts, sign)
    done = run[1]
  }
}

export const insertSearch = (visit: Visit, search: Search, facts: Facts): void => {
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
    return countRun(visit, at, at, facts, 1)
  }
  countRuns(visit, [at - 1, at], facts, -1)
  searches.splice(at, 0, search)
  countRuns(visit, [at - 1, at, at + 1], facts, 1)
}

/** Takes a search out and everything it contributed back. */
export const removeSearch = (visit: Visit, search: Search, facts: Facts): void => {
  const at = visit.searches.indexOf(search)
  countRuns(visit, [at - 1, at, at + 1], facts, -1)
  visit.searches.splice(at, 1)
  countRuns(visit, [at - 1, at], facts, 1)
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
    derived: { ...root.derived, query: undefined },
    hadClick: has("click", (m) => m.hadClick),
    hadPurchase: has("purchase", (m) => m.hadPurchase)
  }
}

const markKind = (search: Search, kind: InteractionKind): void => {
  if (kind === "click") search.hadClick = true
  if (kind === "purchase") search.hadPurchase = true
}

/** Adds what one more interaction contributes to a run that does not hold it yet. */
const countOneMore = (visit: Visit, run: readonly [number, number], interaction: Interaction, facts: Facts): void => {
  const root = visit.searches[run[1]]!.derived
  const query = queryOf(facts, visit.organizationId, root)
  facts.interaction(query, interaction, 1)
  const { kind } = interaction
  if (kind === "add_to_cart" || hasKind(visit, run, kind)) return
  facts.converted(query, root, kind, 1)
}

/** An interaction that named a search of this visit. */
export const addNamed = (visit: Visit, search: Search, interaction: Interaction, facts: Facts): void => {
  countOneMore(visit, runAround(visit.searches, visit.searches.indexOf(search)), interaction, facts)
  if (search.named.length < INTERACTIONS_MAX) search.named = appended(search.named, interaction)
  else markKind(search, interaction.kind)
}

/**
 * An interaction that named no known search: it belongs to the visit's last search before it, if any within 30 minutes.
 */
export const addLoose = (visit: Visit, interaction: Interaction, facts: Facts): void => {
  const owner = ownerOf(visit.searches, interaction.at)
  if (owner >= 0) countOneMore(visit, runAround(visit.searches, owner), interaction, facts)
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
export const removeLoose = (visit: Visit, { index, offset }: Interaction, facts: Facts): void => {
  const at = visit.loose.findIndex((interaction) => interaction.offset === offset && interaction.index === index)
  if (at < 0) return
  const owner = ownerOf(visit.searches, visit.loose[at]!.at)
  countRuns(visit, [owner], facts, -1)
  visit.loose.splice(at, 1)
  countRuns(visit, [owner], facts, 1)
}

/** An interaction with a search that its visit has already let go. */
export const addSettled = (organizationId: string, search: Search, interaction: Interaction, facts: Facts): void => {
  const f = search.derived
  const query = queryOf(facts, organizationId, f)
  facts.interaction(query, interaction, 1)
  if (interaction.kind === "click" && !search.hadClick) facts.converted(query, f, "click", 1)
  if (interaction.kind === "purchase" && !search.hadPurchase) facts.converted(query, f, "purchase", 1)
  markKind(search, interaction.kind)
}
