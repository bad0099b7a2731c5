/**
 * `ingestEvents`: entries are judged, duplicates fall out, the rest is appended durably, then the counts are answered.
 * Requests that wait while a commit is on its way go together into the next one: one look into the dedupe window, one
 * append, one sync for all of them. What a duplicate repeats is therefore always stored, or fails in the same group.
 */
import { Clock, Context, Deferred, Effect, Latch, Layer } from "effect"
import { encodeRecord } from "@dowser/log/record"
import { BEHAVIOUR_REJECTED, EVENT_FINGERPRINTS } from "@dowser/log/topics"
import { type Admission, DedupeWindow } from "../../ports/dedupe/dedupe-window.ts"
import { type AppendRecord, EventLog } from "@dowser/log/event-log/event-log"
import { Throttled } from "../../http/errors.ts"
import { Admission as SenderAdmission } from "./admission.ts"
import { acceptBatch, type AcceptOptions } from "./accept-batch.ts"
import { EventsUnavailable } from "../errors.ts"
import { Linger, LINGER_MS } from "./linger.ts"
import { packEvents, type RequestEvents } from "./pack-events.ts"
import {
  keptEntry,
  type KeptRejection,
  RejectionBudget,
  REJECTIONS_SCHEMA_VERSION,
  type RejectionsPayload
} from "@dowser/log/rejection"
import type { BehaviouralEvent, Rejection } from "@dowser/log/event-schema"

export interface IngestAnswer {
  readonly accepted: number
  readonly deduplicated: number
  readonly rejected: ReadonlyArray<Rejection>
}
export type IngestFailure = Throttled | EventsUnavailable

export interface EventsShape {
  /**
   * Takes decoded entries of one organization. Idempotent for entries with an event_id. Fails with 429 at once, storing
   * nothing, when too much waits already. Refused entries are kept for a week with their reasons.
   */
  readonly ingestEvents: (
    organizationId: string,
    entries: ReadonlyArray<unknown>,
    options?: IngestOptions
  ) => Effect.Effect<IngestAnswer, IngestFailure>
}

export interface IngestOptions extends AcceptOptions {
  /** Refused before they could be judged: lines that were no JSON. Kept beside the others. */
  readonly unreadable?: ReadonlyArray<KeptRejection>
  /** False where the entries are kept already. */
  readonly keepsRejected?: boolean
}
export interface EventsOptions {
  readonly visitorPartitions: number
}

interface Waiting {
  readonly organizationId: string
  readonly events: ReadonlyArray<BehaviouralEvent>
  readonly rejections: ReadonlyArray<KeptRejection>
  /** Unix milliseconds. */
  readonly cameAt: number
  /** Answers how many of the events were duplicates. */
  readonly done: Deferred.Deferred<number, IngestFailure>
}

/** Requests and events that may wait for a commit; at a kilobyte an event this is 100 MB at worst. */
const WAITING_REQUESTS_MAX = 4_096
const WAITING_EVENTS_MAX = 100_000
/** Events of one commit. A slow disk gets large groups: all that came while the last one was on its way. */
const GROUP_EVENTS_MAX = 20_000
/** Events packed in one go of the front's thread, which searches wait for: about four milliseconds. */
const SLICE_EVENTS_MAX = 2_000
const RETRY_AFTER_S = 1
/** What counts against the bounds: both are stored. */
const sizeOf = ({ events, rejections }: Waiting): number => events.length + rejections.length

/** How many requests from `from` on make up about `events_max` events; at least one when there is one. */
const requestsWithin = (requests: ReadonlyArray<Waiting>, from: number, events_max: number): number => {
  let count = 0
  for (let events = 0; from + count < requests.length && events < events_max; count++)
    events += sizeOf(requests[from + count]!)
  return count
}

/** Not `flatMap`: a list for each event is a fiftieth of the thread's time. */
const idsOf = (events: ReadonlyArray<BehaviouralEvent>): ReadonlyArray<string> => {
  const ids: Array<string> = []
  for (const { event_id } of events) if (event_id !== undefined) ids.push(event_id)
  return ids
}

