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

interface Held<V> {
  value: V
  /** Append time (ms) of the last record that touched it: the log's time, so that a replay decides alike. */
  touchedAt: number
  isDirty: boolean
  /** Of the value when it was last put or read. */
  weight: number
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

/** Values by key; reads fall through to the store, writes wait for `takeWrites`. */
export class KeyedState<V> {
  readonly #store: StateStore
  readonly #options: KeyedStateOptions<V>
  /** In order of use: the first is the least recently used. */
  readonly #held = new Map<string, Held<V>>()
  #weight = 0

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
  #hold(key: string, value: V, touchedAt: number, isDirty: boolean): Held<V> {
    const held = { value, touchedAt, isDirty, weight: this.#options.weigh?.(value) ?? 1 }
    this.#held.set(key, held)
    this.#weight += held.weight
    return held
  }
  #letGo(key: string, { weight }: Held<V>): void {
    this.#held.delete(key)
    this.#weight -= weight
  }

  /** The value, or undefined; `now` is the append time of the record at hand. */
  get(key: string, now: number): V | undefined {
    let held = this.#held.get(key)
    if (held === undefined) {
      const stored = this.#store.get(this.#options.prefix + key)
      if (stored === undefined) return undefined
      const [touchedAt, value] = packr.unpack(stored) as [number, never]
      held = this.#hold(key, this.#options.decode(value), touchedAt, false)
    }
    if (now - held.touchedAt > this.#options.ttl_ms) return undefined
    return held.value
  }

  /** Call after each change of a value too: what is not put is not kept. */
  put(key: string, value: V, now: number): void {
    const held = this.#held.get(key)
    const touchedAt = Math.max(now, held?.touchedAt ?? 0)
    if (held !== undefined) this.#letGo(key, held)
    this.#hold(key, value, touchedAt, true)
  }

  /** What must be stored to bring the store up to date. The values count as stored from here on. */
  takeWrites(): Array<readonly [string, Uint8Array | undefined]> {
    const writes: Array<readonly [string, Uint8Array | undefined]> = []
    for (const [key, held] of this.#held) {
      if (!held.isDirty) continue
      held.isDirty = false
      writes.push([this.#options.prefix + key, packr.pack([held.touchedAt, this.#options.encode(held.value)])])
    }
    return writes
  }

  /** Lets go of values whose key begins with `prefix`, stored or not. O(values in memory). */
  forget(prefix: string): void {
    for (const [key, held] of this.#held) if (key.startsWith(prefix)) this.#letGo(key, held)
  }

  /** After a snapshot: lets go of what is stored and was not used lately. */
  passivate(): void {
    for (const [key, held] of this.#held) {
      if (this.#weight <= this.#options.hotMax) return
      if (!held.isDirty) this.#letGo(key, held)
    }
  }

  /** Removals of values whose time has passed, at most `limit` per call, from where the last call stopped. */
  expired(now: number, after: string, limit: number): { readonly writes: Array<readonly [string, undefined]>; readonly last: string } {
    const writes: Array<readonly [string, undefined]> = []
    let last = after
    let looked = 0
    for (const [key, stored] of this.#store.scan(this.#options.prefix, after)) {
      if (looked++ >= limit) return { writes, last }
      last = key
      if (now - (packr.unpack(stored) as [number])[0] > this.#options.ttl_ms && !this.#held.has(key.slice(this.#options.prefix.length))) writes.push([key, undefined])
    }
    return { writes, last: "" }
  }
}
