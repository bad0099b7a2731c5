/**
 * Judges the entries of an event batch one by one: an entry becomes a `BehaviouralEvent` or a reason. Pure; a bad entry
 * never affects its neighbours. Written by hand rather than as a schema because the reasons are part of the answer,
 * each one sentence about one entry, and because this is the hottest code of the front door.
 */
import { isMetadataBounded, METADATA_CHARACTERS_MAX } from "./metadata.ts"
import {
  type BehaviouralEvent,
  EVENT_AGE_MAX_MS,
  EVENT_AHEAD_MAX_MS,
  EVENT_ID_BYTES_MAX,
  EVENT_TYPES,
  type EventItem,
  type EventType,
  IDENTIFIER_BYTES_MAX,
  ITEMS_MAX,
  MONEY_MAX,
  QUERY_CHARACTERS_MAX,
  type Rejection,
  TEXT_CHARACTERS_MAX
} from "@dowser/log/event-schema"

interface AcceptedBatch {
  readonly accepted: ReadonlyArray<BehaviouralEvent>
  readonly rejected: ReadonlyArray<Rejection>
  /** Unknown keys that were moved under `metadata`. */
  readonly unknownKeys: number
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type Draft = Mutable<BehaviouralEvent>
const types = new Set<string>(EVENT_TYPES)
const CURRENCY_CHARACTERS_MAX = 16

/**
 * The reason an entry is refused. Thrown and caught only within this file: an exception keeps the happy path free of
 * checks.
 */
class Refused {
  readonly reason: string
  constructor(reason: string) {
    this.reason = reason
  }
}
const refuse = (reason: string): never => {
  throw new Refused(reason)
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Counts UTF-8 bytes only if the cheap bound on characters is not sufficient. */
const exceedsBytes = (text: string, bytes_max: number): boolean =>
  text.length > bytes_max || (text.length * 3 > bytes_max && Buffer.byteLength(text) > bytes_max)

/** Postgres cannot store NUL in text; such an id is refused here instead of failing an entire flush later. */
const hasNul = (text: string): boolean => text.includes("\u0000")

/**
 * Decision: an integer is accepted as an id (`42` → `"42"`), because many shops number their users and products; an
 * empty id counts as absent, because templates leave such fields empty. Halves of surrogate pairs, which UTF-8 cannot
 * encode, are replaced here, so that an id is the same before and after the log.
 */
const identifier = (key: string, value: unknown, bytes_max: number): string | undefined => {
  const text =
    typeof value === "string" ? value : Number.isSafeInteger(value) ? String(value) : refuse(`${key} must be a string`)
  if (text === "") return undefined
  if (exceedsBytes(text, bytes_max)) refuse(`${key} must be at most ${bytes_max} bytes`)
  if (hasNul(text)) refuse(`${key} must not contain the NUL character`)
  return text.toWellFormed()
}
const words = (key: string, value: unknown, characters_max: number): string => {
  if (typeof value !== "string") return refuse(`${key} must be a string`)
  if (value.length > characters_max) refuse(`${key} must be at most ${characters_max} characters`)
  return value.toWellFormed()
}
const money = (key: string, value: unknown): number =>
  typeof value === "number" && value >= 0 && value <= MONEY_MAX
    ? value
    : refuse(`${key} must be a number from 0 to ${MONEY_MAX}`)
const count = (key: string, value: unknown): number =>
  Number.isSafeInteger(value) && (value as number) >= 0
    ? (value as number)
    : refuse(`${key} must be a whole number from 0 up`)
const amount = (key: string, value: unknown): number =>
  typeof value === "number" && value > 0 && value <= MONEY_MAX ? value : refuse(`${key} must be a number above 0`)

const itemsOf = (value: unknown): ReadonlyArray<EventItem> => {
  if (!Array.isArray(value) || value.length === 0) return refuse("items must be a list with at least one item")
  if (value.length > ITEMS_MAX) refuse(`items must have at most ${ITEMS_MAX} entries`)
  return value.map((item: unknown, i) => {
    if (!isPlainObject(item)) return refuse(`items[${i}] must be an object`)
    const document_id =
      item.document_id === undefined || item.document_id === null
        ? undefined
        : identifier(`items[${i}].document_id`, item.document_id, IDENTIFIER_BYTES_MAX)
    if (document_id === undefined) return refuse(`items[${i}].document_id is required`)
    const read: Mutable<EventItem> = { document_id }
    if (item.quantity !== undefined && item.quantity !== null)
      read.quantity = amount(`items[${i}].quantity`, item.quantity)
    if (item.price !== undefined && item.price !== null) read.price = money(`items[${i}].price`, item.price)
    return read
  })
}

/** The requirement: `revenue`, or a price for the document, or a price for every item. */
const hasRevenue = (event: Draft): boolean =>
  event.revenue !== undefined ||
  (event.items === undefined ? event.price !== undefined : event.items.every((item) => item.price !== undefined))

const requirements: { readonly [K in EventType]: (event: Draft) => void } = {
  search: (event) => {
    if (event.q === undefined) refuse("q is required for a search event")
  },
  view: (event) => {
    if (event.document_id === undefined) refuse("document_id is required for a view event")
  },
  click: (event) => {
    if (event.document_id === undefined) refuse("document_id is required for a click event")
  },
  add_to_cart: (event) => paid(event),
  purchase: (event) => paid(event),
  conversion: () => {},
  custom: (event) => {
    if (event.name === undefined || event.name === "") refuse("name is required for a custom event")
  }
}
const paid = (event: Draft): void => {
  if (event.document_id === undefined && event.items === undefined)
    refuse(`document_id or items is required for a ${event.type} event`)
  if (!hasRevenue(event)) refuse(`revenue, or price and quantity, is required for a ${event.type} event`)
}

/**
 * Whether `identifier` and `words` would leave a text unchanged. Returns false for some long texts without examining
 * them.
 */
const isIdentifier = (value: unknown, bytes_max: number): boolean =>
  typeof value === "string" && value !== "" && value.length * 3 <= bytes_max && !hasNul(value) && value.isWellFormed()
const areWords = (value: unknown, characters_max: number): boolean =>
  typeof value === "string" && value.length <= characters_max && value.isWellFormed()
const isAmount = (value: unknown): boolean => typeof value === "number" && value > 0 && value <= MONEY_MAX
const isMoney = (value: unknown): boolean => typeof value === "number" && value >= 0 && value <= MONEY_MAX
const isNormalItem = (item: unknown): boolean => {
  if (!isPlainObject(item)) return false
  let hasId = false
  for (const key in item) {
    const value = item[key]
    if (key === "document_id") {
      if (!isIdentifier(value, IDENTIFIER_BYTES_MAX)) return false
      hasId = true
    } else if (!(key === "quantity" ? isAmount(value) : key === "price" && isMoney(value))) return false
  }
  return hasId
}

/**
 * Whether `read` would create an event of exactly this shape and content, or refuse it only for its type's
 * requirements: then the entry is used as the event, and no second object, which would live until the commit, is
 * created. Most entries that senders send qualify. False is always safe.
 */
const isNormal = (entry: Record<string, unknown>, now: number): boolean => {
  let hasCollection = false
  let hasTimestamp = false
  for (const key in entry) {
    const value = entry[key]
    let isGood: boolean
    switch (key) {
      case "type":
        isGood = typeof value === "string" && types.has(value)
        break
      case "collection":
        isGood = hasCollection = isIdentifier(value, IDENTIFIER_BYTES_MAX)
        break
      case "timestamp":
        isGood = hasTimestamp =
          Number.isInteger(value) &&
          (value as number) >= now - EVENT_AGE_MAX_MS &&
          (value as number) <= now + EVENT_AHEAD_MAX_MS
        break
      case "event_id":
      case "query_id":
        isGood = isIdentifier(value, EVENT_ID_BYTES_MAX)
        break
      case "session_id":
      case "anonymous_id":
      case "user_id":
      case "document_id":
      case "surface":
      case "device":
      case "country":
        isGood = isIdentifier(value, IDENTIFIER_BYTES_MAX)
        break
      case "position":
      case "results_found":
        isGood = Number.isSafeInteger(value) && (value as number) >= 0
        break
      case "q":
      case "filter_by":
        isGood = areWords(value, key === "q" ? QUERY_CHARACTERS_MAX : TEXT_CHARACTERS_MAX)
        break
      case "currency":
        isGood = areWords(value, CURRENCY_CHARACTERS_MAX)
        break
      case "name":
        isGood = areWords(value, IDENTIFIER_BYTES_MAX)
        break
      case "quantity":
        isGood = isAmount(value)
        break
      case "price":
      case "revenue":
        isGood = isMoney(value)
        break
      case "document_ids":
        isGood =
          Array.isArray(value) &&
          value.length <= ITEMS_MAX &&
          value.every((id) => isIdentifier(id, IDENTIFIER_BYTES_MAX))
        break
      case "items":
        isGood = Array.isArray(value) && value.length > 0 && value.length <= ITEMS_MAX && value.every(isNormalItem)
        break
      case "metadata":
        isGood = isPlainObject(value) && isMetadataBounded(value)
        break
      default:
        isGood = false
    }
    if (!isGood) return false
  }
  return hasCollection && hasTimestamp
}

/** Reads a field that is a name or an id; returns false for any other field. */
const readName = (event: Draft, key: string, value: unknown): boolean => {
  switch (key) {
    case "type":
      return true
    case "collection":
      event.collection = identifier(key, value, IDENTIFIER_BYTES_MAX) ?? ""
      return true
    case "event_id":
      event.event_id =
        typeof value === "string" ? identifier(key, value, EVENT_ID_BYTES_MAX) : refuse("event_id must be a string")
      return true
    case "query_id":
      event.query_id = identifier(key, value, EVENT_ID_BYTES_MAX)
      return true
    case "user_id":
      event.user_id = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "anonymous_id":
      event.anonymous_id = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "session_id":
      event.session_id = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "document_id":
      event.document_id = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "surface":
      event.surface = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "device":
      event.device = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "country":
      event.country = identifier(key, value, IDENTIFIER_BYTES_MAX)
      return true
    default:
      return false
  }
}

/** Reads a field that describes the event; returns false for any other field. */
const readFact = (event: Draft, key: string, value: unknown): boolean => {
  switch (key) {
    case "timestamp":
      if (typeof value !== "number" || !Number.isFinite(value)) refuse("timestamp must be Unix milliseconds")
      event.timestamp = Math.floor(value as number)
      return true
    case "document_ids":
      if (!Array.isArray(value) || value.length > ITEMS_MAX)
        refuse(`document_ids must be a list of at most ${ITEMS_MAX} ids`)
      event.document_ids = (value as ReadonlyArray<unknown>).map(
        (id) => identifier(key, id, IDENTIFIER_BYTES_MAX) ?? refuse("document_ids must not contain an empty id")
      )
      return true
    case "items":
      event.items = itemsOf(value)
      return true
    case "position":
      event.position = count(key, value)
      return true
    case "results_found":
      event.results_found = count(key, value)
      return true
    case "quantity":
      event.quantity = amount(key, value)
      return true
    case "price":
      event.price = money(key, value)
      return true
    case "revenue":
      event.revenue = money(key, value)
      return true
    case "q":
      event.q = words(key, value, QUERY_CHARACTERS_MAX)
      return true
    case "filter_by":
      event.filter_by = words(key, value, TEXT_CHARACTERS_MAX)
      return true
    case "currency":
      event.currency = words(key, value, CURRENCY_CHARACTERS_MAX)
      return true
    case "name":
      event.name = words(key, value, IDENTIFIER_BYTES_MAX)
      return true
    case "metadata":
      if (!isPlainObject(value)) return refuse("metadata must be an object")
      if (!isMetadataBounded(value)) refuse(`metadata must be at most ${METADATA_CHARACTERS_MAX} characters of JSON`)
      event.metadata = value
      return true
    default:
      return false
  }
}

/** Refuses an event that lacks a field that all events, or events of its type, require. */
const requireAll = (event: Draft, now: number): void => {
  if (event.collection === "") refuse("collection is required")
  if (event.timestamp < now - EVENT_AGE_MAX_MS) refuse("timestamp is more than 30 days old")
  if (event.timestamp > now + EVENT_AHEAD_MAX_MS) refuse("timestamp is more than 5 minutes in the future")
  requirements[event.type](event)
}

const read = (entry: unknown, now: number): { readonly event: BehaviouralEvent; readonly unknownKeys: number } => {
  if (!isPlainObject(entry)) return refuse("the entry must be an object")
  if (typeof entry.type !== "string" || !types.has(entry.type))
    return refuse(`type must be one of ${EVENT_TYPES.join(", ")}`)
  const event: Draft = { type: entry.type as EventType, collection: "", timestamp: now }
  let unknown: Record<string, unknown> | undefined
  let unknownKeys = 0
  for (const key in entry) {
    const value = entry[key]
    // Decision: `null` means "not given", because languages without absent fields send it for every optional one.
    if (value === null || value === undefined) continue
    if (readName(event, key, value) || readFact(event, key, value)) continue
    ;(unknown ??= Object.create(null) as Record<string, unknown>)[key] = value
    unknownKeys++
  }
  requireAll(event, now)
  if (unknown !== undefined) {
    // The sender's own metadata overrides an unknown key of the same name.
    const together = { ...unknown, ...event.metadata }
    // Decision: an unknown key is never a reason to refuse an event; if there is no room for all of them, none is kept.
    if (isMetadataBounded(together)) event.metadata = together
  }
  return { event, unknownKeys }
}

export interface AcceptOptions {
  /** Index of the first entry: a long NDJSON request is judged in several calls. */
  readonly indexFrom?: number
  /** False for a collection that the caller's key may not access: its entries are refused, the others are not. */
  readonly reaches?: (collection: string) => boolean
}

/** O(entries). Entries are not modified; an accepted event may be the entry itself. */
export const acceptBatch = (
  entries: ReadonlyArray<unknown>,
  now: number,
  { indexFrom = 0, reaches }: AcceptOptions = {}
): AcceptedBatch => {
  const accepted: Array<BehaviouralEvent> = []
  const rejected: Array<Rejection> = []
  let unknownKeys = 0
  for (let i = 0; i < entries.length; i++) {
    try {
      const entry = entries[i]
      let event: BehaviouralEvent
      let unknown = 0
      if (isPlainObject(entry) && isNormal(entry, now) && typeof entry.type === "string") {
        event = entry as unknown as BehaviouralEvent
        requirements[event.type](event)
      } else ({ event, unknownKeys: unknown } = read(entry, now))
      if (reaches !== undefined && !reaches(event.collection)) refuse("the key does not reach this collection")
      accepted.push(event)
      unknownKeys += unknown
    } catch (error) {
      if (!(error instanceof Refused)) throw error
      rejected.push({ index: indexFrom + i, reason: error.reason })
    }
  }
  return { accepted, rejected, unknownKeys }
}
