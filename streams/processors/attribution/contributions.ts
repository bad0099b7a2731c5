/**
 * What a visit contributes, as facts: before a change, what the affected searches contributed is retracted; after it,
 * what they contribute is asserted. So figures are exact at any moment, and a replay with another interleaving of the
 * topics ends in the same state.
 */
import type { Facts, Interaction, InteractionKind, SearchFacts, Sign } from "../../facts/facts.ts"
import type { Subject } from "../../facts/subjects.ts"
import {
  hasKind,
  isApart,
  isKeystrokeBefore,
  looseOf,
  looseTo,
  ownerOf,
  precedes,
  runAround,
  type Search,
  searchesOf,
  type Visit,
  whole
} from "./visit.ts"

/**
 * Bounds of one visit. What is evicted keeps what it has contributed and is never attributed again. Several are evicted
 * together, so that a visit at its bound is decoded completely only once per that many events.
 */
const SEARCHES_PER_VISIT_MAX = 256
const INTERACTIONS_MAX = 256
const FALLING_OUT = 32

/** Lists are many and mostly short; an array that grows by itself reserves seventeen elements. */
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

/** Adds (`sign` 1) or retracts (-1) everything that the run from `first` to `last` contributes. */
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
      facts.interaction(query, interaction, sign, root)
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
      facts.interaction(query, interaction, sign, root)
    }
  }
  facts.search(query, root, sign)
  if (hasClick) facts.converted(query, root, "click", sign)
  if (hasPurchase) facts.converted(query, root, "purchase", sign)
}

/** Counts the distinct runs that contain any of the given indexes. */
const countRuns = (visit: Visit, indexes: ReadonlyArray<number>, facts: Facts, sign: Sign): void => {
  let done = -1
  for (const index of indexes) {
    if (index <= done || index < 0 || index >= visit.searches.length) continue
    const run = runAround(visit.searches, index)
    countRun(visit, run[0], run[1], facts, sign)
    done = run[1]
  }
}

/** Whether the search follows the first decoded one. */
const isBehindFirst = ({ searches }: Visit, search: Search): boolean =>
  searches.length > 0 && precedes(searches[0]!, search)

export const insertSearch = (visit: Visit, search: Search, facts: Facts): void => {
  if (visit.older !== undefined && !isBehindFirst(visit, search)) whole(visit)
  const { searches } = visit
  let at = searches.length
  while (at > 0 && precedes(search, searches[at - 1]!)) at--
  // The usual case: the newest search of the visit, and not a keystroke. Nothing that was counted changes.
  if (
    at === searches.length &&
    (at === 0 || !isKeystrokeBefore(searches[at - 1]!, search)) &&
    looseTo(visit) < search.derived.at
  ) {
    visit.searches = appended(searches, search)
    return countRun(visit, at, at, facts, 1)
  }
  if (!isApart(visit)) {
    whole(visit)
    return insertSearch(visit, search, facts)
  }
  countRuns(visit, [at - 1, at], facts, -1)
  searches.splice(at, 0, search)
  countRuns(visit, [at - 1, at, at + 1], facts, 1)
}

/** Removes a search and retracts everything it contributed. */
export const removeSearch = (visit: Visit, search: Search, facts: Facts): void => {
  if (visit.searches[0] === search || !isApart(visit)) whole(visit)
  const at = visit.searches.indexOf(search)
  countRuns(visit, [at - 1, at, at + 1], facts, -1)
  visit.searches.splice(at, 1)
  countRuns(visit, [at - 1, at], facts, 1)
}

/**
 * Evicts the oldest searches once there are more than the bound; what they contributed stays. Each is replaced by the
 * search it counted as, so that a later reference still finds its query; a keystroke hands its interactions to the
 * next search of its run.
 */
