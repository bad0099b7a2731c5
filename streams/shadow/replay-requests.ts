/**
 * The current replays, as the runners of one process see them: read twice a second, so that looking them up never
 * waits.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { readRuns, type Run } from "./runs.ts"

const LOOK_EVERY_MS = 500

export interface ReplayRequests {
  /** At most half a second old; check again in the transaction that acts on it. */
  readonly runOf: (group: string) => Run | undefined
}

export const makeReplayRequests = (lookEvery_ms = LOOK_EVERY_MS) =>
  Effect.gen(function* () {
    let runs: ReadonlyArray<Run> = []
    const look: Effect.Effect<void, never, SqlClient.SqlClient> = readRuns.pipe(
      Effect.map((found) => {
        runs = found
      }),
      Effect.catch((error) => Effect.logWarning("Which replays are under way could not be read; tried again", error))
    )
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(look, Effect.sleep(lookEvery_ms))))
    return { runOf: (group) => runs.find((run) => run.group === group) } satisfies ReplayRequests
  })
