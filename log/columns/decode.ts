/**
 * Reads events by column (`layout.ts`): an event is an index into the columns, and its fields are looked up on demand.
 * A text is decoded on first use, once per record. Opening checks that the columns are complete, O(columns + texts).
 */
import { unpack } from "msgpackr"
import { fingerprintBytesInto, fingerprintInto, type FingerprintKey } from "../fingerprint.ts"
import type { BehaviouralEvent, EventItem, EventType } from "../event-schema.ts"
import {
  BYTES,
  DOUBLES,
  EVENTS_MAX,
  FORMAT,
  LONGS,
  MARK,
  NUMBER_FIELDS,
  type NumberField,
  NUMBERS_AT,
  OWN_PLACE,
  SAME,
  SHORTS,
  TEXT_FIELDS,
  type TextField,
  TEXTS_AT,
  TYPES,
  TYPES_AT
} from "./layout.ts"

const broken = (what: string): never => {
  throw new TypeError(`not a record of events: ${what}`)
}

/** Reads bytes one after another and never past the end. */
class Bytes {
  readonly buffer: Buffer
  at: number
  readonly end: number

  constructor(buffer: Buffer, at = 0, end = buffer.length) {
    this.buffer = buffer
    this.at = at
    this.end = end
  }
  take(bytes: number): number {
    const from = this.at
    if (bytes > this.end - from) broken("it ends early")
    this.at += bytes
    return from
  }
  byte(): number {
    return this.buffer[this.take(1)]!
  }
  long(): number {
    return this.buffer.readUInt32LE(this.take(4))
  }
  double(): number {
    return this.buffer.readDoubleLE(this.take(8))
  }
  text(): string {
    const length = this.long()
    const from = this.take(length)
    return this.buffer.toString("utf8", from, from + length)
  }
}

/** Numbers of a column, one per event, stored plus one; 0 for an event without the field. */
class Numbers {
  readonly #buffer: Buffer
  readonly #from: number
  readonly #shape: number
  readonly #same: number

  constructor(bytes: Bytes, shape: number, events: number) {
    this.#buffer = bytes.buffer
    this.#shape = shape
    this.#same = shape === SAME ? bytes.long() : 0
    if (shape !== SAME && shape !== OWN_PLACE && shape !== BYTES && shape !== SHORTS && shape !== LONGS)
      broken(`shape ${shape} of a column is not known`)
    this.#from = shape === SAME || shape === OWN_PLACE ? 0 : bytes.take(shape * events)
    if (bytes.at !== bytes.end) broken("a column has more numbers than the record has events")
  }
  at(event: number): number {
    const buffer = this.#buffer
    switch (this.#shape) {
      case SAME:
        return this.#same
      case OWN_PLACE:
        return event + 1
      case BYTES:
        return buffer[this.#from + event]!
      case SHORTS: {
        const from = this.#from + 2 * event
        return buffer[from]! | (buffer[from + 1]! << 8)
      }
      default: {
        const from = this.#from + 4 * event
        return (buffer[from]! | (buffer[from + 1]! << 8) | (buffer[from + 2]! << 16) | (buffer[from + 3]! << 24)) >>> 0
      }
    }
  }
}

/** Fields whose texts differ for every event. */
const OWN_TEXTS: ReadonlySet<TextField> = new Set(["event_id", "query_id", "user_id", "anonymous_id", "session_id"])

/**
 * Recent texts, by a hash of their bytes. A shop's records contain the same products and queries again and again; a
 * text found here is not created again and, where it is a key, not hashed again. A power of two.
 */
const RECENT = 4_096
const RECENT_LENGTH_MAX = 48
const recent = new Array<string>(RECENT).fill("")
/** Decodes ASCII bytes, unless an equal text is among the recent ones. */
const recentText = (bytes: Buffer, from: number, to: number): string => {
  const length = to - from
  let hash = length
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193)
  const slot = (hash ^ (hash >>> 15)) & (RECENT - 1),
    known = recent[slot]!
  let same = known.length === length ? 0 : -1
  while (same >= 0 && same < length && known.charCodeAt(same) === bytes[from + same]) same++
  return same === length ? known : (recent[slot] = bytes.toString("latin1", from, to))
}

