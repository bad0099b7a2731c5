/** Types that the parts of the console share. */
import type { Role } from "../identity/roles.ts"
import type { MemberRecord, SessionRecord } from "../identity/console-caller.ts"

export interface OpenedSession {
  readonly session: SessionRecord
  readonly member: MemberRecord
  /** The only moment at which it exists in plain text. */ readonly token: string
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
