/**
 * Members, their sessions, and the one check of the console API. Members and sessions are in memory like keys are
 * (`Configuration`): a request asks nobody, and what one process ended, every other has ended with the next request.
 *
 * States of a session: open → over, by its time, by signing out, by a new password, by the member's removal, or by the
 * 21st session of the member. A role is looked up with every request, so a change of it holds at once.
 */
import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { OperatorAuth } from "../access/check/operator.ts"
import { CurrentOrigin } from "../identity/origin.ts"
import { Configuration } from "../configuration/configuration.ts"
import type { ConfigurationUnavailable } from "../configuration/errors.ts"
import type { Cap } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import type { Counters } from "../ports/counter/counter.ts"
import { Identifiers } from "../../log/identifiers.ts"
import { OriginNotAllowed, Throttled, Unauthorized } from "../http/errors.ts"
import { makeSignInAttempts } from "./attempts.ts"
import { isOwnPage, sessionTokenOf } from "./cookie.ts"
import { MemberConflict, MemberNotFound, RoleDenied, SignInRefused } from "./errors.ts"
import { makeMembersRepository, type MemberRecord, type SessionRecord } from "./members-repository.ts"
import { makePasswords, PASSWORD_CHARACTERS_MAX } from "./password.ts"
import { maySetRoles, reaches, type Role } from "../identity/roles.ts"
import { EMAIL_CHARACTERS_MAX, MEMBERS_MAX, normalEmail, SESSION_MS, SESSIONS_PER_MEMBER_MAX } from "./schema.ts"

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

const SWEEP_EVERY_MS = 60_000
/** Attempts to sign in that wait at once, of accounts that are tried from many networks. */
const SLOWED_MAX = 200
/** Letters and digits: 130 bits. */
const SALT_CHARACTERS = 22
const TOKEN_CHARACTERS = 43
const INITIAL_PASSWORD_CHARACTERS = 20

