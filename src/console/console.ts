/**
 * Members, their sessions, and the only check of the console API. Members and sessions are cached in memory, like keys
 * (`Configuration`): requests query nothing, and a session ended by one process has ended in all by the next request.
 *
 * States of a session: open → over, by time, by signing out, by a new password, by the member's removal, or by the
 * member's 21st session. The role is looked up in every request, so a change applies immediately.
 */
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { OperatorAuth } from "../identity/operator.ts"
import { Configuration } from "../configuration/configuration.ts"
import type { ConfigurationUnavailable, OriginNotAllowed, RoleDenied, Throttled, Unauthorized } from "../http/errors.ts"
import type { Cap } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import type { Counters } from "../ports/counter/counter.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { makeSignInAttempts } from "./attempts.ts"
import type { ConsoleCaller, ConsoleRequest, MemberRecord, SessionRecord } from "../identity/console-caller.ts"
import type { MemberChange, NewMember, OpenedSession } from "./caller.ts"
import { makeCheck } from "./check.ts"
import type { MemberConflict, MemberNotFound, SignInRefused } from "./errors.ts"
import { makeMembers } from "./members.ts"
import { makeMembersRepository } from "./members-repository.ts"
import { makePasswords } from "./password.ts"
import { SessionTable } from "./session-table.ts"
import { makeSignIn } from "./sign-in.ts"

export type { ConsoleCaller, OpenedSession }

/** Letters and digits: 130 bits. */
const SALT_CHARACTERS = 22

/** Loads members and sessions and keeps them current. */
const keepSessions = Effect.fnUntraced(function* (repository: Effect.Success<typeof makeMembersRepository>) {
  const configuration = yield* Configuration
  const table = new SessionTable()
  yield* configuration.keep("member", (subjects) =>
    Effect.map(repository.members(subjects), (rows) => table.putMembers(subjects, rows))
  )
  yield* configuration.keep("console_session", (subjects) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Effect.map(repository.sessions(subjects, now), (rows) => table.putSessions(subjects, rows, now))
    )
  )
  return table
})

export class Console extends Context.Service<
  Console,
  {
    /**
     * The caller, or the first refusal: 401 without a valid token or session; 403 for another site's page, another
     * organization, or an insufficient role. O(1).
     */
    readonly check: (
      request: ConsoleRequest
    ) => Effect.Effect<ConsoleCaller, Unauthorized | OriginNotAllowed | RoleDenied | ConfigurationUnavailable>
    /** Takes the time of one password hash, whether or not the person exists. */
    readonly signIn: (given: {
      readonly email: string
      readonly password: string
      readonly organizationId: string | undefined
      readonly address: string
    }) => Effect.Effect<OpenedSession, SignInRefused | Throttled | ConfigurationUnavailable>
    readonly signOut: (session: SessionRecord) => Effect.Effect<void, ConfigurationUnavailable>
    /** Ends all sessions of the member, and returns a new one. */
    readonly changePassword: (
      member: MemberRecord,
      given: { readonly current: string; readonly next: string; readonly address: string }
    ) => Effect.Effect<OpenedSession, SignInRefused | MemberNotFound | Throttled | ConfigurationUnavailable>
    /** In the order in which they were added. */
    readonly members: (organizationId: string) => ReadonlyArray<MemberRecord>
    /** The plan's `cap` applies to the organization's members, but not to the operator. */
    readonly addMember: (
      actor: ConsoleCaller,
      organizationId: string,
      member: NewMember,
      cap?: Cap
    ) => Effect.Effect<
      { readonly member: MemberRecord; readonly initialPassword: string | undefined },
      FeatureNotInPlan | MemberConflict | RoleDenied | Throttled | ConfigurationUnavailable
    >
    readonly changeMember: (
      actor: ConsoleCaller,
      organizationId: string,
      id: string,
      change: MemberChange
    ) => Effect.Effect<
      MemberRecord,
      MemberNotFound | MemberConflict | RoleDenied | Throttled | ConfigurationUnavailable
    >
    readonly removeMember: (
      actor: ConsoleCaller,
      organizationId: string,
      id: string
    ) => Effect.Effect<void, MemberNotFound | MemberConflict | RoleDenied | ConfigurationUnavailable>
  }
>()("dowser/console/Console") {
  static readonly layer: Layer.Layer<
    Console,
    never,
    Configuration | Counters | Identifiers | OperatorAuth | SqlClient.SqlClient
  > = Layer.effect(
    Console,
    Effect.gen(function* () {
      const configuration = yield* Configuration
      const identifiers = yield* Identifiers
      const operator = yield* OperatorAuth
      const repository = yield* makeMembersRepository
      const passwords = yield* makePasswords
      const attempts = yield* makeSignInAttempts
      const table = yield* keepSessions(repository)
      const hashed = (password: string) =>
        Effect.flatMap(identifiers.secret(SALT_CHARACTERS), (salt) => passwords.hash(password, Buffer.from(salt)))
      return Console.of({
        check: makeCheck(configuration, operator, table),
        ...makeSignIn({ attempts, configuration, hashed, identifiers, passwords, repository, table }),
        ...makeMembers({ configuration, hashed, identifiers, repository, table })
      })
    })
  )
}
