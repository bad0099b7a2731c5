/** Rows of threads and messages. One function per statement. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { SupportMessage, SupportThread, ThreadStatus } from "./schema.ts"

export type Side = SupportMessage["author"]
export interface StoredThread {
  readonly organization_id: string
  readonly id: string
  readonly session_id: string
  readonly subject: string
  readonly status: ThreadStatus
  readonly visitor_name: string | null
  readonly visitor_email: string | null
  readonly user_id: string | null
  readonly assignee_id: string | null
  readonly last_seq: number
  readonly created_at: number
  readonly updated_at: number
  readonly last_message_at: number
  /** Unread messages of the side that requests it. */ readonly unread: number
}
export interface StoredMessage {
  readonly seq: number
  readonly id: string
  readonly thread_id: string
  readonly author: Side
  readonly text: string
  readonly media_ids: ReadonlyArray<string>
  readonly created_at: number
}
export interface Place {
  readonly last_message_at: number
  readonly id: string
}
export interface Wanted {
  readonly side: Side
  /** Undefined: threads of all sessions. */ readonly sessionId: string | undefined
  readonly status: string | undefined
  readonly assigneeId: string | undefined
  readonly q: string | undefined
  /** Only threads after this place. */ readonly after: Place | undefined
  readonly limit: number
}

/** How many threads a search by words reads, newest first. */
const LOOKED_AT_MAX = 10_000
/** How many characters of the last message are stored for a search by words. */
const LAST_CHARACTERS = 200

export const threadOf = (row: StoredThread): SupportThread => {
  const { assignee_id, last_seq: _seq, organization_id: _of, user_id, visitor_email, visitor_name, ...thread } = row
  const visitor = {
    ...(visitor_name === null ? {} : { name: visitor_name }),
    ...(visitor_email === null ? {} : { email: visitor_email })
  }
  return {
    ...thread,
    ...(Object.keys(visitor).length === 0 ? {} : { visitor }),
    ...(user_id === null ? {} : { user_id }),
    ...(assignee_id === null ? {} : { assignee_id })
  }
}
export const messageOf = ({ media_ids, seq: _seq, ...message }: StoredMessage): SupportMessage => ({
  ...message,
  ...(media_ids.length === 0 ? {} : { media_ids })
})
/** A LIKE pattern that matches the text literally, anywhere. */
const anywhere = (text: string): string => `%${text.replace(/[\\%_]/g, "\\$&")}%`

