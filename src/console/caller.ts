/** Who asks the console, and what it is asked for: the shapes that its parts pass to each other. */
import type { IncomingHttpHeaders } from "node:http"
import type { Role } from "../identity/roles.ts"
import type { MemberRecord, SessionRecord } from "./members-repository.ts"

/** `member` as it was when the request began. */
export type ConsoleCaller =
  | { readonly type: "operator" }
  | { readonly type: "member"; readonly member: MemberRecord; readonly session: SessionRecord }

export interface ConsoleRequest {
  readonly bearer: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly isRead: boolean
  /** Of the path; undefined where the operation is of no organization. */ readonly organizationId: string | undefined
  readonly least: Role
}
export interface OpenedSession {
  readonly session: SessionRecord
  readonly member: MemberRecord
  /** The only moment at which it exists in plain. */ readonly token: string
}
export interface NewMember {
  readonly email: string
  readonly name: string
  readonly role: Role
  readonly password: string | undefined
}
export interface MemberChange {
  readonly name?: string
  readonly role?: Role
  readonly password?: string
}
