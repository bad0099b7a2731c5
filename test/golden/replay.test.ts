/**
 * The recorded answers of the reference engine, replayed in process: groups that no index order can change must agree
 * in full, the rest may not fall below the floor. Skipped by name where the recordings are absent.
 */
import { expect, it } from "vitest"
import { hasRecordings, replay, tableOf } from "./replay.ts"

const EXACT_GROUPS = ["setup", "schema", "alter", "aliases", "documents", "nested", "pagination"]
const FLOOR = 0.85

it.skipIf(!hasRecordings())("agrees with the golden records (SKIPPED when the recordings are not beside the project)", async () => {
  const result = await replay()
  console.log(tableOf(result))
  const unexplained = result.disagreements.filter(({ group, reason }) => EXACT_GROUPS.includes(group) && reason === undefined)
  expect(unexplained.map(({ id, metrics }) => `${id} ${metrics.join()}`)).toEqual([])
  let compared = 0
  let agreeing = 0
  for (const [name, group] of result.groups) if (name !== "setup") { compared += group.compared; agreeing += group.agreeing + group.expected }
  expect(agreeing / compared).toBeGreaterThan(FLOOR)
}, 120_000)
