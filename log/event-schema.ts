/**
 * A behavioural event as the log stores it, the request and answer of `POST /events`, and the bounds of both.
 * `accept-batch.ts` converts an entry to this shape.
 */
import { Schema } from "effect"
import { refusing } from "./refusing.ts"

export const EVENT_TYPES = ["search", "view", "click", "add_to_cart", "purchase", "conversion", "custom"] as const
export type EventType = (typeof EVENT_TYPES)[number]

/** Bounds of a batch and of an event's time (`docs/contract/events.md#events`). */
export const EVENTS_PER_BATCH_MAX = 1_000
export const BATCH_BYTES_MAX = 1_000_000
export const EVENT_AGE_MAX_MS = 30 * 24 * 3_600_000
export const EVENT_AHEAD_MAX_MS = 5 * 60_000
export const EVENT_ID_BYTES_MAX = 128
/** A repeated event id is recognized for thirty days after its arrival. */
export const DEDUPE_WINDOW_HOURS = 30 * 24
/** Decision: generous for people, yet bounded, because events are kept for years. */
export const IDENTIFIER_BYTES_MAX = 256
export const QUERY_CHARACTERS_MAX = 4_096
export const TEXT_CHARACTERS_MAX = 4_096
export const ITEMS_MAX = 500
/** Money is summed in integer millionths; with larger amounts a sum could exceed what a double holds exactly. */
export const MONEY_MAX = 1_000_000_000

export interface EventItem {
  readonly document_id: string
  readonly quantity?: number
  readonly price?: number
}

export interface BehaviouralEvent {
  readonly type: EventType
  readonly collection: string
  readonly event_id?: string
  readonly query_id?: string
  readonly user_id?: string
  readonly anonymous_id?: string
  readonly session_id?: string
  /** Unix milliseconds; the time of arrival if the sender gave none. */
  readonly timestamp: number
  readonly document_id?: string
  readonly document_ids?: ReadonlyArray<string>
  readonly items?: ReadonlyArray<EventItem>
  readonly position?: number
  readonly q?: string
  readonly filter_by?: string
  readonly results_found?: number
  readonly quantity?: number
  readonly price?: number
  readonly revenue?: number
  readonly currency?: string
  readonly surface?: string
  readonly device?: string
  readonly country?: string
  readonly name?: string
  readonly metadata?: Readonly<Record<string, unknown>>
}

export const EXPOSED_UNITS = ["session", "anonymous", "user"] as const
/** The variant of an experiment that answered a search. */
export interface ServedExposure {
  /** Id of the experiment. */ readonly id: string
  /** Counts from 1; each start of the experiment gets its own number. */ readonly run: number
  /** Index among the run's variants; 0 is the control. */ readonly variant: number
  /** By which of the search's ids the variant was assigned. */ readonly unit: (typeof EXPOSED_UNITS)[number]
  /** For an interleaved answer: the documents (`documentPrint`) that only one of the two rankings proposed. */
  readonly teams?: { readonly a: ReadonlyArray<number>; readonly b: ReadonlyArray<number> }
  /** Microseconds until the answer was ready; missing for cached answers and in records older than this field. */
  readonly took_us?: number
}

/** One answered search, as reported by the search room. */
export interface ServedSearch {
  readonly organization_id: string
  readonly query_id: string
  /** The name that the caller used, so that it equals the `collection` of the events that follow. */
  readonly collection: string
  readonly q: string
  readonly filter_by?: string
  readonly facet_by?: string
  readonly analytics_tag?: string
  readonly found: number
  /** A rule redirected the visitor: nothing was searched, so this is not a search without results. */
  readonly isRedirected?: boolean
  readonly session_id?: string
  readonly user_id?: string
  readonly anonymous_id?: string
  readonly device?: string
  readonly country?: string
  readonly surface?: string
  /** Keyed fingerprint of the caller's network, 53 bits; missing in older records. */
  readonly network?: number
  /** Present if an experiment included the search. */
  readonly experiment?: ServedExposure
  /** Unix milliseconds. */
  readonly at: number
  /** `enable_analytics` of the request. */
  readonly isCounted: boolean
}

/**
 * Payload of `behaviour.events.v1`, schema version 1: accepted events of one organization and partition, from one or
 * several requests (`pack-events.ts`). Null where one was erased.
 */
export interface EventsPayload {
  readonly events: ReadonlyArray<BehaviouralEvent | null>
}
/** Payload of `search.served.v1`, schema version 1. Null where one was erased. */
export interface ServedPayload {
  readonly served: ReadonlyArray<ServedSearch | null>
}
export const EVENTS_SCHEMA_VERSION = 1
export const SERVED_SCHEMA_VERSION = 1

const text = Schema.optionalKey(Schema.String)
const number = Schema.optionalKey(Schema.Number)

