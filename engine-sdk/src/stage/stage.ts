/**
 * The interface of rerank, diversity and a tenant's own stages: a stage takes candidates and returns the same
 * candidates in another order. `run-stages.ts` runs stages within their budgets; `trace.ts` defines what they record.
 */
import type { Awaitable } from "../engine.ts"
import type { FieldValue, Hit, WindowColumn } from "../plan.ts"

/** A hit on its way through the stages. Identity, rank and values never change; only the order does. */
export interface Candidate {
  readonly id: string
  /** Its rank in the engine's order, from 0. */ readonly rank: number
  readonly hit: Hit
  /**
   * A field that a stage requested (`Stage.fields`), whether or not the request shows it. undefined if the document
   * lacks it.
   */
  value(field: string): FieldValue | undefined
}
/** The request, as far as stages may know it. */
export interface StageRequest {
  readonly q: string
  /** Words of `q` as the engine compares them. */ readonly words: ReadonlyArray<string>
  /** Number of organic hits on the first page: its size without what rules place there. */ readonly firstPage: number
  /** Number of organic hits up to the end of each page, up to the requested one; absent: the first page only. */
  readonly pageEnds?: ReadonlyArray<number>
}
export interface StageContext {
  readonly request: StageRequest
  /** Microseconds of an injected clock; only differences are meaningful. */ now_us(): number
  /** Time left of this stage's budget; at most 0 once it is used up. Loops check it and stop. */ timeLeft_ms(): number
  /** Aborts when the request is cancelled or this stage's budget is used up. */ readonly signal: AbortSignal
  /**
   * A field that the stage requested, for all candidates by rank, with the values of `Candidate.value`. Absent, or
   * undefined, if it is not available; then read it from each candidate.
   */
  readonly column?: ((field: string) => WindowColumn | undefined) | undefined
  /** For the trace: why this stage did nothing. */ skip(why: string): void
  /** For the trace, e.g. what was left undone. */ note(text: string): void
  /** For the trace: a named part of a hit's score. Absent if nobody reads it. */ readonly scored?: (
    id: string,
    name: string,
    value: number
  ) => void
  /**
   * For the trace: positions from 0 before and after this stage. Absent if nobody reads it, so call it as `moved?.(…)`.
   */
  readonly moved?: (id: string, from: number, to: number, why: string) => void
}
export interface Stage {
  readonly name: string
  /**
   * An asynchronous stage that has not settled by then is abandoned; a synchronous one checks `timeLeft_ms` itself and
   * returns what it has.
   */
  readonly budget_ms: number
  /** If it throws or is late: keep the order it was given, or fail the search. */ readonly fallback:
    | "keep_order"
    | "error"
  /** Fields read with `Candidate.value`, so that an engine can provide them without reading documents. */
  readonly fields?: ReadonlyArray<string>
  /** Returns the same candidates, each exactly once. Anything else is a fault, for which the fallback applies. */
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
