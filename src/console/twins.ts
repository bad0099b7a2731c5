/**
 * Operations of the tenant API that the console also offers: the same handlers, for the operator or a member's
 * session under `/console/v1/organizations/{id}`, if their room declares a role for them.
 */
import { Effect } from "effect"
import { ownerOf } from "../identity/owner.ts"
import { Organizations } from "../organizations/organizations.ts"
import type { Operation } from "../http/operation.ts"
import type { Implemented } from "../api/implement.ts"
import type { Role } from "../identity/roles.ts"
import { sampleIds } from "../api/sample-ids.ts"

const PREFIX = "/v1/"
export const isTwinned = ({ path, scope }: Operation): boolean => scope !== "console" && path.startsWith(PREFIX)
export const twinId = (id: string): string => `console${id[0]!.toUpperCase()}${id.slice(1)}`

/** The same operation for the console; its description names the original, and its example includes an organization. */
export const twinOf = (operation: Operation): Operation => ({
  ...operation,
  id: twinId(operation.id),
  group: `console: ${operation.group}`,
  scope: "console",
  description: `Does what \`${operation.id}\` does, for the organization in the path and without a key. ${operation.description}`,
  example: { ...operation.example, params: { organizationId: sampleIds.organization, ...operation.example.params } },
  path: `/console/v1/organizations/:organizationId/${operation.path.slice(PREFIX.length)}`
})

/** Twins of the operations in `roles`. */
export const twinsOf = (implemented: ReadonlyArray<Implemented>, roles: ReadonlyMap<string, Role>) =>
  Effect.map(Organizations, (organizations): ReadonlyArray<Implemented> =>
    implemented
      .filter(({ operation }) => isTwinned(operation) && roles.has(operation.id))
      .map(({ handler, operation }) => ({
        operation: twinOf(operation),
        role: roles.get(operation.id)!,
        handler: (input) => {
          const { organizationId } = input.params as { readonly organizationId: string }
          const caller = ownerOf(organizationId)
          return Effect.andThen(
            organizations.get(organizationId),
            handler({ ...input, caller, again: Effect.succeed(caller) })
          )
        }
      }))
  )
