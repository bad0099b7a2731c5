/**
 * What a room lets operators watch. Rooms keep their counts where they do the work and are asked for them at a scrape,
 * so counting costs a search or an event one addition.
 */
import type { Effect } from "effect"
import type { Spread, Tally, Timings } from "@dowser/log/process/timings"

/** Of few values that the program itself chooses: never a name that a tenant or a visitor gave. */
type Labels = Readonly<Record<string, string>>
export interface Sample {
  readonly labels?: Labels
  readonly value: number
}
export interface SpreadSample extends Spread {
  readonly labels?: Labels
}
interface Described {
  /** `dowser_` and what is measured, with its unit; a counter ends in `_total`. */
  readonly name: `dowser_${string}`
  /** One sentence. */
  readonly help: string
}
/** A counter only grows, until the process starts again. */
export interface Scalar extends Described {
  readonly type: "counter" | "gauge"
  /** From memory: a scrape waits for all of them. */
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
