/**
 * Writes the audit log, inside the transaction of the change, so that no change can exist without its row. `recorded`
 * reads the subject's row before and after; `noted` is for changes without a row to compare. A recorded change costs
 * four more statements (a lock, two point reads, one insert); reads cost none.
 */
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { changedFields, shownValue } from "./masked.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { type AuditSubject, RowReaders } from "../identity/row-readers.ts"

interface Note {
  readonly organizationId: string
  readonly kind: string
  readonly id: string
  /** `created`, `updated`, `deleted`, or another action. */ readonly action: string
  readonly before?: unknown
  readonly after?: unknown
}

const jsonOf = (value: unknown): string | null =>
  value === undefined ? null : (JSON.stringify(shownValue(value)) ?? null)

export const makeAuditRecorder = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const readers = yield* RowReaders

  const insert = Effect.fnUntraced(function* (
    { action, after, before, id: subject, kind, organizationId }: Note,
    isSettled: boolean
  ) {
    const { actor, operation, requestId } = yield* CurrentOrigin
    const now = yield* Clock.currentTimeMillis
    const id = yield* identifiers.make("aud")
    yield* sql`INSERT INTO audit_log (organization_id, id, at, actor_type, actor_id, operation, request_id, subject_kind, subject_id, action, changed, before, after, is_settled)
      VALUES (${organizationId}, ${id}, ${String(now)}::text::int8, ${actor.type}, ${"id" in actor ? actor.id : null}, ${operation ?? null}, ${requestId ?? null}, ${kind}, ${subject}, ${action},
        ${[...changedFields(before, after)]}::text[], ${jsonOf(before)}::text::json, ${jsonOf(after)}::text::json, ${isSettled})`
    return id
  })

  return {
    /** Costs one insert. */
    noted: (note: Note): Effect.Effect<void, SqlError.SqlError> => Effect.asVoid(insert(note, true)),
    /**
     * Call inside `sql.withTransaction`, around everything that changes the row. Two changes of one subject run one
     * after the other, so that each records what the other left. Nothing is written if nothing changed.
     */
    recorded: <A, E, R>(
      subject: AuditSubject,
      change: Effect.Effect<A, E, R>
    ): Effect.Effect<A, E | SqlError.SqlError, R> =>
      Effect.gen(function* () {
        const { id, kind, organizationId } = subject
        const reader = readers.get(kind)
        if (reader === undefined)
          return yield* Effect.die(new Error(`No room says how rows of ${kind} are read for the audit log.`))
        const row = Effect.map(reader(sql, subject), ([found]) => found?.row)
        yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`audit of ${organizationId}/${kind}/${id}`}, 0))`
        const before = yield* row
        const answer = yield* change
        const after = yield* row
        if (before === after) return answer
        const parsed = (text: string | undefined): unknown => (text === undefined ? undefined : JSON.parse(text))
        yield* insert(
          {
            organizationId,
            kind,
            id,
            action: before === undefined ? "created" : after === undefined ? "deleted" : "updated",
            before: parsed(before),
            after: parsed(after)
          },
          true
        )
        return answer
      }),
    /**
     * For a change in another store: the row is written first, unsettled; it is completed with the change's result,
     * or removed if the change was refused. After any other end it stays unsettled, so every change has a row.
     */
    bracketed: <A, E, R>(note: Note, change: Effect.Effect<A, E, R>, after: () => unknown): Effect.Effect<A, E, R> =>
      Effect.gen(function* () {
        const id = yield* Effect.orDie(insert(note, false))
        const answer = yield* Effect.tapError(change, () =>
          Effect.orDie(sql`DELETE FROM audit_log WHERE organization_id = ${note.organizationId} AND id = ${id}`)
        )
        const left = after()
        yield* Effect.orDie(
          sql`UPDATE audit_log SET is_settled = true, after = ${jsonOf(left)}::text::json, changed = ${[...changedFields(note.before, left)]}::text[] WHERE organization_id = ${note.organizationId} AND id = ${id}`
        )
        return answer
      })
  }
})
export type AuditRecorder = Effect.Success<typeof makeAuditRecorder>
