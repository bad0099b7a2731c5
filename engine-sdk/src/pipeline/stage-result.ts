import type { Move, StageOutcome } from "./trace.ts"

/** The outcome of a stage, before it becomes an order and a line of the trace. */
export interface StageResult {
  readonly outcome: StageOutcome
  /** Indexes of the candidates it was given, in their new order; absent = unchanged. */
  readonly order?: ReadonlyArray<number>
  readonly note?: string
  readonly moved: ReadonlyArray<Move>
  readonly scores: ReadonlyArray<{ readonly id: string; readonly name: string; readonly value: number }>
}
