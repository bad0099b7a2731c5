/** Members and sessions as the console API shows them, and their limits. */
import { Schema } from "effect"
import { ROLES } from "./roles.ts"

export const MEMBERS_MAX = 1_000
export const SESSIONS_PER_MEMBER_MAX = 20
export const SESSION_MS = 12 * 3_600_000
export const NAME_CHARACTERS_MAX = 200
export const EMAIL_CHARACTERS_MAX = 254

const RoleName = Schema.Literals(ROLES)
export const Member = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  name: Schema.String,
  role: RoleName,
  created_at: Schema.Int
}).annotate({ identifier: "Member" })
export type Member = typeof Member.Type

export const CreateMember = Schema.Struct({
  email: Schema.String,
  name: Schema.optionalKey(Schema.String),
  role: RoleName,
  /** Made and shown once when absent. */ password: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "CreateMember" })
export const CreatedMember = Schema.Struct({ id: Schema.String, email: Schema.String, name: Schema.String, role: RoleName, created_at: Schema.Int, /** Only where none was given. */ initial_password: Schema.optionalKey(Schema.String) }).annotate({ identifier: "CreatedMember" })
export const UpdateMember = Schema.Struct({ name: Schema.optionalKey(Schema.String), role: Schema.optionalKey(RoleName), /** Ends the member's sessions. */ password: Schema.optionalKey(Schema.String) }).annotate({ identifier: "UpdateMember" })

export const SignIn = Schema.Struct({ email: Schema.String, password: Schema.String, /** Needed by who is a member of several. */ organization_id: Schema.optionalKey(Schema.String) }).annotate({ identifier: "SignIn" })
export const Session = Schema.Struct({ organization_id: Schema.String, member: Member, /** Unix milliseconds. */ expires_at: Schema.Int }).annotate({ identifier: "ConsoleSession" })
export const ChangePassword = Schema.Struct({ current_password: Schema.String, new_password: Schema.String }).annotate({ identifier: "ChangePassword" })
