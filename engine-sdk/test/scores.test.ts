/**
 * Golden values of the record score (`docs/contract/matching.md#record-score`), produced by searches, and the
 * incremental diversity against the naive one.
 */
import { describe, expect, it } from "vitest"
import { createEngine } from "../src/mod.ts"
import { diversify } from "../src/diversity/mmr.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

const scored = async (
  values: ReadonlyArray<string>,
  tokens: ReadonlyArray<string>,
  weight = 15
): Promise<Array<[score: string, best: string]>> => {
  const engine = createEngine()
  await engine.createCollection("t", suiteSchema("c", [suiteField("v", "string")]), 1)
  await engine.write(
    "t",
    "c",
    values.map((v, i) => putOf({ id: String(i), v }))
  )
  const text = suiteText(tokens, ["v"])
  const [answer] = await engine.search("t", [
    suitePlan("c", { text: { ...text, fields: [{ ...text.fields[0], weight }] } })
  ])
  await engine.close()
  return answer.ok
    ? (answer.value.hits ?? []).map(({ text_match, text_match_info }) => [
        String(text_match),
        text_match_info!.best_field_score
      ])
    : []
}

describe("scores", () => {
  it.each<[string, string, string[], string, string]>([
    ["one token, field has more words", "copper kettle", ["copper"], "578730123365189753", "1108091338753"],
    ["one token, field is exactly that token", "copper", ["copper"], "578730123373578361", "1108091342849"],
    ["one token as prefix completion", "copper kettle", ["copp"], "578730089005451385", "1108074561537"],
    ["one token with a typo", "copper kettle", ["coppar"], "578730054645713017", "1108057784321"],
    [
      "two adjacent tokens, field longer",
      "old copper kettle",
      ["copper", "kettle"],
      "1157451471441102969",
      "2211897868289"
    ],
    ["two adjacent tokens, whole field", "copper kettle", ["copper", "kettle"], "1157451471449491577", "2211897872385"]
  ])("%s", async (_name, value, tokens, score, best) => {
    expect(await scored([value], tokens)).toEqual([[score, best]])
  })
  it("counts a repeated word as often as it is in the query", async () => {
    expect(await scored(["lark pip pip"], ["pip", "pip"], 3)).toEqual([["1157451471575320601", "2211897933825"]])
    expect(await scored(["pip pip"], ["pip", "pip"], 3)).toEqual([["1157451471583709209", "2211897937921"]])
  })
})

describe("diversify", () => {
  const naive = (
    size: number,
    lambda: number,
    relevance: (i: number) => number,
    similarity: (i: number, j: number) => number
  ): number[] => {
    const values = Array.from({ length: size }, (_value, i) => relevance(i)),
      low = Math.min(...values),
      high = Math.max(...values)
    const picked: number[] = []
    while (picked.length < size) {
      let best = -1,
        bestValue = -Infinity
      for (let i = 0; i < size; i++) {
        if (picked.includes(i)) continue
        const closest = picked.reduce((most, j) => Math.max(most, similarity(i, j)), 0)
        const value = lambda * (high > low ? (values[i] - low) / (high - low) : 1) - (1 - lambda) * closest
        if (value > bestValue) {
          best = i
          bestValue = value
        }
      }
      picked.push(best)
    }
    return picked
  }
  it("picks what the naive algorithm picks", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const relevance = (i: number): number => ((i + 1) * seed * 7919) % 101
      const similarity = (i: number, j: number): number => (((i + 1) * (j + 1) * seed * 104_729) % 97) / 97
      for (const lambda of [0, 0.3, 0.7, 1])
        expect(diversify({ size: 40, lambda, relevance, similarity })).toEqual(naive(40, lambda, relevance, similarity))
    }
  })
})
