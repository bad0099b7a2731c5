/**
 * Writes events by column (`layout.ts`) in some tenths of a microsecond each; working memory is reused for the next
 * record.
 */
import { Packr } from "msgpackr"
import {
  BYTES,
  DOUBLES,
  EVENTS_MAX,
  FORMAT,
  LONGS,
  MARK,
  NUMBER_FIELDS,
  NUMBER_MAX,
  NUMBERS_AT,
  OWN_PLACE,
  SAME,
  SHORTS,
  TEXT_FIELDS,
  TEXTS_AT,
  TYPE_FIELD,
  TYPES,
  TYPES_AT
} from "./layout.ts"

// Readable without this process's state: the shapes are written into each record.
const packr = new Packr({ useRecords: true, encodeUndefinedAsNil: false })

/** The buffer for one record at a time. After a record beyond a megabyte it is released. */
const SCRATCH_BYTES = 1024 * 1024
const NO_BYTES = Buffer.alloc(0)
const initial = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
let scratch = initial
let end = 0
const room = (bytes: number): void => {
  if (end + bytes <= scratch.length) return
  const larger = Buffer.allocUnsafeSlow(Math.max(2 * scratch.length, end + bytes))
  scratch.copy(larger, 0, 0, end)
  scratch = larger
}
const writeLong = (value: number): void => {
  room(4)
  end = scratch.writeUInt32LE(value, end)
}
const writeDouble = (value: number): void => {
  room(8)
  end = scratch.writeDoubleLE(value, end)
}
const writeByte = (value: number): void => {
  room(1)
  scratch[end++] = value
}
const writeText = (text: string): void => {
  const bytes = Buffer.byteLength(text)
  writeLong(bytes)
  room(bytes)
  end += scratch.write(text, end)
}

/** The numbers of a column, one per event, as they will be written: the value plus one, 0 for none. */
abstract class Column {
  readonly at: number
  numbers = new Uint32Array(512)
  given = 0
  highest = 0

  constructor(at: number) {
    this.at = at
  }
  begin(events: number): void {
    if (this.given > 0) this.numbers.fill(0)
    if (this.numbers.length < events) this.numbers = new Uint32Array(events)
    this.given = this.highest = 0
  }
  protected set(index: number, number: number): void {
    this.numbers[index] = number
    this.given++
    if (number > this.highest) this.highest = number
  }
  protected shape(events: number): number {
    const { given, highest, numbers } = this
    if (given === events) {
      let same = 1
      while (same < events && numbers[same] === numbers[0]) same++
      if (same === events) return SAME
      let own = 0
      while (own < events && numbers[own] === own + 1) own++
      if (own === events) return OWN_PLACE
    }
    return highest < 0x100 ? BYTES : highest < 0x1_0000 ? SHORTS : LONGS
  }
  protected writeNumbers(events: number, shape: number): void {
    const { numbers } = this
    if (shape === OWN_PLACE) return
    const count = shape === SAME ? 1 : events,
      width = shape === SAME ? LONGS : shape
    room(width * count)
    for (let i = 0; i < count; i++) {
      const number = numbers[i]!
      scratch[end++] = number
      if (width === BYTES) continue
      scratch[end++] = number >>> 8
      if (width === SHORTS) continue
      scratch[end++] = number >>> 16
      scratch[end++] = number >>> 24
    }
  }
  /** Returns false if the column cannot hold the value, which is then stored in the rest. */
  abstract put(index: number, value: unknown): boolean
  protected abstract writeBody(): void
  protected get field(): number {
    return this.at
  }
  write(events: number): void {
    const shape = this.shape(events)
    writeByte(this.field)
    writeByte(shape)
    const lengthAt = end
    writeLong(0)
    this.writeBody()
    this.writeNumbers(events, shape)
    scratch.writeUInt32LE(end - lengthAt - 4, lengthAt)
  }
  /** Releases what it holds of the record. */
  clear(): void {}
}

class TypeColumn extends Column {
  readonly #places = new Map<unknown, number>(TYPES.map((type, place) => [type, place]))

  put(index: number, value: unknown): boolean {
    const place = this.#places.get(value)
    if (place === undefined) return false
    this.set(index, place + 1)
    return true
  }
  protected writeBody(): void {}
}

/**
 * How equal texts of a column are shared: `nowhere` writes each, `together` merges adjacent ones, `anywhere` merges
 * all.
 */
type Alike = "nowhere" | "together" | "anywhere"

class TextColumn extends Column {
  readonly #alike: Alike
  #places = new Map<string, number>()
  #texts: Array<string> = []
  #last = 0

