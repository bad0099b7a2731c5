/** Turns of mailboxes: order within a key, shares by weight and cost between keys, bounds. */
import { describe, expect, it } from "@effect/vitest"
import { Mailboxes, TURN_MAX } from "../../streams/runner/actor.ts"
import { parseWeights, weightIn } from "../../streams/runner/weights.ts"
import { Draws } from "../support/simulation/random.ts"

interface Numbers {
  readonly key: string
  readonly first: number
  readonly length: number
  readonly cost: number
}
const numbers = (key: string, first: number, length: number, cost = 1): Numbers => ({ key, first, length, cost })
/** The next turn: its key, and the numbers of its entries. */
const turnOf = (
  boxes: Mailboxes<Numbers>
): { readonly key: string; readonly entries: ReadonlyArray<number>; readonly cost: number } | undefined => {
  const entries: Array<number> = []
  let key = "",
    cost = 0
  if (
    !boxes.takeTurn((batch, from, to) => {
      key = batch.key
      cost += (to - from) * batch.cost
      for (let i = from; i < to; i++) entries.push(batch.first + i)
    })
  )
    return undefined
  return { key, entries, cost }
}

describe("mailboxes", () => {
  it("keep order within a key, alternate between keys, and refuse beyond their bound", () => {
    const boxes = new Mailboxes<Numbers>({ entriesMax: TURN_MAX * 3 })
    for (let i = 0; i < TURN_MAX * 2; i += 32) expect(boxes.deliver("busy", numbers("busy", i, 32))).toBe(true)
    boxes.deliver("quiet", numbers("quiet", 0, TURN_MAX - 1))
    expect(boxes.isFull).toBe(false)
    expect(boxes.deliver("late", numbers("late", 0, 2))).toBe(false)
    expect(boxes.deliver("quiet", numbers("quiet", TURN_MAX - 1, 1))).toBe(true)
    expect(boxes.isFull).toBe(true)
    const turns: Array<readonly [string, number, number]> = []
    for (let turn = turnOf(boxes); turn !== undefined; turn = turnOf(boxes))
      turns.push([turn.key, turn.entries[0]!, turn.entries.length])
    expect(turns).toEqual([
      ["busy", 0, TURN_MAX],
      ["quiet", 0, TURN_MAX],
      ["busy", TURN_MAX, TURN_MAX]
    ])
    expect(boxes.size).toBe(0)
  })
  it("accept a batch larger than their bound if nothing else waits, and return it in turns", () => {
    const boxes = new Mailboxes<Numbers>({ entriesMax: 10 })
    expect(boxes.deliver("a", numbers("a", 0, 2 * TURN_MAX + 1))).toBe(true)
    expect(boxes.deliver("a", numbers("a", 0, 1))).toBe(false)
    expect([turnOf(boxes), turnOf(boxes), turnOf(boxes), turnOf(boxes)].map((turn) => turn?.entries.length)).toEqual([
      TURN_MAX,
      TURN_MAX,
      1,
      undefined
    ])
  })

  it("give each key its weight's share of the cost while several wait, to within a round", () => {
    const draws = new Draws(5)
    for (let round = 0; round < 40; round++) {
      const keys = Array.from({ length: draws.whole(2, 6) }, (_, i) => ({
        key: `k${i}`,
        weight: draws.pick([0.01, 0.1, 0.5, 1, 1, 2, 7.5]),
        cost: draws.pick([1, 1, 3.5, 40])
      }))
      const weights = new Map(keys.map(({ key, weight }) => [key, weight]))
      const boxes = new Mailboxes<Numbers>({ entriesMax: 1_000_000, weightOf: (key) => weights.get(key)! })
      const each = 3_000
      for (const { cost, key } of keys)
        for (let first = 0; first < each;) {
          const length = Math.min(each - first, draws.pick([1, 1, 7, 300, 900]))
          boxes.deliver(key, numbers(key, first, length, cost))
          first += length
        }
      const taken = new Map(keys.map(({ key }) => [key, { cost: 0, next: 0 }]))
      for (let turn = turnOf(boxes); turn !== undefined; turn = turnOf(boxes)) {
        expect(turn.entries.length).toBeLessThanOrEqual(TURN_MAX)
        const of = taken.get(turn.key)!
        for (const entry of turn.entries) expect(entry).toBe(of.next++)
        of.cost += turn.cost
        if ([...taken.values()].some(({ next }) => next === each)) break
        // Between two keys that both wait, normalized service differs by at most the quantum and the most expensive
        // entry of each.
        for (const a of keys)
          for (const b of keys) {
            const bound = 2 * TURN_MAX + a.cost / a.weight + b.cost / b.weight
            expect(taken.get(a.key)!.cost / a.weight - taken.get(b.key)!.cost / b.weight).toBeLessThanOrEqual(bound)
          }
      }
    }
  })

  it("return everything, whatever is added between turns", () => {
    const draws = new Draws(6)
    const boxes = new Mailboxes<Numbers>({ entriesMax: 500, weightOf: (key) => (key === "tiny" ? 0.01 : 1) })
    const [delivered, taken] = [new Map<string, number>(), new Map<string, number>()]
    for (let i = 0; i < 20_000 || boxes.size > 0; i++) {
      const key = draws.pick(["tiny", "a", "b"]),
        length = draws.pick([1, 1, 2, 40])
      if (i < 20_000 && boxes.deliver(key, numbers(key, delivered.get(key) ?? 0, length, 30)))
        delivered.set(key, (delivered.get(key) ?? 0) + length)
      expect(boxes.size).toBeLessThanOrEqual(500)
      if (i < 20_000 && !draws.chance(0.05)) continue
      const turn = turnOf(boxes)
      for (const entry of turn?.entries ?? []) {
        expect(entry).toBe(taken.get(turn!.key) ?? 0)
        taken.set(turn!.key, entry + 1)
      }
    }
    expect(taken).toEqual(delivered)
  })
})

describe("weights", () => {
  it("are parsed, and an invalid one is named", () => {
    const weights = parseWeights(" org_a=4, org_b = 0.5 ,")
    if (typeof weights === "string") throw new Error(weights)
    expect([
      weightIn(weights)("org_a"),
      weightIn(weights)("org_b"),
      weightIn(weights)("constructor"),
      weightIn(undefined)("org_a")
    ]).toEqual([4, 0.5, 1, 1])
    for (const bad of ["org_a", "org_a=", "org_a=0", "org_a=101", "org_a=x", "=3"])
      expect(parseWeights(`org_c=1,${bad}`)).toContain(`\`${bad}\``)
  })
})
