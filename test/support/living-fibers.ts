/**
 * A separate program, started with `--expose-gc`: prints how many bytes a living fiber keeps of each step it waited
 * for, for two ways to wait.
 */
import "../../log/process/plain-fibers.ts"
import { Effect, type Fiber } from "effect"

const STEPS = 50_000
const { gc } = globalThis as unknown as { readonly gc: () => void }

const living: Array<Fiber.Fiber<void>> = []
/** Starts a fiber that is still alive when the promise settles. */
const alive = (step: Effect.Effect<void>) =>
  new Promise<void>((settle) => {
    living.push(
      Effect.runFork(
        Effect.gen(function* () {
          for (let i = 0; i < STEPS; i++) yield* step
          settle()
          yield* Effect.never
        })
      )
    )
  })
const kept = async (step: Effect.Effect<void>): Promise<number> => {
  await alive(step)
  gc()
  const before = process.memoryUsage().heapUsed
  await alive(step)
  gc()
  return (process.memoryUsage().heapUsed - before) / STEPS
}
process.stdout.write(JSON.stringify([await kept(Effect.yieldNow), await kept(Effect.promise(() => Promise.resolve()))]))
process.exit(0)
