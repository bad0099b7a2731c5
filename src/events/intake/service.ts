/**
 * `ingestEvents`: judges entries, drops duplicates, appends the rest durably, and then returns the counts. Requests
 * that wait during a commit are stored together in the next one: one look-up in the dedupe window, one append, one
 * sync for all of them. So the event that a duplicate repeats is always stored, or fails in the same group.
 */
import { Clock, Context, Deferred, Effect, Latch, Layer } from "effect"
import { EventLog } from "@dowser/log/event-log/event-log"
import type { Rejection } from "@dowser/log/event-schema"
import { keptEntry, type KeptRejection, RejectionBudget } from "@dowser/log/rejection"
import { Throttled } from "../../http/errors.ts"
import { DedupeWindow } from "../../ports/dedupe/dedupe-window.ts"
import { acceptBatch, type AcceptOptions } from "./accept-batch.ts"
import { Admission } from "./admission.ts"
import { GroupCommit } from "./group-commit.ts"
import { type IngestFailure, makeStoreGroup, overloaded, type WaitingEvents } from "./store-group.ts"

interface IngestAnswer {
  readonly accepted: number
  readonly deduplicated: number
  readonly rejected: ReadonlyArray<Rejection>
}
export type { IngestFailure }

export interface EventsShape {
  /**
   * Takes decoded entries of one organization. Idempotent for entries with an event_id. Fails immediately with 429,
   * storing nothing, if too much is waiting. Refused entries are kept for a week with their reasons.
   */
  readonly ingestEvents: (
    organizationId: string,
    entries: ReadonlyArray<unknown>,
    options?: IngestOptions
  ) => Effect.Effect<IngestAnswer, IngestFailure>
  /** Entries by outcome, since this process started. */
  readonly verdicts: Effect.Effect<Readonly<Record<Verdict, number>>>
}
type Verdict = "accepted" | "deduplicated" | "refused"

interface IngestOptions extends AcceptOptions {
  /** Entries that could not be judged: lines that were not JSON. They are kept with the other refused entries. */
  readonly unreadable?: ReadonlyArray<KeptRejection>
  /** False if the entries are already kept. */
  readonly keepsRejected?: boolean
}
interface EventsOptions {
  readonly visitorPartitions: number
}

/**
 * Limits of requests and events that wait for a commit; at a kilobyte per event this is 100 MB at worst. A slow disk
 * gets large groups: everything that arrived during the previous commit.
 */
const bounds = { requestsMax: 4_096, sizeMax: 100_000, groupSizeMax: 20_000 }

const overShare = (retry_after_s: number) =>
  new Throttled({
    message: "Counting is behind and this organization sends more than its share; send the batch again later.",
    kind: "backpressure",
    retry_after_s
  })
/** What is kept of refused entries: nothing for the usual request, which has none. */
const keptOf = (
  budget: RejectionBudget,
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

const make = Effect.fnUntraced(function* ({ visitorPartitions }: EventsOptions) {
  const log = yield* EventLog
  const window = yield* DedupeWindow
  const clock = yield* Clock.Clock
  const senders = yield* Admission
  const budget = new RejectionBudget()
  const store = makeStoreGroup({ clock, log, window, visitorPartitions })
  const commits = new GroupCommit<number, IngestFailure, WaitingEvents>(bounds, clock, yield* Latch.make(), store)
  // Registered before the fiber below, so that it runs after that fiber has ended: what is still waiting is stored
  // and answered.
  yield* Effect.addFinalizer(() => commits.drain)
  yield* Effect.forkScoped(commits.loop)
  const verdicts = { accepted: 0, deduplicated: 0, refused: 0 }

  return Events.of({
    verdicts: Effect.sync(() => ({ ...verdicts })),
    ingestEvents: Effect.fnUntraced(function* (organizationId, entries, options) {
      const now = clock.currentTimeMillisUnsafe()
      const { accepted, rejected } = acceptBatch(entries, now, options)
      const rejections = keptOf(budget, organizationId, entries, rejected, options, now)
      // Both are stored, so both count towards the limits.
      const size = accepted.length + rejections.length
      if (size === 0) return { accepted: 0, deduplicated: 0, rejected }
      if (!commits.hasRoom(size)) return yield* overloaded()
      const comeBack_s = senders.admit(organizationId, size)
      if (comeBack_s > 0) return yield* overShare(comeBack_s)
      const deduplicated = yield* commits.add({
        organizationId,
        events: accepted,
        rejections,
        size,
        cameAt: now,
        done: Deferred.makeUnsafe()
      })
      verdicts.accepted += accepted.length - deduplicated
      verdicts.deduplicated += deduplicated
      verdicts.refused += rejected.length
      return { accepted: accepted.length - deduplicated, deduplicated, rejected }
    })
  })
})

export class Events extends Context.Service<Events, EventsShape>()("dowser/events/Events") {
  /** Needs the log and the window; on stop, it stores what is waiting. */
  static readonly layer = (options: EventsOptions): Layer.Layer<Events, never, EventLog | DedupeWindow> =>
    Layer.effect(Events, make(options))
}
