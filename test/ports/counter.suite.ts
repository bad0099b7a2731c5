/** The behaviour of every adapter of `Counter`, whoever shares the budget. */
import { assert, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { makeRandom } from "../../fixtures/random.ts"
import type { Budget, Counter, CounterOptions } from "../../src/ports/counter/counter.ts"

const MINUTE = 60_000
const start = 29_000_000 * MINUTE
export const minute = (name: string, limit: number, nth = 0): Budget => ({
  name,
  limit,
  started_at: start + nth * MINUTE,
  ends_at: start + (nth + 1) * MINUTE
})
export const volatile: CounterOptions = { kind: "rate", isDurable: false, entriesMax: 1_000, creditMax: 10, kept_ms: 0 }

/** Takes units as a request does: from memory if it can decide, otherwise by asking. */
export const taking = (counter: Counter, budget: Budget, units = 1) =>
  Effect.suspend(() => {
    const taken = counter.take(budget, units)
    return taken === undefined ? counter.ask(budget, units) : Effect.succeed(taken)
  })
export const passes = (counter: Counter, budget: Budget, times: number) =>
  Effect.map(
    Effect.forEach(Array.from({ length: times }), () => taking(counter, budget), { concurrency: 32 }),
    (all) => all.filter(({ isAllowed }) => isAllowed).length
  )

/** `members` is the number of counters that share one budget, one for each process; `within` runs them in a scope. */
export const counterSuite = (
  name: string,
  members: number,
  within: (
    body: (all: ReadonlyArray<Counter>) => Effect.Effect<void, unknown, Scope.Scope>
  ) => Effect.Effect<void, unknown>
) => {
  const test = (title: string, body: (all: ReadonlyArray<Counter>) => Effect.Effect<void, unknown, Scope.Scope>) =>
    it.live(`${name}: ${title}`, () => within(body))

  test("exactly the limit passes, in whichever process and however many requests come at once", (all) =>
    Effect.gen(function* () {
      const random = makeRandom(7)
      for (const limit of [0, 1, 7, 60, 600]) {
        const budget = minute(`key_${limit}`, limit)
        const shares = all.map(() => 0)
        for (let i = 0; i < limit + 50; i++) shares[Math.floor(random.next() ** 2 * all.length)]!++
        const passed = yield* Effect.forEach(all, (counter, i) => passes(counter, budget, shares[i]!), {
          concurrency: "unbounded"
        })
        assert.strictEqual(
          passed.reduce((sum, n) => sum + n, 0),
          limit
        )
        assert.deepStrictEqual(
          yield* Effect.forEach(all, (counter) => Effect.map(taking(counter, budget), ({ isAllowed }) => isAllowed)),
          all.map(() => false)
        )
      }
    }))
  test("units that one process holds and does not use are available to another, to the last one", (all) =>
    Effect.gen(function* () {
      const budget = minute("skewed", 600)
      // Each member takes a few units, so that each holds some; then one of them wants all the rest.
      let passed = 0
      for (const counter of all) passed += yield* passes(counter, budget, 5)
      passed += yield* passes(all[all.length - 1]!, budget, 700)
      assert.strictEqual(passed, 600)
    }))
  test("windows are independent of each other, and so are names", (all) =>
    Effect.gen(function* () {
      const [counter] = all
      assert.strictEqual(yield* passes(counter!, minute("a", 3), 5), 3)
      assert.strictEqual(yield* passes(counter!, minute("b", 3), 5), 3)
      assert.strictEqual(yield* passes(counter!, minute("a", 3, 1), 5), 3)
      const remaining = yield* Effect.forEach([1, 2, 3], () =>
        Effect.map(taking(counter!, minute("c", 3, 1)), (taken) => taken.remaining)
      )
      assert.deepStrictEqual(remaining, [2, 1, 0])
    }))
  test("several units are taken all or none, and returned units pass again", (all) =>
    Effect.gen(function* () {
      const [counter] = all
      const budget = minute("many", 10)
      assert.deepStrictEqual((yield* taking(counter!, budget, 7)).isAllowed, true)
      assert.deepStrictEqual((yield* taking(counter!, budget, 4)).isAllowed, false)
      assert.deepStrictEqual((yield* taking(counter!, budget, 3)).isAllowed, true)
      assert.deepStrictEqual((yield* taking(counter!, budget, 1)).isAllowed, false)
      counter!.giveBack(budget, 2)
      assert.strictEqual(yield* passes(counter!, budget, 5), 2)
      assert.strictEqual(yield* counter!.used(budget), 10)
      counter!.add(budget, 5)
      assert.strictEqual(yield* counter!.used(budget), 15)
      assert.strictEqual(yield* passes(counter!, minute("endless", Infinity), 50), 50)
      assert.strictEqual(yield* counter!.used(minute("endless", Infinity)), 50)
    }))
  test("a raised or lowered limit applies from the next unit on", (all) =>
    Effect.gen(function* () {
      const [counter] = all
      assert.strictEqual(yield* passes(counter!, minute("moved", 5), 9), 5)
      assert.strictEqual(yield* passes(counter!, minute("moved", 8), 9), 3)
      assert.strictEqual(yield* passes(counter!, minute("moved", 4), 9), 0)
    }))
}
