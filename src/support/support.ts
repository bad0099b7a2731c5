/**
 * Support threads and their messages. Each message gets the next number of its thread, under the thread's lock, so a
 * reader who has read up to a number has missed nothing before it.
 */
import { Identifiers } from "@dowser/log/identifiers"
import { Outbox } from "@dowser/log/outbox"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { inputInvalid, NotFound, Throttled } from "../http/errors.ts"
import { PersonErasures } from "../identity/person-erasures.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { ThreadFull } from "./errors.ts"
import { notifyThread } from "./live.ts"
import { type CreateThread, MESSAGES_MAX, type PostMessage, type ThreadStatus, type UpdateThread } from "./schema.ts"
import {
  makeSupportRepository,
  type Side,
  type StoredMessage,
  type StoredThread,
  type Wanted
} from "./support-repository.ts"
import { makeThreadStreams } from "./thread-stream.ts"

const OPEN_OF_SESSION_MAX = 50
const RETRY_AFTER_S = 60
type Posted = Pick<typeof PostMessage.Type, "text" | "media_ids">
const missing = (id: string) => new NotFound({ message: `Support thread ${id.slice(0, 80)} does not exist.` })
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

const makeNotify = Effect.map(
  SqlClient.SqlClient,
  (sql) => (organizationId: string, id: string) =>
    Effect.provideService(notifyThread(organizationId, id), SqlClient.SqlClient, sql)
)

/** Adds a message to a thread whose row is locked. */
const makeAdded = Effect.gen(function* () {
  const identifiers = yield* Identifiers
  const outbox = yield* Outbox
  const repository = yield* makeSupportRepository
  const notify = yield* makeNotify
  return Effect.fnUntraced(function* (thread: StoredThread, side: Side, { media_ids = [], text }: Posted) {
    const { id: thread_id, last_seq, organization_id } = thread
    if (last_seq >= MESSAGES_MAX)
      return yield* new ThreadFull({
        message: `The thread has ${MESSAGES_MAX} messages: begin another one.`,
        limit: MESSAGES_MAX
      })
    const distinct = [...new Set(media_ids)]
    const there = distinct.length === 0 ? new Set() : yield* repository.attach(organization_id, distinct, side)
    const unknown = distinct.findIndex((id) => !there.has(id))
    if (unknown >= 0)
      return yield* inputInvalid(
        `media_ids[${media_ids.indexOf(distinct[unknown]!)}]`,
        side === "agent"
          ? "No asset of the organization with content"
          : "No picture that was uploaded with a search key and is attached to nothing"
      )
    const message: StoredMessage = {
      seq: last_seq + 1,
      id: yield* identifiers.make("msg"),
      thread_id,
      author: side,
      text,
      media_ids: distinct,
      created_at: yield* Clock.currentTimeMillis
    }
    yield* repository.add(organization_id, message)
    yield* outbox.put(organization_id, "support.message.created", { thread_id, message_id: message.id, author: side })
    yield* notify(organization_id, thread_id)
    return message
  })
})

const makeCreate = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const outbox = yield* Outbox
  const entitlements = yield* Entitlements
  const repository = yield* makeSupportRepository
  const added = yield* makeAdded
  return Effect.fn("Support.create")(function* (
    organizationId: string,
    sessionId: string,
    side: Side,
    body: CreateThread
  ) {
    const now = yield* Clock.currentTimeMillis
    const thread: StoredThread = {
      organization_id: organizationId,
      id: yield* identifiers.make("thr"),
      session_id: sessionId,
      subject: body.subject.trim(),
      status: "open",
      visitor_name: body.visitor?.name ?? null,
      visitor_email: body.visitor?.email ?? null,
      user_id: body.user_id ?? null,
      assignee_id: null,
      last_seq: 0,
      created_at: now,
      updated_at: now,
      last_message_at: now,
      unread: 0
    }
    return yield* orDie(
      sql.withTransaction(
        Effect.gen(function* () {
          const counts = yield* repository.lockCounts(organizationId, sessionId)
          if (counts.own >= OPEN_OF_SESSION_MAX)
            return yield* new Throttled({
              message: `A session has at most ${OPEN_OF_SESSION_MAX} threads that are not closed.`,
              kind: "quota",
              retry_after_s: RETRY_AFTER_S,
              limit: OPEN_OF_SESSION_MAX
            })
          yield* entitlements.requireRoom(organizationId, "support_threads", counts.all + 1)
          yield* repository.insert(thread)
          const { id, subject } = thread
          yield* outbox.put(organizationId, "support.thread.created", {
            thread_id: id,
            subject,
            session_id: sessionId
          })
          if (body.text !== undefined)
            // A new thread is not full.
            yield* Effect.catchTag(
              added(thread, side, {
                text: body.text,
                ...(body.media_ids === undefined ? {} : { media_ids: body.media_ids })
              }),
              "ThreadFull",
              Effect.die
            )
          return (yield* repository.get(organizationId, id, side))!
        })
      )
    )
  })
})

