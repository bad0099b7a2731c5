/** How long an empty search waits for recommendations: a moment, and at most once a second if nobody answers. */
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import { CatalogResources } from "../../../src/engine-plane/resources.ts"
import { Entitlements } from "../../../src/metering/entitlements.ts"
import { plans } from "../../../src/metering/plans.ts"
import { Engine } from "../../../src/ports/engine/engine.ts"
import { FallbackModels } from "../../../src/recommendation-models/fallback-models.ts"
import type { Ask } from "../../../src/recommendation-models/live/messages.ts"
import { RecommendModels } from "../../../src/recommendation-models/live/recommend-models.ts"
import { RecommendationModels } from "../../../src/recommendation-models/models.ts"

const models = new Map([
  ["org_a/rec_1", { id: "rec_1", organization_id: "org_a", collection: "goods", type: "also_viewed", params: {} }],
  ["org_b/rec_1", { id: "rec_1", organization_id: "org_b", collection: "spare", type: "popular", params: {} }]
])
/** Everything around the model, and the requests that reached its state, each with its time limit. */
const surroundings = (answers: { ids: ReadonlyArray<string> | undefined }) => {
  const asked: Array<readonly [ask: Ask, within_ms: number | undefined]> = []
  const nothing = {
    engine: { describeCollection: (_: string, name: string) => ({ schema: { name, fields: [] }, created_at: 1 }) },
    resources: { get: () => undefined, list: () => [] },
    entitlements: { of: () => ({ plan: plans.free }) },
    models: { find: (organizationId: string, id: string) => models.get(`${organizationId}/${id}`) },
    state: {
      ask: (ask: Ask, within_ms?: number) =>
        Effect.sync(() => {
          asked.push([ask, within_ms])
          const candidates = answers.ids?.map((id) => ({ id, kind: "popular", score: 1 }))
          return candidates === undefined ? undefined : { candidates, isStale: false }
        })
    }
  }
  const layer = Layer.provide(
    FallbackModels.layer,
    Layer.mergeAll(
      Layer.succeed(Engine, nothing.engine as never),
      Layer.succeed(CatalogResources, nothing.resources as never),
      Layer.succeed(Entitlements, nothing.entitlements as never),
      Layer.succeed(RecommendationModels, nothing.models as never),
      Layer.succeed(RecommendModels, nothing.state as never)
    )
  )
  return { asked, layer }
}
const run = <A, E>(effect: Effect.Effect<A, E, FallbackModels>, layer: Layer.Layer<FallbackModels>) =>
  Effect.runPromise(Effect.provide(effect, Layer.provideMerge(layer, TestClock.layer())))
const question = { collection: "goods", model: "rec_1", visitor: { session: "s", person: "ann" }, limit: 2 }
const recommended = (organizationId: string, more: object = {}) =>
  Effect.flatMap(FallbackModels, (fallbacks) =>
    Effect.promise(() => fallbacks.recommended(organizationId, { ...question, ...more }))
  )

describe("the model behind an empty search", () => {
  it("is called for the visitor, without seeds, for 25 ms", async () => {
    const { asked, layer } = surroundings({ ids: ["a", "b", "c"] })
    expect(await run(recommended("org_a"), layer)).toEqual(["a", "b"])
    expect(asked).toMatchObject([
      [
        {
          organizationId: "org_a",
          seeds: [],
          visitor: "s",
          person: "ann",
          most: 2,
          collections: ["goods"],
          since: 1_000
        },
        25
      ]
    ])
  })
  it("is not called if it is unknown, of another organization, or of another collection", async () => {
    const { asked, layer } = surroundings({ ids: ["a"] })
    const all = Effect.all([
      recommended("org_a", { model: "rec_2" }),
      recommended("org_c"),
      recommended("org_b"),
      recommended("org_a", { collection: "spare" })
    ])
    expect(await run(all, layer)).toEqual([[], [], [], []])
    expect(asked).toEqual([])
    const why = Effect.map(FallbackModels, ({ refusal }) => [
      refusal("org_a", "goods", "rec_1"),
      refusal("org_a", "spare", "rec_1"),
      refusal("org_c", "goods", "rec_1")
    ])
    expect(await run(why, layer)).toEqual([
      undefined,
      "the model is of the collection `goods`",
      "there is no such recommendation model"
    ])
  })
  it("gets no calls from anybody for a second once it did not answer", async () => {
    const answers: { ids: ReadonlyArray<string> | undefined } = { ids: undefined }
    const { asked, layer } = surroundings(answers)
    const story = Effect.gen(function* () {
      expect(yield* recommended("org_a")).toEqual([])
      answers.ids = ["a"]
      yield* TestClock.adjust("999 millis")
      expect(yield* recommended("org_a")).toEqual([])
      expect(asked).toHaveLength(1)
      yield* TestClock.adjust("1 millis")
      expect(yield* recommended("org_a")).toEqual(["a"])
      expect(asked).toHaveLength(2)
    })
    await run(story, layer)
  })
})