const overShare = (retry_after_s: number) =>
  new Throttled({
    message: "Counting is behind and this organization sends more than its share; send the batch again later.",
    kind: "backpressure",
    retry_after_s
  })
const overloaded = (retry_after_s = RETRY_AFTER_S) =>
  new Throttled({
    message: "Too many events are waiting to be stored; send the batch again later.",
    kind: "backpressure",
    retry_after_s
  })

const make = Effect.fnUntraced(function* ({ visitorPartitions }: EventsOptions) {
  const log = yield* EventLog
  const window = yield* DedupeWindow
  const clock = yield* Clock.Clock
  const senders = yield* SenderAdmission
  /** Bounded by the two limits above, which `ingestEvents` keeps. */
  const waiting: Array<Waiting> = []
  let waitingEvents = 0
  const filled = yield* Latch.make()

  const budget = new RejectionBudget()
  /** What of the refused is kept: nothing of the common request, which has none. */
  const keptOf = (
    organizationId: string,
    entries: ReadonlyArray<unknown>,
    rejected: ReadonlyArray<Rejection>,
    { indexFrom = 0, keepsRejected = true, unreadable = [] }: IngestOptions = {},
    now: number
  ): ReadonlyArray<KeptRejection> => {
    const wanted = rejected.length + unreadable.length
    if (wanted === 0 || !keepsRejected) return []
    const kept = budget.take(organizationId, wanted, now)
    return [
      ...unreadable.slice(0, kept),
      ...rejected
        .slice(0, Math.max(0, kept - unreadable.length))
        .map(({ index, reason }) => keptEntry(entries[index - indexFrom], reason))
    ]
  }

  const takeGroup = (): ReadonlyArray<Waiting> => waiting.splice(0, requestsWithin(waiting, 0, GROUP_EVENTS_MAX))

  /** Dedupes and packs one slice; answers its records and how many events of each request were duplicates. */
  const packSlice = Effect.fnUntraced(function* (slice: ReadonlyArray<Waiting>, admissions: Array<Admission>) {
    const admission = yield* window.admit(
      slice.map(({ events, organizationId }) => ({ organizationId, eventIds: idsOf(events) }))
    )
    admissions.push(admission)
    const now = clock.currentTimeMillisUnsafe()
    const records: Array<AppendRecord> = []
    const kept: Array<RequestEvents> = []
    const duplicates = slice.map(({ events, organizationId }, i) => {
      const seen = admission.seen[i]!
      let id = 0
      const fresh = seen.includes(1)
        ? events.filter(({ event_id }) => event_id === undefined || seen[id++] === 0)
        : events
      if (fresh.length > 0) kept.push({ organizationId, events: fresh })
      const { rejections } = slice[i]!
      if (rejections.length > 0) {
        records.push({
          topic: BEHAVIOUR_REJECTED.name,
          partition: 0,
          key: organizationId,
          value: encodeRecord<RejectionsPayload>({
            schema_version: REJECTIONS_SCHEMA_VERSION,
            organization_id: organizationId,
            occurred_at: now,
            payload: { rejections }
          })
        })
      }
      return events.length - fresh.length
    })
    records.push(...packEvents(kept, visitorPartitions, now))
    if (admission.block.length > 0)
      records.push({ topic: EVENT_FINGERPRINTS.name, partition: 0, value: admission.block })
    return { records, duplicates }
  })

  const storeAdmitting = Effect.fnUntraced(function* (group: ReadonlyArray<Waiting>, admissions: Array<Admission>) {
    const records: Array<AppendRecord> = []
    const duplicates: Array<number> = []
    for (let from = 0; from < group.length;) {
      const slice = group.slice(from, from + requestsWithin(group, from, SLICE_EVENTS_MAX))
      const packed = yield* packSlice(slice, admissions)
      records.push(...packed.records)
      duplicates.push(...packed.duplicates)
      from += slice.length
      if (from < group.length) yield* Effect.sleep(0)
    }
    const stored = yield* Effect.result(records.length === 0 ? Effect.succeed([]) : log.append(records))
    if (stored._tag === "Success") return duplicates
    for (const admission of admissions) yield* window.forget(admission)
    if (stored.failure._tag === "EventLogOverloaded") return overloaded(Math.ceil(stored.failure.retry_after_s))
    yield* Effect.logError("The event log refused an append", stored.failure)
    return new EventsUnavailable({
      message: "The events could not be stored; send the same batch again.",
      retry_after_s: RETRY_AFTER_S
    })
  })

  /**
   * Answers every request of the group, whatever happens: a defect is theirs to hear of, and must not end the loop
   * below.
   */
  const store = Effect.fnUntraced(function* (group: ReadonlyArray<Waiting>) {
    for (const one of group) waitingEvents -= sizeOf(one)
    const admissions: Array<Admission> = []
    yield* storeAdmitting(group, admissions).pipe(
      Effect.map((result) =>
        group.forEach(({ done }, i) =>
          Deferred.doneUnsafe(done, "_tag" in result ? Effect.fail(result) : Effect.succeed(result[i]!))
        )
      ),
      Effect.catchCause((cause) =>
        Effect.andThen(
          Effect.forEach(admissions, window.forget, { discard: true }),
          Effect.sync(() => {
            for (const { done } of group) Deferred.doneUnsafe(done, Effect.failCause(cause))
          })
        )
      )
    )
  })

  // Registered before the fiber below, so that it runs after that has ended: what still waits is stored and answered.
  yield* Effect.addFinalizer(() =>
    Effect.whileLoop({ while: () => waiting.length > 0, body: () => store(takeGroup()), step: () => {} })
  )
  const linger = new Linger()
  // A group that was taken is finished even while the service stops.
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        if (waiting.length === 0) {
          yield* filled.close
          if (waiting.length === 0) yield* filled.await
        }
        if (
          waitingEvents < GROUP_EVENTS_MAX &&
          linger.isDue(clock.currentTimeMillisUnsafe() - (waiting[0]?.cameAt ?? 0))
        ) {
          const before = waiting.length
          yield* Effect.sleep(LINGER_MS)
          linger.brought(waiting.length - before)
        }
        yield* Effect.uninterruptible(Effect.suspend(() => store(takeGroup())))
      })
    )
  )

  return Events.of({
    ingestEvents: Effect.fnUntraced(function* (organizationId, entries, options) {
      const now = clock.currentTimeMillisUnsafe()
      const { accepted, rejected } = acceptBatch(entries, now, options)
      const rejections = keptOf(organizationId, entries, rejected, options, now)
      if (accepted.length + rejections.length === 0) return { accepted: 0, deduplicated: 0, rejected }
      const done = Deferred.makeUnsafe<number, IngestFailure>()
      const size = accepted.length + rejections.length
      if (waiting.length >= WAITING_REQUESTS_MAX || (waitingEvents > 0 && waitingEvents + size > WAITING_EVENTS_MAX))
        return yield* overloaded()
      const comeBack_s = senders.admit(organizationId, size)
      if (comeBack_s > 0) return yield* overShare(comeBack_s)
      waiting.push({ organizationId, events: accepted, rejections, cameAt: now, done })
      waitingEvents += size
      filled.openUnsafe()
      const deduplicated = yield* Deferred.await(done)
      return { accepted: accepted.length - deduplicated, deduplicated, rejected }
    })
  })
})

export class Events extends Context.Service<Events, EventsShape>()("dowser/events/Events") {
  /** Needs the log and the window; stops by storing what waits. */
  static readonly layer = (options: EventsOptions): Layer.Layer<Events, never, EventLog | DedupeWindow> =>
    Layer.effect(Events, make(options))
}
