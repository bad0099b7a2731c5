/**
 * Keyed state beside a processor: values in memory, snapshots in a local store that carry the offset they stand for.
 * The store is derived from the log and from Postgres' offset; when it is missing or ahead, it is rebuilt from the log.
 */
import { Packr } from "msgpackr"

/** Next offset to read, by topic, of one partition. */
export type Positions = Readonly<Record<string, number>>

export interface StateStore {
  readonly get: (key: string) => Uint8Array | undefined
  /** Pairs whose key begins with `prefix` and comes behind `after`, in key order. */
  readonly scan: (prefix: string, after?: string) => Iterable<readonly [string, Uint8Array]>
  /** Applies the writes (undefined removes) together with the positions they bring the state to, all or nothing. */
  readonly commit: (writes: ReadonlyArray<readonly [string, Uint8Array | undefined]>, positions: Positions) => Promise<void>
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
    scan: (prefix, after = "") => [...values].filter(([key]) => key.startsWith(prefix) && key > after).sort(([a], [b]) => a < b ? -1 : 1),
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

/** Of a stored value, as far as it can be told without reading all of it: a pair, a double first. */
const touchedAtOf = (stored: Uint8Array): number =>
  stored[0] === 0x92 && stored[1] === 0xcb && stored.length >= 10 ? new DataView(stored.buffer, stored.byteOffset).getFloat64(2) : (packr.unpack(stored) as [number])[0]

interface Held<V> {
  readonly key: string
  value: V
  /** Append time (ms) of the last record that touched it: the log's time, so that a replay decides alike. */
  touchedAt: number
  isDirty: boolean
  /** Of the value when it was last put or read. */
  weight: number
  /** Snapshots before its last use. */
  usedIn: number
}

export interface KeyedStateOptions<V> {
  /** First character of its keys in the store; one per state. */
  readonly prefix: string
  /** A value that no record touched for this long (in the log's time) is gone. */
  readonly ttl_ms: number
  /** Weight kept in memory beyond a snapshot; the least recently used values rest in the store. */
  readonly hotMax: number
  /** What a value takes of `hotMax`; 1 when absent, for values of one size. Asked at each `put`. */
  readonly weigh?: (value: V) => number
  readonly encode: (value: V) => unknown
  readonly decode: (stored: never) => V
}

/** Snapshots that uses are told apart by; what was used in none of so many is equally old. A power of two. */
const AGES = 64

/** Values by key; reads fall through to the store, writes wait for `takeWrites`. */
export class KeyedState<V> {
  readonly #store: StateStore
  readonly #options: KeyedStateOptions<V>
  readonly #held = new Map<string, Held<V>>()
  /** The one asked for last: whoever gets a value puts it next. */
  #last: Held<V> | undefined
  #dirty: Array<Held<V>> = []
  #weight = 0
  #snapshots = 0
  /** Of what was used last before a snapshot, at its number modulo `AGES`. */
  readonly #weights = new Float64Array(AGES)

  constructor(store: StateStore, options: KeyedStateOptions<V>) {
    this.#store = store
    this.#options = options
  }

