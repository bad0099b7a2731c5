/**
 * Keyed state of a processor: values in memory, and snapshots in a local store that include their offset. The store is
 * derived from the log and from Postgres' offset; if it is missing or ahead, it is rebuilt from the log.
 */
import { Packr } from "msgpackr"
import { ByteReader, type Page, PageWriter } from "./pages.ts"

/** Next offset to read, by topic, of one partition. */
export type Positions = Readonly<Record<string, number>>

export interface StateStore {
  readonly get: (key: string) => Uint8Array | undefined
  /** Pairs whose key begins with `prefix` and sorts after `after`, in key order. */
  readonly scan: (prefix: string, after?: string) => Iterable<readonly [string, Uint8Array]>
  /** Atomically applies the writes (undefined removes) together with the positions that the state then has. */
  readonly commit: (
    writes: ReadonlyArray<readonly [string, Uint8Array | undefined]>,
    positions: Positions
  ) => Promise<void>
  /** Undefined in an empty store. */
  readonly positions: () => Positions | undefined
  readonly clear: () => Promise<void>
  readonly close: () => Promise<void>
}

export const memoryStore = (): StateStore => {
  const values = new Map<string, Uint8Array>()
  let positions: Positions | undefined
  return {
    get: (key) => values.get(key),
    scan: (prefix, after = "") =>
      [...values].filter(([key]) => key.startsWith(prefix) && key > after).sort(([a], [b]) => (a < b ? -1 : 1)),
    commit: async (writes, reached) => {
      for (const [key, value] of writes) {
        if (value === undefined) values.delete(key)
        else values.set(key, value.slice())
      }
      positions = reached
    },
    positions: () => positions,
    clear: async () => {
      values.clear()
      positions = undefined
    },
    close: async () => {}
  }
}

const packr = new Packr({ useRecords: true })

/** `touchedAt` of a stored value, without decoding all of it: the first double of a pair. */
const touchedAtOf = (stored: Uint8Array): number =>
  stored[0] === 0x92 && stored[1] === 0xcb && stored.length >= 10
    ? new DataView(stored.buffer, stored.byteOffset).getFloat64(2)
    : (packr.unpack(stored) as [number])[0]

// A stored value is msgpack: a pair of `touchedAt` and the bytes that its form wrote, preceded by their length.
const PAIR = 0x92,
  DOUBLE = 0xcb,
  BYTES = 0xc6
const BYTES_AT = 10,
  LENGTH_AT = 11,
  WRITTEN_AT = 15

class StateEntry<V> {
  readonly key: string
  /** Undefined while only its bytes are kept. */
  value: V | undefined
  /** Append time (ms) of the last record that touched it: the log's time, so that a replay decides the same. */
  touchedAt: number
  isDirty = false
  /** Weight of the value when it was last put or read. */
  weight: number
  /** Number of snapshots before its last use. */
  usedIn: number
  /** Number of rests before its last use. */
  restsBefore = 0
  /** Where its bytes are, as last put, if they exist: always while `value` is undefined. */
  page: Page | undefined = undefined
  from = 0
  to = 0

  constructor(key: string, value: V, touchedAt: number, weight: number, usedIn: number) {
    this.key = key
    this.value = value
    this.touchedAt = touchedAt
    this.weight = weight
    this.usedIn = usedIn
  }
}

/** How values are encoded as bytes. */
export interface Form<V> {
  readonly write: (to: PageWriter, value: V) => void
  readonly read: (from: ByteReader) => V
  /** Decodes what older programs stored, as msgpack. */
  readonly decode: (stored: never) => V
}

interface KeyedStateOptions<V> {
  /** First character of its keys in the store; one per state. */
  readonly prefix: string
  /** A value that no record touched for this long (in the log's time) has expired. */
  readonly ttl_ms: number
  /** Weight kept in memory after a snapshot; the least recently used values are only in the store. */
  readonly hotMax: number
  /** How much of `hotMax` a value takes; 1 if absent, for values of one size. Called at each `put`. */
  readonly weigh?: (value: V) => number
  readonly form: Form<V>
}

/**
 * Number of values that may become objects between two rests: at a rest, values that were not used since the previous
 * one are encoded. If most of them had been encoded only shortly before, as happens when visits interleave, values stay
 * objects longer: the number doubles each time, up to the maximum.
 */
const REST_EVERY = 512
const REST_EVERY_MAX = 8_192

/**
 * Number of snapshots by which uses are distinguished; values unused in all of them count as equally old. A power of
 * two.
 */
const AGES = 64

/**
 * Values by key; reads fall through to the store, writes wait for `takeWrites`. Only recently used values are objects:
 * most values are touched several times in a row and then not until they are stored, so they are kept as the bytes that
 * will be stored. So a caller that changes a value must put it before getting many others.
 */
