/** The behaviour of every adapter of `TextEmbedder`, wherever its model runs. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { type EmbedRequest, TextEmbedder } from "../../src/ports/text-embedder/text-embedder.ts"
import { cosine } from "../support/models.ts"

const lengthOf = (vector: Float32Array): number => Math.sqrt(cosine(vector, vector))
/** The least similarity of two vectors for the same text: remote servers may add numbers in another order. */
const SAME = 0.9999

/** One embedder for the whole suite, so later tests find earlier texts in its cache. */
export const textEmbedderSuite = (name: string, model: string, embedder: Layer.Layer<TextEmbedder, unknown>) =>
  layer(Layer.fresh(embedder), { excludeTestServices: true })(name, (it) => {
    const embed = (texts: ReadonlyArray<string>, more: Partial<EmbedRequest> = {}) =>
      Effect.flatMap(TextEmbedder, (port) =>
        port.embed({ model, texts, priority: "query", organizationId: "org_a", ...more })
      )
    const test = <E>(title: string, body: Effect.Effect<void, E, TextEmbedder>) => it.effect(title, () => body)

    test(
      "a vector for each text, in order, of length one",
      Effect.gen(function* () {
        const { dimensions } = (yield* TextEmbedder).models().find((each) => each.name === model)!
        const texts = ["red running shoes", "a wireless keyboard with a long battery life", "tea"]
        const { inputTokens, vectors } = yield* embed(texts)
        assert.strictEqual(vectors.length, 3)
        for (const vector of vectors) {
          assert.strictEqual(vector.length, dimensions)
          assert.approximately(lengthOf(vector), 1, 1e-4)
        }
        assert.isAtLeast(inputTokens, 10)
        // Each vector depends only on its own text, whatever else is in the same batch.
        for (const [i, text] of texts.entries())
          assert.isAbove(cosine((yield* embed([text], { organizationId: "org_b" })).vectors[0]!, vectors[i]!), SAME)
        assert.isBelow(cosine(vectors[0]!, vectors[1]!), 0.9)
      })
    )
    test(
      "equal texts have one vector, and each of them is counted",
      Effect.gen(function* () {
        const one = yield* embed(["green tea"], { organizationId: "org_c" })
        const { inputTokens, vectors } = yield* embed(["green tea", "black coffee", "green tea"])
        assert.deepStrictEqual(vectors[0], vectors[2])
        const other = yield* embed(["black coffee"], { organizationId: "org_c" })
        assert.strictEqual(inputTokens, 2 * one.inputTokens + other.inputTokens)
      })
    )
    test(
      "a text without a word is similar to nothing, and costs nothing",
      Effect.gen(function* () {
        const { inputTokens, vectors } = yield* embed(["", "  \n\t", "\0\u0007"])
        assert.strictEqual(inputTokens, 0)
        for (const vector of vectors) assert.isTrue(vector.every((value) => value === 0))
        assert.deepStrictEqual(yield* embed([]), { vectors: [], inputTokens: 0 })
        // This also holds among other texts.
        const mixed = yield* embed(["tea", " "], { priority: "document" })
        assert.approximately(lengthOf(mixed.vectors[0]!), 1, 1e-4)
        assert.strictEqual(lengthOf(mixed.vectors[1]!), 0)
      })
    )
    test(
      "unusual texts have vectors like others",
      Effect.gen(function* () {
        const { charactersMax } = (yield* TextEmbedder).models().find((each) => each.name === model)!
        const odd = [
          "word ".repeat(charactersMax / 5),
          "x".repeat(charactersMax),
          "\ud800 alone",
          "[CLS] [PAD] [SEP]",
          "漢字".repeat(500),
          "e\u0301".repeat(300),
          "𝕎𝕖𝕚𝕣𝕕 😀😀"
        ]
        const { vectors } = yield* embed(odd, { priority: "document" })
        for (const vector of vectors) assert.approximately(lengthOf(vector), 1, 1e-4)
      })
    )
    test(
      "concurrent organizations get the vectors of their own texts",
      Effect.gen(function* () {
        const textOf = (i: number) => `product number ${i} of a shop`
        const alone = yield* embed(
          Array.from({ length: 12 }, (_, i) => textOf(i)),
          { organizationId: "org_d" }
        )
        const together = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, i) => i),
          (i) => embed([textOf(i)], { organizationId: `org_${i % 3}`, priority: i % 2 === 0 ? "query" : "document" }),
          { concurrency: "unbounded" }
        )
        for (const [i, { vectors }] of together.entries()) assert.isAbove(cosine(vectors[0]!, alone.vectors[i]!), SAME)
      })
    )
    test(
      "cancelled requests do not affect others",
      Effect.gen(function* () {
        const gone = yield* Effect.forkChild(
          embed(
            Array.from({ length: 60 }, (_, i) => `a text that nobody waits for any more, number ${i}`),
            { priority: "document" }
          )
        )
        yield* Effect.yieldNow
        yield* Fiber.interrupt(gone)
        assert.strictEqual((yield* embed(["still here"])).vectors.length, 1)
      })
    )
    test(
      "a missing model is reported as not installed",
      Effect.gen(function* () {
        const error = yield* Effect.flip(embed(["tea"], { model: "nobody/nothing" }))
        assert.strictEqual(error.reason, "not_installed")
        assert.include(error.message, "nobody/nothing")
        assert.strictEqual((yield* TextEmbedder).state("nobody/nothing"), "absent")
      })
    )
  })
