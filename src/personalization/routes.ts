/** Handlers of personalization. */
import { Effect } from "effect"
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { implement } from "../api/implement.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesCollection } from "../identity/reach.ts"
import { type ShownAffinity, tasteFieldsOf, strongest } from "./affinities.ts"
import * as contract from "./contract.ts"
import { Histories } from "./histories.ts"
import { Personalization } from "./personalized.ts"

const SHOWN_MAX = 100
/** The values of a field are hidden from a key that may not see the field. */
const isSeen = (fields: ReadonlyArray<string>, field: string): boolean => fields.length === 0 || fields.includes(field)

export const routes = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const histories = yield* Histories
  const { tastes } = yield* Personalization
  return [
    implement(
      contract.getPersonalizationProfile,
      Effect.fnUntraced(function* ({ caller, params: { userId } }) {
        const context = contextOf(caller.organizationId)
        const all = yield* histories.ofUser(caller.organizationId, userId)
        const reached = all.filter(({ collection }) => reachesCollection(caller, collection))
        const affinities: Array<ShownAffinity> = []
        for (const { collection: name, takes } of reached) {
          const collection = resolveCollection(context, name)
          if (collection === undefined) continue
          const fields = tasteFieldsOf(collection, (field) => isSeen(caller.key.fields, field))
          const found = yield* Effect.promise(() => tastes.affinities(context, collection, fields, takes))
          affinities.push(...strongest(found, SHOWN_MAX))
        }
        const takes = reached.flatMap((one) => one.takes).sort((a, b) => b.at_s - a.at_s)
        return {
          user_id: userId,
          events: takes.length,
          updated_at: takes[0] === undefined ? null : takes[0].at_s * 1_000,
          affinities: affinities.sort((a, b) => b.weight - a.weight).slice(0, SHOWN_MAX),
          recent: [...new Set(takes.map(({ document }) => document))].slice(0, SHOWN_MAX)
        }
      })
    )
  ]
})
