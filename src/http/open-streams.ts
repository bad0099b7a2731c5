/** How many connections that last are open, by organization, key and session; each has an entry while it has one. */
export class OpenStreams {
  readonly #counts = new Map<string, number>()
  take(keys: ReadonlyArray<readonly [key: string, max: number]>): boolean {
    if (keys.some(([key, max]) => (this.#counts.get(key) ?? 0) >= max)) return false
    for (const [key] of keys) this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1)
    return true
  }
  count(key: string): number {
    return this.#counts.get(key) ?? 0
  }
  give(keys: ReadonlyArray<readonly [key: string, max: number]>): void {
    for (const [key] of keys) {
      const left = (this.#counts.get(key) ?? 1) - 1
      if (left === 0) this.#counts.delete(key)
      else this.#counts.set(key, left)
    }
  }
}
