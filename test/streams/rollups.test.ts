import { assert, describe, it } from "@effect/vitest"
import type { Deltas } from "../../streams/facts/deltas.ts"
import type { RollupSums } from "../../streams/processors/rollups/emitted.ts"
import { newCounted, newKnown } from "../support/facts.ts"
import { Draws } from "../support/simulation/random.ts"

/** Sums by key and instant, read as a writer of rows reads them. */
const read = (deltas: Deltas): Readonly<Record<string, ReadonlyArray<number>>> => {
  const sums: Record<string, Array<number>> = {}
  deltas.eachInstant((key, instant, values, from) => {
    const of = (sums[`${key.join("/")} at ${instant}`] ??= Array.from({ length: deltas.slots }, () => 0))
    for (let slot = 0; slot < deltas.slots; slot++) of[slot] = of[slot]! + values[from + slot]!
  })
  return sums
}
const keysOf = ({ subjects }: Deltas): ReadonlyArray<string> =>
  Array.from({ length: subjects.size }, (_, number) => subjects.keyAt(number).join("/")).sort()

interface Add {
  readonly parts: readonly [string, string, string, string, string, string]
  readonly instant: number
  readonly slot: number
  readonly amount: number
}
const addsOf = (draws: Draws, count: number): ReadonlyArray<Add> =>
  Array.from({ length: count }, () => ({
    parts: [
      draws.pick(["a", "b"]),
      draws.pick(["c", "d"]),
      draws.pick(["", "mobile"]),
      "DE",
      "",
      `q${draws.whole(0, 30)}`
    ],
    // Amounts may also cancel each other.
    instant: draws.whole(0, 40),
    slot: draws.whole(0, 3),
    amount: draws.pick([1, 1, -1])
  }))
const count = ({ products, queries }: RollupSums, adds: ReadonlyArray<Add>): void => {
  for (const { amount, instant, parts, slot } of adds)
    for (const deltas of [queries, products]) deltas.add(deltas.subjects.of(...parts), instant, slot, amount)
}

describe("rollups", () => {
  it("that share keys with earlier flushes count the same as without, and list only their own keys", () => {
    const draws = new Draws(3)
    const known = newKnown()
    for (let flush = 0; flush < 30; flush++) {
      const adds = addsOf(draws, draws.whole(1, 400))
      const over = newCounted(known).sums,
        alone = newCounted().sums
      count(over, adds)
      count(alone, adds)
      for (const table of ["queries", "products"] as const) {
        assert.deepStrictEqual(read(over[table]), read(alone[table]))
        assert.deepStrictEqual(keysOf(over[table]), keysOf(alone[table]))
        assert.strictEqual(over[table].size, alone[table].size)
      }
    }
  })

  it("can still be read after later ones count the same keys", () => {
    const draws = new Draws(4)
    const known = newKnown()
    const parts = Array.from({ length: 5 }, () => addsOf(draws, 100))
    const emitted = parts.map((adds) => {
      const rollups = newCounted(known).sums
      count(rollups, adds)
      return rollups
    })
    parts.forEach((adds, i) => {
      const alone = newCounted().sums
      count(alone, adds)
      assert.deepStrictEqual(read(emitted[i]!.queries), read(alone.queries))
    })
  })

  it("in the reused memory of spent sums count the same as in memory of their own, however many there are", () => {
    const draws = new Draws(6)
    const known = newKnown()
    let spent: RollupSums | undefined
    for (let flush = 0; flush < 40; flush++) {
      // Few sums after many shrink the memory, many after few grow it.
      const adds = addsOf(draws, draws.pick([0, 1, 30, 500, 6_000])).map((add) => ({
        ...add,
        instant: 1_790_000_000_000 + add.instant * draws.whole(1, 40)
      }))
      const over = newCounted(known, spent).sums,
        alone = newCounted().sums
      count(over, adds)
      count(alone, adds)
      for (const table of ["queries", "products"] as const) {
        assert.deepStrictEqual(read(over[table]), read(alone[table]))
        assert.strictEqual(over[table].size, alone[table].size)
      }
      spent = over
    }
  })

  it("distinguish keys whose joined parts are equal", () => {
    const { queries } = newCounted().sums
    const alike: ReadonlyArray<Add["parts"]> = [
      ["o", "a", "b", "", "", "q"],
      ["o", "ab", "", "", "", "q"],
      ["o", "a", "", "b", "", "q"],
      ["o", "a", "", "", "b", "q"],
      ["oa", "", "b", "", "", "q"]
    ]
    for (const parts of alike) queries.add(queries.subjects.of(...parts), 1, 0, 1)
    assert.strictEqual(Object.keys(read(queries)).length, 5)
  })

  it("keep no more bytes of keys than their bound from one flush to the next", () => {
    const known = newKnown()
    let most = 0
    for (let flush = 0; flush < 8; flush++) {
      const { events, queries } = newCounted(known).sums
      most = Math.max(most, known.facts.queries.bytes)
      for (let i = 0; i < 15_000; i++) queries.add(queries.subjects.of("o", "c", "", "", "", `q${flush} ${i}`), i, 0, 1)
      events.add(events.subjects.of("o", "c", "", "", "", "search"), 0, 0, 1)
      assert.strictEqual(queries.size, 15_000)
    }
    assert.isAtLeast(most, 4_000_000)
    assert.isAtMost(most, 14_000_000)
  })
})