class Texts {
  readonly #buffer: Buffer
  readonly #isOwn: boolean
  readonly #isAscii: boolean
  /** The end of each text; each begins where the previous one ends, the first at `#from`. */
  readonly #ends: Uint32Array
  readonly #from: number
  readonly #made: Array<string | undefined>
  readonly #numbers: Numbers

  constructor(bytes: Bytes, shape: number, events: number, field: TextField) {
    const buffer = (this.#buffer = bytes.buffer)
    this.#isOwn = OWN_TEXTS.has(field)
    this.#isAscii = bytes.byte() === 1
    const count = bytes.long(),
      width = bytes.byte()
    if (width !== 1 && width !== 4) broken(`lengths of ${width} bytes are not known`)
    const lengths = bytes.take(width * count)
    this.#ends = new Uint32Array(count)
    let end = (this.#from = bytes.at)
    for (let i = 0; i < count; i++)
      this.#ends[i] = end += width === 1 ? buffer[lengths + i]! : buffer.readUInt32LE(lengths + 4 * i)
    bytes.take(end - this.#from)
    this.#made = new Array<string | undefined>(count)
    this.#numbers = new Numbers(bytes, shape, events)
  }
  at(event: number): string | undefined {
    const number = this.#numbers.at(event)
    if (number === 0) return undefined
    return (this.#made[number - 1] ??= this.#make(number - 1))
  }
  /** Writes the fingerprint of a text without creating the text; false for an event without one. */
  fingerprintInto(key: FingerprintKey, event: number, out: Uint32Array, at: number): boolean {
    const number = this.#numbers.at(event)
    if (number === 0) return false
    if (!this.#isAscii || number > this.#ends.length) fingerprintInto(key, this.at(event)!, out, at)
    else
      fingerprintBytesInto(
        key,
        this.#buffer,
        number === 1 ? this.#from : this.#ends[number - 2]!,
        this.#ends[number - 1]!,
        out,
        at
      )
    return true
  }
  #make(place: number): string {
    if (place >= this.#ends.length) broken("a text is missing")
    const from = place === 0 ? this.#from : this.#ends[place - 1]!,
      end = this.#ends[place]!
    if (this.#isAscii && !this.#isOwn && end - from <= RECENT_LENGTH_MAX) return recentText(this.#buffer, from, end)
    return this.#buffer.toString(this.#isAscii ? "latin1" : "utf8", from, end)
  }
}

class Values {
  readonly #base: number
  readonly #values: Float64Array | undefined
  readonly #numbers: Numbers

  constructor(bytes: Bytes, shape: number, events: number, areDoubles: boolean) {
    if (areDoubles) {
      const count = bytes.long(),
        from = bytes.take(8 * count)
      this.#base = 0
      this.#values = Float64Array.from({ length: count }, (_, i) => bytes.buffer.readDoubleLE(from + 8 * i))
    } else {
      this.#base = bytes.double()
      this.#values = undefined
    }
    this.#numbers = new Numbers(bytes, shape, events)
  }
  at(event: number): number | undefined {
    const number = this.#numbers.at(event)
    if (number === 0) return undefined
    if (this.#values === undefined) return this.#base + number - 1
    return number <= this.#values.length ? this.#values[number - 1] : broken("a number is missing")
  }
}

const EVENT_ID = TEXT_FIELDS.indexOf("event_id")
type Fields = Readonly<Record<string, unknown>>

/**
 * The event at `index`, as a `BehaviouralEvent` for readers that take one event at a time. Valid until the index moves;
 * use `copy` to keep one.
 */
class EventAt implements BehaviouralEvent {
  readonly #columns: EventColumns
  index = 0

  constructor(columns: EventColumns) {
    this.#columns = columns
  }
  get type(): EventType {
    return (this.#columns.typeAt(this.index) ?? this.#columns.restAt(this.index, "type")) as EventType
  }
  get collection(): string {
    return this.#text(0) as string
  }
  get event_id(): string | undefined {
    return this.#text(1)
  }
  get query_id(): string | undefined {
    return this.#text(2)
  }
  get user_id(): string | undefined {
    return this.#text(3)
  }
  get anonymous_id(): string | undefined {
    return this.#text(4)
  }
  get session_id(): string | undefined {
    return this.#text(5)
  }
  get document_id(): string | undefined {
    return this.#text(6)
  }
  get q(): string | undefined {
    return this.#text(7)
  }
  get filter_by(): string | undefined {
    return this.#text(8)
  }
  get currency(): string | undefined {
    return this.#text(9)
  }
  get surface(): string | undefined {
    return this.#text(10)
  }
  get device(): string | undefined {
    return this.#text(11)
  }
  get country(): string | undefined {
    return this.#text(12)
  }
  get name(): string | undefined {
    return this.#text(13)
  }
  get timestamp(): number {
    return this.#number(0) as number
  }
  get position(): number | undefined {
    return this.#number(1)
  }
  get results_found(): number | undefined {
    return this.#number(2)
  }
  get quantity(): number | undefined {
    return this.#number(3)
  }
  get price(): number | undefined {
    return this.#number(4)
  }
  get revenue(): number | undefined {
    return this.#number(5)
  }
  get document_ids(): ReadonlyArray<string> | undefined {
    return this.#columns.restAt(this.index, "document_ids") as ReadonlyArray<string> | undefined
  }
  get items(): ReadonlyArray<EventItem> | undefined {
    return this.#columns.restAt(this.index, "items") as ReadonlyArray<EventItem> | undefined
  }
  get metadata(): Fields | undefined {
    return this.#columns.restAt(this.index, "metadata") as Fields | undefined
  }

  copy(): BehaviouralEvent {
    return this.#columns.copy(this.index)
  }
  /** Writes the fingerprint of the event's id into `out` at `at`; false for an event without one. */
  fingerprintInto(key: FingerprintKey, out: Uint32Array, at: number): boolean {
    if (this.#columns.fingerprintInto(key, EVENT_ID, this.index, out, at)) return true
    const id = this.event_id
    if (id === undefined) return false
    fingerprintInto(key, id, out, at)
    return true
  }
  #text(field: number): string | undefined {
    return (
      this.#columns.textAt(field, this.index) ??
      (this.#columns.restAt(this.index, TEXT_FIELDS[field]!) as string | undefined)
    )
  }
  #number(field: number): number | undefined {
    return (
      this.#columns.numberAt(field, this.index) ??
      (this.#columns.restAt(this.index, NUMBER_FIELDS[field]!) as number | undefined)
    )
  }
}

export class EventColumns {
  readonly organization_id: string
  readonly schema_version: number
  readonly occurred_at: number
  readonly length: number
  #types: Numbers | undefined
  readonly #texts: Array<Texts | undefined> = new Array<undefined>(TEXT_FIELDS.length)
  readonly #numbers: Array<Values | undefined> = new Array<undefined>(NUMBER_FIELDS.length)
  readonly #rest: ReadonlyMap<number, Fields | null> | undefined
  readonly #at = new EventAt(this)
  #all: ReadonlyArray<BehaviouralEvent | null> | undefined

  /** Throws a TypeError if the bytes are not a complete record. */
  constructor(value: Uint8Array) {
    const bytes = new Bytes(
      Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    )
    if (bytes.byte() !== MARK || bytes.byte() !== FORMAT) broken("its format is not known")
    this.length = bytes.long()
    if (this.length > EVENTS_MAX) broken(`${this.length} events`)
    this.schema_version = bytes.long()
    this.occurred_at = bytes.double()
    this.organization_id = bytes.text()
    for (let left = bytes.byte(); left > 0; left--) {
      const field = bytes.byte(),
        shape = bytes.byte(),
        length = bytes.long(),
        from = bytes.take(length)
      this.#open(field, shape, new Bytes(bytes.buffer, from, from + length))
    }
    const length = bytes.long(),
      from = bytes.take(length)
    if (bytes.at !== bytes.end) broken("it has more than it says")
    this.#rest =
      length === 0
        ? undefined
        : new Map(unpack(bytes.buffer.subarray(from)) as ReadonlyArray<readonly [number, Fields | null]>)
  }
  #open(field: number, shape: number, bytes: Bytes): void {
    const isDoubles = field >= DOUBLES,
      number = (isDoubles ? field - DOUBLES : field) - NUMBERS_AT
    if (field === TYPES_AT) this.#types = new Numbers(bytes, shape, this.length)
    else if (number >= 0 && number < NUMBER_FIELDS.length)
      this.#numbers[number] = new Values(bytes, shape, this.length, isDoubles)
    else if (field >= TEXTS_AT && field < TEXTS_AT + TEXT_FIELDS.length)
      this.#texts[field - TEXTS_AT] = new Texts(bytes, shape, this.length, TEXT_FIELDS[field - TEXTS_AT]!)
    else broken(`field ${field} is not known`)
  }

  /** Whether events were erased from the record. */
  get hasErased(): boolean {
    if (this.#rest === undefined) return false
    for (const fields of this.#rest.values()) if (fields === null) return true
    return false
  }
  isErased(index: number): boolean {
    return this.#rest !== undefined && this.#rest.get(index) === null
  }
  /** The event at `index`, valid until the next call. */
  at(index: number): BehaviouralEvent {
    this.#at.index = index
    return this.#at
  }
  /** A copy that may be kept. */
  copy(index: number): BehaviouralEvent {
    const event: Record<string, unknown> = {}
    const type = this.typeAt(index)
    if (type !== undefined) event.type = type
    for (let field = 0; field < TEXT_FIELDS.length; field++) put(event, TEXT_FIELDS[field]!, this.textAt(field, index))
    for (let field = 0; field < NUMBER_FIELDS.length; field++)
      put(event, NUMBER_FIELDS[field]!, this.numberAt(field, index))
    return Object.assign(event, this.#rest?.get(index)) as unknown as BehaviouralEvent
  }
  /** All events as objects, null where one was erased. */
  get events(): ReadonlyArray<BehaviouralEvent | null> {
    return (this.#all ??= Array.from({ length: this.length }, (_, index) =>
      this.isErased(index) ? null : this.copy(index)
    ))
  }

  typeAt(index: number): EventType | undefined {
    const number = this.#types === undefined ? 0 : this.#types.at(index)
    return number === 0 ? undefined : (TYPES[number - 1] ?? broken(`type ${number} is not known`))
  }
  textAt(field: number, index: number): string | undefined {
    return this.#texts[field]?.at(index)
  }
  fingerprintInto(key: FingerprintKey, field: number, index: number, out: Uint32Array, at: number): boolean {
    return this.#texts[field]?.fingerprintInto(key, index, out, at) === true
  }
  numberAt(field: number, index: number): number | undefined {
    return this.#numbers[field]?.at(index)
  }
  restAt(index: number, field: TextField | NumberField | "type" | "document_ids" | "items" | "metadata"): unknown {
    return this.#rest === undefined ? undefined : this.#rest.get(index)?.[field]
  }
}
/** The event as an object that may be kept. */
export const kept = (event: BehaviouralEvent): BehaviouralEvent => (event instanceof EventAt ? event.copy() : event)

/** Writes the fingerprint of an event's id (`log/fingerprint.ts`) to `out` at `at`; false for an event without one. */
export const eventIdInto = (
  key: FingerprintKey,
  event: Pick<BehaviouralEvent, "event_id">,
  out: Uint32Array,
  at = 0
): boolean => {
  if (event instanceof EventAt) return event.fingerprintInto(key, out, at)
  if (event.event_id === undefined) return false
  fingerprintInto(key, event.event_id, out, at)
  return true
}

const put = (event: Record<string, unknown>, field: string, value: unknown): void => {
  if (value !== undefined) event[field] = value
}

export const isColumns = (value: Uint8Array): boolean => value[0] === MARK
