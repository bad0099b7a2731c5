/**
 * Visits and query ids as they are encoded in memory and in the store: bytes, by position, omitting what a search
 * shares with the previous one. The beginning of a long visit is decoded on demand. Values of older programs are still
 * read (`stored-before.ts`).
 */
import { EXPOSED_UNITS, type ServedExposure } from "@dowser/log/event-schema"
import type { FilterUse } from "../../figures/filter-uses.ts"
import { ByteReader, type PageWriter } from "../../state/pages.ts"
import type { Form } from "../../state/state.ts"
import { type Interaction, type InteractionKind, NO_DOCUMENTS, type SearchFacts } from "../../facts/facts.ts"
import { NO_MONEY } from "../../facts/money.ts"
import { KINDS, unpackQuery, unpackVisit } from "./stored-before.ts"
import { factsOf, isKeystrokeBefore, type Older, type QueryReference, type Search, type Visit } from "./visit.ts"

const USE_TYPES = ["filter", "facet"] as const satisfies ReadonlyArray<FilterUse[0]>

// Bits of facts.
const NO_RESULTS = 1,
  SAME_SEARCHER = 2,
  USES = 4,
  ASKED_SO = 8,
  NETWORK = 16,
  EXPOSED = 32
/** Number of fields of `Who` without the network: older programs did not store it, and anonymous searches have none. */
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
      (!isSame && f.who[3] !== 0 ? NETWORK : 0) |
      (f.exposure === undefined ? 0 : EXPOSED)
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
  if (isAskedSo) {
    to.text(f.filter)
    to.text(f.tag)
  }
  if (f.exposure !== undefined) writeExposure(to, f.exposure)
}
const writeExposure = (to: PageWriter, { id, run, teams, unit, variant }: ServedExposure): void => {
  to.text(id)
  to.whole(run)
  to.byte(variant)
  to.byte(EXPOSED_UNITS.indexOf(unit) | (teams === undefined ? 0 : TEAMS))
  if (teams === undefined) return
  writeWholes(to, teams.a)
  writeWholes(to, teams.b)
}
const readExposure = (from: ByteReader): ServedExposure => {
  const id = from.text(),
    run = from.whole(),
    variant = from.byte(),
    bits = from.byte()
  const exposure = { id, run, variant, unit: EXPOSED_UNITS[bits & UNIT]! }
  return (bits & TEAMS) === 0 ? exposure : { ...exposure, teams: { a: readWholes(from), b: readWholes(from) } }
}
// Bits of an exposure's unit.
const UNIT = 3,
  TEAMS = 4
const writeWholes = (to: PageWriter, all: ReadonlyArray<number>): void => {
  to.whole(all.length)
  for (const one of all) to.whole(one)
}
const readWholes = (from: ByteReader): ReadonlyArray<number> => Array.from({ length: from.whole() }, () => from.whole())
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
    exposure: (bits & EXPOSED) === 0 ? undefined : readExposure(from),
    query: undefined
  }
}

// Bits of an interaction, above those of its kind.
const KIND = 3,
  MONEY = 4,
  DOCUMENTS = 8

