/**
 * What a room lets operators watch. Rooms keep their counts where they do the work and are asked for them at a scrape,
 * so counting costs a search or an event one addition.
 */
import type { Effect } from "effect"

export interface Sample {
  /** Of few values that the program itself chooses: never a name that a tenant or a visitor gave. */
  readonly labels?: Readonly<Record<string, string>>
  readonly value: number
}
export interface Measure {
  /** `dowser_` and what is measured, with its unit; a counter ends in `_total`. */
  readonly name: `dowser_${string}`
  /** A counter only grows, until the process starts again. */
  readonly type: "counter" | "gauge"
  /** One sentence. */
  readonly help: string
  /** From memory: a scrape waits for all of them. */
  readonly read: Effect.Effect<ReadonlyArray<Sample>>
}
/** One number without labels. */
export const single = (value: number): ReadonlyArray<Sample> => [{ value }]
