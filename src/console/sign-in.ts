/**
 * Signing in and out, and changing one's own password. Each attempt counts against its sender (`attempts.ts`) and
 * takes the time of one password hash, whether or not the person exists.
 */
import { Clock, Effect } from "effect"
import type { ConfigurationShape } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import { Throttled } from "../http/errors.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import type { Identifiers } from "@dowser/log/identifiers"
import type { SignInAttempts } from "./attempts.ts"
import type { OpenedSession } from "./caller.ts"
import { SignInRefused } from "./errors.ts"
import { memberNotFound } from "./members.ts"
import type { MemberRecord, SessionRecord } from "../identity/console-caller.ts"
import type { makeMembersRepository } from "./members-repository.ts"
import { type makePasswords, PASSWORD_CHARACTERS_MAX } from "./password.ts"
import { EMAIL_CHARACTERS_MAX, normalEmail, SESSION_MS, SESSIONS_PER_MEMBER_MAX } from "./schema.ts"
import { hashOfToken, type SessionTable, TOKEN_CHARACTERS } from "./session-table.ts"

/** Limit of concurrently waiting attempts on accounts that are attacked from many networks. */
const SLOWED_MAX = 200

interface SignInParts {
  readonly attempts: SignInAttempts
  readonly configuration: ConfigurationShape
  readonly hashed: (password: string) => Effect.Effect<string, Throttled>
  readonly identifiers: Identifiers["Service"]
  readonly passwords: Effect.Success<typeof makePasswords>
  readonly repository: Effect.Success<typeof makeMembersRepository>
  readonly table: SessionTable
}

const tooMany = (wait_ms: number) =>
  new Throttled({
    message: "Too many attempts to sign in; wait before the next one.",
    kind: "rate",
    retry_after_s: Math.ceil(wait_ms / 1000)
  })

/** Delays one attempt; while `SLOWED_MAX` others wait, it is refused, to be retried after the same delay. */
const makeSlowly = () => {
  let slowed = 0
  return (delay_ms: number): Effect.Effect<void, Throttled> =>
    Effect.suspend((): Effect.Effect<void, Throttled> => {
      if (slowed >= SLOWED_MAX) return Effect.fail(tooMany(delay_ms))
      slowed++
      return Effect.ensuring(
        Effect.sleep(delay_ms),
        Effect.sync(() => {
          slowed--
        })
      )
    })
}

/** Verifies the password of an account. */
const makeProven = ({ attempts, passwords }: SignInParts) => {
  const slowly = makeSlowly()
  return Effect.fnUntraced(function* (
    account: string,
    address: string,
    password: string,
    member: MemberRecord | undefined
  ) {
    const { delay_ms, wait_ms } = yield* attempts.take(account, address)
    if (wait_ms > 0) return yield* tooMany(wait_ms)
    if (delay_ms > 0) yield* slowly(delay_ms)
    // No stored password is this long; skip the hash.
    if (!(yield* passwords.isRight(password.slice(0, PASSWORD_CHARACTERS_MAX + 1), member?.password_hash)))
      return yield* new SignInRefused({
        message: "Wrong address or password. A member of several organizations names one as `organization_id`."
      })
    yield* attempts.succeed(account, address)
  })
}

/** Creates a session for a member, with its token; the member's oldest session beyond the limit ends. */
const makeOpen = ({ configuration, identifiers, repository }: SignInParts) =>
  Effect.fnUntraced(function* (member: MemberRecord) {
    const token = yield* identifiers.secret(TOKEN_CHARACTERS)
    // Always later than the event that ended the previous sessions.
    const now = Math.max(yield* Clock.currentTimeMillis, member.sessions_after + 1)
    const session: SessionRecord = {
      id: yield* identifiers.make("ses"),
      organization_id: member.organization_id,
      member_id: member.id,
      token_hash: hashOfToken(token),
      created_at: now,
      expires_at: now + SESSION_MS
    }
    const origin = yield* CurrentOrigin
    yield* stored(
      configuration.write(
        { kind: "console_session", organizationId: member.organization_id, id: session.id },
        repository.insertSession(session, SESSIONS_PER_MEMBER_MAX)
      )
    ).pipe(Effect.provideService(CurrentOrigin, { ...origin, actor: { type: "member", id: member.id } }))
    const opened: OpenedSession = { session, member, token }
    return opened
  })

/** Stores a new password, which ends all earlier sessions. */
const savePassword = Effect.fnUntraced(function* (
  repository: SignInParts["repository"],
  member: MemberRecord,
  password_hash: string
) {
  yield* repository.lockRoles(member.organization_id)
  const found = yield* repository.get(member.id)
  if (found === undefined) return yield* memberNotFound(member.id)
  const now = yield* Clock.currentTimeMillis
  const next: MemberRecord = {
    ...found,
    password_hash,
    sessions_after: Math.max(now, found.sessions_after),
    updated_at: now
  }
  yield* repository.save(next)
  return next
})

export const makeSignIn = (parts: SignInParts) => {
  const { configuration, hashed, repository, table } = parts
  const proven = makeProven(parts)
  const open = makeOpen(parts)
  return {
    signIn: Effect.fn("Console.signIn")(function* ({
      address,
      email,
      organizationId,
      password
    }: {
      readonly email: string
      readonly password: string
      readonly organizationId: string | undefined
      readonly address: string
    }) {
      yield* configuration.current
      const normal = normalEmail(email).slice(0, EMAIL_CHARACTERS_MAX)
      const found = table.membersBy(normal, organizationId)
      const member = found.length === 1 ? found[0] : undefined
      yield* proven(`${organizationId ?? ""}\n${normal}`, address, password, member)
      return yield* open(member!)
    }),
    signOut: (session: SessionRecord) =>
      Effect.asVoid(
        stored(
          configuration.write(
            { kind: "console_session", organizationId: session.organization_id, id: session.id },
            repository.removeSession(session.id)
          )
        )
      ),
    changePassword: Effect.fn("Console.changePassword")(function* (
      member: MemberRecord,
      { address, current, next }: { readonly current: string; readonly next: string; readonly address: string }
    ) {
      yield* proven(member.id, address, current, member)
      const password_hash = yield* hashed(next)
      const change = { kind: "member", organizationId: member.organization_id, id: member.id }
      return yield* open(yield* stored(configuration.write(change, savePassword(repository, member, password_hash))))
    })
  }
}
