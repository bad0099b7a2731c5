/** Rows of members and of console sessions, which `Console` caches in memory. One function per statement. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Subject } from "../configuration/change.ts"
import type { MemberRecord, SessionRecord } from "../identity/console-caller.ts"
import type { Role } from "../identity/roles.ts"

export const makeMembersRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const named = (subjects: ReadonlyArray<Subject> | "all") =>
    subjects === "all" ? sql`true` : sql`id = ANY(${subjects.map(({ id }) => id)}::text[])`
  const time = (at: number) => sql`${String(at)}::text::int8`
  return {
    members: (
      subjects: ReadonlyArray<Subject> | "all"
    ) => sql<MemberRecord>`SELECT id, organization_id, email, name, role, password_hash, sessions_after::float8 AS sessions_after,
      created_at::float8 AS created_at, updated_at::float8 AS updated_at FROM members WHERE ${named(subjects)}`,
    sessions: (
      subjects: ReadonlyArray<Subject> | "all",
      now: number
    ) => sql<SessionRecord>`SELECT id, organization_id, member_id, token_hash, created_at::float8 AS created_at, expires_at::float8 AS expires_at
      FROM console_sessions WHERE ${named(subjects)} AND expires_at > ${time(now)}`,
    /** Locks the organization's members until the transaction ends; returns them. */
    lockRoles: (organizationId: string) =>
      Effect.andThen(
        sql`SELECT 1 FROM organizations WHERE id = ${organizationId} FOR UPDATE`,
        sql<{
          readonly id: string
          readonly role: Role
        }>`SELECT id, role FROM members WHERE organization_id = ${organizationId}`
      ),
    get: (id: string) =>
      Effect.map(
        sql<MemberRecord>`SELECT id, organization_id, email, name, role, password_hash, sessions_after::float8 AS sessions_after, created_at::float8 AS created_at,
      updated_at::float8 AS updated_at FROM members WHERE id = ${id}`,
        ([row]) => row
      ),
    insert: (
      member: MemberRecord
    ) => sql`INSERT INTO members (id, organization_id, email, name, role, password_hash, sessions_after, created_at, updated_at)
      VALUES (${member.id}, ${member.organization_id}, ${member.email}, ${member.name}, ${member.role}, ${member.password_hash}, ${time(member.sessions_after)}, ${time(member.created_at)}, ${time(member.updated_at)})`,
    save: (
      member: MemberRecord
    ) => sql`UPDATE members SET name = ${member.name}, role = ${member.role}, password_hash = ${member.password_hash}, sessions_after = ${time(member.sessions_after)},
      updated_at = ${time(member.updated_at)} WHERE id = ${member.id}`,
    /** The member's sessions are deleted too. */
    remove: (id: string) => sql`DELETE FROM members WHERE id = ${id}`,
    insertSession: (session: SessionRecord, kept: number) =>
      Effect.andThen(
        sql`INSERT INTO console_sessions (id, organization_id, member_id, token_hash, created_at, expires_at)
        VALUES (${session.id}, ${session.organization_id}, ${session.member_id}, ${session.token_hash}, ${time(session.created_at)}, ${time(session.expires_at)})`,
        sql`DELETE FROM console_sessions WHERE id IN (SELECT id FROM console_sessions WHERE member_id = ${session.member_id} ORDER BY created_at DESC, id DESC OFFSET ${kept}::int4)`
      ),
    removeSession: (id: string) => sql`DELETE FROM console_sessions WHERE id = ${id}`
  }
})

/** Removes at most `rowsMax` sessions that are over; returns how many. */
export const expireSessions = Effect.fnUntraced(function* (rowsMax: number) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const over =
    yield* sql`DELETE FROM console_sessions WHERE id IN (SELECT id FROM console_sessions WHERE expires_at <= ${String(now)}::text::int8 ORDER BY expires_at LIMIT ${rowsMax}::int4) RETURNING id`
  return over.length
})
