/** Models that are trained on a collection: their training texts, what they know, and their size. */
import { describe, expect, it } from "vitest"
import { featuresOf } from "../../../src/ports/text-embedder/lsa/features.ts"
import { encodeModel, hashOf, LsaModel } from "../../../src/ports/text-embedder/lsa/model.ts"
import { LsaTraining } from "../../../src/embedding/lsa/training.ts"
import type { EmbeddingModel } from "../../../src/ports/text-embedder/text-embedder.ts"
import { firstChoice, nextChoice } from "../../../src/semantic-search/choice.ts"
import { mostFrequent } from "../../../src/semantic-search/collection-language.ts"

const trainedOn = (texts: ReadonlyArray<string>) => {
  const training = new LsaTraining()
  for (const text of texts) training.add(text)
  return training.trained()
}
const modelOf = (texts: ReadonlyArray<string>) => new LsaModel(encodeModel(trainedOn(texts)))
const cosine = (model: LsaModel, a: string, b: string) => {
  const [x, y] = [model.embed(a).vector, model.embed(b).vector]
  return x.reduce((sum, value, k) => sum + value * y[k]!, 0)
}
/** A distinct word, made of the letters of a number. */
const wordOf = (n: number): string => ((n * 104_729 + 1_679_616) % 60_466_176).toString(36)
/** A text of one of forty kinds: some of twelve words of its kind, and one of two names that never occur together. */
const textOf = (i: number): string => {
  const kind = i % 40
  const name = wordOf(5_000 + 2 * kind + (Math.floor(i / 40) % 2))
  return [name, ...[0, 1, 2, 3, 4, 5].map((k) => wordOf(12 * kind + ((Math.floor(i / 40) * 7 + k * 5) % 12)))].join(" ")
}
const texts = Array.from({ length: 2_000 }, (_, i) => textOf(i))
const nameOf = (kind: number, which: 0 | 1): string => wordOf(5_000 + 2 * kind + which)

describe("features", () => {
  it("are four consecutive characters, short words whole, and single characters in scripts without spaces", () => {
    expect(featuresOf("Öl-Lampe")).toEqual(["_ol_", "_lam", "lamp", "ampe", "mpe_"])
    expect(featuresOf("tea")).toEqual(["_tea_"])
    expect(featuresOf("台灯")).toEqual(["台", "台灯", "灯"])
    expect(featuresOf(" ,.! ")).toEqual([])
    expect(featuresOf("x".repeat(100_000)).length).toBeLessThan(45)
  })
})

describe("a trained model", () => {
  it("relates words that occur beside the same words, and has the same bytes for the same texts", () => {
    const model = modelOf(texts)
    for (const kind of [0, 7, 39]) {
      expect(cosine(model, nameOf(kind, 0), nameOf(kind, 1))).toBeGreaterThan(0.8)
      expect(cosine(model, nameOf(kind, 0), nameOf((kind + 1) % 40, 0))).toBeLessThan(0.4)
    }
    expect(Math.hypot(...model.embed(texts[1]!).vector)).toBeCloseTo(1, 5)
    expect(hashOf(encodeModel(trainedOn(texts)))).toBe(hashOf(encodeModel(trainedOn(texts))))
    expect(hashOf(encodeModel(trainedOn(texts)))).not.toBe(hashOf(encodeModel(trainedOn(texts.slice(1)))))
  })
  it("knows nothing that it never read, and can be trained on few texts, or none", () => {
    const model = modelOf(texts)
    expect(model.embed("диван")).toEqual({ vector: new Float32Array(64), known: 0 })
    expect(model.embed("").known).toBe(0)
    expect(modelOf([]).embed(texts[0]!).known).toBe(0)
    expect(modelOf(["", "", ""]).documents).toBe(3)
    const one = modelOf(["a blue lamp"])
    expect(cosine(one, "lamp", "a blue lamp")).toBeGreaterThan(0.9)
  })
  it("takes no more memory than declared, for hostile texts too", () => {
    const hostile = Array.from({ length: 300 }, (_, i) =>
      Array.from({ length: 3_000 }, (_, w) => ((i * 7_919 + w * 104_729) % 1_679_616).toString(36)).join(" ")
    )
    const trained = trainedOn(hostile)
    expect(trained.features.length).toBeLessThanOrEqual(20_000)
    expect(encodeModel(trained).length).toBeLessThan(2_000_000)
  })
  it("splits no character, which would give other features when it is stored", () => {
    const adlam = ["𞤀𞤣𞤤𞤢𞤥", "𞤀𞤣𞤤𞤢𞤲", "𞤆𞤵𞤤𞤢𞤪"]
    expect(featuresOf("𞤀𞤣𞤤𞤢𞤥").every((feature) => feature.isWellFormed())).toBe(true)
    const model = modelOf(Array.from({ length: 60 }, (_, i) => `${adlam[i % 3]} ${textOf(i % 3)}`))
    for (const [i, word] of adlam.entries()) {
      const [own, next] = [0, 1].map((step) => cosine(model, word, nameOf((i + step) % 3, 0)))
      expect(own).toBeGreaterThan(next!)
    }
  })
  it("is not loaded from damaged bytes", () => {
    const bytes = encodeModel(trainedOn(texts))
    expect(() => new LsaModel(bytes.slice(0, -1))).toThrow()
    expect(() => new LsaModel(Buffer.from("no model"))).toThrow()
  })
})

describe("the model of a collection whose organization names none", () => {
  const model = { languages: ["en"] } as unknown as EmbeddingModel
  it("is the installed one if that covers the language, or is about to be available", () => {
    const first = (state: "ready" | "installing" | "absent", language?: string) =>
      firstChoice({ model, state }, language)
    expect([first("ready", "en"), first("ready"), first("installing", "en"), first("installing")]).toEqual(
      Array(4).fill("installed")
    )
    expect([first("ready", "de"), first("installing", "de"), first("absent", "en"), first("absent")]).toEqual(
      Array(4).fill("trained")
    )
    expect(firstChoice({ model: { ...model, languages: [] }, state: "ready" }, "de")).toBe("installed")
  })
  it("stays the trained one until the other is available", () => {
    const next = (state: "ready" | "installing" | "absent", language?: string) => nextChoice({ model, state }, language)
    expect([next("ready", "en"), next("ready")]).toEqual(["installed", "installed"])
    expect([next("installing", "en"), next("absent", "en"), next("ready", "de")]).toEqual(Array(3).fill("trained"))
  })
})

describe("the language of a collection", () => {
  it("is the one of most documents, if enough of them show it", () => {
    expect(mostFrequent(["de", "de", "de", "en", "de", undefined])).toBe("de")
    expect(mostFrequent(["de", "de", "de", "de", undefined])).toBeUndefined()
    expect(mostFrequent(["de", "de", "de", "en", "en", "fr"])).toBeUndefined()
    expect(mostFrequent([])).toBeUndefined()
  })
})
