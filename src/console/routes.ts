/** Handlers of members and sessions. */
import { Effect } from "effect"
import { CurrentOrigin, systemOrigin } from "../identity/origin.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { Organizations } from "../organizations/organizations.ts"
import { NotFound, OriginNotAllowed } from "../http/errors.ts"
import { Reply } from "../http/reply.ts"
import { implement } from "../api/implement.ts"
import { Console, type ConsoleCaller, type OpenedSession } from "./console.ts"
import * as contract from "./contract.ts"
import { cookieText, isOverTls, isOwnPage } from "./cookie.ts"
import type { MemberRecord } from "../identity/console-caller.ts"
import type { Member } from "./schema.ts"

const shown = ({ created_at, email, id, name, role }: MemberRecord): Member => ({ id, email, name, role, created_at })
const shownSession = ({ member, session }: Pick<OpenedSession, "member" | "session">) => ({
  organization_id: member.organization_id,
  member: shown(member),
  expires_at: session.expires_at
})
/** Requires a session; the operator's token has none. */
const signedIn = (caller: ConsoleCaller) =>
  caller.type === "member"
    ? Effect.succeed(caller)
    : Effect.fail(new NotFound({ message: "The operator's token has no session." }))

export const routes = Effect.gen(function* () {
  const console = yield* Console
  const organizations = yield* Organizations
  const entitlements = yield* Entitlements
  const opened = (status: number, session: OpenedSession, isSecure: boolean) =>
    new Reply(status, JSON.stringify(shownSession(session)), "application/json", {
      "set-cookie": cookieText(
        session.token,
        Math.floor((session.session.expires_at - session.session.created_at) / 1000),
        isSecure
      ),
      "cache-control": "no-store"
    })
  return [
    implement(
      contract.createSession,
      Effect.fnUntraced(
        function* ({ address, headers, isEncrypted, payload }) {
          // A page elsewhere must not sign its visitor in as somebody else.
          if (headers.origin !== undefined && !isOwnPage(headers))
            return yield* new OriginNotAllowed({ message: "People sign in from the console's own pages." })
          const { email, organization_id, password } = yield* payload
          const session = yield* console.signIn({ email, password, organizationId: organization_id, address })
          return opened(201, session, isOverTls(headers, isEncrypted))
        },
        (session, { headers }) =>
          Effect.provideService(session, CurrentOrigin, {
            ...systemOrigin,
            requestId: String(headers["x-request-id"]),
            operation: contract.createSession.id
          })
      )
    ),
    implement(contract.getCurrentSession, ({ consoleCaller }) => Effect.map(signedIn(consoleCaller), shownSession)),
    implement(
      contract.deleteCurrentSession,
      Effect.fnUntraced(function* ({ consoleCaller, headers, isEncrypted }) {
        const { session } = yield* signedIn(consoleCaller)
        yield* console.signOut(session)
        return new Reply(200, JSON.stringify({ id: session.id }), "application/json", {
          "set-cookie": cookieText("", 0, isOverTls(headers, isEncrypted))
        })
      })
    ),
    implement(
      contract.changeOwnPassword,
      Effect.fnUntraced(function* ({ address, consoleCaller, headers, isEncrypted, payload }) {
        const { member } = yield* signedIn(consoleCaller)
        const { current_password, new_password } = yield* payload
        return opened(
          200,
          yield* console.changePassword(member, { current: current_password, next: new_password, address }),
          isOverTls(headers, isEncrypted)
        )
      })
    ),
    implement(contract.listMembers, ({ params }) =>
      Effect.map(organizations.get(params.organizationId), ({ id }) => ({ data: console.members(id).map(shown) }))
    ),
    implement(
      contract.createMember,
      Effect.fnUntraced(function* ({ consoleCaller, params, payload }) {
        const { id } = yield* organizations.get(params.organizationId)
        const { email, name = "", password, role } = yield* payload
        const { initialPassword, member } = yield* console.addMember(
          consoleCaller,
          id,
          { email, name, role, password },
          entitlements.cap(id, "members")
        )
        return { ...shown(member), ...(initialPassword === undefined ? {} : { initial_password: initialPassword }) }
      })
    ),
    implement(
      contract.updateMember,
      Effect.fnUntraced(function* ({ consoleCaller, params, payload }) {
        const { id } = yield* organizations.get(params.organizationId)
        return shown(yield* console.changeMember(consoleCaller, id, params.memberId, yield* payload))
      })
    ),
    implement(
      contract.deleteMember,
      Effect.fnUntraced(function* ({ consoleCaller, params }) {
        const { id } = yield* organizations.get(params.organizationId)
        yield* console.removeMember(consoleCaller, id, params.memberId)
        return { id: params.memberId }
      })
    )
  ]
})
