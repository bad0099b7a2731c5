/** Threads and messages as the API returns them, and their limits. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"

/** Limits of messages and threads. */
const TEXT_BYTES_MAX = 8_192
const SUBJECT_CHARACTERS_MAX = 200
const SESSION_CHARACTERS_MAX = 256
const MEDIA_MAX = 10
/** Decision: no visitor writes this much in years. */
export const MESSAGES_MAX = 5_000

const text = (charactersMax: number) => (value: string) =>
  value.trim() === "" || [...value].length > charactersMax ? `A text of 1 to ${charactersMax} characters` : undefined
const line = (charactersMax: number) => Schema.String.check(refusing(text(charactersMax)))
const MessageText = Schema.String.check(
  refusing((value: string) =>
    value.trim() === "" || Buffer.byteLength(value) > TEXT_BYTES_MAX
      ? `A text of 1 to ${TEXT_BYTES_MAX} bytes`
      : undefined
  )
)
const MediaIds = Schema.Array(
  Schema.String.check(refusing((id: string) => (/^med_\w{1,60}$/.test(id) ? undefined : "The id of an asset, `med_…`")))
).check(refusing((ids: ReadonlyArray<string>) => (ids.length > MEDIA_MAX ? `At most ${MEDIA_MAX}` : undefined)))

const VisitorBody = Schema.Struct({
  name: Schema.optionalKey(line(120)),
  email: Schema.optionalKey(
    Schema.String.check(
      refusing((email: string) =>
        /^[^\s@]{1,64}@[^\s@]{1,255}$/.test(email) ? undefined : "An address, `name@example.com`"
      )
    )
  )
}).annotate({ identifier: "SupportVisitorBody", description: "The visitor, as stated by the visitor." })

export const STATUSES = ["open", "pending", "closed"] as const
const Status = Schema.Literals(STATUSES)
export type ThreadStatus = typeof Status.Type

export const CreateThread = Schema.Struct({
  subject: line(SUBJECT_CHARACTERS_MAX),
  text: Schema.optionalKey(MessageText),
  media_ids: Schema.optionalKey(MediaIds),
  visitor: Schema.optionalKey(VisitorBody),
  user_id: Schema.optionalKey(line(SESSION_CHARACTERS_MAX)),
  session_id: Schema.optionalKey(line(SESSION_CHARACTERS_MAX))
}).annotate({
  identifier: "CreateSupportThread",
  description:
    "`text`: its first message. `session_id`: the session of the thread, with a full key; with a search key it is that of the header. `user_id`: the thread is deleted when this person is erased."
})
export type CreateThread = typeof CreateThread.Type
export const UpdateThread = Schema.Struct({
  status: Schema.optionalKey(
    Schema.String.check(
      refusing((status: string) =>
        (STATUSES as ReadonlyArray<string>).includes(status) ? undefined : `One of ${STATUSES.join(", ")}`
      )
    )
  ),
  subject: Schema.optionalKey(line(SUBJECT_CHARACTERS_MAX)),
  visitor: Schema.optionalKey(VisitorBody),
  assignee_id: Schema.optionalKey(Schema.NullOr(Schema.String))
}).annotate({
  identifier: "UpdateSupportThread",
  description:
    "Omitted fields stay. A search key changes `visitor`, and `status` to `open` or `closed`. `assignee_id`: a member of the organization, or null."
})
export type UpdateThread = typeof UpdateThread.Type
export const PostMessage = Schema.Struct({ text: MessageText, media_ids: Schema.optionalKey(MediaIds) }).annotate({
  identifier: "PostSupportMessage",
  description:
    "`media_ids`: assets of the organization with content. A picture that a visitor uploaded is kept as long as the thread."
})

const Author = Schema.Literals(["visitor", "agent"])
export const SupportMessage = Schema.Struct({
  id: Schema.String,
  thread_id: Schema.String,
  author: Author,
  text: Schema.String,
  media_ids: Schema.optionalKey(Schema.Array(Schema.String)),
  created_at: Schema.Int
}).annotate({ identifier: "SupportMessage" })
export type SupportMessage = typeof SupportMessage.Type
export const SupportThread = Schema.Struct({
  id: Schema.String,
  subject: Schema.String,
  status: Status,
  session_id: Schema.String,
  visitor: Schema.optionalKey(
    Schema.Struct({ name: Schema.optionalKey(Schema.String), email: Schema.optionalKey(Schema.String) }).annotate({
      identifier: "SupportVisitor"
    })
  ),
  user_id: Schema.optionalKey(Schema.String),
  assignee_id: Schema.optionalKey(Schema.String),
  created_at: Schema.Int,
  updated_at: Schema.Int,
  last_message_at: Schema.Int,
  unread: Schema.Int.annotate({ description: "Messages of the other side that the caller's side has not read." })
}).annotate({ identifier: "SupportThread" })
export type SupportThread = typeof SupportThread.Type

export const SupportThreadList = Schema.Struct({
  data: Schema.Array(SupportThread),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "SupportThreadList", description: "Threads with the newest messages first." })
export const SupportMessageList = Schema.Struct({
  data: Schema.Array(SupportMessage),
  next_cursor: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "SupportMessageList", description: "Oldest first." })
