/** Rerank: partial results, fallbacks, learning from clicks, and a model behind HTTP. */
import { describe, expect, it } from "vitest"
import { runStages, type Candidate, type StageRun } from "../src/pipeline/mod.ts"
import {
  crossEncoder,
  featuresOf,
  linearReranker,
  noneReranker,
  rerankStage,
  trainLinear,
  untrainedModel,
  type CrossEncoderOptions,
  type Reranker
} from "../src/rerank/mod.ts"
import { emptyRuleSet, type RerankSettings } from "../src/rules/mod.ts"
import { randomOf } from "./random.ts"

const candidatesOf = (titles: ReadonlyArray<string>, prices: ReadonlyArray<number> = []): ReadonlyArray<Candidate> =>
  titles.map((title, rank) => ({
    id: String(rank),
    rank,
    hit: { document: { id: String(rank) }, highlight: {} },
    value: (field) => (field === "title" ? title : prices[rank])
  }))
const settings = (more: Partial<RerankSettings> = {}): RerankSettings => ({
  ...emptyRuleSet.rerank,
  enabled: true,
  fields: ["title"],
  ...more
})
const rerank = async (
  candidates: ReadonlyArray<Candidate>,
  more: Partial<RerankSettings>,
  model: Reranker | undefined,
  q = "red lamp"
): Promise<StageRun> =>
  runStages(candidates, [rerankStage(settings(more), model)], {
    request: { q, words: q.split(" "), firstPage: 10 },
    now_us: () => performance.now() * 1_000,
    explain: true
  })
const order = (run: StageRun): string => run.candidates.map(({ id }) => id).join("")
const scoring = (scores: ReadonlyArray<number>): Reranker => ({
  name: "given",
  score: (input) => {
    scores.forEach((score, i) => {
      input.scores[i] = score
    })
  }
})

describe("rerank", () => {
  const four = candidatesOf(["a", "b", "c", "d"])
  it("orders the first top_k by score and leaves the rest", async () => {
    const run = await rerank(four, { top_k: 3 }, scoring([1, 3, 2]))
    expect(order(run)).toBe("1203")
    expect(run.scores.get("1")).toEqual({ rerank: 3 })
    expect(run.stages[0].moved).toEqual([
      { id: "1", from: 1, to: 0, why: "score 3.0000" },
      { id: "2", from: 2, to: 1, why: "score 2.0000" },
      { id: "0", from: 0, to: 2, why: "score 1.0000" }
    ])
  })
  it("keeps equal scores in order, and changes nothing without scores", async () => {
    expect(order(await rerank(four, {}, scoring([1, 1, 1, 1])))).toBe("0123")
    expect(order(await rerank(four, {}, noneReranker))).toBe("0123")
  })
  it("does nothing with fewer hits than min_hits", async () => {
    expect((await rerank(four, { min_hits: 5 }, scoring([1, 2, 3, 4]))).stages[0]).toMatchObject({
      outcome: "skipped",
      note: "4 hits, fewer than min_hits"
    })
  })
  it("moves only what was scored in time", async () => {
    const slow: Reranker = {
      name: "slow",
      score: ({ scores }) => {
        scores[1] = 1
        scores[3] = 2
        return new Promise(() => {})
      }
    }
    const run = await rerank(four, { timeout_ms: 5 }, slow)
    expect(order(run)).toBe("0321")
    expect(run.stages[0]).toMatchObject({ outcome: "applied", note: "2 of 4 were scored in time" })
  })
  it("falls back when nothing was scored in time, when the model fails, and when there is none", async () => {
    const dead: Reranker = { name: "dead", score: () => new Promise(() => {}) }
    const late = await rerank(four, { timeout_ms: 5 }, dead)
    expect([order(late), late.stages[0].outcome, late.failure]).toEqual(["0123", "late", undefined])
    expect((await rerank(four, { timeout_ms: 5, fallback: "error" }, dead)).failure?.kind).toBe("Unavailable")
    expect((await rerank(four, { fallback: "error" }, undefined)).failure?.message).toContain("no model `linear`")
  })
})

