/** What runs are under way, as a process's runners see it: read twice a second, asked for without waiting. */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { readRuns, type Run } from "./runs.ts"

const LOOK_EVERY_MS = 500

export interface ReplayBoard {
  /** At most half a second old; whoever acts on it makes sure in a transaction. */
  readonly runOf: (group: string) => Run | undefined
}

export const makeBoard = (lookEvery_ms = LOOK_EVERY_MS) =>
  Effect.gen(function* () {
    let runs: ReadonlyArray<Run> = []
    const look: Effect.Effect<void, never, SqlClient.SqlClient> = readRuns.pipe(
      Effect.map((found) => {
        runs = found
      }),
      Effect.catch((error) => Effect.logWarning("Which replays are under way could not be read; tried again", error))
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, Effect.sleep(lookEvery_ms))))
    return { runOf: (group) => runs.find((run) => run.group === group) } satisfies ReplayBoard
  })
