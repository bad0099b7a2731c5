/**
 * Visits and query ids as they rest in memory and in the store: bytes, by position, with what a search has in common
 * with the one before it left out. Values of programs before are read
 * still (`stored-before.ts`).
 */
import type { FilterUse } from "../../figures/filter-uses.ts"
import type { ByteReader, PageWriter } from "../../state/pages.ts"
import type { Form } from "../../state/state.ts"
import type { Interaction, SearchFacts } from "../../facts/facts.ts"
import { NO_MONEY } from "../../facts/money.ts"
import { KINDS, unpackQuery, unpackVisit } from "./stored-before.ts"
import { factsOf, type QueryReference, type Search, type Visit } from "./visit.ts"

const USE_TYPES = ["filter", "facet"] as const satisfies ReadonlyArray<FilterUse[0]>

// Bits of facts.
const NO_RESULTS = 1,
  SAME_SEARCHER = 2,
  USES = 4,
  ASKED_SO = 8,
  NETWORK = 16
/** Of `Who`, without the network: programs before did not know it, and nobody's has none. */
const PERSONS = 3
const hasOneSearcher = (a: SearchFacts, b: SearchFacts): boolean =>
  a.visitor === b.visitor &&
  a.collection === b.collection &&
  a.device === b.device &&
  a.country === b.country &&
  a.surface === b.surface &&
  (a.who === b.who ||
    (a.who[0] === b.who[0] && a.who[1] === b.who[1] && a.who[2] === b.who[2] && a.who[3] === b.who[3]))

const writeFacts = (to: PageWriter, f: SearchFacts, before: SearchFacts | undefined): void => {
  const isSame = before !== undefined && hasOneSearcher(f, before),
    isAskedSo = f.filter !== "" || f.tag !== ""
  to.byte(
    (f.hasNoResults ? NO_RESULTS : 0) |
      (isSame ? SAME_SEARCHER : 0) |
      (f.uses === undefined ? 0 : USES) |
      (isAskedSo ? ASKED_SO : 0) |
      (!isSame && f.who[3] !== 0 ? NETWORK : 0)
  )
  to.double(f.at)
  to.text(f.q)
  if (!isSame) {
    to.text(f.collection)
    to.text(f.visitor)
    to.text(f.device)
    to.text(f.country)
    to.text(f.surface)
    for (let i = 0; i < PERSONS; i++) to.whole(f.who[i]!)
    if (f.who[3] !== 0) to.whole(f.who[3])
  }
  if (f.uses !== undefined) {
    to.whole(f.uses.length)
    for (const [type, field, value] of f.uses) {
      to.byte(USE_TYPES.indexOf(type))
      to.text(field)
      to.text(value)
    }
  }
  if (!isAskedSo) return
  to.text(f.filter)
  to.text(f.tag)
}
const readFacts = (from: ByteReader, isExplicit: boolean, before: SearchFacts | undefined): SearchFacts => {
  const bits = from.byte(),
    isSame = (bits & SAME_SEARCHER) !== 0,
    at = from.double(),
    q = from.text()
  const collection = isSame ? before!.collection : from.text(),
    visitor = isSame ? before!.visitor : from.text()
  const device = isSame ? before!.device : from.text(),
    country = isSame ? before!.country : from.text(),
    surface = isSame ? before!.surface : from.text()
  const who = isSame
    ? before!.who
    : ([from.whole(), from.whole(), from.whole(), (bits & NETWORK) === 0 ? 0 : from.whole()] as const)
  const uses =
    (bits & USES) === 0
      ? undefined
      : Array.from({ length: from.whole() }, (): FilterUse => [USE_TYPES[from.byte()]!, from.text(), from.text()])
  const isAskedSo = (bits & ASKED_SO) !== 0
  return {
    at,
    q,
    collection,
    hasNoResults: (bits & NO_RESULTS) !== 0,
    visitor,
    device,
    country,
    surface,
    who,
    uses,
    filter: isAskedSo ? from.text() : "",
    tag: isAskedSo ? from.text() : "",
    isExplicit,
    query: undefined
  }
}

// Bits of an interaction, behind its kind.
const KIND = 3,
  MONEY = 4

