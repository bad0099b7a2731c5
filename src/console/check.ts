/** The only check of the console API: who the caller is, and whether the operation is allowed. Reads only memory. */
import { Clock, Effect } from "effect"
import type { OperatorAuth } from "../identity/operator.ts"
import type { ConfigurationShape } from "../configuration/configuration.ts"
import { type ConfigurationUnavailable, OriginNotAllowed, RoleDenied, Unauthorized } from "../http/errors.ts"
import { reaches } from "../identity/roles.ts"
import type { ConsoleCaller, ConsoleRequest } from "../identity/console-caller.ts"
import { isOwnPage, sessionTokenOf } from "./cookie.ts"
import type { SessionTable } from "./session-table.ts"

export const makeCheck = (configuration: ConfigurationShape, operator: OperatorAuth["Service"], table: SessionTable) =>
  Effect.fnUntraced(function* ({
    bearer,
    headers,
    isRead,
    least,
    organizationId
  }: ConsoleRequest): Effect.fn.Return<
    ConsoleCaller,
    Unauthorized | OriginNotAllowed | RoleDenied | ConfigurationUnavailable
  > {
    if (bearer !== undefined) {
      yield* operator.check(bearer)
      return { type: "operator" }
    }
    if (!configuration.isCurrent()) yield* configuration.current
    const token = sessionTokenOf(headers.cookie)
    const found = token === undefined ? undefined : table.find(token, yield* Clock.currentTimeMillis)
    if (found === undefined)
      return yield* new Unauthorized({
        message: "Sign in, or send the operator's token.",
        reason: token === undefined ? "missing" : "rejected"
      })
    const { member, session } = found
    if (!isRead && !isOwnPage(headers))
      return yield* new OriginNotAllowed({
        message:
          "A session writes only from the console's own pages: the request's Origin is another site's, or it has none and no `X-Dowser-Console` header."
      })
    // The response is the same whether or not the other organization exists.
    if (organizationId !== undefined && organizationId !== member.organization_id)
      return yield* new RoleDenied({ message: "Your session reaches your own organization only." })
    if (!reaches(member.role, least))
      return yield* new RoleDenied({ message: `This requires the role ${least}; yours is ${member.role}.` })
    return { type: "member", member, session }
  })