const makeThreads = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const unreadOf = (side: Side) =>
    sql`(SELECT count(*)::int4 FROM support_messages m WHERE m.organization_id = t.organization_id AND m.thread_id = t.id
      AND m.seq > ${side === "agent" ? sql.literal("t.read_by_agent") : sql.literal("t.read_by_visitor")} AND m.author <> ${side}) AS unread`
  const columns = (side: Side) =>
    sql`${sql.literal("t.organization_id, t.id, t.session_id, t.subject, t.status, t.visitor_name, t.visitor_email, t.user_id, t.assignee_id, t.last_seq, t.created_at::float8 AS created_at, t.updated_at::float8 AS updated_at, t.last_message_at::float8 AS last_message_at")}, ${unreadOf(side)}`
  return {
    get: (organizationId: string, id: string, side: Side) =>
      Effect.map(
        sql<StoredThread>`SELECT ${columns(side)} FROM support_threads t WHERE organization_id = ${organizationId} AND id = ${id}`,
        ([row]) => row
      ),
    /** Locks it until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredThread>`SELECT ${columns("agent")} FROM support_threads t WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
        ([row]) => row
      ),
    page: (organizationId: string, { after, assigneeId, limit, q, sessionId, side, status }: Wanted) => {
      const words = q === undefined ? null : anywhere(q)
      return sql<StoredThread>`SELECT ${columns(side)} FROM (
          SELECT * FROM support_threads WHERE organization_id = ${organizationId}
            AND (${sessionId ?? null}::text IS NULL OR session_id = ${sessionId ?? null})
            AND (${status ?? null}::text IS NULL OR status = ${status ?? null})
            AND (${assigneeId ?? null}::text IS NULL OR assignee_id = ${assigneeId ?? null})
            AND (${after === undefined} OR (last_message_at, id) < (${time(after?.last_message_at ?? 0)}, ${after?.id ?? ""}))
          ORDER BY last_message_at DESC, id DESC LIMIT ${LOOKED_AT_MAX}::int4) t
        WHERE ${words}::text IS NULL OR t.subject ILIKE ${words} OR t.visitor_name ILIKE ${words} OR t.visitor_email ILIKE ${words} OR t.last_text ILIKE ${words}
        ORDER BY t.last_message_at DESC, t.id DESC LIMIT ${limit}::int4`
    },
    /** Counts the organization's threads, and the session's open ones. One such count at a time per organization. */
    lockCounts: (organizationId: string, sessionId: string) =>
      Effect.map(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(${`support of ${organizationId}`}, 0))`,
          sql<{ all: number; own: number }>`SELECT
            (SELECT count(*)::int4 FROM support_threads WHERE organization_id = ${organizationId}) AS all,
            (SELECT count(*)::int4 FROM support_threads WHERE organization_id = ${organizationId} AND session_id = ${sessionId} AND status <> 'closed') AS own`
        ),
        ([row]) => row!
      ),
    insert: (thread: StoredThread) =>
      sql`INSERT INTO support_threads (organization_id, id, session_id, subject, status, visitor_name, visitor_email, user_id, created_at, updated_at, last_message_at)
        VALUES (${thread.organization_id}, ${thread.id}, ${thread.session_id}, ${thread.subject}, ${thread.status}, ${thread.visitor_name}, ${thread.visitor_email}, ${thread.user_id},
          ${time(thread.created_at)}, ${time(thread.updated_at)}, ${time(thread.last_message_at)})`,
    update: ({
      assignee_id,
      id,
      organization_id,
      status,
      subject,
      updated_at,
      visitor_email,
      visitor_name
    }: StoredThread) =>
      sql`UPDATE support_threads SET status = ${status}, subject = ${subject}, visitor_name = ${visitor_name}, visitor_email = ${visitor_email},
        assignee_id = ${assignee_id}, updated_at = ${time(updated_at)} WHERE organization_id = ${organization_id} AND id = ${id}`
  }
})
/** Statements that relate threads to other data: members, persons, media. */
const makeBeside = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return {
    isMember: (organizationId: string, id: string) =>
      Effect.map(
        sql`SELECT 1 FROM members WHERE organization_id = ${organizationId} AND id = ${id}`,
        (rows) => rows.length > 0
      ),
    /** Also removes what visitors attached, which the next sweep of media deletes. False if there was none. */
    remove: (organizationId: string, id: string) =>
      Effect.map(
        sql<{
          gone: number
        }>`WITH ended AS (UPDATE media_assets SET expires_at = 0 WHERE organization_id = ${organizationId} AND id IN
            (SELECT unnest(media_ids) FROM support_messages WHERE organization_id = ${organizationId} AND thread_id = ${id} AND author = 'visitor')),
          removed AS (DELETE FROM support_threads WHERE organization_id = ${organizationId} AND id = ${id} RETURNING 1)
          SELECT count(*)::int4 AS gone FROM removed`,
        ([row]) => row!.gone > 0
      ),
    ofUser: (organizationId: string, userId: string) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM support_threads WHERE organization_id = ${organizationId} AND user_id = ${userId}`,
        (rows) => rows.map(({ id }) => id)
      )
  }
})
const makeMessages = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const messageColumns = sql.literal("seq, id, thread_id, author, text, media_ids, created_at::float8 AS created_at")
  return {
    /** Adds the next message of a locked thread; the thread is reopened, and its author has read it. */
    add: (organizationId: string, message: StoredMessage) => {
      const { author, created_at, id, media_ids, seq, text, thread_id } = message
      const read = sql.literal(author === "agent" ? "read_by_agent" : "read_by_visitor")
      return Effect.andThen(
        sql`INSERT INTO support_messages (organization_id, thread_id, seq, id, author, text, media_ids, created_at)
          VALUES (${organizationId}, ${thread_id}, ${seq}::int4, ${id}, ${author}, ${text}, ${[...media_ids]}::text[], ${time(created_at)})`,
        sql`UPDATE support_threads SET last_seq = ${seq}::int4, ${read} = ${seq}::int4, last_text = ${text.slice(0, LAST_CHARACTERS)}, last_message_at = ${time(created_at)},
          updated_at = ${time(created_at)}, status = CASE WHEN status = 'closed' THEN 'open' ELSE status END
          WHERE organization_id = ${organizationId} AND id = ${thread_id}`
      )
    },
    messages: (organizationId: string, threadId: string, after: number, limit: number) =>
      sql<StoredMessage>`SELECT ${messageColumns} FROM support_messages WHERE organization_id = ${organizationId} AND thread_id = ${threadId} AND seq > ${after}::int4
        ORDER BY seq LIMIT ${limit}::int4`,
    hasMedia: (organizationId: string, threadId: string, mediaId: string) =>
      Effect.map(
        sql`SELECT 1 FROM support_messages WHERE organization_id = ${organizationId} AND thread_id = ${threadId} AND ${mediaId} = ANY(media_ids) LIMIT 1`,
        (rows) => rows.length > 0
      ),
    markRead: (organizationId: string, threadId: string, side: Side, seq: number) => {
      const read = sql.literal(side === "agent" ? "read_by_agent" : "read_by_visitor")
      return sql`UPDATE support_threads SET ${read} = ${seq}::int4 WHERE organization_id = ${organizationId} AND id = ${threadId} AND ${read} < ${seq}::int4`
    },
    /**
     * The assets that may be attached: visitors attach their own uploads that are not attached yet, which then stay as
     * long as the thread; agents any asset with content.
     */
    attach: (organizationId: string, ids: ReadonlyArray<string>, side: Side) =>
      Effect.map(
        side === "agent"
          ? sql<{
              id: string
            }>`SELECT id FROM media_assets WHERE organization_id = ${organizationId} AND id = ANY(${[...ids]}::text[]) AND blob IS NOT NULL`
          : sql<{
              id: string
            }>`UPDATE media_assets SET expires_at = NULL WHERE organization_id = ${organizationId} AND id = ANY(${[...ids]}::text[]) AND blob IS NOT NULL
              AND expires_at IS NOT NULL RETURNING id`,
        (rows): ReadonlySet<string> => new Set(rows.map(({ id }) => id))
      )
  }
})
export const makeSupportRepository = Effect.map(
  Effect.all([makeThreads, makeBeside, makeMessages]),
  ([threads, beside, messages]) => ({ ...threads, ...beside, ...messages })
)

/** How long a thread without new messages is kept: a year. */
const KEPT_MS = 365 * 86_400_000
/** Removes old threads, with what visitors attached. */
export const expireThreads = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const before = String((yield* Clock.currentTimeMillis) - KEPT_MS)
  const [row] = yield* sql<{ n: number }>`WITH old AS (
      SELECT organization_id, id FROM support_threads WHERE last_message_at < ${before}::text::int8 ORDER BY last_message_at LIMIT ${rowsMax}::int4),
    ended AS (UPDATE media_assets a SET expires_at = 0 FROM old JOIN support_messages m ON m.organization_id = old.organization_id AND m.thread_id = old.id
      WHERE m.author = 'visitor' AND a.organization_id = old.organization_id AND a.id = ANY(m.media_ids)),
    removed AS (DELETE FROM support_threads t USING old WHERE t.organization_id = old.organization_id AND t.id = old.id RETURNING 1)
    SELECT count(*)::int4 AS n FROM removed`
  return row!.n
})
