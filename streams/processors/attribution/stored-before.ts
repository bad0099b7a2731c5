/**
 * Visits and query ids as older programs stored them, in msgpack: by position, and by name before that. Must stay
 * readable as long as such values live: thirty days after the program that wrote them.
 */
import { type Interaction, type InteractionKind, type SearchFacts, NO_DOCUMENTS } from "../../facts/facts.ts"
import { NO_MONEY } from "../../facts/money.ts"
import { NOBODY } from "../../facts/who.ts"
import { factsOf, type QueryReference, type Search, type Visit } from "./visit.ts"

/** Stored values contain indexes into this list. */
export const KINDS = ["click", "add_to_cart", "purchase"] as const satisfies ReadonlyArray<InteractionKind>

type StoredFacts = readonly [
  at: number,
  q: string,
  collection: string,
  hasNoResults: boolean,
  visitor: string,
  device: string,
  country: string,
  surface: string,
  user: number,
  anonymous: number,
  session: number,
  uses: SearchFacts["uses"],
  filter: string,
  tag: string
]
type NamedFacts = Omit<SearchFacts, "who" | "uses" | "filter" | "tag" | "isExplicit" | "exposure" | "query"> &
  Partial<Pick<SearchFacts, "who" | "uses" | "filter" | "tag">>
type NamedInteraction = Omit<Interaction, "offset" | "index"> & { readonly id: string }
type StoredInteraction = readonly [id: string, kind: number, at: number, units: number, micros: number]
type StoredSearch = readonly [
  id: string,
  served: StoredFacts | NamedFacts | undefined,
  event: StoredFacts | NamedFacts | undefined,
  named: ReadonlyArray<StoredInteraction | NamedInteraction>,
  hadClick: boolean,
  hadPurchase: boolean
]
interface NamedPending {
  readonly interaction: NamedInteraction
  readonly visit: string | undefined
}
type StoredPending = readonly [interaction: StoredInteraction, visit: string | undefined]

const unpackFacts = (stored: StoredFacts | NamedFacts | undefined, isExplicit: boolean): SearchFacts | undefined => {
  if (stored === undefined) return undefined
  // Older programs did not write all of them.
  if (!isPositional(stored))
    return {
      ...stored,
      who: stored.who === undefined ? NOBODY : [stored.who[0], stored.who[1], stored.who[2], 0],
      filter: stored.filter ?? "",
      tag: stored.tag ?? "",
      uses: stored.uses,
      isExplicit,
      exposure: undefined,
      query: undefined
    }
  const [
    at,
    q,
    collection,
    hasNoResults,
    visitor,
    device,
    country,
    surface,
    user,
    anonymous,
    session,
    uses,
    filter,
    tag
  ] = stored
  return {
    at,
    q,
    collection,
    hasNoResults,
    visitor,
    device,
    country,
    surface,
    who: [user, anonymous, session, 0],
    uses,
    filter,
    tag,
    isExplicit,
    exposure: undefined,
    query: undefined
  }
}
const isPositional = <A extends ReadonlyArray<unknown>>(stored: A | object): stored is A => Array.isArray(stored)

const unpackInteraction = (stored: StoredInteraction | NamedInteraction): Interaction => {
  if (!isPositional(stored))
    return { ...placeOf(stored.id), kind: stored.kind, at: stored.at, money: stored.money, documents: NO_DOCUMENTS }
  const [id, kind, at, units, micros] = stored
  return {
    ...placeOf(id),
    kind: KINDS[kind]!,
    at,
    money: units === 0 && micros === 0 ? NO_MONEY : { units, micros },
    documents: NO_DOCUMENTS
  }
}
const placeOf = (id: string): Pick<Interaction, "offset" | "index"> => {
  const [offset, index] = id.split(".")
  return { offset: Number(offset), index: Number(index) }
}

const unpackSearch = ([id, storedServed, storedEvent, named, hadClick, hadPurchase]: StoredSearch): Search => {
  const served = unpackFacts(storedServed, false),
    event = unpackFacts(storedEvent, true)
  return {
    id,
    served,
    event,
    named: named.map(unpackInteraction),
    hadClick,
    hadPurchase,
    derived: factsOf(served, event)
  }
}

export const unpackVisit = ([organizationId, searches, loose]: readonly [
  string,
  ReadonlyArray<StoredSearch>,
  ReadonlyArray<StoredInteraction | NamedInteraction>
]): Visit => ({ organizationId, searches: searches.map(unpackSearch), loose: loose.map(unpackInteraction) })

export const unpackQuery = ([visit, settled, isUncounted, pending]: readonly [
  string | undefined,
  StoredSearch | undefined,
  boolean,
  ReadonlyArray<StoredPending | NamedPending>
]): QueryReference => ({
  visit,
  settled: settled === undefined ? undefined : unpackSearch(settled),
  isUncounted,
  pending: pending.map((one) =>
    isPositional(one)
      ? { interaction: unpackInteraction(one[0]), visit: one[1] }
      : { interaction: unpackInteraction(one.interaction), visit: one.visit }
  )
})
