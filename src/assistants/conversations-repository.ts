/** Rows of conversations and their turns. One function per statement. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TURNS_KEPT } from "./schema.ts"

export interface StoredConversation {
  readonly organization_id: string
  readonly assistant_id: string
  readonly id: string
  readonly session_id: string
  readonly title: string
  readonly turns_made: number
  readonly created_at: number
  readonly updated_at: number
}
export interface StoredTurn {
  readonly message_id: string
  readonly question: string
  readonly answer: string
  readonly cited_title: string | null
  readonly refused: boolean
  readonly aborted: boolean
  readonly created_at: number
}
export interface NewConversation extends Omit<StoredConversation, "turns_made" | "updated_at"> {
  readonly user_id: string | undefined
}
export interface Place {
  readonly updated_at: number
  readonly id: string
}

const makeRows = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const columns = sql.literal(
    "organization_id, assistant_id, id, session_id, title, turns_made, created_at::float8 AS created_at, updated_at::float8 AS updated_at"
  )
  return {
    get: (organizationId: string, assistantId: string, id: string, now: number) =>
      Effect.map(
        sql<StoredConversation>`SELECT ${columns} FROM conversations WHERE organization_id = ${organizationId} AND id = ${id}
          AND assistant_id = ${assistantId} AND expires_at > ${time(now)}`,
        ([row]) => row
      ),
    /** An undefined `sessionId` means all sessions. */
    page: (
      organizationId: string,
      assistantId: string,
      sessionId: string | undefined,
      after: Place | undefined,
      limit: number,
      now: number
    ) =>
      sql<StoredConversation>`SELECT ${columns} FROM conversations WHERE organization_id = ${organizationId} AND assistant_id = ${assistantId}
        AND (${sessionId ?? null}::text IS NULL OR session_id = ${sessionId ?? null}) AND expires_at > ${time(now)}
        AND (${after === undefined} OR (updated_at, id) < (${time(after?.updated_at ?? 0)}, ${after?.id ?? ""}))
        ORDER BY updated_at DESC, id DESC LIMIT ${limit}::int4`,
    /** Locks the conversation until the transaction ends; undefined if it no longer exists. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<StoredConversation>`SELECT ${columns} FROM conversations WHERE organization_id = ${organizationId} AND id = ${id} FOR UPDATE`,
        ([row]) => row
      ),
    /**
     * Inserts a conversation with its first turn; false if the assistant no longer exists. An organization keeps
     * about `most`: those idle longest are removed.
     */
    insert: (
      { assistant_id, created_at, id, organization_id, session_id, title, user_id }: NewConversation,
      updated_at: number,
      expires_at: number,
      most: number
    ) =>
      Effect.map(
        sql`WITH room AS (DELETE FROM conversations WHERE organization_id = ${organization_id} AND id IN (
            SELECT id FROM conversations WHERE organization_id = ${organization_id} ORDER BY updated_at DESC, id DESC OFFSET ${String(most - 1)}::text::int8))
          INSERT INTO conversations (organization_id, assistant_id, id, session_id, user_id, title, turns_made, created_at, updated_at, expires_at)
          SELECT organization_id, id, ${id}, ${session_id}, ${user_id ?? null}, ${title}, 1, ${time(created_at)}, ${time(updated_at)}, ${time(expires_at)}
          FROM assistants WHERE organization_id = ${organization_id} AND id = ${assistant_id} FOR KEY SHARE RETURNING id`,
        (rows) => rows.length > 0
      ),
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM conversations WHERE organization_id = ${organizationId} AND id = ${id}`,
    removeOfUser: (organizationId: string, userId: string) =>
      sql`DELETE FROM conversations WHERE organization_id = ${organizationId} AND user_id = ${userId}`
  }
})
const makeTurns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    add: (organizationId: string, id: string, seq: number, turn: StoredTurn) => {
      const { aborted, answer, cited_title, created_at, message_id, question, refused } = turn
      return sql`INSERT INTO conversation_turns (organization_id, conversation_id, seq, message_id, question, answer, cited_title, refused, aborted, created_at)
        VALUES (${organizationId}, ${id}, ${seq}::int4, ${message_id}, ${question}, ${answer}, ${cited_title}, ${refused}, ${aborted}, ${time(created_at)})`
    },
    /** Updates a locked conversation after a turn; the oldest turns beyond the limit are removed. */
    goOn: Effect.fnUntraced(function* (
      organizationId: string,
      id: string,
      seq: number,
      updated_at: number,
      expires_at: number
    ) {
      if (seq > TURNS_KEPT)
        yield* sql`DELETE FROM conversation_turns WHERE organization_id = ${organizationId} AND conversation_id = ${id} AND seq <= ${seq - TURNS_KEPT}::int4`
      yield* sql`UPDATE conversations SET turns_made = ${seq}::int4, updated_at = ${time(updated_at)}, expires_at = ${time(expires_at)}
        WHERE organization_id = ${organizationId} AND id = ${id}`
    }),
    /** Oldest first. */
    turns: (organizationId: string, id: string) =>
      sql<StoredTurn>`SELECT message_id, question, answer, cited_title, refused, aborted, created_at::float8 AS created_at FROM conversation_turns
        WHERE organization_id = ${organizationId} AND conversation_id = ${id} ORDER BY seq LIMIT ${TURNS_KEPT}::int4`
  }
})
export const makeConversationsRepository = Effect.map(Effect.all([makeRows, makeTurns]), ([rows, turns]) => ({
  ...rows,
  ...turns
}))

/** Removes idle conversations. */
export const expireConversations = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const now = String(yield* Clock.currentTimeMillis)
  const rows = yield* sql`DELETE FROM conversations c USING (
      SELECT organization_id, id FROM conversations WHERE expires_at < ${now}::text::int8 ORDER BY expires_at LIMIT ${rowsMax}::int4) old
    WHERE c.organization_id = old.organization_id AND c.id = old.id RETURNING c.id`
  return rows.length
})