export class KeyedState<V> {
  readonly #store: StateStore
  readonly #options: KeyedStateOptions<V>
  readonly #held = new Map<string, StateEntry<V>>()
  /** The value returned last, which is usually put next. */
  #last: StateEntry<V> | undefined
  #dirty: Array<StateEntry<V>> = []
  /** Values that are objects; some may have been released. */
  #awake: Array<StateEntry<V>> = []
  #restAt: number
  #rests = 0
  #restEvery = REST_EVERY
  /** Values that became objects since the last rest, and how many of them were bytes in memory. */
  #woken = 0
  #returned = 0
  readonly #pages = new PageWriter()
  readonly #reader = new ByteReader()
  #weight = 0
  #snapshots = 0
  /** Weights of values by the snapshot before which they were last used, modulo `AGES`. */
  readonly #weights = new Float64Array(AGES)

  constructor(store: StateStore, options: KeyedStateOptions<V>) {
    this.#store = store
    this.#options = options
    this.#restAt = this.#restAfter(0)
  }

  get size(): number {
    return this.#held.size
  }
  /** Weight of all values in memory, including those that the next snapshot will release. */
  get weight(): number {
    return this.#weight
  }
  #find(key: string): StateEntry<V> | undefined {
    const last = this.#last
    if (last !== undefined && last.key === key) return last
    const held = this.#held.get(key)
    if (held !== undefined) this.#last = held
    return held
  }
  #hold(key: string, value: V, touchedAt: number): StateEntry<V> {
    const held = new StateEntry(key, value, touchedAt, this.#options.weigh?.(value) ?? 1, this.#snapshots)
    this.#held.set(key, held)
    this.#last = held
    this.#weigh(held, held.weight)
    this.#wake(held)
    return held
  }
  /** Decodes a value to an object. */
  #wake(held: StateEntry<V>): void {
    if (this.#awake.length >= this.#restAt) this.#rest()
    held.restsBefore = this.#rests
    this.#awake.push(held)
    this.#woken++
    if (held.page !== undefined) this.#returned++
  }
  #restAfter(awake: number): number {
    return awake + Math.max(awake, Math.min(this.#restEvery, this.#options.hotMax))
  }
  /**
   * Encodes values that were not used since the last rest. O(values that are objects), whose number has doubled since.
   */
  #rest(): void {
    let awake = 0
    for (const held of this.#awake) {
      if (held.value === undefined) continue
      if (held.restsBefore === this.#rests) {
        this.#awake[awake++] = held
        continue
      }
      this.#pack(held)
      held.value = undefined
    }
    this.#awake.length = awake
    this.#restEvery = 2 * this.#returned > this.#woken ? Math.min(REST_EVERY_MAX, 2 * this.#restEvery) : REST_EVERY
    this.#woken = this.#returned = 0
    this.#restAt = this.#restAfter(awake)
    this.#rests++
  }
  #pack(held: StateEntry<V>): void {
    if (held.page !== undefined) return
    const pages = this.#pages
    pages.begin()
    pages.byte(PAIR)
    pages.byte(DOUBLE)
    pages.double(held.touchedAt)
    pages.byte(BYTES)
    pages.long(0)
    this.#options.form.write(pages, held.value!)
    pages.page.view.setUint32(pages.from + LENGTH_AT, pages.to - pages.from - WRITTEN_AT)
    this.#lay(held)
  }
  /** Records the bytes just written as those of the value. */
  #lay(held: StateEntry<V>): void {
    const { from, page, to } = this.#pages
    this.#pages.keep()
    held.page = page
    held.from = from
    held.to = to
  }
  /** Releases bytes that no longer match the value. */
  #unlay(held: StateEntry<V>): void {
    if (held.page === undefined) return
    this.#pages.release(held.page, held.to - held.from)
    held.page = undefined
  }
  #unpack(bytes: Buffer, from: number): V {
    const { form } = this.#options
    return bytes[from] === PAIR && bytes[from + 1] === DOUBLE && bytes[from + BYTES_AT] === BYTES
      ? form.read(this.#reader.open(bytes, from + WRITTEN_AT))
      : form.decode((packr.unpack(bytes) as [number, never])[1])
  }
  #lastUse({ usedIn }: StateEntry<V>): number {
    return Math.max(usedIn, this.#snapshots - AGES + 1)
  }
  #weigh(held: StateEntry<V>, more: number): void {
    const at = this.#lastUse(held) & (AGES - 1)
    this.#weights[at] = this.#weights[at]! + more
    this.#weight += more
  }
  #use(held: StateEntry<V>): void {
    held.restsBefore = this.#rests
    if (held.usedIn === this.#snapshots) return
    this.#weigh(held, -held.weight)
    held.usedIn = this.#snapshots
    this.#weigh(held, held.weight)
  }
  #letGo(held: StateEntry<V>): void {
    this.#held.delete(held.key)
    this.#weigh(held, -held.weight)
    this.#unlay(held)
    held.value = undefined
    held.isDirty = false
    if (this.#last === held) this.#last = undefined
  }
  #soil(held: StateEntry<V>): void {
    if (held.isDirty) return
    held.isDirty = true
    this.#dirty.push(held)
  }

  /** The value, or undefined; `now` is the append time of the current record. */
  get(key: string, now: number): V | undefined {
    let held = this.#find(key)
    if (held === undefined) {
      const stored = this.#store.get(this.#options.prefix + key)
      if (stored === undefined) return undefined
      const bytes = Buffer.isBuffer(stored) ? stored : Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength)
      held = this.#hold(key, this.#unpack(bytes, 0), touchedAtOf(bytes))
    }
    if (now - held.touchedAt > this.#options.ttl_ms) return undefined
    this.#use(held)
    if (held.value === undefined) {
      held.value = this.#unpack(held.page!.bytes, held.from)
      this.#wake(held)
    }
    return held.value
  }

  /** Must also be called after each change of a value: changes that are not put are lost. */
  put(key: string, value: V, now: number): void {
    const held = this.#find(key)
    if (held === undefined) return this.#soil(this.#hold(key, value, Math.max(now, 0)))
    const weight = this.#options.weigh?.(value) ?? 1
    this.#use(held)
    if (weight !== held.weight) this.#weigh(held, weight - held.weight)
    this.#unlay(held)
    const isAwake = held.value !== undefined
    held.value = value
    held.weight = weight
    if (now > held.touchedAt) held.touchedAt = now
    if (!isAwake) this.#wake(held)
    this.#soil(held)
  }

  /**
   * What must be written to bring the store up to date, as stable views. The values count as stored from here on.
   * O(values changed).
   */
  takeWrites(): Array<readonly [string, Uint8Array | undefined]> {
    const writes: Array<readonly [string, Uint8Array | undefined]> = []
    for (const held of this.#dirty) {
      if (!held.isDirty) continue
      held.isDirty = false
      this.#pack(held)
      writes.push([this.#options.prefix + held.key, held.page!.bytes.subarray(held.from, held.to)])
    }
    this.#dirty = []
    return writes
  }

  /** Drops values whose key begins with `prefix`, stored or not. O(values in memory). */
  forget(prefix: string): void {
    for (const [key, held] of this.#held) if (key.startsWith(prefix)) this.#letGo(held)
  }

  /**
   * After a snapshot: drops values that are stored and were not used recently, longest unused first. O(values in
   * memory) if there are too many.
   */
  passivate(): void {
    let excess = this.#weight - this.#options.hotMax
    if (excess > 0) {
      // Releases all values last used before `bound`, and as many of those last used at `bound` as needed.
      let bound = this.#snapshots - AGES + 1
      let ofBound = excess
      for (; bound < this.#snapshots && ofBound > this.#weights[bound & (AGES - 1)]!; bound++)
        ofBound -= this.#weights[bound & (AGES - 1)]!
      for (const held of this.#held.values()) {
        const used = this.#lastUse(held)
        if (held.isDirty || used > bound || (used === bound && ofBound <= 0)) continue
        if (used === bound) ofBound -= held.weight
        excess -= held.weight
        this.#letGo(held)
        if (excess <= 0) break
      }
    }
    if (this.#awake.length > REST_EVERY) this.#restStored()
    if (this.#pages.isSparse) this.#gather()
    // Merges the two oldest ages.
    this.#snapshots++
    const oldest = (this.#snapshots + 1) & (AGES - 1),
      free = this.#snapshots & (AGES - 1)
    this.#weights[oldest] = this.#weights[oldest]! + this.#weights[free]!
    this.#weights[free] = 0
  }

  /** Drops the objects of values that are stored: a value that stays an object keeps growing while it is used. */
  #restStored(): void {
    let awake = 0
    for (const held of this.#awake) {
      if (held.value === undefined) continue
      if (held.isDirty || held.page === undefined) this.#awake[awake++] = held
      else held.value = undefined
    }
    this.#awake.length = awake
    this.#restAt = this.#restAfter(awake)
  }

  /** Copies live values into fresh pages. O(values in memory). */
  #gather(): void {
    const pages = this.#pages
    for (const held of this.#held.values()) {
      const { from, page, to } = held
      if (page === undefined) continue
      pages.begin()
      pages.raw(page.bytes.subarray(from, to))
      pages.release(page, to - from)
      this.#lay(held)
    }
  }

  /** Removals of expired values, at most `limit` per call, from where the last call stopped. */
  expired(
    now: number,
    after: string,
    limit: number
  ): { readonly writes: Array<readonly [string, undefined]>; readonly last: string } {
    const writes: Array<readonly [string, undefined]> = []
    let last = after
    let looked = 0
    for (const [key, stored] of this.#store.scan(this.#options.prefix, after)) {
      if (looked++ >= limit) return { writes, last }
      last = key
      if (now - touchedAtOf(stored) > this.#options.ttl_ms && !this.#held.has(key.slice(this.#options.prefix.length)))
        writes.push([key, undefined])
    }
    return { writes, last: "" }
  }
}
