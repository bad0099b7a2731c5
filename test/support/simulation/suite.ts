/**
 * Runs many schedules and reports those that fail: the seed, the command that runs it alone, and its story. Variables:
 * `DOWSER_SIMULATION_SCHEDULES` (how many in all; 4,000: each planted bug of `simulation-bugs.test.ts` shows within
 * 90), `DOWSER_SIMULATION_SEED` (only this one, with its story on standard error), `DOWSER_SIMULATION_FROM` (the first
 * seed; 1).
 */
import { runSchedule, type Variant, type Verdict } from "./schedule.ts"

export const SCHEDULES = Number(process.env["DOWSER_SIMULATION_SCHEDULES"] ?? 4_000)
export const FIRST_SEED = Number(process.env["DOWSER_SIMULATION_FROM"] ?? 1)
export const ONLY_SEED: number | undefined =
  process.env["DOWSER_SIMULATION_SEED"] === undefined ? undefined : Number(process.env["DOWSER_SIMULATION_SEED"])

const STORY_LINES_MAX = 400
const FAILURES_MAX = 5

export const commandFor = (seed: number): string => `DOWSER_SIMULATION_SEED=${seed} npm test -- simulation`

/** The failure with its story: the schedule runs once more, identically. */
export const storyOf = async (seed: number, variant: Variant = {}): Promise<string> => {
  const trace: Array<string> = []
  const { violations } = await runSchedule(seed, variant, trace)
  return [
    `Seed ${seed} fails; run it alone with: ${commandFor(seed)}`,
    ...violations.map((violation) => `  ${violation}`),
    `Its last ${Math.min(STORY_LINES_MAX, trace.length)} of ${trace.length} events:`,
    ...trace.slice(-STORY_LINES_MAX)
  ].join("\n")
}

interface Campaign {
  readonly failures: ReadonlyArray<Verdict>
  readonly schedules: number
  readonly seen: Readonly<Record<string, number>>
}

/** Runs the schedules of the seeds from `first` on; stops after some failures. */
export const runCampaign = async (
  first: number,
  count: number,
  variant: Variant = {},
  failuresMax = FAILURES_MAX
): Promise<Campaign> => {
  const failures: Array<Verdict> = []
  const seen: Record<string, number> = {}
  let schedules = 0
  // Every lost answer is an error whose stack is never read.
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  for (let seed = first; seed < first + count && failures.length < failuresMax; seed++) {
    const verdict = await runSchedule(seed, variant)
    schedules++
    if (verdict.violations.length > 0) failures.push(verdict)
    for (const [what, times] of Object.entries(verdict.seen)) seen[what] = (seen[what] ?? 0) + times
    // Gives the reporter and its messages a turn.
    if (schedules % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  Error.stackTraceLimit = stackTraceLimit
  return { failures, schedules, seen }
}
