/**
 * How the program runs on Deno. V8 schedules the next full collection of a heap by the square root of the cost of one.
 * Heaps that are small and mostly idle, those of the threads that take and count events, may grow to four times their
 * live data, as busy ones may in any case, so that collections are less frequent. Figures in `bench/README.md`; Node 22
 * and 24 do not have the flags.
 */
export const denoFlags = [
  "run",
  "--conditions=dowser-source",
  "-A",
  "--no-prompt",
  "--quiet",
  "--v8-flags=--sqrt-allocation-limits,--sqrt-allocation-limits-factor=320"
]
