/** Grades from clicks: high positions get more attention, which must not raise a grade. */
import { describe, expect, it } from "vitest"
import { ClickedGrades } from "../src/judging/mod.ts"
import { propensityOf } from "../src/rerank/mod.ts"

const list = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
/** Clicks on a list that was shown a thousand times, given the share of looks that lead to a click. */
const taken = (of: Readonly<Record<string, number>>) =>
  new Map(list.map((id, row) => [id, 1_000 * propensityOf(row) * (of[id] ?? 0.01)]))

describe("grades from clicks", () => {
  it("are equal for equal shares of clicks per look, at any position", () => {
    const grades = new ClickedGrades()
    grades.add(list, 1_000, taken({ a: 0.6, j: 0.6, e: 0.3 }))
    const { gains, looks } = grades.totals
    const byId = new Map(grades.grades(20, gains / looks).map(({ documentId, grade }) => [documentId, grade]))
    expect([byId.get("a"), byId.get("j"), byId.get("e"), byId.get("b")]).toEqual([3, 3, 2, 0])
  })
  it("are not given to documents shown less often than required", () => {
    const grades = new ClickedGrades()
    grades.add(["a", "b"], 19, new Map())
    grades.add(["b"], 1, new Map([["b", 1]]))
    expect(grades.grades(20, 0.1)).toMatchObject([{ documentId: "b", impressions: 20 }])
  })
  it("of rarely shown documents are pulled towards the average", () => {
    const grades = new ClickedGrades()
    grades.add(["well known"], 1_000, new Map([["well known", 900]]))
    grades.add(["once"], 1, new Map([["once", 1]]))
    const [known, once] = grades.grades(1, 0.1)
    expect([known!.grade, once!.grade]).toEqual([3, 1])
  })
})
