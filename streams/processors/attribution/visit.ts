/**
 * A visit: the searches of one visitor in one collection, in order of time, and the clicks, carts and purchases of that
 * visitor that named no search. What a visit contributes depends only on its contents, in particular not on the order
 * of arrival of records (`contributions.ts`). This file defines the contents and how they are read.
 *
 * A run is a sequence of keystrokes: each query is a prefix of the next, less than 4 s apart. A run counts as one
 * search, its last; whatever followed any of its searches belongs to that last one.
 */
import type { Interaction, SearchFacts } from "../../facts/facts.ts"
import { together } from "../../facts/who.ts"

/** This time and the next are promised in `docs/contract/events.md`. */
const KEYSTROKE_GAP_MS = 4_000
const SESSION_ATTRIBUTION_MS = 30 * 60_000

export interface Search {
  /** The query id, or a marker derived from the event's position. */
  readonly id: string
  served: SearchFacts | undefined
  event: SearchFacts | undefined
  /** Interactions that named this search. */
  named: Array<Interaction>
  /** Kinds seen among interactions that were evicted by the bounds. */
  hadClick: boolean
  hadPurchase: boolean
  /** Derived from `served` and `event`, or from the only one present; see `factsOf`. */
  derived: SearchFacts
}

/**
 * The beginning of a long visit, still encoded: few events concern it, and decoding an entire visit for each of its
 * events would make an event's cost grow with the visit (`whole`).
 */
export interface Older {
  /** Numbers of searches, of interactions that named them, and of loose interactions, for the size of the visit. */
  readonly searches: number
  readonly named: number
  readonly loose: number
  /** Times (ms) of the last loose interaction, click and purchase; -Infinity for none. */
  readonly looseTo: number
  readonly clickTo: number
  readonly purchaseTo: number
  /** The searches, followed at this byte by the interactions. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly searchBytes: number
  readonly read: (older: Older) => Pick<Visit, "searches" | "loose">
}

export interface Visit {
  readonly organizationId: string
  /** The part before `searches` and `loose`. No run extends across the boundary. */
  older?: Older | undefined
  searches: Array<Search>
  /** By time. */
  loose: Array<Interaction>
}

/** Decodes the entire visit: all of it is in `searches` and `loose` afterwards. O(visit) if some of it was encoded. */
export const whole = (visit: Visit): void => {
  const { older } = visit
  if (older === undefined) return
  const { loose, searches } = older.read(older)
  visit.older = undefined
  visit.searches = searches.concat(visit.searches)
  visit.loose = loose.concat(visit.loose)
}
export const searchesOf = ({ older, searches }: Visit): number => searches.length + (older?.searches ?? 0)
export const looseOf = ({ loose, older }: Visit): number => loose.length + (older?.loose ?? 0)
/** Time of its last loose interaction (ms). */
export const looseTo = ({ loose, older }: Visit): number =>
  loose.length > 0 ? loose[loose.length - 1]!.at : (older?.looseTo ?? -Infinity)
/** Whether no encoded interaction belongs to one of `searches`. */
export const isApart = ({ older, searches }: Visit): boolean =>
  older === undefined || (searches.length > 0 && older.looseTo < searches[0]!.derived.at)
export const searchIn = (visit: Visit, id: string): Search | undefined => {
  const one = (search: Search): boolean => search.id === id
  const found = visit.searches.find(one)
  if (found !== undefined || visit.older === undefined || visit.older.searches === 0) return found
  whole(visit)
  return visit.searches.find(one)
}

/** Where the search with a query id is, and what waits for it if it has not arrived yet. */
export interface QueryReference {
  /** The visit that contains the search; undefined until it arrives, or if it is kept in `settled`. */
  visit: string | undefined
  /** The search itself once its visit has evicted it. */
  settled: Search | undefined
  /** The answer was made with `enable_analytics=false`: events that name it belong to no query. */
  isUncounted: boolean
  /** Interactions that named it before it arrived, and the visit where each is loose meanwhile. */
  readonly pending: Array<{ readonly interaction: Interaction; readonly visit: string | undefined }>
}

/** The answer is more reliable about what was searched; either source may know the visitor and the device. */
export const factsOf = (served: SearchFacts | undefined, event: SearchFacts | undefined): SearchFacts => {
  if (served === undefined) return event!
  if (event === undefined) return served
  served.query = event.query = undefined
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
    exposure: served.exposure ?? event.exposure,
    who: together(served.who, event.who),
    query: undefined
  }
}

/**
 * Among several `search` events with one query id the earliest wins, and content breaks ties, because order of arrival
 * must not matter.
 */
export const earlier = (a: SearchFacts, b: SearchFacts): SearchFacts => {
  if (a.at !== b.at) return a.at < b.at ? a : b
  const [x, y] = [a, b].map((one) => JSON.stringify({ ...one, query: undefined })) as [string, string]
  return x <= y ? a : b
}

export const precedes = (a: Search, b: Search): boolean => {
  const x = a.derived,
    y = b.derived
  if (x.at !== y.at) return x.at < y.at
  if (x.q.length !== y.q.length) return x.q.length < y.q.length
  return x.q !== y.q ? x.q < y.q : a.id < b.id
}

export const isKeystrokeBefore = (a: Search, b: Search): boolean =>
  b.derived.at - a.derived.at < KEYSTROKE_GAP_MS && b.derived.q.startsWith(a.derived.q)

/** First and last index of the run that contains `index`. */
export const runAround = (searches: ReadonlyArray<Search>, index: number): readonly [number, number] => {
  let first = index
  let last = index
  while (first > 0 && isKeystrokeBefore(searches[first - 1]!, searches[first]!)) first--
  while (last + 1 < searches.length && isKeystrokeBefore(searches[last]!, searches[last + 1]!)) last++
  return [first, last]
}

/** Index of the search that a loose interaction at `at` follows: the last one not after it; -1 if none is recent. */
export const ownerOf = (searches: ReadonlyArray<Search>, at: number): number => {
  for (let i = searches.length - 1; i >= 0; i--) {
    const searchedAt = searches[i]!.derived.at
    if (searchedAt <= at) return at - searchedAt <= SESSION_ATTRIBUTION_MS ? i : -1
  }
  return -1
}

/**
 * Whether the run [first, last] has an interaction of a kind that it contributes as a flag; undefined if the encoded
 * part of the visit must be checked.
 */
export const hasKind = (
  { loose, older, searches }: Visit,
  [first, last]: readonly [number, number],
  kind: "click" | "purchase"
): boolean | undefined => {
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
  const restedTo = (kind === "click" ? older?.clickTo : older?.purchaseTo) ?? -Infinity
  if (restedTo < searches[first]!.derived.at) return false
  // The search that owns the last encoded interaction of the kind. If it is not in the run, an earlier one's may be.
  const owner = ownerOf(searches, restedTo)
  return owner >= first && owner <= last ? true : undefined
}

export const newSearch = (id: string, served: SearchFacts | undefined, event: SearchFacts | undefined): Search => ({
  id,
  served,
  event,
  named: [],
  hadClick: false,
  hadPurchase: false,
  derived: factsOf(served, event)
})
