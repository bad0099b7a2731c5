/** Rounds of analytics rules and copies of the stores that they change exclude each other. */
import { it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { expect } from "vitest"
import { holdOff, unlessHeldOff } from "../../../src/analytics-rules/publishing-lock.ts"
import { layerTestSql } from "../../support/postgres.ts"

it.live(
  "a round does not begin while held off, and holding off waits for the running round, but only within its time",
  () =>
    Effect.gen(function* () {
      let rounds = 0
      const round = Effect.sync(() => {
        rounds++
      })
      yield* unlessHeldOff(round)
      yield* Effect.scoped(Effect.andThen(holdOff(1_000), Effect.all([unlessHeldOff(round), unlessHeldOff(round)])))
      expect(rounds).toBe(1)
      yield* unlessHeldOff(round)
      expect(rounds).toBe(2)

      const begun = yield* Deferred.make<void>()
      const mayEnd = yield* Deferred.make<void>()
      const long = yield* Effect.forkChild(
        unlessHeldOff(Effect.andThen(Deferred.succeed(begun, undefined), Deferred.await(mayEnd)))
      )
      yield* Deferred.await(begun)
      expect(Exit.isFailure(yield* Effect.exit(Effect.scoped(holdOff(50))))).toBe(true)
      const holding = yield* Effect.forkChild(Effect.scoped(holdOff(10_000)))
      // Rounds of other processes may run meanwhile.
      yield* Deferred.succeed(mayEnd, undefined)
      yield* Fiber.join(long)
      yield* Fiber.join(holding)
      // A round that fails also frees its place.
      yield* Effect.exit(unlessHeldOff(Effect.fail("broken")))
      yield* Effect.scoped(holdOff(1_000))
    }).pipe(Effect.provide(layerTestSql))
)
