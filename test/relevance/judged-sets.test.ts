/**
 * Quality on judged queries: lower bounds of nDCG@10 under one configuration, and how much of it remains with errors in
 * the queries. The sets are read from beside the project and never copied into it; where they are absent, the lane is
 * skipped by name.
 */
import { existsSync } from "node:fs"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import {
  evaluate,
  type JudgedQuery,
  type OpenCollection,
  openCollection,
  readJudged
} from "../../bench/lanes/relevance.ts"
import { joinedWords, withTypo } from "../../bench/inputs/query-errors.ts"
import { mean, pairedBootstrap } from "../../engine-sdk/src/judging/mod.ts"
import { makeRandom } from "../../fixtures/random.ts"

const data = new URL("../../../shared/data/", import.meta.url).pathname
const sets = [
  { name: "chorus_icecat", queries: "queries.jsonl", queryBy: "title,supplier,short_description,attr_t_*", floor: 0.8 },
  { name: "cranfield", queries: "queries.jsonl.gz", queryBy: "title,text", floor: 0.405 },
  { name: "cacm", queries: "queries.jsonl.gz", queryBy: "title,text", floor: 0.535 }
]
const ndcg = async (collection: OpenCollection, queries: ReadonlyArray<JudgedQuery>, ranking: "bm25" | "relevance") =>
  (await evaluate(collection, queries, ranking)).scores.map(({ ndcg10 }) => ndcg10)

for (const { floor, name, queries, queryBy } of sets) {
  const isHere = existsSync(`${data}${name}/docs.jsonl.gz`)
  describe(name, () => {
    let collection: OpenCollection, judged: ReadonlyArray<JudgedQuery>, clean: ReadonlyArray<number>
    beforeEach((context) => {
      if (!isHere) context.skip(`relevance lane: the judged set ${name} is not beside the project (../shared/data)`)
    })
    beforeAll(async () => {
      if (!isHere) return
      collection = await openCollection(`${data}${name}/docs.jsonl.gz`, queryBy)
      judged = await readJudged(`${data}${name}/${queries}`, `${data}${name}/qrels.tsv`)
      clean = await ndcg(collection, judged, "relevance")
    })
    afterAll(() => collection?.close())
    it(`reaches nDCG@10 ${floor}`, () => {
      expect(mean(clean)).toBeGreaterThanOrEqual(floor)
    })
    it("is not significantly worse than our own BM25", async () => {
      expect(pairedBootstrap(clean, await ndcg(collection, judged, "bm25"), makeRandom(7).below).high).toBeGreaterThan(
        0
      )
    })
    it.each([
      ["one typo", withTypo, 0.92],
      ["two words written as one", joinedWords, 0.95]
    ] as const)("keeps its quality under %s", async (_name, change, share) => {
      const runs: Array<number> = []
      for (let seed = 0; seed < 2; seed++)
        runs.push(
          mean(
            await ndcg(
              collection,
              judged.map((query, i) => ({ ...query, text: change(query.text, 7 + seed * 1_000 + i) })),
              "relevance"
            )
          )
        )
      expect(mean(runs) / mean(clean)).toBeGreaterThanOrEqual(share)
    })
  })
}
