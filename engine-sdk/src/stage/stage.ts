/**
 * The small interface behind rerank, diversity and whatever a tenant adds: a stage takes candidates and answers the
 * same candidates in another order. `run-stages.ts` runs them within their budgets; `trace.ts` says what they leave
 * behind.
 */
import type { Awaitable } from "../engine.ts"
import type { FieldValue, Hit, WindowColumn } from "../plan.ts"

/** A hit on its way through the stages. Identity, rank and values never change; only the order does. */
export interface Candidate {
  readonly id: string
  /** Its rank in the engine's order, from 0. */ readonly rank: number
  readonly hit: Hit
  /**
   * Fields that a stage asked for (`Stage.fields`), whether or not the request shows them. undefined where the document
   * has none.
   */
  value(field: string): FieldValue | undefined
}
/** The request, as far as stages may know it. */
export interface StageRequest {
  readonly q: string
  /** Words of `q` as the engine compares them. */ readonly words: ReadonlyArray<string>
  /** Organic hits of the first page: its size without what rules put there. */ readonly firstPage: number
  /** Organic hits up to the end of each page, up to the requested one; absent: the first page only. */
  readonly pageEnds?: ReadonlyArray<number>
}
export interface StageContext {
  readonly request: StageRequest
  /** Microseconds of an injected clock; only differences mean anything. */ now_us(): number
  /** Left of this stage's budget; at most 0 once it is used up. Loops check it and stop. */ timeLeft_ms(): number
  /** Aborts when the request is given up or the budget of this stage is used up. */ readonly signal: AbortSignal
  /**
   * A field that the stage asked for, of all candidates by their ranks, with the values of `Candidate.value`. Absent,
   * or undefined, where it is not available: then ask each candidate.
   */
  readonly column?: ((field: string) => WindowColumn | undefined) | undefined
  /** For the trace: why this stage did nothing. */ skip(why: string): void
  /** For the trace, e.g. what was left undone. */ note(text: string): void
  /** For the trace: a named part of a hit's score. Absent where nobody reads it. */ readonly scored?: (
    id: string,
    name: string,
    value: number
  ) => void
  /**
   * For the trace: positions from 0 before and after this stage. Absent where nobody reads it, so call it as
   * `moved?.(…)`.
   */
  readonly moved?: (id: string, from: number, to: number, why: string) => void
}
export interface Stage {
  readonly name: string
  /**
   * An asynchronous stage that has not settled by then is given up; a synchronous one looks at `timeLeft_ms` itself and
   * answers what it has.
   */
  readonly budget_ms: number
  /** When it throws or is late: the order it was given, or failure of the search. */ readonly fallback:
    | "keep_order"
    | "error"
  /** Fields read with `Candidate.value`, so that an engine can hand them over without reading documents. */
  readonly fields?: ReadonlyArray<string>
  /** The same candidates, each exactly once. Anything else is a fault of the stage and its fallback acts. */
  run(candidates: ReadonlyArray<Candidate>, context: StageContext): Awaitable<ReadonlyArray<Candidate>>
}

/**
 * Thrown by a stage that ran out of time without a result: its fallback applies and the trace says `late`.
 *
 * @example
 * ```ts
 * import { type Stage, StageLate } from "@dowser/engine-sdk/pipeline"
 *
 * const stage: Stage = {
 *   name: "own",
 *   budget_ms: 10,
 *   fallback: "keep_order",
 *   run: (candidates, context) => {
 *     if (context.timeLeft_ms() <= 0) throw new StageLate("Nothing was scored in time.")
 *     return candidates
 *   }
 * }
 * ```
 */
export class StageLate extends Error {
  override readonly name = "StageLate"
}
