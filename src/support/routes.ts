/** Handlers of support: the thread and its owner are checked before anything else is read. */
import { Effect } from "effect"
import { implement } from "../api/implement.ts"
import { type Issue, refused } from "../http/checks.ts"
import { inputInvalid, NotFound, SessionRequired } from "../http/errors.ts"
import { pageOf } from "../http/page.ts"
import { Reply } from "../http/reply.ts"
import type { Caller } from "../identity/caller.ts"
import { Media } from "../media/media.ts"
import { makeServed } from "../media/serving.ts"
import * as contract from "./contract.ts"
import { OtherSession } from "./errors.ts"
import { STATUSES, type UpdateThread } from "./schema.ts"
import { messageOf, type Place, type Side, type StoredThread, threadOf } from "./support-repository.ts"
import { Support } from "./support.ts"

const sideOf = ({ scope }: Caller): Side => (scope === "full" ? "agent" : "visitor")
/**
 * The session whose threads a caller may access: undefined for all. `given` is from the query, for clients that cannot
 * set headers.
 */
const sessionOf = Effect.fnUntraced(function* ({ scope, sessionId }: Caller, given?: string) {
  if (scope === "full") return undefined
  const session = sessionId ?? given
  return session === undefined || session === ""
    ? yield* new SessionRequired({ message: "Header `X-SVC-SESSION-ID` is required." })
    : session
})
const cursorOf = ({ id, last_message_at }: Place): string => `${last_message_at}.${id}`
const placeOf = Effect.fnUntraced(function* (cursor: string | undefined) {
  if (cursor === undefined) return undefined
  const [, at, id] = /^(\d{1,15})\.(thr_\w{1,60})$/.exec(cursor) ?? []
  return at === undefined || id === undefined
    ? yield* inputInvalid("cursor", "The `next_cursor` of the page before")
    : { last_message_at: Number(at), id }
})
const seqOf = Effect.fnUntraced(function* (path: string, text: string | undefined) {
  if (text === undefined || text === "") return undefined
  return /^\d{1,9}$/.test(text) ? Number(text) : yield* inputInvalid(path, "The id of an event, a number")
})
/** What a search key may not change. */
const ofAgents = ({ assignee_id, status, subject }: UpdateThread): ReadonlyArray<Issue> => [
  ...(assignee_id === undefined ? [] : [{ path: "assignee_id", message: "Assigned with a full key" }]),
  ...(subject === undefined ? [] : [{ path: "subject", message: "Changed with a full key" }]),
  ...(status === "pending" ? [{ path: "status", message: "`open` or `closed`" }] : [])
]

/** The thread of a request, if the caller may access it. */
const makeFound = Effect.map(Support, (support) =>
  Effect.fnUntraced(function* (caller: Caller, id: string, given?: string) {
    const session = yield* sessionOf(caller, given)
    const thread: StoredThread = yield* support.get(caller.organizationId, id, sideOf(caller))
    if (session !== undefined && thread.session_id !== session)
      return yield* new OtherSession({ message: "The thread belongs to another session." })
    return thread
  })
)

const threads = Effect.gen(function* () {
  const support = yield* Support
  const found = yield* makeFound
  return [
    implement(
      contract.listSupportThreads,
      Effect.fnUntraced(function* ({ caller, query }) {
        const sessionId = yield* sessionOf(caller)
        const { assignee_id: assigneeId, cursor, limit, q, status } = yield* query
        if (status !== undefined && !(STATUSES as ReadonlyArray<string>).includes(status))
          return yield* inputInvalid("status", `One of ${STATUSES.join(", ")}`)
        const after = yield* placeOf(cursor)
        const words = q === undefined || q.trim() === "" ? undefined : q.trim().slice(0, 200)
        const wanted = { side: sideOf(caller), sessionId, status, assigneeId, q: words, after, limit: limit + 1 }
        return pageOf((yield* support.list(caller.organizationId, wanted)).map(threadOf), limit, cursorOf)
      })
    ),
    implement(
      contract.createSupportThread,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const session = yield* sessionOf(caller)
        const body = yield* payload
        if (session === undefined && body.session_id === undefined)
          return yield* inputInvalid("session_id", "Whose thread it is; a search key says it by its header")
        if (session !== undefined && (body.session_id ?? session) !== session)
          return yield* inputInvalid("session_id", "The session of the header, or none")
        if (body.media_ids !== undefined && body.text === undefined)
          return yield* inputInvalid("text", "The message that `media_ids` belong to")
        const sessionId = session ?? body.session_id!
        return threadOf(yield* support.create(caller.organizationId, sessionId, sideOf(caller), body))
      })
    ),
    implement(contract.getSupportThread, ({ caller, params }) => Effect.map(found(caller, params.threadId), threadOf)),
    implement(
      contract.updateSupportThread,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.threadId)
        const body = yield* payload
        if (caller.scope !== "full") yield* refused(ofAgents(body))
        return threadOf(yield* support.update(caller.organizationId, id, sideOf(caller), body))
      })
    ),
    implement(contract.deleteSupportThread, ({ caller, params }) =>
      support.remove(caller.organizationId, params.threadId)
    )
  ]
})

const messages = Effect.gen(function* () {
  const support = yield* Support
  const media = yield* Media
  const served = yield* makeServed
  const found = yield* makeFound
  return [
    implement(
      contract.listSupportMessages,
      Effect.fnUntraced(function* ({ caller, params, query }) {
        const thread = yield* found(caller, params.threadId)
        const { cursor, limit } = yield* query
        const after = (yield* seqOf("cursor", cursor)) ?? 0
        const rows = yield* support.messages(thread, sideOf(caller), after, limit)
        const { data, ...more } = pageOf(rows, limit, ({ seq }) => String(seq))
        return { data: data.map(messageOf), ...more }
      })
    ),
    implement(
      contract.postSupportMessage,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const { id } = yield* found(caller, params.threadId)
        return messageOf(yield* support.post(caller.organizationId, id, sideOf(caller), yield* payload))
      })
    ),
    implement(
      contract.streamSupportThread,
      Effect.fnUntraced(function* ({ again, caller, headers, params, query }) {
        const { last_event_id, session_id } = yield* query
        const thread = yield* found(caller, params.threadId, session_id)
        const header = headers["last-event-id"]
        const after =
          (yield* seqOf("Last-Event-ID", typeof header === "string" ? header : undefined)) ??
          (yield* seqOf("last_event_id", last_event_id)) ??
          thread.last_seq
        const stream = yield* support.open({
          organizationId: caller.organizationId,
          threadId: thread.id,
          sessionId: caller.scope === "full" ? undefined : thread.session_id,
          side: sideOf(caller),
          after,
          isAllowed: Effect.match(again, { onFailure: () => false, onSuccess: () => true })
        })
        return new Reply(200, stream, "text/event-stream", {
          "cache-control": "no-store",
          "x-accel-buffering": "no"
        })
      })
    ),
    implement(
      contract.getSupportAttachment,
      Effect.fnUntraced(function* ({ caller, headers, params, query }) {
        const { session_id } = yield* query
        const thread = yield* found(caller, params.threadId, session_id)
        const { mediaId } = params
        if (!(yield* support.hasMedia(thread, mediaId)))
          return yield* new NotFound({ message: `The thread has no attachment ${mediaId.slice(0, 80)}.` })
        return yield* served(yield* media.get(caller.organizationId, mediaId), headers)
      })
    )
  ]
})

export const routes = Effect.map(Effect.all([threads, messages]), ([some, others]) => [...some, ...others])
