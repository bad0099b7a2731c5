/** Support threads between visitors and the people of a shop. */
import { Schema } from "effect"
import { InputInvalid, NotFound, SessionRequired, Throttled } from "../http/errors.ts"
import { operation } from "../http/operation.ts"
import { pageFields } from "../http/page.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { RangeNotSatisfiable } from "../media/errors.ts"
import { UNKNOWN_TYPE } from "../media/schema.ts"
import { OtherSession, ThreadFull } from "./errors.ts"
import { described } from "./examples.ts"
import {
  CreateThread,
  PostMessage,
  SupportMessage,
  SupportMessageList,
  SupportThread,
  SupportThreadList,
  UpdateThread
} from "./schema.ts"

const at = { group: "support", plane: "control", scope: "search" } as const
const threadId = Schema.String.annotate({ description: "The id of a thread, `thr_…`." })
const params = { threadId }
const path = "/v1/support/threads/:threadId"
const errors = [NotFound, OtherSession, SessionRequired] as const

export const listSupportThreads = operation({
  ...at,
  ...described.listSupportThreads,
  id: "listSupportThreads",
  summary: "List threads: all of them, or those of the session",
  method: "GET",
  path: "/v1/support/threads",
  query: Schema.Struct({
    ...pageFields({ max: 100, byDefault: 20 }),
    status: Schema.optionalKey(Schema.String),
    assignee_id: Schema.optionalKey(Schema.String),
    q: Schema.optionalKey(Schema.String)
  }),
  success: SupportThreadList,
  errors: [InputInvalid, SessionRequired]
})
export const createSupportThread = operation({
  ...at,
  ...described.createSupportThread,
  id: "createSupportThread",
  summary: "Open a thread",
  method: "POST",
  path: "/v1/support/threads",
  payload: CreateThread,
  success: SupportThread,
  status: 201,
  errors: [FeatureNotInPlan, InputInvalid, SessionRequired, Throttled]
})
export const getSupportThread = operation({
  ...at,
  ...described.getSupportThread,
  id: "getSupportThread",
  summary: "Get a thread",
  method: "GET",
  path,
  params,
  success: SupportThread,
  errors
})
export const updateSupportThread = operation({
  ...at,
  ...described.updateSupportThread,
  id: "updateSupportThread",
  summary: "Close or assign a thread, or signal typing",
  method: "PATCH",
  path,
  params,
  payload: UpdateThread,
  success: SupportThread,
  errors: [...errors, InputInvalid]
})
export const deleteSupportThread = operation({
  ...at,
  ...described.deleteSupportThread,
  scope: "full",
  id: "deleteSupportThread",
  summary: "Delete a thread with its messages",
  method: "DELETE",
  path,
  params,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedSupportThread" }),
  errors: [NotFound]
})
export const listSupportMessages = operation({
  ...at,
  ...described.listSupportMessages,
  id: "listSupportMessages",
  summary: "Read the messages of a thread",
  method: "GET",
  path: `${path}/messages`,
  params,
  query: Schema.Struct(pageFields({ max: 250, byDefault: 50 })),
  success: SupportMessageList,
  errors: [...errors, InputInvalid]
})
export const postSupportMessage = operation({
  ...at,
  ...described.postSupportMessage,
  id: "postSupportMessage",
  summary: "Write a message",
  method: "POST",
  path: `${path}/messages`,
  params,
  payload: PostMessage,
  success: SupportMessage,
  status: 201,
  errors: [...errors, InputInvalid, ThreadFull]
})
export const streamSupportThread = operation({
  ...at,
  ...described.streamSupportThread,
  id: "streamSupportThread",
  summary: "Stream new messages of a thread",
  method: "GET",
  path: `${path}/stream`,
  params,
  query: Schema.Struct({
    session_id: Schema.optionalKey(Schema.String),
    last_event_id: Schema.optionalKey(Schema.String)
  }),
  successType: "event_stream",
  errors: [...errors, InputInvalid, Throttled]
})
export const getSupportAttachment = operation({
  ...at,
  ...described.getSupportAttachment,
  id: "getSupportAttachment",
  summary: "The content of an asset that a message of the thread names",
  method: "GET",
  path: `${path}/media/:mediaId`,
  params: { threadId, mediaId: Schema.String.annotate({ description: "The id of an asset, `med_…`." }) },
  query: Schema.Struct({ session_id: Schema.optionalKey(Schema.String) }),
  successType: "bytes",
  successMedia: [UNKNOWN_TYPE],
  errors: [...errors, RangeNotSatisfiable]
})
