/**
 * Members and sessions of the console API. `console` means the operator's token, or a session whose role allows the
 * operation.
 */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { ChangePassword, CreatedMember, CreateMember, Member, Session, SignIn, UpdateMember } from "./schema.ts"
import { ConfigurationUnavailable, InputInvalid, OriginNotAllowed, Throttled } from "../http/errors.ts"
import { FeatureNotInPlan } from "../metering/errors.ts"
import { MemberConflict, MemberNotFound, SignInRefused } from "./errors.ts"
import { described } from "./examples.ts"

const sessions = { group: "console sessions", plane: "control" } as const
export const createSession = operation({
  ...sessions,
  ...described.createSession,
  scope: "public",
  id: "createSession",
  summary: "Sign in: the answer sets an HttpOnly cookie for 12 hours",
  method: "POST",
  path: "/console/v1/sessions",
  payload: SignIn,
  success: Session,
  status: 201,
  bodyBytesMax: 10_000,
  errors: [InputInvalid, OriginNotAllowed, SignInRefused, Throttled, ConfigurationUnavailable]
})
export const getCurrentSession = operation({
  ...sessions,
  ...described.getCurrentSession,
  scope: "console",
  id: "getCurrentSession",
  summary: "Who is signed in",
  method: "GET",
  path: "/console/v1/sessions/current",
  success: Session
})
export const deleteCurrentSession = operation({
  ...sessions,
  ...described.deleteCurrentSession,
  scope: "console",
  id: "deleteCurrentSession",
  summary: "Sign out",
  method: "DELETE",
  path: "/console/v1/sessions/current",
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedSession" })
})
export const changeOwnPassword = operation({
  ...sessions,
  ...described.changeOwnPassword,
  scope: "console",
  id: "changeOwnPassword",
  summary: "Change your own password; all your other sessions end",
  method: "POST",
  path: "/console/v1/sessions/current/password",
  payload: ChangePassword,
  success: Session,
  bodyBytesMax: 10_000,
  errors: [MemberNotFound, SignInRefused]
})

const members = { group: "members", plane: "control", scope: "console" } as const
const path = "/console/v1/organizations/:organizationId/members"
export const listMembers = operation({
  ...members,
  ...described.listMembers,
  id: "listMembers",
  summary: "List the members of an organization",
  method: "GET",
  path,
  success: Schema.Struct({ data: Schema.Array(Member) }).annotate({ identifier: "MemberList" })
})
export const createMember = operation({
  ...members,
  ...described.createMember,
  id: "createMember",
  summary: "Add a member; without a password one is generated and shown once",
  method: "POST",
  path,
  payload: CreateMember,
  success: CreatedMember,
  status: 201,
  errors: [FeatureNotInPlan, MemberConflict]
})
export const updateMember = operation({
  ...members,
  ...described.updateMember,
  id: "updateMember",
  summary: "Change a member's name, role or password",
  method: "PATCH",
  path: `${path}/:memberId`,
  payload: UpdateMember,
  success: Member,
  errors: [MemberConflict, MemberNotFound]
})
export const deleteMember = operation({
  ...members,
  ...described.deleteMember,
  id: "deleteMember",
  summary: "Remove a member; sessions end at once",
  method: "DELETE",
  path: `${path}/:memberId`,
  success: Schema.Struct({ id: Schema.String }).annotate({ identifier: "DeletedMember" }),
  errors: [MemberConflict, MemberNotFound]
})
