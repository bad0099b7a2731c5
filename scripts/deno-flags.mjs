/**
 * How the program runs on Deno. The engine sets the next full collection of a heap by the square root of what one
 * costs: those that are small and mostly at rest, the ones of the threads that take and count events, may fill to four
 * times what lives in them, as busy ones may anyway, so that collections are met less often. Figures in
 * `bench/README.md`; Node 22 and 24 do not know the flags.
 */
export const denoFlags = [
  "run",
  "--conditions=dowser-source",
  "-A",
  "--no-prompt",
  "--quiet",
  "--v8-flags=--sqrt-allocation-limits,--sqrt-allocation-limits-factor=320"
]