const writeInteraction = (to: PageWriter, { at, documents, index, kind, money, offset }: Interaction): void => {
  const hasMoney = money.units !== 0 || money.micros !== 0
  to.byte(KINDS.indexOf(kind) | (hasMoney ? MONEY : 0) | (documents.length === 0 ? 0 : DOCUMENTS))
  to.whole(offset)
  to.whole(index)
  to.double(at)
  if (documents.length > 0) writeWholes(to, documents)
  if (!hasMoney) return
  to.double(money.units)
  to.double(money.micros)
}
const readInteraction = (from: ByteReader): Interaction => {
  const bits = from.byte(),
    offset = from.whole(),
    index = from.whole(),
    at = from.double()
  const documents = (bits & DOCUMENTS) === 0 ? NO_DOCUMENTS : readWholes(from)
  return {
    offset,
    index,
    kind: KINDS[bits & KIND]!,
    at,
    documents,
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
/** The facts that the next search is compared with. */
const lastOf = ({ event, served }: Search): SearchFacts => event ?? served!

const writeSearches = (to: PageWriter, searches: ReadonlyArray<Search>): void => {
  let before: SearchFacts | undefined
  for (const search of searches) {
    writeSearch(to, search, before)
    before = lastOf(search)
  }
}
const readSearches = (from: ByteReader, count: number): Array<Search> => {
  const searches: Array<Search> = []
  let before: SearchFacts | undefined
  for (let left = count; left > 0; left--) {
    const search = readSearch(from, before)
    searches.push(search)
    before = lastOf(search)
  }
  return searches
}

/**
 * How many searches, or loose interactions, of a visit are decoded for each of its events, and how many stay decoded
 * when the others are encoded.
 */
const RECENT_MAX = 4
const RECENT_KEPT = 2
/** No organization's name is empty, so this prefix marks a visit that is partly encoded. */
const PARTED = 0

const readOlder = (older: Older): Pick<Visit, "searches" | "loose"> => {
  const from = READER.open(Buffer.from(older.bytes.buffer), 0)
  const searches = readSearches(from, older.searches)
  return { searches, loose: Array.from({ length: older.loose }, () => readInteraction(from)) }
}
const READER = new ByteReader()

/** How many of the searches may be encoded: as many complete runs as leave `RECENT_KEPT` searches. */
const restingSearches = ({ searches }: Visit): number => {
  if (searches.length <= RECENT_MAX) return 0
  let at = searches.length - RECENT_KEPT
  while (at > 0 && isKeystrokeBefore(searches[at - 1]!, searches[at]!)) at--
  return at
}
/** How many loose interactions may be encoded: those of encoded searches, and all but `RECENT_KEPT` of many. */
const restingLoose = ({ loose, searches }: Visit, resting: number): number => {
  let at = loose.length > RECENT_MAX ? loose.length - RECENT_KEPT : 0
  if (resting > 0) while (at < loose.length && loose[at]!.at < searches[resting]!.derived.at) at++
  return at
}

const lastAt = (some: ReadonlyArray<Interaction>, kind: InteractionKind, before: number): number => {
  for (let i = some.length - 1; i >= 0; i--) if (some[i]!.kind === kind) return some[i]!.at
  return before
}
/**
 * The encoded part of a visit: the earlier bytes, copied unchanged, followed by what is encoded now, so that a visit is
 * not encoded again with each event.
 */
const writeOlder = (to: PageWriter, { older, searches, loose }: Visit, resting: number, looseResting: number): void => {
  const some = loose.slice(0, looseResting)
  let named = older?.named ?? 0
  for (let i = 0; i < resting; i++) named += searches[i]!.named.length
  to.whole((older?.searches ?? 0) + resting)
  to.whole(named)
  to.whole((older?.loose ?? 0) + looseResting)
  to.double(some.length > 0 ? some[some.length - 1]!.at : (older?.looseTo ?? -Infinity))
  to.double(lastAt(some, "click", older?.clickTo ?? -Infinity))
  to.double(lastAt(some, "purchase", older?.purchaseTo ?? -Infinity))
  // Reserves space for two lengths that become known later.
  const at = to.to - to.from
  to.long(0)
  to.long(0)
  if (older !== undefined) to.raw(older.bytes.subarray(0, older.searchBytes))
  writeSearches(to, searches.slice(0, resting))
  const middle = to.to - to.from
  if (older !== undefined) to.raw(older.bytes.subarray(older.searchBytes))
  for (const one of some) writeInteraction(to, one)
  const begun = at + 2 * LENGTH_BYTES
  to.page.view.setUint32(to.from + at, middle - begun)
  to.page.view.setUint32(to.from + at + LENGTH_BYTES, to.to - to.from - begun)
}
const LENGTH_BYTES = 4
const readOlderOf = (from: ByteReader): Older => {
  const searches = from.whole(),
    named = from.whole(),
    loose = from.whole(),
    looseTo = from.double(),
    clickTo = from.double(),
    purchaseTo = from.double(),
    searchBytes = from.long(),
    bytes = from.raw(from.long())
  return { searches, named, loose, looseTo, clickTo, purchaseTo, searchBytes, bytes, read: readOlder }
}

/**
 * A short visit is written unchanged; of a long one, everything but the last complete runs is kept as bytes in front
 * (`Older`). So an event of a long visit costs only its last searches and interactions, and a copy of the rest.
 */
export const VISIT_FORM: Form<Visit> = {
  write: (to, visit) => {
    const { loose, older, organizationId, searches } = visit
    const resting = restingSearches(visit),
      looseResting = restingLoose(visit, resting)
    const isParted = older !== undefined || resting > 0 || looseResting > 0
    if (isParted) to.byte(PARTED)
    to.text(organizationId)
    if (isParted) writeOlder(to, visit, resting, looseResting)
    const recent = resting === 0 ? searches : searches.slice(resting)
    to.whole(recent.length)
    writeSearches(to, recent)
    writeInteractions(to, looseResting === 0 ? loose : loose.slice(looseResting))
  },
  read: (from) => {
    const isParted = from.peek() === PARTED
    if (isParted) from.byte()
    const organizationId = from.text()
    const older = isParted ? readOlderOf(from) : undefined
    const searches = readSearches(from, from.whole())
    return { organizationId, older, searches, loose: readInteractions(from) }
  },
  decode: unpackVisit
}

// Flags that are stored with a query id. 1 is not reused: older rows have it for ids with a visit.
const SETTLED = 2,
  UNCOUNTED = 4

const writeVisitKey = (to: PageWriter, visit: string | undefined): void => to.text(visit ?? "")
const readVisitKey = (from: ByteReader): string | undefined => from.text() || undefined

export const QUERY_FORM: Form<QueryReference> = {
  write: (to, { isUncounted, pending, settled, visit }) => {
    to.byte((settled === undefined ? 0 : SETTLED) | (isUncounted ? UNCOUNTED : 0))
    writeVisitKey(to, visit)
    // An evicted search is stored in the form in which it counted, because its sources are no longer needed.
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
