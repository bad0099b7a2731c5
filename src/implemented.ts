/**
 * The entire API as one list: what each room implements, and the console's twins. The server, the OpenAPI documents
 * and the tests that cover every operation read it; a room that is not in `rooms.ts` does not exist.
 */
import { Effect } from "effect"
import { twinsOf } from "./console/twins.ts"
import { EngineAbsence } from "./ports/engine/engine.ts"
import { rooms } from "./rooms.ts"
import { EngineUnavailable } from "./http/errors.ts"
import type { Implemented } from "./api/implement.ts"

/**
 * Without an engine, a request for collections could only report that there are none, so it is refused. A group may
 * belong to several rooms.
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
