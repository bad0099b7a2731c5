/**
 * How the program runs on each runtime.
 *
 * Where many objects created at one place in the code have survived, V8 allocates the next ones directly in the old
 * generation, where they keep what they refer to until a full collection. After an import that was so for the objects
 * of every request, so it is turned off. Figures in `bench/README.md`.
 *
 * V8 schedules the next full collection of a heap by the square root of the cost of one. Heaps that are small and
 * mostly idle, those of the threads that take and count events, may grow to four times their live data, as busy ones
 * may in any case, so that collections are less frequent. Node 22 and 24 do not have these flags.
 */
const PRETENURING_OFF = "--no-allocation-site-pretenuring"

export const denoFlags = [
  "run",
  "--conditions=dowser-source",
  "-A",
  "--no-prompt",
  "--quiet",
  `--v8-flags=${PRETENURING_OFF},--sqrt-allocation-limits,--sqrt-allocation-limits-factor=320`
]
export const nodeFlags = [
  "--conditions=dowser-source",
  PRETENURING_OFF,
  "--disable-warning=ExperimentalWarning",
  "--disable-warning=TimeoutNegativeWarning"
]
