/**
 * `ingestEvents`: entries are judged, duplicates fall out, the rest is appended durably, then the counts are answered.
 * Requests that wait while a commit is on its way go together into the next one: one look into the dedupe window, one
 * append, one sync for all of them. What a duplicate repeats is therefore always stored, or fails in the same group.
 */
import { Clock, Context, Deferred, Effect, Layer, Queue } from "effect"
import { encodeRecord } from "../../streams/record.ts"
import { partitionOfEvent } from "../../streams/routing.ts"
import { BEHAVIOUR_EVENTS, EVENT_FINGERPRINTS } from "../../streams/topics.ts"
import { DedupeWindow } from "../ports/dedupe-window.ts"
import { type AppendRecord, EventLog } from "../ports/event-log.ts"
import { Throttled } from "../wire/errors.ts"
import { acceptBatch, type AcceptOptions } from "./accept-batch.ts"
import { EventsUnavailable } from "./errors.ts"
import { type BehaviouralEvent, EVENTS_SCHEMA_VERSION, type EventsPayload, type Rejection } from "./schema.ts"

export interface IngestAnswer {
  readonly accepted: number
  readonly deduplicated: number
  readonly rejected: ReadonlyArray<Rejection>
}
export type IngestFailure = Throttled | EventsUnavailable

export interface EventsShape {
  /**
   * Takes decoded entries of one organization. Idempotent for entries with an event_id. Fails with 429 at once, storing
   * nothing, when too much waits already.
   */
  readonly ingestEvents: (organizationId: string, entries: ReadonlyArray<unknown>, options?: AcceptOptions) => Effect.Effect<IngestAnswer, IngestFailure>
}

export interface EventsOptions {
  readonly visitorPartitions: number
}

interface Waiting {
  readonly organizationId: string
  readonly events: ReadonlyArray<BehaviouralEvent>
  /** Answers how many of the events were duplicates. */
  readonly done: Deferred.Deferred<number, IngestFailure>
}

/** Requests and events that may wait for a commit; at a kilobyte an event this is 100 MB at worst. */
const WAITING_REQUESTS_MAX = 4_096
const WAITING_EVENTS_MAX = 100_000
/** Requests of one group: bounds how long the first of them waits for the rest to be packed. */
const GROUP_REQUESTS_MAX = 128
const RETRY_AFTER_S = 1

const overloaded = () => new Throttled({ message: "Too many events are waiting to be stored; send the batch again later.", kind: "backpressure", retry_after_s: RETRY_AFTER_S })

const make = Effect.fnUntraced(function*({ visitorPartitions }: EventsOptions) {
  const log = yield* EventLog
  const window = yield* DedupeWindow
  const clock = yield* Clock.Clock
  const queue = yield* Queue.bounded<Waiting>(WAITING_REQUESTS_MAX)
  let waitingEvents = 0

  /** One record per request and partition. */
  const recordsOf = (organizationId: string, events: ReadonlyArray<BehaviouralEvent>, now: number): ReadonlyArray<AppendRecord> => {
    const pack = (partition: number, part: ReadonlyArray<BehaviouralEvent>): AppendRecord => ({
      topic: BEHAVIOUR_EVENTS.name, partition, key: organizationId,
      value: encodeRecord<EventsPayload>({ schema_version: EVENTS_SCHEMA_VERSION, organization_id: organizationId, occurred_at: now, payload: { events: part } })
    })
    if (visitorPartitions === 1) return [pack(0, events)]
    const parts = new Map<number, Array<BehaviouralEvent>>()
    for (const event of events) {
      const partition = partitionOfEvent(organizationId, event, visitorPartitions)
      const part = parts.get(partition)
      if (part === undefined) parts.set(partition, [event])
      else part.push(event)
    }
    return [...parts].map(([partition, part]) => pack(partition, part))
  }

  const store = Effect.fnUntraced(function*(group: ReadonlyArray<Waiting>) {
    const now = clock.currentTimeMillisUnsafe()
    const withIds = group.map(({ events, organizationId }) => ({ organizationId, eventIds: events.flatMap(({ event_id }) => event_id === undefined ? [] : [event_id]) }))
    const admission = yield* window.admit(withIds)
    const records: Array<AppendRecord> = []
    const duplicates = group.map(({ events, organizationId }, i) => {
      const seen = admission.seen[i]!
      let id = 0
      const fresh = seen.includes(1) ? events.filter(({ event_id }) => event_id === undefined || seen[id++] === 0) : events
      if (fresh.length > 0) records.push(...recordsOf(organizationId, fresh, now))
      return events.length - fresh.length
    })
    if (admission.block.length > 0) records.push({ topic: EVENT_FINGERPRINTS.name, partition: 0, value: admission.block })
    const stored = yield* Effect.result(records.length === 0 ? Effect.succeed([]) : log.append(records))
    if (stored._tag === "Failure") yield* window.forget(admission)
    const failure = stored._tag === "Success" ? undefined : stored.failure._tag === "EventLogOverloaded"
      ? overloaded()
      : new EventsUnavailable({ message: "The events could not be stored; send the same batch again.", retry_after_s: RETRY_AFTER_S })
    if (stored._tag === "Failure" && stored.failure._tag === "EventLogUnavailable") yield* Effect.logError("The event log refused an append", stored.failure)
    group.forEach(({ done, events }, i) => {
      waitingEvents -= events.length
      Deferred.doneUnsafe(done, failure === undefined ? Effect.succeed(duplicates[i]!) : Effect.fail(failure))
    })
  })

  // Registered before the fiber below, so that it runs after that has ended: what still waits is stored and answered.
  yield* Effect.addFinalizer(() =>
    Effect.gen(function*() {
      const left = yield* Effect.orElseSucceed(Queue.clear(queue), () => [])
      for (let from = 0; from < left.length; from += GROUP_REQUESTS_MAX) yield* store(left.slice(from, from + GROUP_REQUESTS_MAX))
      yield* Queue.shutdown(queue)
    })
  )
  // A group that was taken is finished even while the service stops.
  yield* Effect.forkScoped(Effect.forever(Effect.flatMap(Queue.takeBetween(queue, 1, GROUP_REQUESTS_MAX), (group) => Effect.uninterruptible(store(group)))))

  return Events.of({
    ingestEvents: Effect.fnUntraced(function*(organizationId, entries, options) {
      const { accepted, rejected } = acceptBatch(entries, clock.currentTimeMillisUnsafe(), options)
      if (accepted.length === 0) return { accepted: 0, deduplicated: 0, rejected }
      const done = Deferred.makeUnsafe<number, IngestFailure>()
      if (waitingEvents + accepted.length > WAITING_EVENTS_MAX && waitingEvents > 0) return yield* overloaded()
      if (!Queue.offerUnsafe(queue, { organizationId, events: accepted, done })) return yield* overloaded()
      waitingEvents += accepted.length
      const deduplicated = yield* Deferred.await(done)
      return { accepted: accepted.length - deduplicated, deduplicated, rejected }
    })
  })
})

export class Events extends Context.Service<Events, EventsShape>()("dowser/events/Events") {
  /** Needs the log and the window; stops by storing what waits. */
  static readonly layer = (options: EventsOptions): Layer.Layer<Events, never, EventLog | DedupeWindow> => Layer.effect(Events, make(options))
}
