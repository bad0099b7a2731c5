/**
 * Evaluates runs every thirty seconds, once over all processes: a process claims a run in its row. An evaluation
 * stores the smallest p-value so far, fixes the cap of revenue, and announces a winner, once per run.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { counted } from "../metrics/background.ts"
import { Outbox } from "@dowser/log/outbox"
import { Configuration } from "../configuration/configuration.ts"
import { makeExperimentsRepository } from "./experiments-repository.ts"
import { lookedAt, winnerOf } from "./results.ts"
import { makeRunsRepository, type StoredRun } from "./runs-repository.ts"

/** A winner must be announced within 60 s. */
const EVERY_MS = 30_000
/** How soon a due run is found. */
const LOOK_MS = 5_000
const TAKEN = 20
/** From this many units on, the 99.9 % quantile of revenue is meaningful. */
const CAPPED_FROM = 1_000
const CAPPED_SHARE = 0.999

/** Evaluates all due runs; returns how many winners it found. */
export const makeLook = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const configuration = yield* Configuration
  const experiments = yield* makeExperimentsRepository
  const runs = yield* makeRunsRepository

  /**
   * Fixed once, by the first evaluation with enough units: a cap that followed the figures would invalidate earlier
   * ones. No cap while fewer than one unit in a thousand has bought.
   */
  const capped = Effect.fnUntraced(function* (run: StoredRun) {
    if (run.revenue_cap !== null || run.definition.metric !== "revenue_per_search") return
    const units = (yield* runs.sums(run)).reduce((sum, { metric, n }) => (metric === "ctr" ? sum + n : sum), 0)
    if (units < CAPPED_FROM) return
    const cap = yield* runs.percentile(run, CAPPED_SHARE)
    if (cap !== null && cap !== "0") yield* runs.cap(run, cap)
  })
  const looked = Effect.fnUntraced(function* (taken: StoredRun, now: number) {
    const seen = yield* runs.lock(taken)
    // Stopped or deleted since it was claimed.
    if (seen === undefined || seen.stopped_at !== null) return undefined
    yield* capped(seen)
    const run = (yield* runs.lock(taken))!
    const counted = {
      sums: yield* runs.sums(run),
      latencies: yield* runs.latencies(run),
      exposures: [],
      splits: [],
      droppedDays: 0
    }
    const winner = run.winner_variant_id === null ? winnerOf(run, counted, now) : null
    yield* runs.storeResult({
      ...run,
      ...lookedAt(run, counted),
      winner_variant_id: run.winner_variant_id ?? winner?.variant_id ?? null
    })
    if (winner === null) return undefined
    yield* outbox.put(run.organization_id, "experiment.winner_detected", {
      experiment_id: run.experiment_id,
      ...winner
    })
    return winner.variant_id
  })
  /** Stores the winner in the experiment's row, so that the API shows it. */
  const shown = (run: StoredRun, winner: string) =>
    configuration.write(
      { kind: "experiment", organizationId: run.organization_id, id: run.experiment_id },
      Effect.gen(function* () {
        const found = yield* experiments.lock(run.organization_id, run.experiment_id)
        if (found !== undefined && found.run === run.run)
          yield* experiments.put({ ...found, winner_variant_id: winner })
      })
    )
  return Effect.gen(function* () {
    let winners = 0
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      const due = yield* runs.due(now - EVERY_MS, now, TAKEN)
      for (const run of due) {
        const found = Effect.gen(function* () {
          const winner = yield* sql.withTransaction(looked(run, now))
          if (winner !== undefined) yield* shown(run, winner)
          return winner === undefined ? 0 : 1
        })
        // A failing run does not prevent the evaluation of others.
        winners += yield* Effect.catchCause(found, (cause) =>
          Effect.as(
            Effect.logError(`The experiment ${run.experiment_id} of ${run.organization_id} cannot be looked at`, cause),
            0
          )
        )
      }
      if (due.length < TAKEN) return winners
    }
  })
})

/** Evaluates while the scope is open. */
export const watch = Effect.gen(function* () {
  const look = counted("experiments")(yield* makeLook)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.sleep(LOOK_MS),
        Effect.catchCause(look, (cause) =>
          Effect.logError("Experiments could not be looked at; tried again in a moment", cause)
        )
      )
    )
  )
})
