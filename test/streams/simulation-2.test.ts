/** The other half of the schedules of `simulation.test.ts`, run in parallel in a worker of its own. */
import { assert, describe, it } from "@effect/vitest"
import { FIRST_SEED, ONLY_SEED, runCampaign, SCHEDULES, storyOf } from "../support/simulation/suite.ts"

describe("the simulation, its other half", () => {
  it.skipIf(ONLY_SEED !== undefined)(
    "runs without a violation",
    async () => {
      const { failures, schedules, seen } = await runCampaign(
        FIRST_SEED + Math.ceil(SCHEDULES / 2),
        Math.floor(SCHEDULES / 2)
      )
      process.stdout.write(`${schedules} schedules: ${JSON.stringify(seen)}\n`)
      if (failures.length > 0)
        assert.fail(
          `${await storyOf(failures[0]!.seed)}\nFailing seeds: ${failures.map(({ seed }) => seed).join(", ")}`
        )
      // A kind of event that never happens is not tested.
      if (schedules >= 400)
        for (const what of ["trims", "stalls", "crashes", "freezes", "rebuilt states", "restored databases"])
          assert.isAbove(seen[what] ?? 0, 0, what)
    },
    600_000
  )
})
