/** The three models for the demo shop's product pages, created if they are missing. */
import { Effect } from "effect"
import { RecommendationModels } from "../recommendation-models/models.ts"

export interface DemoModels {
  readonly also_viewed: string
  readonly bought_together: string
  readonly similar: string
}
const wanted = [
  ["Others also looked at", "also_viewed"],
  ["Bought together", "frequently_bought_together"],
  ["Similar products", "similar"]
] as const

export const makeDemoModels = Effect.gen(function* () {
  const models = yield* RecommendationModels
  return Effect.fn("Demo.models")(function* (organizationId: string, collection: string) {
    const [also_viewed, bought_together, similar] = yield* Effect.forEach(wanted, ([name, type]) => {
      const known = models
        .list(organizationId)
        .find((model) => model.collection === collection && model.type === type && model.name === name)
      return known === undefined
        ? Effect.orDie(models.create(organizationId, { name, collection, type }))
        : Effect.succeed(known)
    })
    return {
      also_viewed: also_viewed!.id,
      bought_together: bought_together!.id,
      similar: similar!.id
    } satisfies DemoModels
  })
})
