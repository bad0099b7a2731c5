/**
 * `POST /events/replays` and `DELETE /events/subjects/{user_id}`: creates the jobs that the stream processes run
 * (streams/replays). The work does not happen here: a request costs a read of the log's bounds and one transaction.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { printOf } from "@dowser/streams/erasure/erasures"
import { CONTENTS } from "@dowser/streams/erasure/subjects"
import { putTombstone } from "@dowser/streams/erasure/tombstones"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { REPLAYED } from "@dowser/streams/processors/runnable"
import { dayOf, readExtent } from "@dowser/streams/replays/extent"
import { partitionsOf, TOPICS } from "@dowser/log/topics"
import type { DateRange } from "../../analytics/date-range.ts"
import { makeJobStarter } from "../../jobs/jobs.ts"
import type { Job } from "../../jobs/schema.ts"
import { EventLog } from "@dowser/log/event-log/event-log"
import { narrowKey } from "@dowser/log/fingerprint"
import type { ReplayTarget } from "@dowser/log/event-schema"
import type { Identifiers } from "@dowser/log/identifiers"
import { Conflict, type InputInvalid, inputInvalid } from "../../http/errors.ts"
import { EventsUnavailable } from "../errors.ts"
import { REPLAY } from "../../recommendation-models/replay.ts"
import type { RowReaders } from "../../identity/row-readers.ts"

const RETRY_AFTER_S = 1
const unavailable = () =>
  new EventsUnavailable({
    message: "The event log cannot be read at the moment; send the request again.",
    retry_after_s: RETRY_AFTER_S
  })

/** What stream processes rebuild is one kind of job; what every process rebuilds for itself is another. */
const jobTypeOf = (target: ReplayTarget): string => (target === "recommendations" ? REPLAY : "event_replay")

export class Replays extends Context.Service<
  Replays,
  {
    /**
     * Rebuilds the organization's figures for every day (UTC) that the range touches (`target`: analytics, or those
     * and the runs of experiments that began then), or the state of its recommendation models, which covers all days.
     * InputInvalid if the log only reaches back to later days; Conflict, naming the job, while another replay of the
     * organization (of the same kind) is queued or running.
     */
    readonly replay: (
      organizationId: string,
      range: DateRange,
      target?: ReplayTarget
    ) => Effect.Effect<Job, InputInvalid | Conflict | EventsUnavailable>
    /** From the response on, nobody reads this person's earlier events. `userId` is as in events. */
    readonly erase: (organizationId: string, userId: string) => Effect.Effect<Job, EventsUnavailable>
  }
>()("dowser/events/Replays") {
  static readonly layer = (options: {
    readonly visitorPartitions: number
  }): Layer.Layer<Replays, never, EventLog | Identifiers | RowReaders | SqlClient.SqlClient> =>
    Layer.effect(
      Replays,
      Effect.gen(function* () {
        const { visitorPartitions } = options
        const sql = yield* SqlClient.SqlClient
        const log = yield* EventLog
        const fingerprintKey = yield* Effect.orDie(readFingerprintKey)
        const jobs = yield* makeJobStarter
        const withLog = Effect.provideService(EventLog, log)
        return Replays.of({
          replay: Effect.fn("Replays.replay")(function* (organizationId, range, target = "analytics") {
            const extent = yield* Effect.mapError(
              withLog(readExtent(REPLAYED.rebuilt.inputs, visitorPartitions, yield* Clock.currentTimeMillis)),
              unavailable
            )
            if (extent.isCut && dayOf(range.from) < extent.fromAt)
              return yield* inputInvalid(
                "from",
                `The events of whole days are kept from ${new Date(extent.fromAt).toISOString().slice(0, 10)} on; earlier figures cannot be rebuilt`
              )
            const type = jobTypeOf(target)
            return yield* jobs
              .start(organizationId, type, { target, from_at: range.from, before_at: range.before }, () => Effect.void)
              .pipe(
                Effect.catchTag("SqlError", (error) =>
                  error.reason._tag === "UniqueViolation"
                    ? Effect.flatMap(Effect.orDie(jobs.unfinished(organizationId, type)), (running) =>
                        Effect.fail(
                          new Conflict({
                            message: `A replay is queued or running${running === undefined ? "" : `: ${running.id}`}.`
                          })
                        )
                      )
                    : Effect.die(error)
                )
              )
          }),
          erase: Effect.fn("Replays.erase")(function* (organizationId, userId) {
            const ends: Record<string, number> = {}
            for (const topic of TOPICS) {
              if (!CONTENTS.has(topic.name)) continue
              for (let partition = 0; partition < partitionsOf(topic, visitorPartitions); partition++) {
                ends[`${topic.name}/${partition}`] = (yield* Effect.mapError(
                  log.bounds(topic.name, partition),
                  unavailable
                )).endOffset
              }
            }
            const prints = [printOf(narrowKey(fingerprintKey, organizationId), "user", userId)]
            return yield* Effect.orDie(
              jobs.start(organizationId, "subject_erasure", { user_id: userId }, ({ created_at, id }) =>
                Effect.provideService(
                  putTombstone({ organizationId, jobId: id, erasedAt: created_at, prints, ends }),
                  SqlClient.SqlClient,
                  sql
                )
              )
            )
          })
        })
      })
    )
}
