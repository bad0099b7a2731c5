/**
 * `POST /events`: accepts a search key, and one JSON batch or NDJSON of any length. Refused entries can be listed
 * with a full key.
 */
import { Schema } from "effect"
import { Job } from "../jobs/schema.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import {
  BATCH_BYTES_MAX,
  EventBatch,
  EventBatchAnswer,
  FAILED_PAGE_MAX,
  FailedEventList,
  ReplayBody,
  RetryAnswer,
  RetryBody
} from "@dowser/log/event-schema"
import { Conflict } from "../http/errors.ts"
import { FeatureNotInPlan, LimitsUnavailable } from "../metering/errors.ts"
import { EventStreamEnded, EventsUnavailable } from "./errors.ts"
import { described } from "./examples.ts"

/** The error that ended a partly stored NDJSON request, and its statuses. */
const endedStream = { of: EventStreamEnded, statuses: [400, 403, 429, 503] }
export const ingestEvents = operation({
  ...described.ingestEvents,
  id: "ingestEvents",
  group: "events",
  plane: "control",
  scope: "search",
  method: "POST",
  path: "/v1/events",
  summary: "Report behavioural events; also one event a line as application/x-ndjson",
  // Entries are judged one by one and reported by index, so this schema only serves the document.
  payload: EventBatch,
  payloadIsChecked: false,
  payloadMedia: ["application/json", "application/x-ndjson"],
  success: EventBatchAnswer,
  bodyBytesMax: BATCH_BYTES_MAX,
  errors: [EventsUnavailable, FeatureNotInPlan, LimitsUnavailable, endedStream]
})

export const listFailedEvents = operation({
  ...described.listFailedEvents,
  id: "listFailedEvents",
  group: "events",
  plane: "control",
  scope: "full",
  method: "GET",
  path: "/v1/events/failed",
  summary: "List refused entries of the last seven days with their reasons",
  query: Schema.Struct({
    collection: Schema.optionalKey(Schema.String),
    ...pageFields({ max: FAILED_PAGE_MAX, byDefault: 50 })
  }),
  success: FailedEventList
})
export const retryFailedEvents = operation({
  ...described.retryFailedEvents,
  id: "retryFailedEvents",
  group: "events",
  plane: "control",
  scope: "full",
  method: "POST",
  path: "/v1/events/failed/retry",
  summary: "Send refused entries through again after a fix",
  payload: RetryBody,
  success: RetryAnswer,
  errors: [EventsUnavailable]
})

export const replayEvents = operation({
  ...described.replayEvents,
  id: "replayEvents",
  group: "events",
  plane: "control",
  scope: "full",
  method: "POST",
  path: "/v1/events/replays",
  summary: "Rebuild the figures of whole days from the event log",
  payload: ReplayBody,
  success: Job,
  status: 202,
  errors: [Conflict, EventsUnavailable, FeatureNotInPlan]
})
export const eraseSubject = operation({
  ...described.eraseSubject,
  id: "eraseSubject",
  group: "events",
  plane: "control",
  scope: "full",
  method: "DELETE",
  path: "/v1/events/subjects/:userId",
  summary: "Erase one person's events and everything derived from them",
  success: Job,
  status: 202,
  errors: [EventsUnavailable]
})
