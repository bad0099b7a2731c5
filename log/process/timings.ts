/**
 * Durations by kind, as a Prometheus histogram. Kinds are fixed names in the program, so there are few. Recording one
 * is a map look-up and a scan of at most fourteen bounds: some 50 ns.
 */

/** In seconds; one count for each bound and one for everything above. */
export interface Spread {
  readonly bounds: ReadonlyArray<number>
  readonly counts: ReadonlyArray<number>
  readonly sum: number
}
/** From an in-memory search to a request that was cut off. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 30]

export class Timings {
  readonly #spreads = new Map<string, { readonly bounds: ReadonlyArray<number>; counts: Array<number>; sum: number }>()

  note(kind: string, seconds: number): void {
    let spread = this.#spreads.get(kind)
    if (spread === undefined)
      this.#spreads.set(
        kind,
        (spread = { bounds: BOUNDS, counts: new Array<number>(BOUNDS.length + 1).fill(0), sum: 0 })
      )
    let i = 0
    while (i < BOUNDS.length && seconds > BOUNDS[i]!) i++
    spread.counts[i]!++
    spread.sum += seconds
  }
  get spreads(): ReadonlyMap<string, Spread> {
    return this.#spreads
  }
}
/** Counts of events by kind; there are as few kinds as in `Timings`. */
export class Tally {
  readonly #counts = new Map<string, number>()
  add(kind: string, n = 1): void {
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + n)
  }
  get counts(): ReadonlyMap<string, number> {
    return this.#counts
  }
}
