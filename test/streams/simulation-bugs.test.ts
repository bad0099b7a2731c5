/**
 * The simulation is only worth what it finds: bugs are planted, one at a time, and each must be found within a given
 * number of schedules.
 */
import { assert, describe, it } from "@effect/vitest"
import { type Variant, runSchedule } from "../support/simulation/schedule.ts"
import { commandFor, ONLY_SEED, runCampaign, storyOf } from "../support/simulation/suite.ts"

const WITHIN = 2_000
const BUGS: ReadonlyArray<readonly [what: string, variant: Variant, finds: RegExp]> = [
  ["the fence is not checked", { believesFences: true }, /though the fence was/],
  ["what a replay emits is written", { emitsInReplay: true }, /sums are wrong/],
  ["the commit takes no lock", { locksNothing: true }, /sums are wrong/],
  ["sums are written outside of the transaction that moves the offsets", { sumsOutside: true }, /sums are wrong/],
  ["a snapshot is torn: the state is older than its offsets", { tearsSnapshots: true }, /sums are wrong/],
  [
    "a dead letter is acknowledged before it is stored",
    { acknowledgesEarly: true },
    /is no dead letter|was not sent on/
  ],
  ["retention believes that all is counted", { reportsAhead: true }, /^retention removed/]
]

describe.skipIf(ONLY_SEED !== undefined)("a planted bug", () => {
  for (const [what, variant, finds] of BUGS) {
    it(`is found: ${what}`, async () => {
      const { failures, schedules } = await runCampaign(1, WITHIN, variant, 1)
      const found = failures[0]
      assert.isDefined(found, `not within ${WITHIN} schedules`)
      process.stdout.write(`${what}: found by schedule ${schedules}: ${found.violations[0]}\n`)
      assert.isTrue(
        found.violations.some((violation) => finds.test(violation)),
        found.violations.join("\n")
      )
      // The fault is found again by its seed alone, and reported with the steps that lead to it.
      const story = await storyOf(found.seed, variant)
      assert.include(story, commandFor(found.seed))
      assert.include(story, found.violations[0]!)
    })
  }

  it("a schedule runs the same every time, traced or not", async () => {
    for (const seed of [3, 18, 101]) {
      const [first, second]: [Array<string>, Array<string>] = [[], []]
      await runSchedule(seed, {}, first)
      await runSchedule(seed)
      await runSchedule(seed, {}, second)
      assert.isAbove(first.length, 50)
      assert.deepStrictEqual(second, first)
    }
  })
})
