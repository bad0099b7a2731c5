/**
 * Replays the recorded answers of the reference engine in process: every disagreement needs a reason in differences.ts.
 * Skipped by name where the recordings are absent.
 */
import { expect, it } from "vitest"
import { idle } from "./differences.ts"
import { hasRecordings, replay, tableOf } from "./replay.ts"

/**
 * The largest share of records that may have a named difference, so that naming differences does not become a habit.
 */
const NAMED_MAX = 0.02

it("agrees with the golden records", async (context) => {
  if (!hasRecordings())
    return context.skip(
      "golden lane: the recordings of the reference engine are not beside the project (../shared/data/engine_golden)"
    )
  const result = await replay()
  console.log(tableOf(result))
  expect(
    result.disagreements
      .filter(({ unexcused }) => unexcused.length > 0)
      .map(({ id, unexcused }) => `${id} ${unexcused.join()}`)
  ).toEqual([])
  expect(idle(result.disagreements)).toEqual([])
  expect(
    result.disagreements.length / [...result.groups.values()].reduce((sum, { compared }) => sum + compared, 0)
  ).toBeLessThan(NAMED_MAX)
})
