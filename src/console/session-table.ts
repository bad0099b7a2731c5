/**
 * Members and their open sessions in memory, as their rows were last read. Whether a session is open depends on its
 * time, its member and the member's password; sessions that ended without a write are swept from time to time.
 */
import { createHash } from "node:crypto"
import type { Subject } from "../configuration/change.ts"
import type { MemberRecord, SessionRecord } from "../identity/console-caller.ts"
import { SESSIONS_PER_MEMBER_MAX } from "./schema.ts"

const SWEEP_EVERY_MS = 60_000
/** Letters and digits: 256 bits. */
export const TOKEN_CHARACTERS = 43

/** The form in which a session's token is stored. */
export const hashOfToken = (token: string): string => createHash("sha256").update(token).digest("hex")

const byAge = (
  a: { readonly created_at: number; readonly id: string },
  b: { readonly created_at: number; readonly id: string }
): number => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)

export class SessionTable {
  readonly #members = new Map<string, MemberRecord>()
  readonly #sessions = new Map<string, SessionRecord>()
  readonly #byToken = new Map<string, SessionRecord>()
  /** By member, oldest first. */
  readonly #ofMember = new Map<string, ReadonlyArray<SessionRecord>>()
  #sweptAt = 0

  /** O(1). */
  member(id: string): MemberRecord | undefined {
    return this.#members.get(id)
  }

  /** Members of an organization, in the order in which they were added. O(all members). */
  membersOf(organizationId: string): ReadonlyArray<MemberRecord> {
    return [...this.#members.values()].filter((member) => member.organization_id === organizationId).sort(byAge)
  }

  /** Members with this address, in any organization or in the given one. O(all members). */
  membersBy(email: string, organizationId: string | undefined): ReadonlyArray<MemberRecord> {
    return [...this.#members.values()].filter(
      (member) => member.email === email && (organizationId === undefined || member.organization_id === organizationId)
    )
  }

  /** The open session of a token, with its member. O(1). */
  find(token: string, now: number): { readonly session: SessionRecord; readonly member: MemberRecord } | undefined {
    if (token.length > 2 * TOKEN_CHARACTERS) return undefined
    const session = this.#byToken.get(hashOfToken(token))
    const member = session === undefined ? undefined : this.#members.get(session.member_id)
    return session !== undefined && member !== undefined && this.#isOpen(session, now) ? { session, member } : undefined
  }

  /** Takes the current rows of members; a subject without a row was deleted. */
  putMembers(subjects: ReadonlyArray<Subject> | "all", rows: ReadonlyArray<MemberRecord>): void {
    if (subjects === "all") this.#members.clear()
    else for (const { id } of subjects) this.#members.delete(id)
    for (const row of rows) this.#members.set(row.id, row)
  }

  /** Takes the current rows of sessions. */
  putSessions(subjects: ReadonlyArray<Subject> | "all", rows: ReadonlyArray<SessionRecord>, now: number): void {
    if (subjects === "all") for (const map of [this.#sessions, this.#byToken, this.#ofMember]) map.clear()
    else for (const { id } of subjects) this.#forget(id)
    for (const row of rows) this.#remember(row)
    // Sessions that ended without a write: by time, by a member's removal, or by a later session.
    if (subjects === "all" || now - this.#sweptAt < SWEEP_EVERY_MS) return
    this.#sweptAt = now
    for (const session of this.#sessions.values()) if (!this.#isOpen(session, now)) this.#forget(session.id)
  }

  /** The row of the session beyond the limit was deleted in the transaction that created this one. */
  #remember(session: SessionRecord): void {
    this.#sessions.set(session.id, session)
    this.#byToken.set(session.token_hash, session)
    const own = [...(this.#ofMember.get(session.member_id) ?? []), session].sort(byAge)
    this.#ofMember.set(session.member_id, own)
    for (const { id } of own.slice(0, -SESSIONS_PER_MEMBER_MAX)) this.#forget(id)
  }

  #forget(id: string): void {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    this.#sessions.delete(id)
    this.#byToken.delete(session.token_hash)
    const others = (this.#ofMember.get(session.member_id) ?? []).filter((other) => other.id !== id)
    if (others.length === 0) this.#ofMember.delete(session.member_id)
    else this.#ofMember.set(session.member_id, others)
  }

  #isOpen(session: SessionRecord, now: number): boolean {
    const member = this.#members.get(session.member_id)
    return session.expires_at > now && member !== undefined && session.created_at > member.sessions_after
  }
}
