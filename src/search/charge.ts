/** The unit that a request costs: taken before the engine is called, returned unless the engine answered. */
import { Effect, Exit } from "effect"
import type { AnswerBudget } from "@dowser/engine-sdk/operations"
import type { SearchFailure } from "./search-errors.ts"
import type { Quota, Unit } from "../metering/quota.ts"
import { LOOKS_MAX } from "../understanding/visible-entities.ts"
import { REWRITES_MAX } from "./rewriting.ts"
import type { SearchRequest } from "./request.ts"
import { withinTime } from "../engine-plane/time-limit.ts"

/** One request's unit, and whether it was used. */
export interface Charge {
  readonly unit: Unit
  isUsed: boolean
  /** Memory of the answer, shared by all searches of the request. */
  readonly budget: AnswerBudget
  /** Rewrites of its queries that may still be tried. */
  readonly rewrites: { left: number }
  /** How many more times its answers may check what the caller can see. */
  readonly looks: { left: number }
  /** Deadline of the request, in the time of `performance.now()`. */
  readonly until: number
}

/** Takes a unit for the effect and returns it unless a search was answered by the engine, now or when it was cached. */
export const charging = <A>(
  quota: Quota["Service"],
  organizationId: string,
  { timeLimit_ms }: SearchRequest,
  budget: AnswerBudget,
  run: (charge: Charge) => Effect.Effect<A, SearchFailure>
): Effect.Effect<A, SearchFailure> =>
  Effect.suspend(() => {
    const until = timeLimit_ms === undefined ? Infinity : performance.now() + timeLimit_ms
    return Effect.flatMap(quota.reserve(organizationId), (unit) => {
      const charge: Charge = {
        unit,
        isUsed: false,
        budget,
        rewrites: { left: REWRITES_MAX },
        looks: { left: LOOKS_MAX },
        until
      }
      return Effect.onExit(timeLimit_ms === undefined ? run(charge) : withinTime(timeLimit_ms, run(charge)), (exit) =>
        Effect.sync(() => {
          if (!charge.isUsed || Exit.isFailure(exit)) unit.giveBack()
        })
      )
    })
  })
