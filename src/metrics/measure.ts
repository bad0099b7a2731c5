/**
 * Metrics of a room for operators. Rooms count where they do the work and are read at a scrape, so counting costs a
 * search or an event one addition.
 */
import type { Effect } from "effect"
import type { Spread, Tally, Timings } from "@dowser/log/process/timings"

/** Labels have few values, chosen by the program itself: never a name from a tenant or a visitor. */
type Labels = Readonly<Record<string, string>>
export interface Sample {
  readonly labels?: Labels
  readonly value: number
}
export interface SpreadSample extends Spread {
  readonly labels?: Labels
}
interface Described {
  /** `dowser_` followed by what is measured, with its unit; a counter ends in `_total`. */
  readonly name: `dowser_${string}`
  /** One sentence. */
  readonly help: string
}
/** A counter only increases, until the process restarts. */
export interface Scalar extends Described {
  readonly type: "counter" | "gauge"
  /** Read from memory, because a scrape waits for all of them. */
  readonly read: Effect.Effect<ReadonlyArray<Sample>>
}
export interface Histogram extends Described {
  readonly type: "histogram"
  readonly read: Effect.Effect<ReadonlyArray<SpreadSample>>
}
export type Measure = Scalar | Histogram

/** One number without labels. */
export const single = (value: number): ReadonlyArray<Sample> => [{ value }]
/** By kind, under the label's name. */
export const tallied = (label: string, { counts }: Tally): ReadonlyArray<Sample> =>
  [...counts].map(([kind, value]) => ({ labels: { [label]: kind }, value }))
export const spreadOver = (label: string, { spreads }: Timings): ReadonlyArray<SpreadSample> =>
  [...spreads].map(([kind, spread]) => ({ labels: { [label]: kind }, ...spread }))
