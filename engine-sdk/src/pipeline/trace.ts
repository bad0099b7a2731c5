/**
 * Explains a search: rules that fired, what was sent to the engine, what each stage moved, and microseconds. Plain
 * JSON; the same inputs and the same clock readings give the same bytes (`stored-run.ts`).
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
  /** There was nothing to do (fewer hits than `min_hits`, no rule). */
  | "skipped"
  /** Abandoned at the end of its budget. */
  | "late"
  /** It threw, or returned other candidates than it was given. */
  | "failed"
export interface StageTrace {
  readonly name: string
  readonly outcome: StageOutcome
  readonly budget_ms?: number
  readonly us: number
  /** Why it was skipped, late or failed; or what a rerank could not score. */ readonly note?: string
  /** At most `MOVES_MAX`. */ readonly moved: ReadonlyArray<Move>
}
/**
 * Maximum moves of one stage that a trace keeps.
 *
 * @example
 * ```ts
 * import { MOVES_MAX } from "@dowser/engine-sdk/pipeline"
 *
 * const isWhole = (moves: ReadonlyArray<unknown>) => moves.length < MOVES_MAX
 * ```
 */
export const MOVES_MAX = 250

/** The rules' changes to the plan, under the names of the API. */
export interface PlanSummary {
  readonly collection: string
  readonly q: string
  readonly filter_by: string
  readonly exclusion_filter_by: string
  /** Effective keys in order, e.g. `_boosts:desc`, `price:asc`. */ readonly sort_by: ReadonlyArray<string>
  /** Document ids, or `filter` for a slot that takes the best hit, with the requested position. */
  readonly injected: ReadonlyArray<{
    readonly id?: string
    readonly filter_by?: string
    readonly position: number
    readonly kind: "pin" | "sponsored"
  }>
  readonly offset: number
  readonly limit: number
  /** Number of organic hits fetched for the stages; absent if the engine's page was used unchanged. */
  readonly window?: number
}
export interface HitTrace {
  readonly id: string
  /** From 1, within the entire list. */ readonly position: number
  /** From 0; absent for injected hits. */ readonly engine_rank?: number
  /** Score parts by name, e.g. `text_match`, `boosts`, `rerank`. */ readonly scores: Readonly<
    Record<string, number | string>
  >
  readonly injected?: "pin" | "sponsored"
}
export interface Trace {
  /** False if the set's time window, device, language or country did not match. */ readonly active: boolean
  readonly fired: ReadonlyArray<FiredRule>
  /** Rules that cannot act because their filter no longer parses. */ readonly inert?: ReadonlyArray<FiredRule>
  readonly plan?: PlanSummary
  readonly stages: ReadonlyArray<StageTrace>
  readonly fallback?: "drop_filters" | "popular" | "recommendations" | "semantic"
  readonly hits: ReadonlyArray<HitTrace>
  readonly total_us: number
}
