/**
 * The recorded answers of the reference engine, replayed in process: groups that no index order can change must agree
 * in full, the rest may not fall below the floor. Skipped by name where the recordings are absent.
 */
import { expect, it } from "vitest"
import { hasRecordings, replay, tableOf } from "./replay.ts"

const EXACT_GROUPS = ["setup", "schema", "alter", "aliases", "documents", "nested", "pagination"]
/** Of whole records: no column of a record disagrees, or its difference is named in differences.ts. */
const FLOOR = 0.97

it("agrees with the golden records", async (context) => {
  if (!hasRecordings()) return context.skip("golden lane: the recordings of the reference engine are not beside the project (../shared/data/engine_golden)")
  const result = await replay()
  console.log(tableOf(result))
  const unexplained = result.disagreements.filter(({ group, reason }) => EXACT_GROUPS.includes(group) && reason === undefined)
  expect(unexplained.map(({ id, metrics }) => `${id} ${metrics.join()}`)).toEqual([])
  let compared = 0
  let agreeing = 0
  for (const [name, group] of result.groups) if (name !== "setup") { compared += group.compared; agreeing += group.agreeing + group.expected }
  expect(agreeing / compared).toBeGreaterThan(FLOOR)
}, 120_000)
