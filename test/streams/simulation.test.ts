/**
 * Thousands of random schedules of log, runner, owners and actors (half of them here, the other half in parallel in
 * `simulation-2.test.ts`).
 */
import { assert, describe, it } from "@effect/vitest"
import { FIRST_SEED, ONLY_SEED, runCampaign, SCHEDULES, storyOf } from "../support/simulation/suite.ts"
import { runSchedule } from "../support/simulation/schedule.ts"

describe("the simulation", () => {
  const only = ONLY_SEED
  if (only !== undefined) {
    it(`runs seed ${only}`, async () => {
      const story = await storyOf(only)
      process.stderr.write(`${story}\n`)
      assert.deepStrictEqual((await runSchedule(only)).violations, [])
    })
    return
  }
  it("runs half of the schedules without a violation", async () => {
    const { failures, schedules, seen } = await runCampaign(FIRST_SEED, Math.ceil(SCHEDULES / 2))
    process.stdout.write(`${schedules} schedules: ${JSON.stringify(seen)}\n`)
    if (failures.length > 0)
      assert.fail(
        (await storyOf(failures[0]!.seed)) + `\nFailing seeds: ${failures.map(({ seed }) => seed).join(", ")}`
      )
    // A kind of event that never happens is not tested.
    if (schedules >= 400)
      for (const what of ["trims", "stalls", "crashes", "freezes", "rebuilt states", "restored databases"])
        assert.isAbove(seen[what] ?? 0, 0, what)
  }, 600_000)
})
