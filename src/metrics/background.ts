/** Counts background work, because a task that always fails answers no request with an error. */
import { Context, Effect } from "effect"
import { Tally, Timings } from "@dowser/log/process/timings"
import { type Measure, spreadOver, tallied } from "./measure.ts"

interface BackgroundRuns {
  /** By task. */ readonly times: Timings
  readonly failures: Tally
}
/** One per process. */
const CurrentRuns = Context.Reference<BackgroundRuns>("dowser/metrics/BackgroundRuns", {
  defaultValue: () => ({ times: new Timings(), failures: new Tally() })
})

/** `task`: two words chosen by the program. An interruption is not a failure. */
export const counted =
  (task: string) =>
  <A, E, R>(run: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.flatMap(CurrentRuns, ({ failures, times }) => {
      const began = performance.now()
      return Effect.onExit(run, (exit) =>
        Effect.sync(() => {
          times.note(task, (performance.now() - began) / 1_000)
          if (exit._tag === "Failure") failures.add(task)
        })
      )
    })

export const backgroundMeasures = Effect.map(CurrentRuns, ({ failures, times }): ReadonlyArray<Measure> => [
  {
    name: "dowser_background_seconds",
    type: "histogram",
    help: "Time of one run of a background task, by task.",
    read: Effect.sync(() => spreadOver("task", times))
  },
  {
    name: "dowser_background_failures_total",
    type: "counter",
    help: "Runs of such tasks that failed and are tried again, by task.",
    read: Effect.sync(() => tallied("task", failures))
  }
])
