/** Members and sessions as the console API shows them, and their limits. */
import { Schema } from "effect"
import { refusing } from "../http/checks.ts"
import { PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN } from "./password.ts"
import { ROLES } from "../identity/roles.ts"

export const MEMBERS_MAX = 1_000
export const SESSIONS_PER_MEMBER_MAX = 20
export const SESSION_MS = 12 * 3_600_000
const NAME_CHARACTERS_MAX = 200
export const EMAIL_CHARACTERS_MAX = 254
export const normalEmail = (email: string): string => email.trim().toLowerCase()

const Email = Schema.String.check(
  refusing((email: string) => {
    const normal = normalEmail(email)
    return normal.length <= EMAIL_CHARACTERS_MAX && /^[^\s@\u0000]+@[^\s@\u0000]+$/.test(normal)
      ? undefined
      : "An e-mail address"
  })
)
const PersonName = Schema.String.check(
  refusing((name: string) =>
    name.length <= NAME_CHARACTERS_MAX && !name.includes("\u0000")
      ? undefined
      : `At most ${NAME_CHARACTERS_MAX} characters`
  )
)
const Password = Schema.String.check(
  refusing((password: string) =>
    password.length >= PASSWORD_CHARACTERS_MIN && password.length <= PASSWORD_CHARACTERS_MAX
      ? undefined
      : `${PASSWORD_CHARACTERS_MIN} to ${PASSWORD_CHARACTERS_MAX} characters`
  )
)
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
  email: Email,
  name: Schema.optionalKey(PersonName),
  role: RoleName,
  /** Generated and shown once if absent. */ password: Schema.optionalKey(Password)
}).annotate({ identifier: "CreateMember" })
export const CreatedMember = Schema.Struct({
  id: Schema.String,
  email: Schema.String,
  name: Schema.String,
  role: RoleName,
  created_at: Schema.Int,
  /** Present only if none was given. */ initial_password: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "CreatedMember" })
export const UpdateMember = Schema.Struct({
  name: Schema.optionalKey(PersonName),
  role: Schema.optionalKey(RoleName),
  /** Ends the member's sessions. */ password: Schema.optionalKey(Password)
}).annotate({ identifier: "UpdateMember" })

export const SignIn = Schema.Struct({
  email: Schema.String,
  password: Schema.String,
  /** Required for members of several organizations. */ organization_id: Schema.optionalKey(Schema.String)
}).annotate({ identifier: "SignIn" })
export const Session = Schema.Struct({
  organization_id: Schema.String,
  member: Member,
  /** Unix milliseconds. */ expires_at: Schema.Int
}).annotate({ identifier: "ConsoleSession" })
export const ChangePassword = Schema.Struct({ current_password: Schema.String, new_password: Password }).annotate({
  identifier: "ChangePassword"
})
