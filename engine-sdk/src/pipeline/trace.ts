/**
 * What a search leaves behind for whoever asks why: rules that fired, what was sent to the engine, what each stage
 * moved, and microseconds. Plain JSON; the same inputs and the same clock readings give the same bytes
 * (`stored-run.ts`).
 */
import type { FiredRule } from "../rules/matched-rules.ts"

export interface Move {
  readonly id: string
  /** Positions from 0. */ readonly from: number
  readonly to: number
  readonly why: string
}
export type StageOutcome =
  | "applied"
  /** Nothing to do (fewer hits than `min_hits`, no rule). */
  | "skipped"
  /** Given up at the end of its budget. */
  | "late"
  /** Threw, or answered other candidates than it was given. */
  | "failed"
export interface StageTrace {
  readonly name: string
  readonly outcome: StageOutcome
  readonly budget_ms?: number
  readonly us: number
  /** Why it was skipped, late or failed; what a rerank could not score. */ readonly note?: string
  /** At most `MOVES_MAX`. */ readonly moved: ReadonlyArray<Move>
}
/**
 * Moves that a trace keeps of one stage.
 *
 * @example
 * ```ts
 * import { MOVES_MAX } from "@dowser/engine-sdk/pipeline"
 *
 * const isWhole = (moves: ReadonlyArray<unknown>) => moves.length < MOVES_MAX
 * ```
 */
export const MOVES_MAX = 250

/** The rules' changes to the plan, by the names of the API. */
export interface PlanSummary {
  readonly collection: string
  readonly q: string
  readonly filter_by: string
  readonly exclusion_filter_by: string
  /** Effective keys in order, e.g. `_boosts:desc`, `price:asc`. */ readonly sort_by: ReadonlyArray<string>
  /** Document ids, or `filter` of a slot that takes the best hit, with the position asked. */
  readonly injected: ReadonlyArray<{
    readonly id?: string
    readonly filter_by?: string
    readonly position: number
    readonly kind: "pin" | "sponsored"
  }>
  readonly offset: number
  readonly limit: number
  /** Organic hits fetched for the stages; absent where the engine's page was taken as it is. */
  readonly window?: number
}
export interface HitTrace {
  readonly id: string
  /** From 1, within the whole list. */ readonly position: number
  /** From 0; absent for injected hits. */ readonly engine_rank?: number
  /** Score parts by name, e.g. `text_match`, `boosts`, `rerank`. */ readonly scores: Readonly<
    Record<string, number | string>
  >
  readonly injected?: "pin" | "sponsored"
}
export interface Trace {
  /** False when the window, device, language or country of the set did not hold. */ readonly active: boolean
  readonly fired: ReadonlyArray<FiredRule>
  /** Rules that cannot act because their filter no longer parses. */ readonly inert?: ReadonlyArray<FiredRule>
  readonly plan?: PlanSummary
  readonly stages: ReadonlyArray<StageTrace>
  readonly fallback?: "drop_filters" | "popular" | "recommendations" | "semantic"
  readonly hits: ReadonlyArray<HitTrace>
  readonly total_us: number
}
