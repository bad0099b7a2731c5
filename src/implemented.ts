/**
 * The whole API as one list: what each room implements, and the console's twins of it. The server, the OpenAPI
 * documents and the tests that walk every operation read it; a room that is not in `rooms.ts` does not exist.
 */
import { Effect } from "effect"
import { twinsOf } from "./console/twins.ts"
import { EngineAbsence } from "./ports/engine/engine.ts"
import { rooms } from "./rooms.ts"
import { EngineUnavailable } from "./http/errors.ts"
import type { Implemented } from "./api/implement.ts"

/**
 * Asked for its collections, an engine that is not there could only say that there are none. A group may be of several
 * rooms.
 */
const withEngine = (
  absence: () => string | undefined,
  implemented: ReadonlyArray<Implemented>
): ReadonlyArray<Implemented> => {
  const groups = new Set(rooms.all.flatMap(({ engineGroups = [] }) => engineGroups))
  return implemented.map(({ handler, operation }) => ({
    operation,
    handler: groups.has(operation.group)
      ? (...given) => {
          const message = absence()
          return message === undefined ? handler(...given) : Effect.fail(new EngineUnavailable({ message }))
        }
      : handler
  }))
}

export const implementedOperations = Effect.gen(function* () {
  const roles = rooms.table("roles")
  const all = withEngine(yield* EngineAbsence, yield* rooms.routes)
  return [
    ...all.map((each) => (each.operation.scope === "console" ? { ...each, role: roles.get(each.operation.id) } : each)),
    ...(yield* twinsOf(all, roles))
  ]
})
