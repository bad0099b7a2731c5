/**
 * The rules for excuses, without recordings: an excuse applies to its own columns only, and one that excuses nothing is
 * reported.
 */
import { expect, it } from "vitest"
import { DIFFERENCES, type Difference, excuseOf, type GoldenRecord, idle } from "./differences.ts"

const record = (id: string, path = "/a"): GoldenRecord => ({
  id,
  group: "g",
  method: "GET",
  path,
  status: 200,
  response: undefined
})
const special: Difference = { reason: "special", columns: ["found", "ids10"], ids: ["q1", "q2"] }
const general: Difference = { reason: "general", columns: ["found"], where: ({ path }) => path.includes("group_by") }
const both = [special, general]

it("a reason excuses only the columns that it names, in its own records", () => {
  expect(excuseOf({ record: record("q1"), metrics: ["found", "ids10"] }, both)).toEqual({
    reasons: ["special"],
    unexcused: []
  })
  expect(excuseOf({ record: record("q1"), metrics: ["found", "highlight"] }, both)).toEqual({
    reasons: ["special"],
    unexcused: ["highlight"]
  })
  expect(excuseOf({ record: record("q3"), metrics: ["found"] }, both)).toEqual({ reasons: [], unexcused: ["found"] })
  expect(excuseOf({ record: record("q3", "/?group_by=x"), metrics: ["found", "ids10"] }, both)).toEqual({
    reasons: ["general"],
    unexcused: ["ids10"]
  })
  const several: ReadonlyArray<Difference> = [general, { ...special, columns: ["ids10"] }]
  expect(excuseOf({ record: record("q1", "/?group_by=x"), metrics: ["found", "ids10"] }, several)).toEqual({
    reasons: ["general", "special"],
    unexcused: []
  })
})
it("whatever excuses nothing is reported: an entry, one of its records, or a column", () => {
  const full = [
    { record: record("q1"), metrics: ["found", "ids10"] },
    { record: record("q2"), metrics: ["ids10"] },
    { record: record("q3", "/?group_by=x"), metrics: ["found"] }
  ]
  expect(idle(full, both)).toEqual([])
  expect(idle(full.slice(0, 2), both)).toEqual(["excuses nothing: general"])
  expect(
    idle(
      full.filter((_one, i) => i !== 1),
      both
    )
  ).toEqual(["excuses nothing of q2: special"])
  expect(idle([{ record: record("q1"), metrics: ["ids10"] }, ...full.slice(1)], both)).toEqual([
    "excuses no `found`: special"
  ])
  // It stands after entries that already excuse the same.
  expect(idle(full, [...both, { ...special, ids: ["q1"] }])).toEqual(["excuses nothing: special"])
})
it("every entry names its columns and its records, none twice", () => {
  for (const { columns, ids, reason, where } of DIFFERENCES) {
    expect(columns.length, reason).toBeGreaterThan(0)
    expect((ids !== undefined && ids.length > 0) !== (where !== undefined), reason).toBe(true)
    for (const list of [columns, ids ?? []]) expect(new Set(list).size, reason).toBe(list.length)
  }
})
