/**
 * Stores a group of requests: one look-up in the dedupe window per slice, one append and one sync for all of them. So
 * the event that a duplicate repeats is always stored, or fails in the same group.
 */
import { type Clock, Deferred, Effect } from "effect"
import type { AppendRecord, EventLog } from "@dowser/log/event-log/event-log"
import { currentStages, traced } from "@dowser/log/process/traces"
import { Throttled } from "../../http/errors.ts"
import type { Admission, DedupeWindow } from "../../ports/dedupe/dedupe-window.ts"
import { EventsUnavailable } from "../errors.ts"
import { requestsWithin, type PendingRequest } from "./group-commit.ts"
import { idsOf, type Judged, packSlice } from "./pack-slice.ts"

/** Events packed without a pause on the main thread, for which searches wait: about four milliseconds. */
const SLICE_EVENTS_MAX = 2_000
const RETRY_AFTER_S = 1
/** Limit of log positions in a trace. */
const PLACES_MAX = 32

export type IngestFailure = Throttled | EventsUnavailable
/** Resolves with the number of duplicates among the events. */
export type WaitingEvents = Judged & PendingRequest<number, IngestFailure>

interface StoreParts {
  readonly clock: Clock.Clock
  readonly log: EventLog["Service"]
  readonly window: DedupeWindow["Service"]
  readonly visitorPartitions: number
}

export const overloaded = (retry_after_s = RETRY_AFTER_S) =>
  new Throttled({
    message: "Too many events are waiting to be stored; send the batch again later.",
    kind: "backpressure",
    retry_after_s
  })

/** Log positions of the records, for the trace with the counts. Only of the first few. */
const placesOf = (records: ReadonlyArray<AppendRecord>, offsets: ReadonlyArray<number>) => ({
  "dowser.log.places": records
    .slice(0, PLACES_MAX)
    .map(({ partition, topic }, i) => `${topic}/${partition}:${offsets[i]}`)
    .join(" ")
})

/** The duplicates of each request, or why none of them was stored. Admitted ids are reported immediately. */
const storeAdmitting = Effect.fnUntraced(function* (
  { clock, log, visitorPartitions, window }: StoreParts,
  group: ReadonlyArray<WaitingEvents>,
  admissions: Array<Admission>
) {
  const stages = yield* currentStages
  const records: Array<AppendRecord> = []
  const duplicates: Array<number> = []
  for (let from = 0; from < group.length;) {
    const slice = group.slice(from, from + requestsWithin(group, from, SLICE_EVENTS_MAX))
    const admission = yield* window.admit(
      slice.map(({ events, organizationId }) => ({ organizationId, eventIds: idsOf(events) }))
    )
    admissions.push(admission)
    const packed = packSlice(slice, admission, visitorPartitions, clock.currentTimeMillisUnsafe())
    records.push(...packed.records)
    duplicates.push(...packed.duplicates)
    from += slice.length
    if (from < group.length) yield* Effect.sleep(0)
  }
  stages?.ended("dedupe, pack")
  const stored = yield* Effect.result(records.length === 0 ? Effect.succeed([]) : log.append(records))
  stages?.ended("append", { "dowser.log.records": records.length })
  if (stored._tag === "Success") stages?.annotate(placesOf(records, stored.success))
  if (stored._tag === "Success") return duplicates
  for (const admission of admissions) yield* window.forget(admission)
  if (stored.failure._tag === "EventLogOverloaded") return overloaded(Math.ceil(stored.failure.retry_after_s))
  yield* Effect.logError("The event log refused an append", stored.failure)
  return new EventsUnavailable({
    message: "The events could not be stored; send the same batch again.",
    retry_after_s: RETRY_AFTER_S
  })
})

/** Answers every request of the group, whatever happens: they also receive a defect, which must not end the loop. */
export const makeStoreGroup = (parts: StoreParts) =>
  Effect.fnUntraced(function* (group: ReadonlyArray<WaitingEvents>) {
    const admissions: Array<Admission> = []
    const asked = () => ({
      "dowser.requests": group.length,
      "dowser.events": group.reduce((sum, { events }) => sum + events.length, 0)
    })
    yield* traced("storeEvents", "producer", asked, storeAdmitting(parts, group, admissions)).pipe(
      Effect.map((result) =>
        group.forEach(({ done }, i) =>
          Deferred.doneUnsafe(done, "_tag" in result ? Effect.fail(result) : Effect.succeed(result[i]!))
        )
      ),
      Effect.catchCause((cause) =>
        Effect.andThen(
          Effect.forEach(admissions, parts.window.forget, { discard: true }),
          Effect.sync(() => {
            for (const { done } of group) Deferred.doneUnsafe(done, Effect.failCause(cause))
          })
        )
      )
    )
  })