export const dropOldest = (visit: Visit): ReadonlyArray<Search> => {
  if (searchesOf(visit) <= SEARCHES_PER_VISIT_MAX) return NONE
  whole(visit)
  return Array.from({ length: FALLING_OUT }, () => dropFirst(visit))
}
const NONE: ReadonlyArray<Search> = []
const dropFirst = ({ loose, searches }: Visit): Search => {
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

/** Adds the contribution of one more interaction to a run that does not contain it yet. */
const countOneMore = (visit: Visit, run: readonly [number, number], interaction: Interaction, facts: Facts): void => {
  const root = visit.searches[run[1]]!.derived
  const query = queryOf(facts, visit.organizationId, root)
  facts.interaction(query, interaction, 1, root)
  const { kind } = interaction
  if (kind === "add_to_cart" || isConverted(visit, root, run, kind)) return
  facts.converted(query, root, kind, 1)
}
const isConverted = (
  visit: Visit,
  root: SearchFacts,
  run: readonly [number, number],
  kind: "click" | "purchase"
): boolean => {
  const has = hasKind(visit, run, kind)
  if (has !== undefined) return has
  whole(visit)
  const last = visit.searches.findIndex(({ derived }) => derived === root)
  return hasKind(visit, runAround(visit.searches, last), kind) === true
}

/** Adds an interaction that named a search of this visit. */
export const addNamed = (visit: Visit, search: Search, interaction: Interaction, facts: Facts): void => {
  countOneMore(visit, runAround(visit.searches, visit.searches.indexOf(search)), interaction, facts)
  if (search.named.length < INTERACTIONS_MAX) search.named = appended(search.named, interaction)
  else markKind(search, interaction.kind)
}

/**
 * Adds an interaction that names no known search: it belongs to the visit's last search before it, if there is one
 * within 30 minutes.
 */
export const addLoose = (visit: Visit, interaction: Interaction, facts: Facts): void => {
  const { older, searches } = visit
  const isLast =
    older === undefined ||
    (interaction.at >= older.looseTo && (searches.length === 0 || interaction.at >= searches[0]!.derived.at))
  if (!isLast) whole(visit)
  const owner = ownerOf(visit.searches, interaction.at)
  if (owner >= 0) countOneMore(visit, runAround(visit.searches, owner), interaction, facts)
  let at = visit.loose.length
  while (at > 0 && visit.loose[at - 1]!.at > interaction.at) at--
  if (at === visit.loose.length) visit.loose = appended(visit.loose, interaction)
  else visit.loose.splice(at, 0, interaction)
  if (looseOf(visit) <= INTERACTIONS_MAX) return
  whole(visit)
  for (let settled = 0; settled < FALLING_OUT; settled++) settleOldestLoose(visit)
}

/** Evicts the oldest loose interaction; its search keeps it permanently. */
const settleOldestLoose = (visit: Visit): void => {
  const oldest = visit.loose.shift()!
  const owner = ownerOf(visit.searches, oldest.at)
  if (owner < 0) return
  // Sets the flag without counting: counts stay where they were made even if runs change later.
  markKind(visit.searches[owner]!, oldest.kind)
}

/** Retracts a loose interaction, because the search it named has arrived. */
export const removeLoose = (visit: Visit, { index, offset }: Interaction, facts: Facts): void => {
  const isIt = (interaction: Interaction): boolean => interaction.offset === offset && interaction.index === index
  if (!isApart(visit) || !visit.loose.some(isIt)) whole(visit)
  const at = visit.loose.findIndex(isIt)
  if (at < 0) return
  const owner = ownerOf(visit.searches, visit.loose[at]!.at)
  countRuns(visit, [owner], facts, -1)
  visit.loose.splice(at, 1)
  countRuns(visit, [owner], facts, 1)
}

/** Counts an interaction that named a search which its visit has already evicted. */
export const addSettled = (organizationId: string, search: Search, interaction: Interaction, facts: Facts): void => {
  const f = search.derived
  const query = queryOf(facts, organizationId, f)
  facts.interaction(query, interaction, 1, f)
  if (interaction.kind === "click" && !search.hadClick) facts.converted(query, f, "click", 1)
  if (interaction.kind === "purchase" && !search.hadPurchase) facts.converted(query, f, "purchase", 1)
  markKind(search, interaction.kind)
}