const writeInteraction = (to: PageWriter, { at, index, kind, money, offset }: Interaction): void => {
  const hasMoney = money.units !== 0 || money.micros !== 0
  to.byte(KINDS.indexOf(kind) | (hasMoney ? MONEY : 0))
  to.whole(offset)
  to.whole(index)
  to.double(at)
  if (!hasMoney) return
  to.double(money.units)
  to.double(money.micros)
}
const readInteraction = (from: ByteReader): Interaction => {
  const bits = from.byte(),
    offset = from.whole(),
    index = from.whole(),
    at = from.double()
  return {
    offset,
    index,
    kind: KINDS[bits & KIND]!,
    at,
    money: (bits & MONEY) === 0 ? NO_MONEY : { units: from.double(), micros: from.double() }
  }
}
const writeInteractions = (to: PageWriter, all: ReadonlyArray<Interaction>): void => {
  to.whole(all.length)
  for (const one of all) writeInteraction(to, one)
}
const readInteractions = (from: ByteReader): Array<Interaction> => {
  const all: Array<Interaction> = []
  for (let left = from.whole(); left > 0; left--) all.push(readInteraction(from))
  return all
}

// Bits of a search.
const SERVED = 1,
  EVENT = 2,
  HAD_CLICK = 4,
  HAD_PURCHASE = 8

const writeSearch = (
  to: PageWriter,
  { event, hadClick, hadPurchase, id, named, served }: Search,
  before: SearchFacts | undefined
): void => {
  to.byte(
    (served === undefined ? 0 : SERVED) |
      (event === undefined ? 0 : EVENT) |
      (hadClick ? HAD_CLICK : 0) |
      (hadPurchase ? HAD_PURCHASE : 0)
  )
  to.text(id)
  if (served !== undefined) writeFacts(to, served, before)
  if (event !== undefined) writeFacts(to, event, served ?? before)
  writeInteractions(to, named)
}
const readSearch = (from: ByteReader, before: SearchFacts | undefined): Search => {
  const bits = from.byte(),
    id = from.text()
  const served = (bits & SERVED) === 0 ? undefined : readFacts(from, false, before)
  const event = (bits & EVENT) === 0 ? undefined : readFacts(from, true, served ?? before)
  return {
    id,
    served,
    event,
    named: readInteractions(from),
    hadClick: (bits & HAD_CLICK) !== 0,
    hadPurchase: (bits & HAD_PURCHASE) !== 0,
    derived: factsOf(served, event)
  }
}
/** What the next search is compared with. */
const lastOf = ({ event, served }: Search): SearchFacts => event ?? served!

export const VISIT_FORM: Form<Visit> = {
  write: (to, { loose, organizationId, searches }) => {
    to.text(organizationId)
    to.whole(searches.length)
    let before: SearchFacts | undefined
    for (const search of searches) {
      writeSearch(to, search, before)
      before = lastOf(search)
    }
    writeInteractions(to, loose)
  },
  read: (from) => {
    const organizationId = from.text(),
      searches: Array<Search> = []
    let before: SearchFacts | undefined
    for (let left = from.whole(); left > 0; left--) {
      const search = readSearch(from, before)
      searches.push(search)
      before = lastOf(search)
    }
    return { organizationId, searches, loose: readInteractions(from) }
  },
  decode: unpackVisit
}

// Bits of a query id; the first said that it has a visit, which its key says now.
const SETTLED = 2,
  UNCOUNTED = 4

const writeVisitKey = (to: PageWriter, visit: string | undefined): void => to.text(visit ?? "")
const readVisitKey = (from: ByteReader): string | undefined => from.text() || undefined

export const QUERY_FORM: Form<QueryReference> = {
  write: (to, { isUncounted, pending, settled, visit }) => {
    to.byte((settled === undefined ? 0 : SETTLED) | (isUncounted ? UNCOUNTED : 0))
    writeVisitKey(to, visit)
    // It answers as the one it counted as: what it was derived from is no longer asked for.
    if (settled !== undefined) writeSearch(to, { ...settled, served: settled.derived, event: undefined }, undefined)
    to.whole(pending.length)
    for (const one of pending) {
      writeInteraction(to, one.interaction)
      writeVisitKey(to, one.visit)
    }
  },
  read: (from) => {
    const bits = from.byte(),
      visit = readVisitKey(from),
      settled = (bits & SETTLED) === 0 ? undefined : readSearch(from, undefined)
    const pending: QueryReference["pending"] = []
    for (let left = from.whole(); left > 0; left--)
      pending.push({ interaction: readInteraction(from), visit: readVisitKey(from) })
    return { visit, settled, isUncounted: (bits & UNCOUNTED) !== 0, pending }
  },
  decode: unpackQuery
}
