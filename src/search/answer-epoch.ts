/**
 * The epoch of a cached answer, part of its key: answers from before something was removed (documents, a collection,
 * the target of an alias, a person) are never used again. A searching process contains the engine, or is notified of
 * every removal before that is answered; aliases arrive through `Configuration`, before their write is answered.
 */
import { Effect } from "effect"
import { resourceOf } from "../engine-plane/resources.ts"
import { Configuration } from "../configuration/configuration.ts"
import { CurrentRemovals } from "../ports/engine/engine.ts"

export const makeAnswerEpoch = Effect.gen(function* () {
  const configuration = yield* Configuration
  const removals = yield* CurrentRemovals
  const changes = new Map<string, number>()
  let all = 0
  const forget = (organizationId: string): void => {
    changes.set(organizationId, (changes.get(organizationId) ?? 0) + 1)
  }
  yield* configuration.keep("engine_resource", (subjects) =>
    Effect.sync(() => {
      if (subjects === "all") all++
      else for (const { id, organizationId } of subjects) if (resourceOf(id)[0] === "alias") forget(organizationId)
    })
  )
  return {
    /** All existing answers of the organization are outdated. */
    forget,
    /** Differs after each removal. O(1). */
    of: (organizationId: string): readonly [number, number, number] => [
      all,
      changes.get(organizationId) ?? 0,
      removals(organizationId)
    ]
  }
})