  get size(): number {
    return this.#held.size
  }
  /** Of all values in memory, also of those that the next snapshot will let go of. */
  get weight(): number {
    return this.#weight
  }
  #find(key: string): Held<V> | undefined {
    const last = this.#last
    if (last !== undefined && last.key === key) return last
    const held = this.#held.get(key)
    if (held !== undefined) this.#last = held
    return held
  }
  #hold(key: string, value: V, touchedAt: number): Held<V> {
    const held = { key, value, touchedAt, isDirty: false, weight: this.#options.weigh?.(value) ?? 1, usedIn: this.#snapshots }
    this.#held.set(key, held)
    this.#last = held
    this.#weigh(held, held.weight)
    return held
  }
  #lastUse({ usedIn }: Held<V>): number {
    return Math.max(usedIn, this.#snapshots - AGES + 1)
  }
  #weigh(held: Held<V>, more: number): void {
    const at = this.#lastUse(held) & (AGES - 1)
    this.#weights[at] = this.#weights[at]! + more
    this.#weight += more
  }
  #use(held: Held<V>): void {
    if (held.usedIn === this.#snapshots) return
    this.#weigh(held, -held.weight)
    held.usedIn = this.#snapshots
    this.#weigh(held, held.weight)
  }
  #letGo(held: Held<V>): void {
    this.#held.delete(held.key)
    this.#weigh(held, -held.weight)
    held.isDirty = false
    if (this.#last === held) this.#last = undefined
  }
  #soil(held: Held<V>): void {
    if (held.isDirty) return
    held.isDirty = true
    this.#dirty.push(held)
  }

  /** The value, or undefined; `now` is the append time of the record at hand. */
  get(key: string, now: number): V | undefined {
    let held = this.#find(key)
    if (held === undefined) {
      const stored = this.#store.get(this.#options.prefix + key)
      if (stored === undefined) return undefined
      const [touchedAt, value] = packr.unpack(stored) as [number, never]
      held = this.#hold(key, this.#options.decode(value), touchedAt)
    }
    if (now - held.touchedAt > this.#options.ttl_ms) return undefined
    this.#use(held)
    return held.value
  }

  /** Call after each change of a value too: what is not put is not kept. */
  put(key: string, value: V, now: number): void {
    const held = this.#find(key)
    if (held === undefined) return this.#soil(this.#hold(key, value, Math.max(now, 0)))
    const weight = this.#options.weigh?.(value) ?? 1
    this.#use(held)
    if (weight !== held.weight) this.#weigh(held, weight - held.weight)
    held.value = value
    held.weight = weight
    if (now > held.touchedAt) held.touchedAt = now
    this.#soil(held)
  }

  /** What must be stored to bring the store up to date. The values count as stored from here on. O(values changed). */
  takeWrites(): Array<readonly [string, Uint8Array | undefined]> {
    const writes: Array<readonly [string, Uint8Array | undefined]> = []
    for (const held of this.#dirty) {
      if (!held.isDirty) continue
      held.isDirty = false
      writes.push([this.#options.prefix + held.key, packr.pack([held.touchedAt, this.#options.encode(held.value)])])
    }
    this.#dirty = []
    return writes
  }

  /** Lets go of values whose key begins with `prefix`, stored or not. O(values in memory). */
  forget(prefix: string): void {
    for (const [key, held] of this.#held) if (key.startsWith(prefix)) this.#letGo(held)
  }

  /** After a snapshot: lets go of what is stored and was not used lately, longest unused first. O(values in memory) where there are too many. */
  passivate(): void {
    let excess = this.#weight - this.#options.hotMax
    if (excess > 0) {
      // What was used before goes whole, of what was used last then as much as it takes.
      let bound = this.#snapshots - AGES + 1
      let ofBound = excess
      for (; bound < this.#snapshots && ofBound > this.#weights[bound & (AGES - 1)]!; bound++) ofBound -= this.#weights[bound & (AGES - 1)]!
      for (const held of this.#held.values()) {
        const used = this.#lastUse(held)
        if (held.isDirty || used > bound || (used === bound && ofBound <= 0)) continue
        if (used === bound) ofBound -= held.weight
        excess -= held.weight
        this.#letGo(held)
        if (excess <= 0) break
      }
    }
    // The oldest two become one.
    this.#snapshots++
    const oldest = (this.#snapshots + 1) & (AGES - 1), free = this.#snapshots & (AGES - 1)
    this.#weights[oldest] = this.#weights[oldest]! + this.#weights[free]!
    this.#weights[free] = 0
  }

  /** Removals of values whose time has passed, at most `limit` per call, from where the last call stopped. */
  expired(now: number, after: string, limit: number): { readonly writes: Array<readonly [string, undefined]>; readonly last: string } {
    const writes: Array<readonly [string, undefined]> = []
    let last = after
    let looked = 0
    for (const [key, stored] of this.#store.scan(this.#options.prefix, after)) {
      if (looked++ >= limit) return { writes, last }
      last = key
      if (now - touchedAtOf(stored) > this.#options.ttl_ms && !this.#held.has(key.slice(this.#options.prefix.length))) writes.push([key, undefined])
    }
    return { writes, last: "" }
  }
}
