/**
 * The embedded model by the port's suite, in both ways to run it, and its vectors compared with those of the trained
 * model.
 */
import { createHash } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { readPinned } from "../../src/models/install/pinned.ts"
import { layerMiniLm } from "../../src/ports/text-embedder/minilm/model.ts"
import type { InferenceEngine } from "../../src/ports/text-embedder/inference/engine.ts"
import { openNative, openPortable } from "../../src/ports/text-embedder/minilm/engines.ts"
import { HIDDEN, TOKENS_MAX, writeMiniLm } from "../../src/ports/text-embedder/minilm/graph.ts"
import { LAYOUT, MODEL_NAME, requireFrom } from "../../src/ports/text-embedder/minilm/layout.ts"
import { Safetensors } from "../../src/ports/text-embedder/minilm/safetensors.ts"
import { loadTokens } from "../../src/ports/text-embedder/minilm/tokens.ts"
import { cosine, installedModels } from "../support/models.ts"
import { textEmbedderSuite } from "./text-embedder.suite.ts"

const texts = [
  "wireless headphones",
  "red running shoes for women, size 38",
  "The quick brown fox jumps over the lazy dog.",
  "Über naïve café: 50 % off!",
  "a",
  "stainless steel kitchen knife set with wooden block",
  "What is the boundary layer of a flat plate in supersonic flow?",
  "usb-c to hdmi adapter 4k@60hz",
  "Le petit chat dort sur le canapé",
  "noise cancelling over-ear headphones with a battery that lasts forty hours and a case to carry them in ".repeat(4)
]

const { folder, missing } = await installedModels()
if (missing !== undefined) it("the embedded text embedder", (context) => context.skip(missing))
else {
  const installed = () => ({ state: "installed", folder }) as const
  textEmbedderSuite("native", MODEL_NAME, layerMiniLm({ installed }))
  textEmbedderSuite("portable", MODEL_NAME, layerMiniLm({ installed, isPortable: true }))

  describe("the graph that is built from the weights", () => {
    const temporary = mkdtempSync(join(tmpdir(), "dowser-graph-"))
    afterAll(() => rmSync(temporary, { recursive: true, force: true }))
    const write = (precision: "full" | "small"): string => {
      const weights = new Safetensors(join(folder, LAYOUT.weights))
      const file = join(temporary, `${precision}.onnx`)
      writeFileSync(file, Buffer.concat(writeMiniLm(weights, precision)))
      weights.close()
      return file
    }
    const tokens = loadTokens(folder)
    const vectorsOf = async (engine: InferenceEngine): Promise<ReadonlyArray<Float32Array>> => {
      const vectors: Array<Float32Array> = []
      for (const text of texts) vectors.push((await engine.run({ texts: [text], tokens: [tokens(text)] })).slice())
      return vectors
    }
    const least = (some: ReadonlyArray<Float32Array>, others: ReadonlyArray<Float32Array>): number =>
      Math.min(...some.map((vector, i) => cosine(vector, others[i]!)))

    it("computes what the trained model does, and nearly so with quantized weights", async () => {
      const trained = await vectorsOf(openPortable(folder))
      const full = await openNative(folder, write("full"))
      expect(least(await vectorsOf(full), trained)).toBeGreaterThan(0.9999)
      await full.close()
      const small = await openNative(folder)
      const quantized = await vectorsOf(small)
      expect(least(quantized, trained)).toBeGreaterThan(0.99)
      // The first numbers of the first text's vector, as the trained model computes them.
      for (const [i, value] of [-0.07081, 0.04193, -0.0327, -0.01808].entries())
        expect(trained[0]![i]).toBeCloseTo(value, 4)
      // A text's vector does not depend on the others in the batch, shorter or longer.
      const all = await small.run({ texts, tokens: texts.map(tokens) })
      for (const [i, vector] of quantized.entries())
        expect(cosine(all.subarray(i * HIDDEN, (i + 1) * HIDDEN), vector)).toBeGreaterThan(0.99999)
      await small.close()
    })
    it("is identical to the byte wherever it is written", () => {
      const hash = createHash("sha256")
      const weights = new Safetensors(join(folder, LAYOUT.weights))
      for (const piece of writeMiniLm(weights, "small")) hash.update(piece)
      weights.close()
      expect(hash.digest("hex")).toBe(readPinned().graph?.sha256)
    })
  })

  describe("tokens", () => {
    const tokens = loadTokens(folder)
    it("are those of the whole text, cut where the model stops reading", () => {
      const { Tokenizer } = requireFrom(folder)(join(folder, LAYOUT.tokenizers))
      const whole = new Tokenizer(requireFrom(folder)(join(folder, LAYOUT.tokenizer)), {})
      const sentence = "Noise-cancelling headphones (over-ear), 40 h of battery; a case & café-proof! "
      for (const text of [
        sentence,
        sentence.repeat(20),
        `${"x".repeat(700)} ${sentence.repeat(9)}`,
        sentence.repeat(100)
      ]) {
        const ids: ReadonlyArray<number> = whole.encode(text).ids
        const own = tokens(text)
        expect(own.length).toBe(Math.min(ids.length, TOKENS_MAX))
        expect(own.slice(0, -1)).toEqual(ids.slice(0, own.length - 1))
        expect(own.at(-1)).toBe(102)
      }
      expect([tokens(""), tokens(" \0")]).toEqual([[], []])
    })
    it("of meaningless letters take some milliseconds, not half a second", () => {
      const letters = (seed: number) =>
        Array.from({ length: 99 }, (_, i) => String.fromCharCode(97 + ((seed * 7 + i * i * 3) % 26))).join("")
      const hostile = Array.from({ length: 80 }, (_, i) => letters(i)).join(" ")
      tokens(hostile)
      const before = process.cpuUsage()
      tokens(hostile)
      const { system, user } = process.cpuUsage(before)
      expect((user + system) / 1_000).toBeLessThan(150)
    })
  })
}
