/**
 * Past turns in a real engine, by a set clock: turns older than a model's `ttl` are not read, and are deleted later.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { Clock, Effect, Layer } from "effect"
import { openEngine, type SearchEngine } from "../../../engine-sdk/src/mod.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { createCollection, memoryResources } from "@dowser/engine-sdk/operations"
import { makeHistory } from "../../../src/conversations/history.ts"
import { CatalogResources } from "../../../src/engine-plane/resources.ts"
import type { LanguageModel } from "../../../src/language-models/model.ts"
import { Engine } from "../../../src/ports/engine/engine.ts"
import { makeSetClock } from "../../support/clock.ts"
import { layerUnlimited } from "../../support/entitlements.ts"
import { talkFields } from "../../support/talks.ts"

const folder = mkdtempSync(join(tmpdir(), "dowser-history-"))
afterAll(() => rmSync(folder, { recursive: true }))

const START = Date.UTC(2026, 10, 27)
const modelOf = (id: string, ttl: number): LanguageModel => ({
  id,
  provider: "dowser",
  name: "extractive",
  fields: { history_collection: "talks", max_bytes: 1_000, ttl },
  secrets: new Map()
})
const messages = (text: string, at_s: number) => [
  { role: "user" as const, text: `${text}?`, at_s },
  { role: "assistant" as const, text: `${text}.`, at_s }
]

const withHistory = (
  work: (parts: {
    readonly history: Effect.Success<typeof makeHistory>
    readonly engine: SearchEngine
    readonly forward: (ms: number) => void
    readonly now_s: () => number
  }) => Effect.Effect<void, unknown>
) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const engine = yield* Effect.acquireRelease(
          Effect.promise(() => openEngine({ path: mkdtempSync(join(folder, "engine-")) })),
          (open) => Effect.promise(() => open.close())
        )
        const { clock, forward, now } = yield* makeSetClock(START)
        const resources = memoryResources()
        for (const namespace of ["org_a", "org_b"])
          yield* Effect.promise(() =>
            createCollection(
              { engine, resources, namespace, now_s: 0, limits: {} } as never,
              JSON.stringify({ name: "talks", fields: talkFields })
            )
          )
        const services = Layer.mergeAll(
          Layer.succeed(Engine, engine as never),
          Layer.succeed(CatalogResources, { ...resources, on: () => resources, organizations: () => [] } as never),
          layerUnlimited,
          Identifiers.layer,
          Layer.succeed(Clock.Clock, clock)
        )
        const history = yield* Effect.provide(makeHistory, services)
        yield* Effect.provide(work({ history, engine, forward, now_s: () => Math.floor(now() / 1_000) }), services)
      })
    )
  )

it("is read in order, for its conversation and its organization only", () =>
  withHistory(({ forward, history, now_s }) =>
    Effect.gen(function* () {
      const model = modelOf("mine", 3_600)
      for (const text of ["one", "two", "three"]) {
        yield* history.append("org_a", model, "cnv_1", messages(text, now_s()))
        // Several turns within one second keep their order by their ids.
        forward(100)
      }
      yield* history.append("org_a", model, "cnv_2", messages("other", now_s()))
      yield* history.append("org_b", model, "cnv_1", messages("foreign", now_s()))
      const said = yield* history.read("org_a", model, "cnv_1")
      expect(said.map(({ text }) => text)).toEqual(["one?", "one.", "two?", "two.", "three?", "three."])
      expect((yield* history.read("org_b", model, "cnv_1")).map(({ text }) => text)).toEqual(["foreign?", "foreign."])
    })
  ))

it("expires with its model's ttl, and is then removed from its collection", () =>
  withHistory(({ engine, forward, history, now_s }) =>
    Effect.gen(function* () {
      const short = modelOf("short", 60),
        long = modelOf("long", 3_600)
      for (const organization of ["org_a", "org_b"]) {
        yield* history.append(organization, short, "cnv_1", messages("short", now_s()))
        yield* history.append(organization, long, "cnv_2", messages("long", now_s()))
      }
      const documents = (organization: string) => engine.usage(organization, "talks")?.documents
      forward(60_000)
      expect(yield* history.read("org_a", short, "cnv_1")).toHaveLength(2)
      yield* history.expire("org_a", short)
      expect(documents("org_a")).toBe(4)
      forward(1_000)
      expect(yield* history.read("org_a", short, "cnv_1")).toEqual([])
      expect(documents("org_a")).toBe(4)
      yield* history.expire("org_a", short)
      expect([documents("org_a"), documents("org_b")]).toEqual([2, 4])
      expect(yield* history.read("org_a", long, "cnv_2")).toHaveLength(2)
    })
  ))

it("needs a collection with its fields", () =>
  withHistory(({ engine, history }) =>
    Effect.gen(function* () {
      expect(history.problem("org_a", "talks")).toBeUndefined()
      expect(history.problem("org_a", "nowhere")).toBe("Collection not found")
      yield* Effect.promise(() => engine.dropCollection("org_a", "talks"))
      const gone = yield* Effect.flip(history.append("org_a", modelOf("mine", 60), "cnv_1", messages("x", 0)))
      expect(gone).toBe("The history cannot be reached: Collection not found")
    })
  ))
