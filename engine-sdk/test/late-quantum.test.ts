/** What is made of hits after their search has a quantum of the thread too; beyond it the search is made elsewhere. */
import { expect, it } from "vitest"
import { orLong } from "../src/pipeline/or-long.ts"
import type { MerchandisedSearch } from "../src/pipeline/merchandising.ts"
import { AnswerBudget } from "../src/search/answer-budget.ts"
import { Allowance, Cutoff, GIVE_WAY, LateQuantum, spend } from "../src/search/cutoff.ts"

const busy = (ms: number): void => { for (const until = performance.now() + ms; performance.now() < until;) spend(10_000) }
const thrownBy = (run: () => unknown): unknown => { try { run(); return undefined } catch (error) { return error } }

it("gives way once all parts together have had theirs", () => {
  const late = new LateQuantum(new Cutoff(new Allowance(15), 1_000))
  expect(thrownBy(() => late.run(() => late.run(() => busy(1))))).toBeUndefined()
  expect(thrownBy(() => { for (let i = 0; i < 40; i++) late.run(() => busy(1)) })).toBe(GIVE_WAY)
  expect(thrownBy(() => late.run(() => busy(1)))).toBe(GIVE_WAY)
})
it("gives way to nobody where the search had the thread to itself", () => {
  const late = new LateQuantum(new Cutoff(new Allowance(), 1_000))
  expect(thrownBy(() => late.run(() => busy(40)))).toBeUndefined()
})

it("runs the searches once more as long ones, with the account as it was, now and later", async () => {
  for (const isLater of [false, true]) {
    const budget = new AnswerBudget(1_000_000), seen: boolean[] = []
    budget.hold(10, "documents")
    const searches = [{ plan: { budget } }, { plan: { budget } }] as unknown as ReadonlyArray<MerchandisedSearch>
    const answer = await orLong(searches, (own) => {
      seen.push(own.every(({ plan }) => plan.isLong === true))
      budget.hold(100, "documents")
      if (seen.length > 1) return budget.held
      if (isLater) return Promise.reject(GIVE_WAY)
      throw GIVE_WAY
    })
    expect([answer, seen]).toEqual([110, [false, true]])
  }
})
it("passes every other failure on", async () => {
  const searches = [{ plan: {} }] as unknown as ReadonlyArray<MerchandisedSearch>
  expect(thrownBy(() => orLong(searches, () => { throw new Error("broken") }))).toEqual(new Error("broken"))
  await expect(orLong(searches, () => Promise.reject(new Error("broken")))).rejects.toThrow("broken")
})
