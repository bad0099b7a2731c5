/** Valid suites and the decisions of a gate, without a program. */
import { describe, expect, it } from "vitest"
import { nextRunAt } from "../../../src/job-rows/cron.ts"
import { verdictOf } from "../../../src/quality/publish-gate.ts"
import { suiteFieldsOf } from "../../../src/quality/suite-input.ts"

const suite = { name: "s", collection: "c", judgments: [{ q: "lamp", document_id: "1", grade: 3 }] }
const issuesOf = (body: unknown) => {
  const read = suiteFieldsOf(body)
  return "issues" in read ? read.issues.map(({ path }) => path) : []
}

describe("the body of a suite", () => {
  it("is read completely, with defaults for what is omitted", () => {
    expect(suiteFieldsOf(suite)).toEqual({
      ...suite,
      params: {},
      judgments: [["lamp", "1", 3]],
      tolerance: 0.02,
      schedule_cron: undefined
    })
  })
  it("names every field that is wrong", () => {
    expect(
      issuesOf({
        name: "",
        collection: 7,
        params: { q: "x", filter_by: ["a"], "x-svc-api-key": "k" },
        judgments: [{ q: "", document_id: "1", grade: 4 }, { q: "a", document_id: "1", grade: 1, extra: 1 }, "x"],
        tolerance: 2,
        schedule_cron: "* * * *",
        colour: "red"
      })
    ).toEqual([
      "name",
      "collection",
      "tolerance",
      "schedule_cron",
      "colour",
      "params.q",
      "params.filter_by",
      "params.x-svc-api-key",
      "judgments.0.q",
      "judgments.0.grade",
      "judgments.1.extra",
      "judgments.2"
    ])
    expect(issuesOf({ ...suite, judgments: undefined })).toEqual(["judgments"])
    expect(issuesOf({ ...suite, judgments: [...suite.judgments, ...suite.judgments] })).toEqual(["judgments.1"])
  })
  it("has at most 100,000 judgments, of at most 10,000 queries", () => {
    const judged = (count: number, queries: number) =>
      Array.from({ length: count }, (_, i) => ({ q: `q${i % queries}`, document_id: String(i), grade: 1 }))
    expect(issuesOf({ ...suite, judgments: judged(100_000, 10_000) })).toEqual([])
    expect(issuesOf({ ...suite, judgments: judged(100_001, 10_000) })).toEqual(["judgments"])
    expect(issuesOf({ ...suite, judgments: judged(10_001, 10_001) })).toEqual(["judgments"])
  })
  it("is not broken by names of object members", () => {
    expect(issuesOf(JSON.parse('{"__proto__": {"a": 1}, "name": "s", "collection": "c", "judgments": []}'))).toEqual([
      "__proto__"
    ])
  })
})

describe("a schedule", () => {
  const monday = Date.UTC(2026, 10, 23, 16, 30)
  it("has five fields and is in UTC", () => {
    expect(nextRunAt("0 3 * * *", monday)).toBe(Date.UTC(2026, 10, 24, 3))
    expect(nextRunAt("*/5 * * * *", monday)).toBe(monday + 300_000)
    expect(nextRunAt("0 0 3 * * *", monday)).toBeUndefined()
    expect(nextRunAt(undefined, monday)).toBeUndefined()
  })
  it("that never fires is refused", () => {
    expect(issuesOf({ ...suite, schedule_cron: "0 0 30 2 *" })).toEqual(["schedule_cron"])
  })
})

describe("the publish gate", () => {
  const evaluated = (...ndcg: ReadonlyArray<number>) => ({
    ndcg_at_10: ndcg.reduce((sum, one) => sum + one, 0) / ndcg.length,
    mrr: 0,
    recall_at_100: 0,
    judged_at_10: 0,
    queries: ndcg.map((ndcg_at_10, i) => ({ q: `q${i}`, ndcg_at_10 }))
  })
  it("passes a drop up to its limit, and none beyond", () => {
    expect(verdictOf(evaluated(0.9, 0.9), evaluated(0.9, 0.86), 0.02).passes).toBe(true)
    expect(verdictOf(evaluated(0.9, 0.9), evaluated(0.9, 0.85), 0.02).passes).toBe(false)
    expect(verdictOf(undefined, evaluated(0), 0)).toMatchObject({ before: null, after: 0, passes: true })
  })
  it("names the ten queries that dropped most", () => {
    const { worst } = verdictOf(
      evaluated(...Array.from({ length: 12 }, () => 1)),
      evaluated(...Array.from({ length: 12 }, (_, i) => i / 12)),
      1
    )
    expect(worst).toHaveLength(10)
    expect(worst[0]).toEqual({ q: "q0", before: 1, after: 0 })
  })
})
