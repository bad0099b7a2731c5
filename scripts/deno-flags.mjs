/**
 * How the program runs on Deno. The engine may let a heap grow by more where it is small, with the square root of what a full
 * collection costs: a heap of 60 MB is collected at 160-200 instead of 110. Nothing changes where it grows by the most
 * already, fourfold. Figures in `bench/README.md`; Node 22 and 24 do not know the flag.
 */
export const denoFlags = ["run", "-A", "--no-prompt", "--quiet", "--v8-flags=--sqrt-allocation-limits"]
