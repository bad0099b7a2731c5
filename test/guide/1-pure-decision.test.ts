/**
 * How to test, part one of five: a decision.
 *
 * The program's decisions are pure functions: no clock, no database, no request. Such a function is tested by a table.
 * Each row is a case that somebody could get wrong and names it in words, so that a reader learns the rule from the
 * table without opening the function. Most tests belong here: they take no time, and a failure points to a single
 * place.
 *
 * The decision here is when an alert fires.
 */
import { describe, expect, it } from "vitest"
import { judged, knownValue } from "../../src/alerts/decision.ts"

const above10 = { metric: "events_lag_seconds", op: ">", threshold: 10 } as const

describe("an alert", () => {
  it.each([
    // Edges first: the threshold itself, then either side of it.
    { case: "stands at its threshold", state: "ok", value: 10, becomes: "ok", fires: false },
    { case: "crosses it", state: "ok", value: 10.1, becomes: "firing", fires: true },
    // What must not happen needs a row as well: nobody wants the same alert every thirty seconds.
    { case: "stays beyond it", state: "firing", value: 99, becomes: "firing", fires: false },
    { case: "comes back", state: "firing", value: 9, becomes: "ok", fires: false },
    { case: "has no value while it is ok", state: "ok", value: undefined, becomes: "ok", fires: false },
    { case: "has no value while it fires", state: "firing", value: undefined, becomes: "firing", fires: false }
  ] as const)("that $case", ({ becomes, fires, state, value }) => {
    expect(judged(above10, state, value)).toEqual({ state: becomes, hasFired: fires })
  })

  // A sequence shows what a single row cannot: how one state leads to the next.
  it("fires once for each crossing", () => {
    let state: "firing" | "ok" = "ok"
    const fired = [5, 11, 12, undefined, 13, 9, undefined, 14].filter((value) => {
      const verdict = judged(above10, state, value)
      state = verdict.state
      return verdict.hasFired
    })
    expect(fired).toEqual([11, 14])
  })
})

describe("a share of few searches", () => {
  it("is not known, while a count always is", () => {
    expect(knownValue("ctr", 1, 49)).toBe(undefined)
    expect(knownValue("ctr", 1, 50)).toBe(1)
    expect(knownValue("searches", 1, 1)).toBe(1)
  })
})
