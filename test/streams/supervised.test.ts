/** Runs and the pauses between them, by a set clock. */
import { assert, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type LifeEnd, supervised } from "../../log/process/supervised.ts"

const pace = { first_ms: 100, max_ms: 500, healthyAfter_ms: 60_000 }

/** The start of each run, given how long each lasts and how it ends. */
const birthsOf = Effect.fnUntraced(function* (lives: ReadonlyArray<readonly [last_ms: number, end: LifeEnd]>) {
  const births: Array<number> = []
  const fiber = yield* Effect.forkChild(
    supervised(
      pace,
      Effect.gen(function* () {
        const [last_ms, end] = lives[births.push(yield* Clock.currentTimeMillis) - 1]!
        yield* Effect.sleep(last_ms)
        return end
      })
    )
  )
  for (let i = 0; i < 2_000; i++) yield* TestClock.adjust(100)
  yield* Fiber.join(fiber)
  return births
})

it.effect("pauses double up to their bound, and start over after a long run", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(
      yield* birthsOf([
        [0, "failed"],
        [0, "failed"],
        [0, "failed"],
        [0, "failed"],
        [0, "failed"],
        [60_100, "failed"],
        [0, "failed"],
        [0, "over"]
      ]),
      [0, 100, 300, 700, 1_200, 1_700, 61_900, 62_100]
    )
  })
)
it.effect("a run that asks for a quick restart waits only for the first pause", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(
      yield* birthsOf([
        [0, "soon"],
        [0, "soon"],
        [0, "soon"],
        [0, "over"]
      ]),
      [0, 100, 200, 300]
    )
  })
)
