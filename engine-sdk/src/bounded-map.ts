/**
 * What is remembered of what came from outside: a map with a bound in bytes, which every cache of the package and of
 * its host declares (`test/caches.test.ts` lists them). Entries leave in the order in which they came; a look moves
 * nothing, so that it costs what a look into a `Map` costs.
 */
interface Bounds<K, V> {
  readonly bytes_max: number
  /** What an entry holds, about: two bytes a character, and what its objects take. Asked once, when it is put. */
  readonly bytesOf: (key: K, value: V) => number
}
/** Of an entry itself, beside what it holds. */
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
  /** One that is larger than the bound is not kept. */
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
  /** As if it had just been put: for caches whose least recently used leaves first. */
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