/** For the API document. Entries are validated one by one, so the request's own schema accepts any entry. */
const EventEntry = Schema.Struct({
  type: Schema.Literals(EVENT_TYPES),
  collection: Schema.String,
  event_id: text,
  query_id: text,
  user_id: text,
  anonymous_id: text,
  session_id: text,
  timestamp: Schema.optionalKey(Schema.Int),
  document_id: text,
  document_ids: Schema.optionalKey(Schema.Array(Schema.String)),
  items: Schema.optionalKey(
    Schema.Array(Schema.Struct({ document_id: Schema.String, quantity: number, price: number }))
  ),
  position: number,
  q: text,
  filter_by: text,
  results_found: number,
  quantity: number,
  price: number,
  revenue: number,
  currency: text,
  surface: text,
  device: text,
  country: text,
  name: text,
  metadata: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
}).annotate({
  identifier: "BehaviouralEvent",
  description: "Unknown keys are kept under `metadata`, which has at most 16,384 characters of JSON."
})

export const EventBatch = Schema.Struct({ events: Schema.Array(EventEntry) }).annotate({ identifier: "EventBatch" })

export const EventBatchAnswer = Schema.Struct({
  accepted: Schema.Int,
  deduplicated: Schema.Int,
  rejected: Schema.Array(Schema.Struct({ index: Schema.Int, reason: Schema.String })),
  /** NDJSON only, if more lines were rejected than `REJECTIONS_LISTED_MAX`. */
  rejected_total: Schema.optionalKey(Schema.Int)
}).annotate({
  identifier: "EventBatchAnswer",
  description:
    "`accepted` + `deduplicated` + entries in `rejected` = entries sent. NDJSON takes a token of the key's rate for each 1,000 lines (or megabyte); when less than half of a minute's tokens is left it is read more slowly. A stream that is cut short (429 no token left, 403 `event_bytes_per_day`, 400, 503) answers these totals so far beside the error, with `lines`, the number of lines that were processed; send the others again."
})

/** Maximum number of rejections listed for one NDJSON request, whose answer must not grow with its length. */
export const REJECTIONS_LISTED_MAX = 10_000
export interface Rejection {
  readonly index: number
  readonly reason: string
}

/** Page size of `GET /events/failed`, and maximum number of entries of one retry. */
export const FAILED_PAGE_MAX = 250
export const RETRIES_MAX = 1_000

export const FailedEvent = Schema.Struct({
  id: Schema.String,
  /** Unix milliseconds. */ received_at: Schema.Int,
  reason: Schema.String,
  /** The entry as it was sent. */ entry: Schema.optionalKey(Schema.Unknown),
  /** Instead of the entry if it was not JSON or was longer than 8,192 characters: the part that was kept. */
  text: Schema.optionalKey(Schema.String),
  /** Retries that failed. */ attempts: Schema.Int,
  last_retried_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "FailedEvent" })
export const FailedEventList = Schema.Struct({
  data: Schema.Array(FailedEvent),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "FailedEventList", description: "Newest first, of the last seven days." })

export const RetryBody = Schema.Struct({
  ids: Schema.optionalKey(
    Schema.Array(Schema.String).check(
      refusing((ids: ReadonlyArray<string>) =>
        ids.length === 0 || ids.length > RETRIES_MAX ? `1 to ${RETRIES_MAX} ids` : undefined
      )
    )
  ),
  /** Without `ids`: continues after the previous answer. */ cursor: Schema.optionalKey(Schema.String),
  /** Keys to override in every entry before it is validated again; null removes a key. */ set: Schema.optionalKey(
    Schema.Record(Schema.String, Schema.Unknown)
  ),
  collection: Schema.optionalKey(Schema.String)
}).annotate({
  identifier: "RetryFailedEvents",
  description: "Without `ids` every failed entry, 1,000 at a time, oldest first."
})
export const RetryAnswer = Schema.Struct({
  retried: Schema.Int,
  accepted: Schema.Int,
  deduplicated: Schema.Int,
  /** These stay in the list, with their new reason. */ rejected: Schema.Array(
    Schema.Struct({ id: Schema.String, reason: Schema.String })
  ),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "RetriedEvents" })

const REPLAY_TARGETS = ["analytics", "recommendations", "experiments"] as const
export type ReplayTarget = (typeof REPLAY_TARGETS)[number]
export const ReplayBody = Schema.Struct({
  from: Schema.String,
  to: Schema.String,
  types: Schema.optionalKey(
    Schema.Array(Schema.Literals(EVENT_TYPES)).check(
      refusing((types: ReadonlyArray<(typeof EVENT_TYPES)[number]>) =>
        EVENT_TYPES.every((type) => types.includes(type))
          ? undefined
          : "What is rebuilt joins events of all types: name all of them, or leave `types` out"
      )
    )
  ),
  target: Schema.Literals(REPLAY_TARGETS)
}).annotate({
  identifier: "ReplayEvents",
  description:
    "`from` and `to`: ISO 8601 dates or date-times, both inclusive, widened to whole days (UTC). Rebuilding joins events of all types, so `types` names all of them or is absent. `experiments`: runs that began on one of the days are rebuilt as a whole, together with the analytics figures of those days, which use the same joins. `recommendations` reads everything that the log keeps, whatever the range."
})
