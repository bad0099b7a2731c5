/** The caller of the console: the operator, or a member with a session. */
import type { IncomingHttpHeaders } from "node:http"
import type { Role } from "./roles.ts"

export interface MemberRecord {
  readonly id: string
  readonly organization_id: string
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly password_hash: string
  /** Unix milliseconds: sessions created up to then are over. */ readonly sessions_after: number
  readonly created_at: number
  readonly updated_at: number
}
export interface SessionRecord {
  readonly id: string
  readonly organization_id: string
  readonly member_id: string
  /** SHA-256 of the cookie's token, hex. */ readonly token_hash: string
  readonly created_at: number
  readonly expires_at: number
}

/** `member` is the member's state when the request began. */
export type ConsoleCaller =
  | { readonly type: "operator" }
  | { readonly type: "member"; readonly member: MemberRecord; readonly session: SessionRecord }

export interface ConsoleRequest {
  readonly bearer: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly isRead: boolean
  /** From the path; undefined if the operation belongs to no organization. */
  readonly organizationId: string | undefined
  readonly least: Role
}