describe("linear", () => {
  it("prefers hits whose fields contain the query", async () => {
    const others = Array.from({ length: 20 }, (_title, i) => `oak table ${i}`)
    const run = await rerank(candidatesOf([...others, "blue desk", "red lamp"]), {}, linearReranker())
    const place = (id: string): number => run.candidates.findIndex((candidate) => candidate.id === id)
    expect(place("21")).toBeLessThan(15)
    expect(place("20")).toBe(21)
    expect(place("0")).toBe(0)
  })
  it("has features within 0..1, named by field", () => {
    const table = featuresOf(candidatesOf(["red lamp", "", "lamp"], [5, 9, 1]), ["red", "lamp"], ["title", "price"])
    expect(table.names.filter((name) => name.includes(":"))).toEqual([
      "coverage:title",
      "prefix:title",
      "start:title",
      "brevity:title",
      "adjacent:title",
      "number:price"
    ])
    expect([...table.values].every((value) => value >= 0 && value <= 1)).toBe(true)
    expect([...table.values.slice(8, 14)]).toEqual([1, 1, 1, 1, 1, 0.5])
  })
  it("learns preferences from clicks, the same from the same seed", () => {
    const random = randomOf(4)
    const searches = Array.from({ length: 60 }, () => {
      const prices = Array.from({ length: 8 }, () => random.below(100))
      const features = featuresOf(
        candidatesOf(
          prices.map(() => "lamp"),
          prices
        ),
        ["lamp"],
        ["title", "price"]
      )
      return { features, clicked: [prices.indexOf(Math.min(...prices))] }
    })
    const model = trainLinear(searches, { seed: 1 })
    expect(model.weights["number:price"]).toBeLessThan(-0.5)
    expect(trainLinear(searches, { seed: 1 })).toEqual(model)
    expect(trainLinear(searches, { seed: 2 })).not.toEqual(model)
    expect(trainLinear([], { seed: 1 })).toEqual(untrainedModel)
  })
})

describe("cross-encoder", () => {
  const encoder = (
    answer: (documents: ReadonlyArray<string>, call: number, signal: AbortSignal) => Promise<unknown>,
    more: Partial<CrossEncoderOptions> = {}
  ): { readonly model: Reranker; readonly sent: string[] } => {
    const sent: string[] = []
    const model = crossEncoder({
      name: "ce",
      endpoint: "https://model.example/rerank",
      chunk: 2,
      ...more,
      fetch: async (_url, { body, signal }) => {
        sent.push(body)
        const value = await answer((JSON.parse(body) as { documents: string[] }).documents, sent.length, signal)
        return { ok: value !== undefined, status: 500, json: async () => value }
      }
    })
    return { model, sent }
  }
  const three = candidatesOf(["x", "yyy", "zz"])
  it("sends query and texts in chunks and understands three forms of answers", async () => {
    for (const form of [
      (lengths: number[]) => ({ scores: lengths }),
      (lengths: number[]) => ({
        results: lengths.map((score, index) => ({ index, relevance_score: score })).reverse()
      }),
      (lengths: number[]) => lengths.map((score, index) => ({ index, score }))
    ]) {
      const { model, sent } = encoder(async (documents) => form(documents.map(({ length }) => length)), { model: "m" })
      expect(order(await rerank(three, { timeout_ms: 1_000 }, model))).toBe("120")
      expect(sent).toEqual([
        '{"model":"m","query":"red lamp","documents":["x","yyy"]}',
        '{"model":"m","query":"red lamp","documents":["zz"]}'
      ])
    }
  })
  it("keeps the chunks that arrived in time", async () => {
    const { model } = encoder((documents, call, signal) =>
      call === 1
        ? Promise.resolve({ scores: documents.map(({ length }) => length) })
        : new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(new Error("aborted")))
          })
    )
    const run = await rerank(three, { timeout_ms: 20 }, model)
    expect([order(run), run.stages[0].note]).toEqual(["102", "2 of 3 were scored in time"])
  })
  it("fails on a refusal and on missing scores", async () => {
    for (const answer of [undefined, { scores: [1] }, "no"])
      expect((await rerank(three, { timeout_ms: 1_000 }, encoder(async () => answer).model)).stages[0].outcome).toBe(
        "failed"
      )
  })
})