const makeChanges = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const repository = yield* makeSupportRepository
  const added = yield* makeAdded
  const notify = yield* makeNotify
  return {
    post: Effect.fn("Support.post")(function* (organizationId: string, id: string, side: Side, body: Posted) {
      return yield* orDie(
        sql.withTransaction(
          Effect.gen(function* () {
            const thread = yield* repository.lock(organizationId, id)
            return thread === undefined ? yield* missing(id) : yield* added(thread, side, body)
          })
        )
      )
    }),
    update: Effect.fn("Support.update")(function* (organizationId: string, id: string, side: Side, body: UpdateThread) {
      return yield* orDie(
        sql.withTransaction(
          Effect.gen(function* () {
            const before = yield* repository.lock(organizationId, id)
            if (before === undefined) return yield* missing(id)
            const { assignee_id, status, subject, visitor } = body
            if (typeof assignee_id === "string" && !(yield* repository.isMember(organizationId, assignee_id)))
              return yield* inputInvalid("assignee_id", "A member of the organization, or null")
            yield* repository.update({
              ...before,
              status: (status as ThreadStatus | undefined) ?? before.status,
              subject: subject?.trim() ?? before.subject,
              visitor_name: visitor === undefined ? before.visitor_name : (visitor.name ?? null),
              visitor_email: visitor === undefined ? before.visitor_email : (visitor.email ?? null),
              assignee_id: assignee_id === undefined ? before.assignee_id : assignee_id,
              updated_at: Math.max(before.updated_at + 1, yield* Clock.currentTimeMillis)
            })
            yield* notify(organizationId, id)
            return (yield* repository.get(organizationId, id, side))!
          })
        )
      )
    }),
    remove: Effect.fn("Support.remove")(function* (organizationId: string, id: string) {
      const change = Effect.gen(function* () {
        if (!(yield* repository.remove(organizationId, id))) return yield* missing(id)
        yield* notify(organizationId, id)
        return { id }
      })
      return yield* orDie(sql.withTransaction(audit.recorded({ kind: "support_thread", organizationId, id }, change)))
    }),
    /** Removes threads that name the person, with all of their messages. */
    erase: Effect.fn("Support.erase")(function* (organizationId: string, userId: string) {
      for (const id of yield* Effect.orDie(repository.ofUser(organizationId, userId)))
        yield* Effect.orDie(
          sql.withTransaction(Effect.andThen(repository.remove(organizationId, id), notify(organizationId, id)))
        )
    })
  }
})

const make = Effect.gen(function* () {
  const repository = yield* makeSupportRepository
  const changes = yield* makeChanges
  const streams = yield* makeThreadStreams(repository)
  yield* (yield* PersonErasures).register(changes.erase)
  return {
    ...changes,
    create: yield* makeCreate,
    open: streams,
    list: (organizationId: string, wanted: Wanted) => Effect.orDie(repository.page(organizationId, wanted)),
    get: (organizationId: string, id: string, side: Side): Effect.Effect<StoredThread, NotFound> =>
      Effect.flatMap(Effect.orDie(repository.get(organizationId, id, side)), (thread) =>
        thread === undefined ? Effect.fail(missing(id)) : Effect.succeed(thread)
      ),
    /** Returns `limit` + 1 messages if there are more. Returned ones count as read by the requester's side. */
    messages: Effect.fnUntraced(function* (
      { id, organization_id }: StoredThread,
      side: Side,
      after: number,
      limit: number
    ) {
      const messages = yield* Effect.orDie(repository.messages(organization_id, id, after, limit + 1))
      const last = messages[Math.min(limit, messages.length) - 1]
      if (last !== undefined) yield* Effect.orDie(repository.markRead(organization_id, id, side, last.seq))
      return messages
    }),
    hasMedia: ({ id, organization_id }: StoredThread, mediaId: string) =>
      Effect.orDie(repository.hasMedia(organization_id, id, mediaId))
  }
})

export class Support extends Context.Service<Support, Effect.Success<typeof make>>()("dowser/support/Support") {
  static readonly layer = Layer.effect(Support, make)
}
