/** When a collection's model is trained, and how searches are answered meanwhile, by a set clock. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { CollectionInfo } from "@dowser/engine-sdk"
import type { EmbeddingField } from "@dowser/engine-sdk/embedding"
import { suiteField, suiteSchema } from "../../../engine-sdk/src/testing/engine-suite.ts"
import { EmbeddingFills, type Training } from "../../../src/embedding/fills.ts"
import type { Job } from "../../../src/jobs/schema.ts"
import { hasGrown, makeTrainedField } from "../../../src/semantic-search/trained-field.ts"

/** The newest job of the single collection, and the jobs that were requested. */
const makeJobs = () => {
  const asked: Array<Training | "filled"> = []
  const jobs: { newest: Job | undefined } = { newest: undefined }
  const begun = (what: Training | "filled") =>
    Effect.sync(() => {
      asked.push(what)
      const config = { collection: "waren", again: true, ...(what === "filled" ? {} : { training: what }) }
      jobs.newest = {
        id: `job_${asked.length}`,
        type: "embedding",
        status: "queued",
        progress: 0,
        config,
        created_at: 0,
        updated_at: 0
      }
      return jobs.newest
    })
  const end = (status: "ready" | "failed", now: number) => {
    jobs.newest = { ...jobs.newest!, status, finished_at: now, ...(status === "failed" ? { error: "it broke" } : {}) }
  }
  const fills = EmbeddingFills.of({
    newest: () => Effect.sync(() => jobs.newest),
    start: () => begun("filled"),
    train: (_organizationId, _collection, training) => begun(training)
  })
  return { asked, end, fills }
}
const schema = () => suiteSchema("waren", [suiteField("title", "string")])
const collection = (num_documents: number, of = schema()) => ({ num_documents, schema: of }) as CollectionInfo
const fieldOf = (pin: string, documents: number) =>
  ({ model: { model_name: "dowser/lsa", documents, language: "de" }, pin }) as unknown as EmbeddingField
const reasonOf = (effect: Effect.Effect<unknown, { readonly _tag: string }>) =>
  Effect.match(effect, { onFailure: ({ _tag }) => _tag, onSuccess: () => "answered" })

it("a tenth more or fewer documents count as another collection", () => {
  expect([hasGrown(100, 110), hasGrown(100, 111), hasGrown(100, 90), hasGrown(100, 89)]).toEqual([
    false,
    true,
    false,
    true
  ])
  expect([hasGrown(0, 0), hasGrown(0, 1), hasGrown(undefined, 5)]).toEqual([false, true, true])
})

it.effect("the first model is trained once, and again a minute after a failure", () =>
  Effect.gen(function* () {
    const { asked, end, fills } = makeJobs()
    const of = yield* Effect.provideService(makeTrainedField, EmbeddingFills, fills)
    const first = reasonOf(of("org_a", collection(50), undefined, "de"))
    expect([yield* first, yield* first]).toEqual(["VectorsNotReady", "VectorsNotReady"])
    expect(asked).toEqual([{ language: "de", instead_of: undefined }])
    end("failed", 0)
    yield* TestClock.adjust("59 seconds")
    expect(yield* first).toBe("ModelFailed")
    yield* TestClock.adjust("1 second")
    expect(yield* first).toBe("VectorsNotReady")
    expect(asked).toHaveLength(2)
  })
)

it.effect(
  "a grown collection trains anew, answers with the old model until then, and by words until all vectors are filled",
  () =>
    Effect.gen(function* () {
      const { asked, end, fills } = makeJobs()
      const of = yield* Effect.provideService(makeTrainedField, EmbeddingFills, fills)
      const before = fieldOf("old", 1_000)
      const known = schema()
      const filled = (documents: number, field = before, its = known) =>
        Effect.map(of("org_a", collection(documents, its), field), ({ isFilled }) => isFilled)
      yield* of("org_a", collection(0), undefined).pipe(Effect.ignore)
      end("ready", 0)
      asked.length = 0
      // At least 10 s, plus 10 ms for each document, between two trainings.
      yield* TestClock.adjust("20 seconds")
      expect([yield* filled(1_100), asked]).toEqual([true, []])
      expect([yield* filled(1_101), asked]).toEqual([true, []])
      yield* TestClock.adjust("6 seconds")
      expect([yield* filled(1_101), asked]).toEqual([true, [{ language: "de", instead_of: "old" }]])
      yield* TestClock.adjust("1 hour")
      expect([yield* filled(1_200), asked.length]).toEqual([true, 1])
      const after = fieldOf("new", 1_200),
        altered = schema()
      expect(yield* filled(1_200, after, altered)).toBe(false)
      end("failed", yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis))
      expect(yield* reasonOf(filled(1_200, after, altered))).toBe("ModelFailed")
      yield* TestClock.adjust("1 minute")
      expect(yield* reasonOf(filled(1_200, after, altered))).toBe("VectorsNotReady")
      expect(asked.at(-1)).toBe("filled")
      end("ready", 0)
      expect(yield* filled(1_200, after, altered)).toBe(true)
    })
)
