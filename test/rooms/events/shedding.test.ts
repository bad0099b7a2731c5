/** When the gateway refuses requests: after its thread was blocked for too long, until timers are on time again. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { isOverloaded, makeShedding } from "../../../src/gateway/shedding.ts"

it("depends on how late a timer is", () => {
  expect([0, 250, 1_249, 1_250].map((elapsed) => isOverloaded(elapsed))).toEqual([false, false, false, false])
  expect([1_251, 60_000].map((elapsed) => isOverloaded(elapsed))).toEqual([true, true])
})
it("begins when this thread was blocked for more than a second, and ends by itself", () =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const { isShedding } = yield* makeShedding
        const turn = () => Effect.promise(() => new Promise((settle) => setTimeout(settle, 10)))
        yield* turn()
        expect(isShedding()).toBe(false)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_600)
        while (!isShedding()) yield* turn()
        while (isShedding()) yield* turn()
      })
    )
  ))
