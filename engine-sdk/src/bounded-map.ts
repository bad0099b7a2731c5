/**
 * A cache for values that come from outside: a map with a bound in bytes, used for all caches of the package and of its
 * host (`test/caches.test.ts` lists them). Entries are evicted in insertion order; a lookup moves nothing, so it costs
 * the same as in a `Map`.
 */
interface Bounds<K, V> {
  readonly bytes_max: number
  /** Approximate size of an entry: two bytes per character plus its objects. Called once, on insertion. */
  readonly bytesOf: (key: K, value: V) => number
}
/** Overhead of an entry in addition to its content. */
const ENTRY_BYTES = 64

export class BoundedMap<K, V> {
  readonly bytes_max: number
  readonly #bytesOf: (key: K, value: V) => number
  readonly #entries = new Map<K, { readonly value: V; readonly bytes: number }>()
  #bytes = 0

  constructor({ bytesOf, bytes_max }: Bounds<K, V>) {
    this.bytes_max = bytes_max
    this.#bytesOf = bytesOf
  }
  get bytes(): number {
    return this.#bytes
  }
  get size(): number {
    return this.#entries.size
  }
  get(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }
  has(key: K): boolean {
    return this.#entries.has(key)
  }
  /** An entry larger than the bound is not stored. */
  set(key: K, value: V): void {
    this.delete(key)
    const bytes = ENTRY_BYTES + this.#bytesOf(key, value)
    if (bytes > this.bytes_max) return
    this.#entries.set(key, { value, bytes })
    this.#bytes += bytes
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.bytes_max) break
      this.#entries.delete(oldest)
      this.#bytes -= entry.bytes
    }
  }
  delete(key: K): void {
    const known = this.#entries.get(key)
    if (known === undefined) return
    this.#entries.delete(key)
    this.#bytes -= known.bytes
  }
  /** Treats an entry as if it had just been set, for caches that evict the least recently used one first. */
  renew(key: K): void {
    const known = this.#entries.get(key)
    if (known === undefined) return
    this.#entries.delete(key)
    this.#entries.set(key, known)
  }
  clear(): void {
    this.#entries.clear()
    this.#bytes = 0
  }
}
