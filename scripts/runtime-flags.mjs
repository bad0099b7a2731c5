/**
 * How the program runs on each runtime.
 *
 * V8 notices which places in the code create objects that survive for long, and then allocates all later objects of
 * these places in the old generation, with everything they refer to. An import teaches it so for the objects of every
 * request: from then on each answer waits for a full collection. It is told not to. Figures in `bench/README.md`.
 *
 * It schedules the next full collection of a heap by the square root of the cost of one. Heaps that are small and
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
