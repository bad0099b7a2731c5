/** Work on hits after their search also has a quantum of the thread; beyond it, the search runs elsewhere. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import { createCollection, memoryResources, type OperationContext } from "../src/operations/mod.ts"
import { ruledSearches } from "../../test/support/search-steps.ts"
import { all } from "../src/pipeline/awaitable.ts"
import { orLong, reportingTooLong } from "../src/pipeline/or-long.ts"
import type { MerchandisedSearch } from "../src/pipeline/merchandising.ts"
import { AnswerBudget } from "../src/budget/answer-budget.ts"
import { Allowance, Cutoff, GIVE_WAY, LateQuantum, spend } from "../src/budget/cutoff.ts"

const busy = (ms: number): void => {
  for (const until = performance.now() + ms; performance.now() < until;) spend(10_000)
}
const thrownBy = (run: () => unknown): unknown => {
  try {
    run()
    return undefined
  } catch (error) {
    return error
  }
}

it("yields once all parts together have used a quantum", () => {
  const late = new LateQuantum(new Cutoff(new Allowance(15), 1_000))
  expect(thrownBy(() => late.run(() => late.run(() => busy(1))))).toBeUndefined()
  expect(
    thrownBy(() => {
      for (let i = 0; i < 40; i++) late.run(() => busy(1))
    })
  ).toBe(GIVE_WAY)
  expect(thrownBy(() => late.run(() => busy(1)))).toBe(GIVE_WAY)
})
it("does not yield if the search had the thread to itself", () => {
  const late = new LateQuantum(new Cutoff(new Allowance(), 1_000))
  expect(thrownBy(() => late.run(() => busy(40)))).toBeUndefined()
})

it("repeats the searches as long ones, with the account restored, synchronously and asynchronously", async () => {
  for (const isLater of [false, true]) {
    const budget = new AnswerBudget(1_000_000),
      seen: boolean[] = []
    budget.hold(10, "documents")
    const searches = [{ plan: { budget } }, { plan: { budget } }] as unknown as ReadonlyArray<MerchandisedSearch>
    const answer = await orLong(
      searches,
      (own) => {
        seen.push(own.every(({ plan }) => plan.isLong === true))
        budget.hold(100, "documents")
        return all([
          reportingTooLong<number>(() => {
            if (seen.length > 1) return { ok: true, value: budget.held }
            if (isLater) return Promise.reject(GIVE_WAY)
            throw GIVE_WAY
          })
        ])
      },
      (results) => results
    )
    expect([answer, seen]).toEqual([[{ ok: true, value: 110 }], [false, true]])
  }
})
it("passes on every other failure", async () => {
  expect(
    thrownBy(() =>
      reportingTooLong(() => {
        throw new Error("broken")
      })
    )
  ).toEqual(new Error("broken"))
  await expect(reportingTooLong(() => Promise.reject(new Error("broken")))).rejects.toThrow("broken")
})

/** A text of 30,000 words: highlighting it takes longer than the rest of a quantum. */
it("computes slow hits in the lane, also for several searches, and leaves no rejected promise unhandled", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-late-"))
  const engine = await openEngine({ path: folder, worker: true })
  const rerank = {
    enabled: true,
    model: "linear",
    top_k: 200,
    fields: ["body"],
    timeout_ms: 1_000,
    min_hits: 1,
    fallback: "engine_order" as const
  }
  // One plan at a time, as a host asks, so that others have their turns in between.
  const capabilities = () => {
    const own = engine.capabilities()
    return { ...own, limits: { ...own.limits, plans_per_trip_max: 1 } }
  }
  const context: OperationContext = {
    engine: Object.create(engine, { capabilities: { value: capabilities } }) as typeof engine,
    namespace: "a",
    resources: memoryResources(),
    now_s: 0
  }
  const rules = {
    environment: { now_us: () => performance.now() * 1_000 },
    of: () => ({ rules: undefined, rerank, request: { now_ms: 0 }, explain: false })
  }
  try {
    expect(
      (await createCollection(context, JSON.stringify({ name: "texts", fields: [{ name: "body", type: "string" }] })))
        .ok
    ).toBe(true)
    const body = (i: number): string =>
      `needle ${Array.from({ length: 30_000 }, (_word, k) => `word${(i * 7 + k) % 500}`).join(" ")}`
    const written = await engine.write(
      "a",
      "texts",
      Array.from({ length: 3 }, (_document, i) => ({
        kind: "put" as const,
        action: "create" as const,
        dirtyValues: undefined,
        document: JSON.stringify({ id: String(i), body: body(i) })
      }))
    )
    if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error(JSON.stringify(written))
    const search = { collection: "texts", q: "needle", query_by: "body", highlight_full_fields: "body" }
    const answer = await ruledSearches(context, { searches: [search, search, search] }, {}, rules)
    const { results } = JSON.parse(answer.ok ? answer.value : "{}") as {
      readonly results: ReadonlyArray<{
        readonly hits: ReadonlyArray<{ readonly highlight: { readonly body: { readonly value: string } } }>
      }>
    }
    expect(
      results.map(({ hits }) =>
        hits.map(({ highlight }) => highlight.body.value.startsWith("<mark>needle</mark> word"))
      )
    ).toEqual(Array.from({ length: 3 }, () => Array.from({ length: 3 }, () => true)))
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