  constructor(at: number, alike: Alike) {
    super(at)
    this.#alike = alike
  }
  put(index: number, value: unknown): boolean {
    // Accepted text is well formed: half a surrogate pair, which UTF-8 cannot carry, would become U+FFFD here.
    if (typeof value !== "string") return false
    const texts = this.#texts
    if (this.#alike === "nowhere") this.set(index, texts.push(value))
    else if (this.#last > 0 && texts[this.#last - 1] === value) this.set(index, this.#last)
    else {
      let number = this.#alike === "anywhere" ? this.#places.get(value) : undefined
      if (number === undefined) {
        number = texts.push(value)
        if (this.#alike === "anywhere") this.#places.set(value, number)
      }
      this.set(index, (this.#last = number))
    }
    return true
  }
  protected writeBody(): void {
    const texts = this.#texts,
      joined = texts.join("")
    const bytes = Buffer.byteLength(joined),
      isAscii = bytes === joined.length
    const lengths = new Uint32Array(texts.length)
    let longest = 0
    for (let i = 0; i < texts.length; i++) {
      const length = isAscii ? texts[i]!.length : Buffer.byteLength(texts[i]!)
      lengths[i] = length
      if (length > longest) longest = length
    }
    const width = longest < 0x100 ? 1 : 4
    writeByte(isAscii ? 1 : 0)
    writeLong(texts.length)
    writeByte(width)
    room(width * texts.length + bytes)
    for (let i = 0; i < lengths.length; i++) {
      if (width === 1) scratch[end++] = lengths[i]!
      else end = scratch.writeUInt32LE(lengths[i]!, end)
    }
    // Always as UTF-8: Deno writes Latin-1 character by character, five times as slowly.
    end += scratch.write(joined, end, bytes)
  }
  override clear(): void {
    this.#texts = []
    // Not `clear`: a Map's former table keeps its entries alive until a full collection (`ARCHITECTURE.md`).
    if (this.#places.size > 0) this.#places = new Map()
    this.#last = 0
  }
}

class NumberColumn extends Column {
  #values: Array<number> = []
  #areWhole = true
  #low = Number.POSITIVE_INFINITY
  #high = Number.NEGATIVE_INFINITY

  put(index: number, value: unknown): boolean {
    if (typeof value !== "number") return false
    // For now an index into the values, whatever shape the column gets.
    this.set(index, this.#values.push(value))
    if (value < this.#low) this.#low = value
    if (value > this.#high) this.#high = value
    if (!Number.isSafeInteger(value) || Object.is(value, -0)) this.#areWhole = false
    return true
  }
  protected override get field(): number {
    return this.at + (this.#isBased ? 0 : DOUBLES)
  }
  get #isBased(): boolean {
    return this.#areWhole && this.#high - this.#low < NUMBER_MAX
  }
  override write(events: number): void {
    if (this.#isBased) {
      const { numbers } = this,
        low = this.#low
      for (let i = 0; i < events; i++) if (numbers[i] !== 0) numbers[i] = this.#values[numbers[i]! - 1]! - low + 1
      this.highest = this.#high - low + 1
    }
    super.write(events)
  }
  protected writeBody(): void {
    if (this.#isBased) return writeDouble(this.#low)
    writeLong(this.#values.length)
    for (const value of this.#values) writeDouble(value)
  }
  override clear(): void {
    this.#values = []
    this.#areWhole = true
    this.#low = Number.POSITIVE_INFINITY
    this.#high = Number.NEGATIVE_INFINITY
  }
}

const alikeOf = (field: (typeof TEXT_FIELDS)[number]): Alike =>
  field === "event_id"
    ? "nowhere"
    : field === "query_id" || field === "user_id" || field === "anonymous_id" || field === "session_id"
      ? "together"
      : "anywhere"
const columns: ReadonlyMap<string, Column> = new Map<string, Column>([
  [TYPE_FIELD, new TypeColumn(TYPES_AT)],
  ...TEXT_FIELDS.map((field, place) => [field, new TextColumn(TEXTS_AT + place, alikeOf(field))] as const),
  ...NUMBER_FIELDS.map((field, place) => [field, new NumberColumn(NUMBERS_AT + place)] as const)
])

/** Returns undefined if an entry is not an object, so this is no list of events, or beyond `EVENTS_MAX`. O(fields). */
export const encodeEvents = (
  events: ReadonlyArray<unknown>,
  {
    occurred_at,
    organization_id,
    schema_version
  }: { readonly organization_id: string; readonly occurred_at: number; readonly schema_version: number }
): Uint8Array | undefined => {
  if (events.length > EVENTS_MAX) return undefined
  const rest: Array<readonly [number, Record<string, unknown> | null]> = []
  try {
    for (const column of columns.values()) column.begin(events.length)
    for (let index = 0; index < events.length; index++) {
      const event = events[index]
      if (typeof event !== "object" || Array.isArray(event)) return undefined
      if (event === null) {
        rest.push([index, null])
        continue
      }
      let others: Record<string, unknown> | undefined
      for (const field in event) {
        const value = (event as Record<string, unknown>)[field]
        if (value === undefined) continue
        if (columns.get(field)?.put(index, value) !== true) (others ??= {})[field] = value
      }
      if (others !== undefined) rest.push([index, others])
    }
    end = 0
    writeByte(MARK)
    writeByte(FORMAT)
    writeLong(events.length)
    writeLong(schema_version)
    writeDouble(occurred_at)
    writeText(organization_id)
    const countAt = end
    writeByte(0)
    for (const column of columns.values()) {
      if (column.given === 0) continue
      column.write(events.length)
      scratch[countAt] = scratch[countAt]! + 1
    }
    const packed = rest.length === 0 ? NO_BYTES : packr.pack(rest)
    writeLong(packed.length)
    room(packed.length)
    scratch.set(packed, end)
    // Copied, because the next record overwrites the buffer.
    return Uint8Array.prototype.slice.call(scratch, 0, end + packed.length)
  } finally {
    for (const column of columns.values()) column.clear()
    scratch = initial
  }
}
