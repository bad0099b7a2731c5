/** `dowser org members …`: manages the members of an organization from a terminal. */
import { Effect } from "effect"
import type { Member } from "../console/schema.ts"
import { StartRefused } from "../runtime/data-folder.ts"
import { callOperator, resolveTarget, type TargetFlags } from "./target.ts"

const print = (line: string) =>
  Effect.sync(() => {
    process.stdout.write(`${line}\n`)
  })
const shown = ({ email, id, name, role }: Member): string =>
  `${id}  ${role.padEnd(6)} ${email}${name === "" ? "" : `  ${name}`}`

interface MemberFlags extends TargetFlags {
  readonly organization: string
  readonly json: boolean
}
const pathOf = (organization: string, id?: string) =>
  `/organizations/${encodeURIComponent(organization)}/members${id === undefined ? "" : `/${encodeURIComponent(id)}`}`

/** Accepts an id, or the e-mail address, which users know. */
const idOf = Effect.fnUntraced(function* (flags: MemberFlags, member: string) {
  if (member.startsWith("mem_")) return member
  const { data } = (yield* callOperator(yield* resolveTarget(flags), "GET", pathOf(flags.organization))) as {
    readonly data: ReadonlyArray<Member>
  }
  const found = data.find(({ email }) => email === member.trim().toLowerCase())
  return found === undefined
    ? yield* Effect.fail(new StartRefused(`${member} is no member of ${flags.organization}.`))
    : found.id
})

export const listMembers = Effect.fn("cli.listMembers")(function* (flags: MemberFlags) {
  const { data } = (yield* callOperator(yield* resolveTarget(flags), "GET", pathOf(flags.organization))) as {
    readonly data: ReadonlyArray<Member>
  }
  if (flags.json) return yield* print(JSON.stringify({ data }))
  for (const member of data) yield* print(shown(member))
})

/** Without a password, one is generated and printed once, so that no secret ends up in the shell's history. */
export const addMember = Effect.fn("cli.addMember")(function* (
  flags: MemberFlags & {
    readonly email: string
    readonly role: string
    readonly name: string
    readonly password: string | undefined
  }
) {
  const made = (yield* callOperator(yield* resolveTarget(flags), "POST", pathOf(flags.organization), {
    email: flags.email,
    role: flags.role,
    name: flags.name,
    ...(flags.password === undefined ? {} : { password: flags.password })
  })) as Member & { readonly initial_password?: string }
  if (flags.json) return yield* print(JSON.stringify(made))
  yield* print(
    `${shown(made)}${made.initial_password === undefined ? "" : `\npassword ${made.initial_password}  (shown once)`}`
  )
})

export const setMemberRole = Effect.fn("cli.setMemberRole")(function* (
  flags: MemberFlags & { readonly member: string; readonly role: string }
) {
  const changed = (yield* callOperator(
    yield* resolveTarget(flags),
    "PATCH",
    pathOf(flags.organization, yield* idOf(flags, flags.member)),
    { role: flags.role }
  )) as Member
  yield* print(flags.json ? JSON.stringify(changed) : shown(changed))
})

export const removeMember = Effect.fn("cli.removeMember")(function* (flags: MemberFlags & { readonly member: string }) {
  const gone = (yield* callOperator(
    yield* resolveTarget(flags),
    "DELETE",
    pathOf(flags.organization, yield* idOf(flags, flags.member))
  )) as { readonly id: string }
  yield* print(flags.json ? JSON.stringify(gone) : `removed ${gone.id}`)
})
