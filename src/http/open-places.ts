/** Counts concurrently open items per name, with a limit for each: streams of an organization, of a session. */
export type Places = ReadonlyArray<readonly [name: string, most: number]>

export class OpenPlaces {
  readonly #counts = new Map<string, number>()
  /** Takes a slot under each name, or under none of them. */
  take(places: Places): boolean {
    if (places.some(([name, most]) => (this.#counts.get(name) ?? 0) >= most)) return false
    for (const [name] of places) this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    return true
  }
  /** The number of open slots under a name. */
  count(name: string): number {
    return this.#counts.get(name) ?? 0
  }
  give(places: Places): void {
    for (const [name] of places) {
      const left = (this.#counts.get(name) ?? 1) - 1
      if (left === 0) this.#counts.delete(name)
      else this.#counts.set(name, left)
    }
  }
}
