/** Which filters and facets a search used, from its texts; and that their figures are those of the searches. */
import { describe, expect, it } from "vitest"
import { USES_MAX, usesOf } from "../../../streams/figures/filter-uses.ts"
import type { Deltas } from "../../../streams/facts/deltas.ts"
import { AttributionState } from "../../../streams/processors/attribution/state.ts"
import type { Body } from "../../../streams/processors/attribution/body.ts"
import { step } from "../../../streams/processors/attribution/step.ts"
import { memoryStore } from "../../../streams/state/state.ts"
import { generate, seeded } from "../../support/attribution-oracle.ts"
import { newCounted } from "../../support/facts.ts"

const filters = (text: string) => (usesOf(text, undefined) ?? []).map(([, field, value]) => `${field}|${value}`)

describe("filters of a search", () => {
  it.each([
    ["brand:=Sony", ["brand|Sony"]],
    ["brand: Sony && price:<100", ["brand|Sony", "price|<100"]],
    [
      "(brand:=`A && B` || colour:=[red, `dark, blue`]) && price:[10..20]",
      ["brand|A && B", "colour|red", "colour|dark, blue", "price|10..20"]
    ],
    ["brand:!=Sony && stock:>=1", ["brand|!=Sony", "stock|>=1"]],
    ["location:(48.9, 2.3, 5 km) && ((a:1) || (b:2))", ["location|(48.9, 2.3, 5 km)", "a|1", "b|2"]],
    ["$reviews(stars:>3) && brand:x", ["stars|>3", "brand|x"]],
    ["brand:=Sony && brand:=Sony", ["brand|Sony"]],
    ["time:10:30", ["time|10:30"]],
    ["", []],
    ["nothing", []],
    ["((((", []],
    ["`:", []],
    [":::", []],
    ["&& || :", []]
  ])("%s", (text, uses) => expect(filters(text)).toEqual(uses))
  it("include facets, without their ranges", () => {
    expect(usesOf(undefined, "brand, price(cheap:[0,10], dear:[10,]),brand")).toEqual([
      ["facet", "brand", ""],
      ["facet", "price", ""]
    ])
    expect(usesOf(undefined, undefined)).toBeUndefined()
  })
  it("are bounded and storable whatever the text", () => {
    const random = seeded(5)
    const alphabet = ["a", ":", "=", "[", "]", "(", ")", "&&", "||", "`", ",", " ", "é", "\u0000", "\ud800", "$"]
    for (let i = 0; i < 3_000; i++) {
      const uses =
        usesOf(
          Array.from(
            { length: Math.floor(random() * 60) },
            () => alphabet[Math.floor(random() * alphabet.length)]!
          ).join(""),
          "x".repeat(500)
        ) ?? []
      expect(uses.length).toBeLessThanOrEqual(USES_MAX)
      for (const text of uses.flat())
        expect(text.isWellFormed() && !text.includes("\u0000") && Buffer.byteLength(text) <= 128).toBe(true)
    }
    expect(usesOf(Array.from({ length: 40 }, (_, i) => `f${i}:1`).join("&&"), "a")).toHaveLength(USES_MAX)
  })
  it("are counted like the searches that used them, whatever is taken back", () => {
    const sumsOf = (deltas: Deltas) => {
      const sums = [0, 0, 0, 0]
      deltas.eachInstant((_key, _at, values, from) =>
        sums.forEach((_, i) => {
          sums[i] = sums[i]! + values[from + i]!
        })
      )
      return sums
    }
    for (let seed = 1; seed <= 20; seed++) {
      const { events, organizationId, served } = generate(seed, 200, Date.UTC(2026, 4, 4))
      const bodies: ReadonlyArray<Body> = [
        ...served.map((one): Body => ({ kind: "served", served: { ...one, filter_by: "shop:=north" } })),
        ...events.map((event): Body => ({
          kind: "event",
          organizationId,
          event: event.type === "search" ? { ...event, filter_by: "shop:=north" } : event
        }))
      ]
      const random = seeded(seed)
      const shuffled = bodies.map((body) => ({ body, at: random() })).sort((a, b) => a.at - b.at)
      const { facts, sums: rollups } = newCounted()
      const state = new AttributionState(memoryStore(), { fingerprintKey: [1, 2, 3, 4] })
      for (const [offset, { body }] of shuffled.entries())
        step(state, body, { topic: "t", offset, index: 0, appendedAt: 0 }, facts)
      const counted = sumsOf(rollups.filters)
      expect(counted).toEqual(sumsOf(rollups.queries))
      expect(counted.every((sum) => sum > 0)).toBe(true)
    }
  })
})
