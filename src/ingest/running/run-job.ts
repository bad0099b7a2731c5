/**
 * Runs one job from its cursor to its end. Each batch is written to the engine and then, in one transaction, to the
 * job's row: counts, cursor, and what the source needs to continue. If a process is killed in between, the batch is
 * applied once more with the same result, and counted once.
 *
 * A source that restarts from its beginning yields batches that the engine already has. They are skipped; only their
 * ids are recorded if the job deletes missing documents.
 */
import { Clock, Effect, Schema, Stream } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeWriteChanges, RETRY_AFTER_MS } from "../../engine-plane/write-changes.ts"
import { type IngestBatch, IngestFailed, IngestLater, type IngestSource } from "../sources/source.ts"
import { type Claimed, makeClaims, type Step } from "./claims.ts"
import { makeDeleteMissing } from "./delete-missing.ts"
import { idOf, listed, statsAfter } from "./outcome.ts"
import { SEEN_IDS_MAX, SeenIds } from "./seen-ids.ts"

/** The job is over, or another process has claimed it. */
class ClaimLost extends Schema.TaggedError<ClaimLost>()("ClaimLost", {}) {}
/** Other jobs wait. This one continues from its cursor when it is its organization's turn again. */
class TurnOver extends Schema.TaggedError<TurnOver>()("TurnOver", {}) {}

export type RunFailure = ClaimLost | TurnOver | IngestFailed | IngestLater | SqlError.SqlError

/** How long a job keeps its slot while others wait for one. */
const TURN_MS = 10_000
/** A job also keeps its slot for this many times as long as it took to get back to its cursor. */
const TURN_PER_RETURN = 4

/** The state of a running job. */
interface Standing {
  readonly job: Claimed
  readonly source: IngestSource<unknown>
  readonly config: unknown
  readonly began: number
  /** Ids of the pass, if missing documents are deleted. */ readonly seen: SeenIds | undefined
  /** When the stored cursor was passed. */ beyond: number | undefined
  isUnchanged: boolean
  step: Step
}

const refuseAll = (reason: string) => new IngestFailed({ message: reason })

const remember = (seen: SeenIds | undefined, { changes }: IngestBatch) =>
  Effect.suspend(() => {
    if (seen === undefined) return Effect.void
    for (const change of changes) if (change.op === "upsert") seen.add(idOf(change))
    return seen.isFull
      ? Effect.fail(refuseAll(`A job with \`full\` may bring at most ${SEEN_IDS_MAX} documents.`))
      : Effect.void
  })

/** Writes one batch to the engine, and its results in one transaction. */
const makeStoring = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const claims = yield* makeClaims
  const write = yield* makeWriteChanges
  const store = Effect.fnUntraced(function* (
    standing: Standing,
    process: string,
    step: Step,
    alongside: IngestBatch["alongside"]
  ) {
    const now = yield* Clock.currentTimeMillis
    yield* sql.withTransaction(
      Effect.gen(function* () {
        if (!(yield* claims.hold(standing.job.id, process))) return yield* new ClaimLost()
        yield* claims.move(standing.job.id, step, now)
        yield* alongside ?? Effect.void
      })
    )
    standing.step = step
  })
  /** Returns the engine's results. A batch that cannot be written is retried, then listed, and fails the job. */
  const written = Effect.fnUntraced(function* (standing: Standing, process: string, batch: IngestBatch) {
    const { config, job, source } = standing
    const how = source.writes?.(config) ?? {}
    const changes = batch.changes.map((change) => (change.op === "delete" ? change : { ...change, ...how }))
    for (let attempt = 0; ; attempt++) {
      const answer = yield* write(job.organizationId, job.collection, changes)
      if (answer.kind === "written") return answer.refusals
      const after_ms = RETRY_AFTER_MS[attempt]
      if (answer.isMissing || after_ms === undefined) {
        const { progress, state, stats } = standing.step
        const error = { id: `records ${stats.cursor + 1} to ${batch.cursor}`, error: answer.reason }
        const withError = { ...stats, errors: listed(stats.errors, [error]) }
        yield* store(standing, process, { progress, state, stats: withError }, undefined)
        return yield* refuseAll(answer.reason)
      }
      yield* Effect.sleep(Math.max(after_ms, answer.after_s * 1_000))
    }
  })
  return { store, written }
})