const hashOf = (token: string): string => createHash("sha256").update(token).digest("hex")
export class Console extends Context.Service<
  Console,
  {
    /**
     * Who asks, or the first refusal: 401 neither token nor session, 403 another site's page, another organization, or
     * a role that does not reach. O(1).
     */
    readonly check: (
      request: ConsoleRequest
    ) => Effect.Effect<ConsoleCaller, Unauthorized | OriginNotAllowed | RoleDenied | ConfigurationUnavailable>
    /** Takes the time of one password hash, whether the person exists or not. */
    readonly signIn: (given: {
      readonly email: string
      readonly password: string
      readonly organizationId: string | undefined
      readonly address: string
    }) => Effect.Effect<OpenedSession, SignInRefused | Throttled | ConfigurationUnavailable>
    readonly signOut: (session: SessionRecord) => Effect.Effect<void, ConfigurationUnavailable>
    /** Every session of the member is over then; answers a new one. */
    readonly changePassword: (
      member: MemberRecord,
      given: { readonly current: string; readonly next: string; readonly address: string }
    ) => Effect.Effect<OpenedSession, SignInRefused | MemberNotFound | Throttled | ConfigurationUnavailable>
    /** By the time they were added. */
    readonly members: (organizationId: string) => ReadonlyArray<MemberRecord>
    /** The plan's `cap` binds the organization's people, not the operator. */
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

      const members = new Map<string, MemberRecord>()
      const sessions = new Map<string, SessionRecord>()
      const byToken = new Map<string, SessionRecord>()
      /** Of each member, oldest first. */
      const ofMember = new Map<string, ReadonlyArray<SessionRecord>>()
      let sweptAt = 0
      const forget = (id: string) => {
        const session = sessions.get(id)
        if (session === undefined) return
        sessions.delete(id)
        byToken.delete(session.token_hash)
        const others = (ofMember.get(session.member_id) ?? []).filter((other) => other.id !== id)
        if (others.length === 0) ofMember.delete(session.member_id)
        else ofMember.set(session.member_id, others)
      }
      /** The row of the one that is too many went in the transaction that made this one. */
      const remember = (session: SessionRecord) => {
        sessions.set(session.id, session)
        byToken.set(session.token_hash, session)
        const own = [...(ofMember.get(session.member_id) ?? []), session].sort(
          (a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)
        )
        ofMember.set(session.member_id, own)
        for (const { id } of own.slice(0, -SESSIONS_PER_MEMBER_MAX)) forget(id)
      }
      const isOpen = (session: SessionRecord, now: number): boolean => {
        const member = members.get(session.member_id)
        return session.expires_at > now && member !== undefined && session.created_at > member.sessions_after
      }
      yield* configuration.keep("member", (subjects) =>
        Effect.map(repository.members(subjects), (rows) => {
          if (subjects === "all") members.clear()
          else for (const { id } of subjects) members.delete(id)
          for (const row of rows) members.set(row.id, row)
        })
      )
      yield* configuration.keep("console_session", (subjects) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.map(repository.sessions(subjects, now), (rows) => {
            if (subjects === "all") for (const map of [sessions, byToken, ofMember]) map.clear()
            else for (const { id } of subjects) forget(id)
            for (const row of rows) remember(row)
            // Sessions whose end no write told of: by time, by a member's removal, by a later one in their place.
            if (subjects === "all" || now - sweptAt < SWEEP_EVERY_MS) return
            sweptAt = now
            for (const session of sessions.values()) if (!isOpen(session, now)) forget(session.id)
          })
        )
      )

      const stored = <A, E extends { readonly _tag: string }>(write: Effect.Effect<A, E | SqlError.SqlError>) =>
        Effect.catchTag(write, "SqlError", Effect.die) as Effect.Effect<A, Exclude<E, SqlError.SqlError>>
      const missing = (id: string) => new MemberNotFound({ message: `Member ${id} does not exist.` })
      const roleOf = (actor: ConsoleCaller): Role | "operator" =>
        actor.type === "operator" ? "operator" : (members.get(actor.member.id)?.role ?? "member")
      const allowed = (actor: ConsoleCaller, roles: ReadonlyArray<Role | undefined>) =>
        maySetRoles(roleOf(actor), roles)
          ? Effect.void
          : Effect.fail(new RoleDenied({ message: "Only an owner or the operator adds, changes or removes owners." }))
      const hashed = (password: string) =>
        Effect.flatMap(identifiers.secret(SALT_CHARACTERS), (salt) => passwords.hash(password, Buffer.from(salt)))

      const open = Effect.fnUntraced(function* (member: MemberRecord) {
        const token = yield* identifiers.secret(TOKEN_CHARACTERS)
        // Always later than what ended the sessions before.
        const now = Math.max(yield* Clock.currentTimeMillis, member.sessions_after + 1)
        const session: SessionRecord = {
          id: yield* identifiers.make("ses"),
          organization_id: member.organization_id,
          member_id: member.id,
          token_hash: hashOf(token),
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
        return { session, member, token }
      })
      let slowed = 0
      /**
       * Holds nothing but its request; beyond `SLOWED_MAX` at once one is sent away for as long as it would have
       * waited.
       */
      const slowly = (delay_ms: number) =>
        Effect.suspend((): Effect.Effect<void, Throttled> => {
          if (slowed >= SLOWED_MAX)
            return Effect.fail(
              new Throttled({
                message: "Too many attempts to sign in; wait before the next one.",
                kind: "rate",
                retry_after_s: Math.ceil(delay_ms / 1000)
              })
            )
          slowed++
          return Effect.ensuring(
            Effect.sleep(delay_ms),
            Effect.sync(() => {
              slowed--
            })
          )
        })
      /** The password of an account, counted against who tries it. */
      const proven = Effect.fnUntraced(function* (
        account: string,
        address: string,
        password: string,
        member: MemberRecord | undefined
      ) {
        const { delay_ms, wait_ms } = yield* attempts.take(account, address)
        if (wait_ms > 0)
          return yield* new Throttled({
            message: "Too many attempts to sign in; wait before the next one.",
            kind: "rate",
            retry_after_s: Math.ceil(wait_ms / 1000)
          })
        if (delay_ms > 0) yield* slowly(delay_ms)
        // Longer ones are nobody's: their hash would only cost.
        if (!(yield* passwords.isRight(password.slice(0, PASSWORD_CHARACTERS_MAX + 1), member?.password_hash)))
          return yield* new SignInRefused({
            message: "Wrong address or password. A member of several organizations names one as `organization_id`."
          })
        yield* attempts.succeed(account, address)
      })

      /** A change of the organization's members with all of them locked; refused where no owner would be left. */
      const changing = <A, E extends { readonly _tag: string }>(
        organizationId: string,
        id: string,
        change: (
          rows: ReadonlyArray<{ readonly id: string; readonly role: Role }>
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

      return Console.of({
        check: Effect.fnUntraced(function* ({ bearer, headers, isRead, least, organizationId }) {
          if (bearer !== undefined) {
            yield* operator.check(bearer)
            return { type: "operator" }
          }
          if (!configuration.isCurrent()) yield* configuration.current
          const token = sessionTokenOf(headers.cookie)
          const session =
            token === undefined || token.length > 2 * TOKEN_CHARACTERS ? undefined : byToken.get(hashOf(token))
          const member = session === undefined ? undefined : members.get(session.member_id)
          if (session === undefined || member === undefined || !isOpen(session, yield* Clock.currentTimeMillis)) {
            return yield* new Unauthorized({
              message: "Sign in, or send the operator's token.",
              reason: token === undefined ? "missing" : "rejected"
            })
          }
          if (!isRead && !isOwnPage(headers))
            return yield* new OriginNotAllowed({
              message:
                "A session writes only from the console's own pages: the request's Origin is another site's, or it has none and no `X-Dowser-Console` header."
            })
          // The same answer whether the other organization exists.
          if (organizationId !== undefined && organizationId !== member.organization_id)
            return yield* new RoleDenied({ message: "Your session reaches your own organization only." })
          if (!reaches(member.role, least))
            return yield* new RoleDenied({ message: `This takes the role ${least}; yours is ${member.role}.` })
          return { type: "member", member, session }
        }),
        signIn: Effect.fn("Console.signIn")(function* ({ address, email, organizationId, password }) {
          yield* configuration.current
          const normal = normalEmail(email).slice(0, EMAIL_CHARACTERS_MAX)
          const found = [...members.values()].filter(
            (member) =>
              member.email === normal && (organizationId === undefined || member.organization_id === organizationId)
          )
          const member = found.length === 1 ? found[0] : undefined
          yield* proven(`${organizationId ?? ""}\n${normal}`, address, password, member)
          return yield* open(member!)
        }),
        signOut: (session) =>
          Effect.asVoid(
            stored(
              configuration.write(
                { kind: "console_session", organizationId: session.organization_id, id: session.id },
                repository.removeSession(session.id)
              )
            )
          ),
        changePassword: Effect.fn("Console.changePassword")(function* (member, { address, current, next }) {
          yield* proven(member.id, address, current, member)
          const password_hash = yield* hashed(next)
          const changed = yield* stored(
            configuration.write(
              { kind: "member", organizationId: member.organization_id, id: member.id },
              Effect.gen(function* () {
                yield* repository.lockRoles(member.organization_id)
                const found = yield* repository.get(member.id)
                if (found === undefined) return yield* missing(member.id)
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
            )
          )
          return yield* open(changed)
        }),
        members: (organizationId) =>
          [...members.values()]
            .filter((member) => member.organization_id === organizationId)
            .sort((a, b) => a.created_at - b.created_at || (a.id < b.id ? -1 : 1)),
        addMember: Effect.fn("Console.addMember")(function* (actor, organizationId, given, cap) {
          const email = normalEmail(given.email)
          const name = given.name.trim()
          yield* allowed(actor, [given.role])
          const initialPassword =
            given.password === undefined ? yield* identifiers.secret(INITIAL_PASSWORD_CHARACTERS) : undefined
          const password_hash = yield* hashed(given.password ?? initialPassword!)
          const now = yield* Clock.currentTimeMillis
          const member: MemberRecord = {
            id: yield* identifiers.make("mem"),
            organization_id: organizationId,
            email,
            name,
            role: given.role,
            password_hash,
            sessions_after: 0,
            created_at: now,
            updated_at: now
          }
          yield* changing(
            organizationId,
            member.id,
            Effect.fnUntraced(function* (rows) {
              yield* allowed(actor, [given.role])
              if (actor.type === "member" && cap !== undefined && rows.length >= cap.max) return yield* cap.refusal
              if (rows.length >= MEMBERS_MAX)
                return yield* new MemberConflict({
                  message: `The organization has ${MEMBERS_MAX} members, which is the limit.`
                })
              yield* Effect.catchTag(
                repository.insert(member),
                "SqlError",
                (error): Effect.Effect<never, MemberConflict | SqlError.SqlError> =>
                  Effect.fail(
                    error.reason._tag === "UniqueViolation"
                      ? new MemberConflict({ message: `${email} is a member already.` })
                      : error
                  )
              )
              return { answer: undefined, role: member.role }
            })
          )
          return { member, initialPassword }
        }),
        changeMember: Effect.fn("Console.changeMember")(function* (actor, organizationId, id, change) {
          const known = members.get(id)
          if (known === undefined || known.organization_id !== organizationId) return yield* missing(id)
          const name = change.name?.trim()
          yield* allowed(actor, [known.role, change.role])
          const password_hash = change.password === undefined ? undefined : yield* hashed(change.password)
          return yield* changing(
            organizationId,
            id,
            Effect.fnUntraced(function* () {
              const found = yield* repository.get(id)
              if (found === undefined) return yield* missing(id)
              yield* allowed(actor, [found.role, change.role])
              const now = yield* Clock.currentTimeMillis
              const next: MemberRecord = {
                ...found,
                updated_at: now,
                ...(name === undefined ? {} : { name }),
                ...(change.role === undefined ? {} : { role: change.role }),
                ...(password_hash === undefined
                  ? {}
                  : { password_hash, sessions_after: Math.max(now, found.sessions_after) })
              }
              yield* repository.save(next)
              return { answer: next, role: next.role }
            })
          )
        }),
        removeMember: Effect.fn("Console.removeMember")(function* (actor, organizationId, id) {
          const known = members.get(id)
          if (known === undefined || known.organization_id !== organizationId) return yield* missing(id)
          yield* allowed(actor, [known.role])
          yield* changing(
            organizationId,
            id,
            Effect.fnUntraced(function* () {
              const found = yield* repository.get(id)
              if (found === undefined) return yield* missing(id)
              yield* allowed(actor, [found.role])
              yield* repository.remove(id)
              return { answer: undefined, role: undefined }
            })
          )
        })
      })
    })
  )
}
