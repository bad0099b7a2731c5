/**
 * Adds, changes and removes members. Every change locks all rows of the organization's members, so that the limit,
 * the plan and the last owner are checked against the current state.
 */
import { Clock, Effect } from "effect"
import type { SqlError } from "effect/sql"
import type { ConfigurationShape } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { RoleDenied, type Throttled } from "../http/errors.ts"
import { maySetRoles, type Role } from "../identity/roles.ts"
import type { Cap } from "../metering/entitlements.ts"
import type { Identifiers } from "@dowser/log/identifiers"
import type { ConsoleCaller, MemberRecord } from "../identity/console-caller.ts"
import type { MemberChange, NewMember } from "./caller.ts"
import { MemberConflict, MemberNotFound } from "./errors.ts"
import type { makeMembersRepository } from "./members-repository.ts"
import { MEMBERS_MAX, normalEmail } from "./schema.ts"
import type { SessionTable } from "./session-table.ts"

const INITIAL_PASSWORD_CHARACTERS = 20

interface MembersParts {
  readonly configuration: ConfigurationShape
  readonly hashed: (password: string) => Effect.Effect<string, Throttled>
  readonly identifiers: Identifiers["Service"]
  readonly repository: Effect.Success<typeof makeMembersRepository>
  readonly table: SessionTable
}
type RoleRows = ReadonlyArray<{ readonly id: string; readonly role: Role }>

export const memberNotFound = (id: string) => new MemberNotFound({ message: `Member ${id} does not exist.` })

/** Whether the actor may add, change or remove members with these roles, according to the actor's current role. */
const allowed = ({ table }: MembersParts, actor: ConsoleCaller, roles: ReadonlyArray<Role | undefined>) => {
  const own = actor.type === "operator" ? "operator" : (table.member(actor.member.id)?.role ?? "member")
  return maySetRoles(own, roles)
    ? Effect.void
    : Effect.fail(new RoleDenied({ message: "Only an owner or the operator adds, changes or removes owners." }))
}

const known = ({ table }: MembersParts, organizationId: string, id: string) => {
  const member = table.member(id)
  return member === undefined || member.organization_id !== organizationId
    ? Effect.fail(memberNotFound(id))
    : Effect.succeed(member)
}

/** Changes the organization's members while all are locked; refused if no owner would be left. */
const changing = <A, E extends { readonly _tag: string }>(
  { configuration, repository }: MembersParts,
  organizationId: string,
  id: string,
  change: (
    rows: RoleRows
  ) => Effect.Effect<{ readonly answer: A; readonly role: Role | undefined }, E | SqlError.SqlError>
) =>
  stored(
    configuration.write(
      { kind: "member", organizationId, id },
      Effect.gen(function* () {
        const rows = yield* repository.lockRoles(organizationId)
        const { answer, role } = yield* change(rows)
        const before = rows.find((row) => row.id === id)?.role
        if (before === "owner" && role !== "owner" && !rows.some((row) => row.id !== id && row.role === "owner"))
          return yield* new MemberConflict({
            message: "An organization keeps at least one owner; make another member owner first."
          })
        return answer
      })
    )
  )

/** Inserts a member if the plan and the limit have room. */
const insert = Effect.fnUntraced(function* (
  { repository }: MembersParts,
  member: MemberRecord,
  rows: RoleRows,
  cap: Cap | undefined
) {
  if (cap !== undefined && rows.length >= cap.max) return yield* cap.refusal
  if (rows.length >= MEMBERS_MAX)
    return yield* new MemberConflict({ message: `The organization has ${MEMBERS_MAX} members, which is the limit.` })
  yield* Effect.catchTag(
    repository.insert(member),
    "SqlError",
    (error): Effect.Effect<never, MemberConflict | SqlError.SqlError> =>
      Effect.fail(
        error.reason._tag === "UniqueViolation"
          ? new MemberConflict({ message: `${member.email} is a member already.` })
          : error
      )
  )
})

const makeAdd = (parts: MembersParts) =>
  Effect.fn("Console.addMember")(function* (actor: ConsoleCaller, organizationId: string, given: NewMember, cap?: Cap) {
    const { hashed, identifiers } = parts
    yield* allowed(parts, actor, [given.role])
    const initialPassword =
      given.password === undefined ? yield* identifiers.secret(INITIAL_PASSWORD_CHARACTERS) : undefined
    const password_hash = yield* hashed(given.password ?? initialPassword!)
    const now = yield* Clock.currentTimeMillis
    const member: MemberRecord = {
      id: yield* identifiers.make("mem"),
      organization_id: organizationId,
      email: normalEmail(given.email),
      name: given.name.trim(),
      role: given.role,
      password_hash,
      sessions_after: 0,
      created_at: now,
      updated_at: now
    }
    yield* changing(
      parts,
      organizationId,
      member.id,
      Effect.fnUntraced(function* (rows) {
        yield* allowed(parts, actor, [given.role])
        yield* insert(parts, member, rows, actor.type === "member" ? cap : undefined)
        return { answer: undefined, role: member.role }
      })
    )
    return { member, initialPassword }
  })

const makeChange = (parts: MembersParts) =>
  Effect.fn("Console.changeMember")(function* (
    actor: ConsoleCaller,
    organizationId: string,
    id: string,
    change: MemberChange
  ) {
    const { hashed, repository } = parts
    const before = yield* known(parts, organizationId, id)
    const name = change.name?.trim()
    yield* allowed(parts, actor, [before.role, change.role])
    const password_hash = change.password === undefined ? undefined : yield* hashed(change.password)
    return yield* changing(
      parts,
      organizationId,
      id,
      Effect.fnUntraced(function* () {
        const found = yield* repository.get(id)
        if (found === undefined) return yield* memberNotFound(id)
        yield* allowed(parts, actor, [found.role, change.role])
        const now = yield* Clock.currentTimeMillis
        const next: MemberRecord = {
          ...found,
          updated_at: now,
          ...(name === undefined ? {} : { name }),
          ...(change.role === undefined ? {} : { role: change.role }),
          ...(password_hash === undefined ? {} : { password_hash, sessions_after: Math.max(now, found.sessions_after) })
        }
        yield* repository.save(next)
        return { answer: next, role: next.role }
      })
    )
  })

const makeRemove = (parts: MembersParts) =>
  Effect.fn("Console.removeMember")(function* (actor: ConsoleCaller, organizationId: string, id: string) {
    const { repository } = parts
    const { role } = yield* known(parts, organizationId, id)
    yield* allowed(parts, actor, [role])
    yield* changing(
      parts,
      organizationId,
      id,
      Effect.fnUntraced(function* () {
        const found = yield* repository.get(id)
        if (found === undefined) return yield* memberNotFound(id)
        yield* allowed(parts, actor, [found.role])
        yield* repository.remove(id)
        return { answer: undefined, role: undefined }
      })
    )
  })

export const makeMembers = (parts: MembersParts) => ({
  members: (organizationId: string) => parts.table.membersOf(organizationId),
  addMember: makeAdd(parts),
  changeMember: makeChange(parts),
  removeMember: makeRemove(parts)
})