export const makeRunJob = Effect.gen(function* () {
  const claims = yield* makeClaims
  const { store, written } = yield* makeStoring
  const deleteMissing = yield* makeDeleteMissing

  const endTurn = Effect.fnUntraced(function* ({ began, beyond, job, source }: Standing) {
    const now = yield* Clock.currentTimeMillis
    const returning_ms = (beyond ?? now) - began
    if (now - began < Math.max(TURN_MS, TURN_PER_RETURN * returning_ms)) return
    if (yield* claims.othersWait(source.load, job.organizationId)) return yield* new TurnOver()
  })
  const apply = Effect.fnUntraced(function* (standing: Standing, process: string, batch: IngestBatch) {
    const { job, step } = standing
    if (batch.isUnchanged === true) standing.isUnchanged = true
    yield* remember(standing.seen, batch)
    if (standing.beyond === undefined) {
      // Batches before the cursor are already in the engine and in the counts.
      if (job.stats.cursor > 0 && batch.cursor <= job.stats.cursor) return
      standing.beyond = yield* Clock.currentTimeMillis
    }
    const refusals = yield* written(standing, process, batch)
    const stats = statsAfter(step.stats, batch, refusals)
    const next = { stats, state: batch.state ?? step.state, progress: Math.min(1, batch.progress ?? step.progress) }
    yield* store(standing, process, next, batch.alongside)
    yield* endTurn(standing)
  })
  const removeMissing = Effect.fnUntraced(function* (standing: Standing, process: string, seen: SeenIds) {
    const { job } = standing
    const isConfirmed = job.options.confirm_deletes === true
    const { failed } = standing.step.stats
    if (failed > 0 && !isConfirmed)
      return yield* refuseAll(
        `${failed} records failed, so it is unknown what is missing, and nothing was deleted. Fix them, or start the job again with \`confirm_deletes: true\` in its config.`
      )
    yield* deleteMissing({ organizationId: job.organizationId, collection: job.collection, seen, isConfirmed }, (n) => {
      const { progress, state, stats } = standing.step
      return store(
        standing,
        process,
        { progress, state, stats: { ...stats, deleted: (stats.deleted ?? 0) + n } },
        undefined
      )
    })
  })

  const run = Effect.fnUntraced(function* (
    job: Claimed,
    process: string,
    source: IngestSource<unknown>,
    config: unknown
  ) {
    const isFull = source.isFull(config)
    const { pass, state, stats } = job
    const standing: Standing = {
      job,
      source,
      config,
      began: yield* Clock.currentTimeMillis,
      seen: isFull ? new SeenIds() : undefined,
      beyond: undefined,
      isUnchanged: false,
      step: { stats, state, progress: 0 }
    }
    const batches = yield* source.read({
      jobId: job.id,
      organizationId: job.organizationId,
      collection: job.collection,
      config,
      // A full pass needs all ids, and those from before the cursor are no longer in memory.
      place: { cursor: isFull ? 0 : stats.cursor, state },
      pass
    })
    yield* Stream.runForEach(batches, (batch) => apply(standing, process, batch))
    if (standing.seen !== undefined && !standing.isUnchanged) yield* removeMissing(standing, process, standing.seen)
    return { ...standing.step, stats: { ...standing.step.stats, passes: pass } } satisfies Step
  })
  /** Returns the counts once everything is read and written. */
  return (...given: Parameters<typeof run>): Effect.Effect<Step, RunFailure> => Effect.scoped(run(...given))
})
