/** Every random number of a schedule, from its seed alone (mulberry32). */
export class Draws {
  #state: number

  constructor(seed: number) {
    // Neighbouring seeds must not start alike.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0
    for (let i = 0; i < 3; i++) this.next()
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  /** Nothing is drawn for a fault that never happens, so turning a fault off keeps the rest of a schedule. */
  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability
  }
  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }
  between(low: number, high: number): number {
    return low + this.next() * (high - low)
  }
  pick<A>(from: ReadonlyArray<A>): A {
    return from[Math.floor(this.next() * from.length)]!
  }
}
