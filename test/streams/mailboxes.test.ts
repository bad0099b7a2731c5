/** Turns of mailboxes: order within a key, shares by weight and cost between keys, bounds. */
import { describe, expect, it } from "@effect/vitest"
import { Mailboxes, TURN_MAX } from "../../streams/actor.ts"
import { parseWeights, weightIn } from "../../streams/weights.ts"
import { Draws } from "../support/simulation/random.ts"

describe("mailboxes", () => {
  it("keep order within a key, take turns between keys, and refuse beyond their bound", () => {
    const boxes = new Mailboxes<number>({ entriesMax: TURN_MAX * 3 })
    for (let i = 0; i < TURN_MAX * 2; i++) expect(boxes.deliver("busy", i)).toBe(true)
    for (let i = 0; i < TURN_MAX; i++) boxes.deliver("quiet", i)
    expect(boxes.deliver("late", 0)).toBe(false)
    const turns: Array<readonly [string, number, number]> = []
    for (let turn = boxes.takeTurn(); turn !== undefined; turn = boxes.takeTurn()) turns.push([turn.key, turn.entries[0]!, turn.entries.length])
    expect(turns).toEqual([["busy", 0, TURN_MAX], ["quiet", 0, TURN_MAX], ["busy", TURN_MAX, TURN_MAX]])
    expect(boxes.size).toBe(0)
  })

  it("while several keys wait, each gets its weight's share of the cost, to within a round", () => {
    const draws = new Draws(5)
    for (let round = 0; round < 40; round++) {
      const keys = Array.from({ length: draws.whole(2, 6) }, (_, i) => ({ key: `k${i}`, weight: draws.pick([0.01, 0.1, 0.5, 1, 1, 2, 7.5]), cost: draws.pick([1, 1, 3.5, 40]) }))
      const weights = new Map(keys.map(({ key, weight }) => [key, weight]))
      const boxes = new Mailboxes<{ readonly i: number; readonly cost: number }>({ entriesMax: 1_000_000, weightOf: (key) => weights.get(key)!, costOf: ({ cost }) => cost })
      const each = 3_000
      for (let i = 0; i < each; i++) for (const { cost, key } of keys) boxes.deliver(key, { i, cost })
      const taken = new Map(keys.map(({ key }) => [key, { cost: 0, next: 0 }]))
      for (let turn = boxes.takeTurn(); turn !== undefined; turn = boxes.takeTurn()) {
        expect(turn.entries.length).toBeLessThanOrEqual(TURN_MAX)
        const of = taken.get(turn.key)!
        for (const { cost, i } of turn.entries) {
          expect(i).toBe(of.next++)
          of.cost += cost
        }
        if ([...taken.values()].some(({ next }) => next === each)) break
        // Between two keys that both wait, normalized service differs by at most the quantum and the dearest entry of each.
        for (const a of keys) for (const b of keys) {
          const bound = 2 * TURN_MAX + a.cost / a.weight + b.cost / b.weight
          expect(taken.get(a.key)!.cost / a.weight - taken.get(b.key)!.cost / b.weight).toBeLessThanOrEqual(bound)
        }
      }
    }
  })

  it("give everything out, whatever comes in between turns", () => {
    const draws = new Draws(6)
    const boxes = new Mailboxes<number>({ entriesMax: 500, weightOf: (key) => key === "tiny" ? 0.01 : 1, costOf: () => 30 })
    const [delivered, taken] = [new Map<string, number>(), new Map<string, number>()]
    for (let i = 0; i < 20_000 || boxes.size > 0; i++) {
      const key = draws.pick(["tiny", "a", "b"])
      if (i < 20_000 && boxes.deliver(key, delivered.get(key) ?? 0)) delivered.set(key, (delivered.get(key) ?? 0) + 1)
      expect(boxes.size).toBeLessThanOrEqual(500)
      if (i < 20_000 && !draws.chance(0.05)) continue
      const turn = boxes.takeTurn()
      for (const entry of turn?.entries ?? []) {
        expect(entry).toBe(taken.get(turn!.key) ?? 0)
        taken.set(turn!.key, entry + 1)
      }
    }
    expect(taken).toEqual(delivered)
  })
})

describe("weights", () => {
  it("are read, and what is no weight is named", () => {
    const weights = parseWeights(" org_a=4, org_b = 0.5 ,")
    if (typeof weights === "string") throw new Error(weights)
    expect([weightIn(weights)("org_a"), weightIn(weights)("org_b"), weightIn(weights)("constructor"), weightIn(undefined)("org_a")]).toEqual([4, 0.5, 1, 1])
    for (const bad of ["org_a", "org_a=", "org_a=0", "org_a=101", "org_a=x", "=3"]) expect(parseWeights(`org_c=1,${bad}`)).toContain(`\`${bad}\``)
  })
})
