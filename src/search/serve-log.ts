/**
 * Reports of answered searches on their way to the log. A search hands over its report and continues; a few
 * milliseconds later all reports that arrived meanwhile are appended together. The buffer is bounded: if the log cannot
 * keep up, the newest report is dropped and counted, because a search must not wait for its own statistics.
 */
import { Clock, Context, Effect, Latch, Layer, Schedule } from "effect"
import { encodeRecord } from "@dowser/log/record"
import { partitionOfEvent, partitionOfVisitor } from "@dowser/log/routing"
import { SEARCH_SERVED } from "@dowser/log/topics"
import { cutBytes, storable } from "@dowser/log/normalize-query"
import { type AppendRecord, EventLog } from "@dowser/log/event-log/event-log"
import { Identifiers } from "@dowser/log/identifiers"
import { mintQueryId, QUERY_ID_PARTITIONS_MAX } from "@dowser/log/query-id"
import { counted } from "../metrics/background.ts"
import {
  IDENTIFIER_BYTES_MAX,
  QUERY_CHARACTERS_MAX,
  SERVED_SCHEMA_VERSION,
  type ServedPayload,
  type ServedSearch,
  TEXT_CHARACTERS_MAX
} from "@dowser/log/event-schema"

interface SearchServedShape {
  /**
   * A new query id for a search of this visitor (session, else user, else anonymous id; undefined if there is none).
   */
  readonly mint: (organizationId: string, visitor: string | undefined) => Effect.Effect<string>
  /**
   * Hands over a report; returns immediately and never fails. `at` is filled in. One report, with its own query id, per
   * searched collection.
   */
  readonly record: (served: Omit<ServedSearch, "at">) => void
  /** Reports dropped because the buffer was full. */
  readonly dropped: Effect.Effect<number>
}

interface SearchServedOptions {
  readonly visitorPartitions: number
  readonly reportsMax?: number
}

const REPORTS_MAX = 20_000
/** How long a report waits for others to share its append; far below the two seconds until it must be visible. */
const GATHER_MS = 15
const REPORTS_PER_RECORD_MAX = 500
const retry = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("2 seconds")]).pipe(Schedule.jittered)
const RETRIES_AT_SHUTDOWN = 3

const identifier = (text: string | undefined): string | undefined =>
  text === undefined || text === "" ? undefined : cutBytes(storable(text), IDENTIFIER_BYTES_MAX)

/** Groups reports by their partition, a bounded number per record. */
const recordsOf = (
  reports: ReadonlyArray<ServedSearch>,
  visitorPartitions: number,
  now: number
): ReadonlyArray<AppendRecord> => {
  const parts = new Map<number, Array<ServedSearch>>()
  for (const report of reports) {
    const partition = partitionOfEvent(report.organization_id, report, visitorPartitions)
    const part = parts.get(partition)
    if (part === undefined) parts.set(partition, [report])
    else part.push(report)
  }
  return [...parts].flatMap(([partition, part]) =>
    Array.from({ length: Math.ceil(part.length / REPORTS_PER_RECORD_MAX) }, (_, i) => ({
      topic: SEARCH_SERVED.name,
      partition,
      value: encodeRecord<ServedPayload>({
        schema_version: SERVED_SCHEMA_VERSION,
        organization_id: "",
        occurred_at: now,
        payload: { served: part.slice(i * REPORTS_PER_RECORD_MAX, (i + 1) * REPORTS_PER_RECORD_MAX) }
      })
    }))
  )
}
/** Reports that wait for their append, at most `reportsMax`. */
class ReportBuffer {
  readonly #reportsMax: number
  #reports: Array<ServedSearch> = []
  /** Reports dropped because it was full. */
  dropped = 0

  constructor(reportsMax: number) {
    this.#reportsMax = reportsMax
  }

  /** Returns false if it is full. */
  add(served: Omit<ServedSearch, "at">, at: number): boolean {
    if (this.#reports.length >= this.#reportsMax) {
      this.dropped++
      return false
    }
    this.#reports.push({
      ...served,
      at,
      q: served.q.slice(0, QUERY_CHARACTERS_MAX),
      filter_by: served.filter_by?.slice(0, TEXT_CHARACTERS_MAX),
      facet_by: served.facet_by?.slice(0, TEXT_CHARACTERS_MAX),
      analytics_tag: served.analytics_tag?.slice(0, TEXT_CHARACTERS_MAX),
      session_id: identifier(served.session_id),
      user_id: identifier(served.user_id),
      anonymous_id: identifier(served.anonymous_id)
    })
    return true
  }

  takeAll(): ReadonlyArray<ServedSearch> {
    const reports = this.#reports
    this.#reports = []
    return reports
  }

  /** Puts reports back before those that arrived meanwhile. */
  putBack(reports: ReadonlyArray<ServedSearch>): void {
    this.#reports = [...reports, ...this.#reports]
  }
}

const make = Effect.fnUntraced(function* (options: SearchServedOptions) {
  if (options.visitorPartitions > QUERY_ID_PARTITIONS_MAX) {
    return yield* Effect.die(
      new RangeError(
        `${options.visitorPartitions} visitor partitions are more than a query id can name; configure at most ${QUERY_ID_PARTITIONS_MAX}.`
      )
    )
  }
  const log = yield* EventLog
  const identifiers = yield* Identifiers
  const clock = yield* Clock.Clock
  const filled = yield* Latch.make()
  const buffer = new ReportBuffer(options.reportsMax ?? REPORTS_MAX)
  /** Distributes searches without a visitor over the partitions. */
  let turn = 0

  /** Takes all reports from the buffer. If interrupted, puts them back; a report stored twice still counts once. */
  const flushWith = (schedule: typeof retry, times: number) =>
    Effect.suspend(() => {
      const reports = buffer.takeAll()
      if (reports.length === 0) return Effect.void
      const records = recordsOf(reports, options.visitorPartitions, clock.currentTimeMillisUnsafe())
      return Effect.asVoid(Effect.retry(log.append(records), { schedule, times })).pipe(
        Effect.onInterrupt(() => Effect.sync(() => buffer.putBack(reports)))
      )
    })

  // Registered before the fiber below, so that it runs after that has ended.
  yield* Effect.addFinalizer(() =>
    flushWith(retry, RETRIES_AT_SHUTDOWN).pipe(
      Effect.catch((error) =>
        Effect.logError("Reports of answered searches could not be stored before stopping", error)
      )
    )
  )
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* filled.await
        yield* Effect.sleep(GATHER_MS)
        yield* filled.close
        yield* Effect.orDie(counted("search reports")(flushWith(retry, Number.POSITIVE_INFINITY)))
      })
    )
  )

  return SearchServed.of({
    mint: (organizationId, visitor) =>
      mintQueryId(
        identifiers,
        visitor === undefined || visitor === ""
          ? turn++ % options.visitorPartitions
          : partitionOfVisitor(organizationId, visitor, options.visitorPartitions)
      ),
    record: (served) => {
      if (buffer.add(served, clock.currentTimeMillisUnsafe())) filled.openUnsafe()
    },
    dropped: Effect.sync(() => buffer.dropped)
  })
})

export class SearchServed extends Context.Service<SearchServed, SearchServedShape>()("dowser/events/SearchServed") {
  /** On close, appends what is left in the buffer. */
  static readonly layer = (options: SearchServedOptions): Layer.Layer<SearchServed, never, EventLog | Identifiers> =>
    Layer.effect(SearchServed, make(options))
}
