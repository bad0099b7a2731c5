/**
 * The memory account of one answer: what fits is accepted, what exceeds the bound is refused, and the first refusal
 * stays.
 */
import { expect, it } from "vitest"
import { AnswerBudget, AnswerRefused } from "../src/budget/answer-budget.ts"

const outcome = (run: () => void): string => {
  try {
    run()
    return "taken"
  } catch (error) {
    return error instanceof AnswerRefused ? error.message : `another error: ${String(error)}`
  }
}

it("accepts what is written up to its bound, and refuses the next byte", () => {
  const budget = new AnswerBudget(1_000)
  expect(outcome(() => budget.wrote(600))).toBe("taken")
  expect(outcome(() => budget.room(401, "facets"))).toMatch(/larger than 1000 bytes.*max_facet_values/)
  expect([budget.written, budget.refusal?.message]).toEqual([600, expect.stringContaining("max_facet_values")])
  expect(outcome(() => budget.wrote(400))).toBe("taken")
  expect(outcome(() => budget.wrote(1))).toMatch(/larger than 1000 bytes/)
  expect([budget.written, budget.refusal?.message]).toEqual([1_000, expect.stringContaining("max_facet_values")])
})
it("allows four answers in progress and refuses more", () => {
  const budget = new AnswerBudget(1_000)
  expect(outcome(() => budget.hold(4_000, "documents"))).toBe("taken")
  expect(outcome(() => budget.hold(1, "highlights"))).toMatch(/larger than 1000 bytes.*highlight_fields/)
  budget.holdAgain(100)
  expect(outcome(() => budget.settle(3_000, undefined))).toBe("taken")
  expect(budget.held).toBe(3_000)
  expect(outcome(() => budget.settle(5_000, undefined))).toMatch(/larger than/)
})
it("requests memory from the host before it is used, in steps, and refuses if there is none", () => {
  const asked: Array<number> = []
  const budget = new AnswerBudget(10_000_000, (bytes) => {
    asked.push(bytes)
    return bytes <= 200_000
  })
  expect(
    outcome(() => {
      budget.wrote(60_000)
      budget.hold(60_000, "documents")
      budget.wrote(1)
    })
  ).toBe("taken")
  expect(asked).toEqual([131_072])
  expect(outcome(() => budget.wrote(100_000))).toMatch(/hold all the memory/)
  expect(budget.written).toBe(60_001)
})
