/**
 * What every engine with vectors must do with them (`docs/contract/vectors.md`). Few documents, far enough apart that
 * an approximate index finds the same ones. An engine without vectors must refuse them by name.
 */
import type { SearchEngine } from "../engine.ts"
import type { SearchAnswer, SearchPlan, VectorQuery } from "../plan.ts"
import type { Document } from "../schema.ts"
import type { EngineUnderTest, SuiteFramework } from "./engine-suite.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "./suite-values.ts"

/**
 * The vector query of a plan.
 *
 * @example
 * ```ts
 * import { suitePlan, suiteVector } from "@dowser/engine-sdk/testing"
 *
 * suitePlan("points", { vector: suiteVector("direction", [1, 0]) })
 * ```
 */
export const suiteVector = (field: string, vector: ReadonlyArray<number>, more: Partial<VectorQuery> = {}) => ({
  field,
  vector,
  k: 10,
  alpha: 0.3,
  distanceThreshold: undefined,
  flatSearchCutoff: 0,
  ef: 10,
  rerankHybridMatches: false,
  ...more
})
const schema = suiteSchema("points", [
  suiteField("name", "string", { optional: false }),
  suiteField("n", "int32", { facet: true }),
  suiteField("direction", "float[]", { num_dim: 3, sort: false }),
  suiteField("offer", "float[]", { num_dim: 2, sort: false, vec_dist: "ip" })
])
/** Cosines with (1, 0, 0): 1, 0.8, 0.6, 0, -1, and one without a direction. */
const POINTS: ReadonlyArray<Document> = [
  { id: "east", name: "copper kettle", n: 1, direction: [1, 0, 0], offer: [1, 0] },
  { id: "near", name: "copper mug", n: 2, direction: [0.8, 0.6, 0], offer: [3, 1] },
  { id: "aside", name: "oak table", n: 1, direction: [0.6, 0.8, 0], offer: [-2, 0] },
  { id: "north", name: "steel kettle", n: 2, direction: [0, 5, 0] },
  { id: "west", name: "old kettle", n: 1, direction: [-2, 0, 0] },
  { id: "none", name: "lamp", n: 3 }
]
const EAST = [1, 0, 0]
const nearest: Partial<SearchPlan> = { sort: [{ kind: "vector_distance", order: "asc" }] }

type Expect = SuiteFramework["expect"]
const answer = async (
  engine: SearchEngine,
  vector: VectorQuery,
  more: Partial<SearchPlan> = {}
): Promise<SearchAnswer> => {
  const [result] = await engine.search("a", [suitePlan("points", { ...nearest, vector, ...more })])
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}
const idsOf = ({ hits }: SearchAnswer): string[] => (hits ?? []).map(({ document }) => String(document.id))
const rounded = (value: number | undefined): number => Math.round((value ?? NaN) * 1e5) / 1e5
const odd: SearchPlan["filter"] = { kind: "number", field: "n", type: "int32", ranges: [{ min: 1, max: 1 }] }

const findsNearest =
  (expect: Expect) =>
  async (engine: SearchEngine): Promise<void> => {
    const all = await answer(engine, suiteVector("direction", EAST))
    expect(idsOf(all)).toEqual(["east", "near", "aside", "north", "west"])
    expect(all.found).toBe(5)
    expect((all.hits ?? []).map(({ vector_distance }) => rounded(vector_distance))).toEqual([0, 0.2, 0.4, 1, 2])
    const two = await answer(engine, suiteVector("direction", EAST, { k: 2 }))
    expect([two.found, idsOf(two)]).toEqual([2, ["east", "near"]])
    const within = await answer(engine, suiteVector("direction", EAST, { distanceThreshold: 0.5 }))
    expect([within.found, idsOf(within)]).toEqual([3, ["east", "near", "aside"]])
    const offers = await answer(engine, suiteVector("offer", [1, 2]))
    expect(idsOf(offers)).toEqual(["near", "east", "aside"])
    expect((offers.hits ?? []).map(({ vector_distance }) => rounded(vector_distance))).toEqual([-4, 0, 3])
    for (const [distanceThreshold, found] of [
      [-1, 1],
      [2, 2],
      [3.5, 3]
    ] as const)
      expect((await answer(engine, suiteVector("offer", [1, 2], { distanceThreshold }))).found).toBe(found)
  }
const filtersFirst =
  (expect: Expect) =>
  async (engine: SearchEngine): Promise<void> => {
    const filtered = await answer(engine, suiteVector("direction", EAST, { k: 2 }), { filter: odd })
    expect([filtered.found, idsOf(filtered)]).toEqual([2, ["east", "aside"]])
    // All of a small filtered set is returned.
    const whole = await answer(engine, suiteVector("direction", EAST, { k: 1, flatSearchCutoff: 20 }), {
      filter: odd
    })
    expect([whole.found, idsOf(whole)]).toEqual([3, ["east", "aside", "west"]])
    const around = await answer(engine, {
      ...suiteVector("direction", EAST, { k: 2, likeId: "near" }),
      vector: undefined
    })
    expect(idsOf(around)).toEqual(["aside", "east"])
    const counted = await answer(engine, suiteVector("direction", EAST, { k: 3 }), {
      facets: [
        {
          field: "n",
          ranges: [],
          order: { kind: "count" },
          topK: false,
          strategy: "exhaustive",
          returnParent: false
        }
      ],
      hidden: ["east"]
    })
    expect(idsOf(counted)).toEqual(["near", "aside", "north"])
    expect(counted.facet_counts[0].counts.map(({ value, count }) => [value, count])).toEqual([
      ["2", 2],
      ["1", 1]
    ])
    const [missing] = await engine.search("a", [
      suitePlan("points", {
        ...nearest,
        vector: { ...suiteVector("direction", EAST, { likeId: "nobody" }), vector: undefined }
      })
    ])
    expect(missing.ok ? "found" : missing.error.message).toBe("Document id referenced in vector query is not found.")
  }
const fusesWords =
  (expect: Expect) =>
  async (engine: SearchEngine): Promise<void> => {
    const text = suiteText(["kettle"], ["name"])
    const sort: SearchPlan["sort"] = [{ kind: "text_match", order: "desc" }]
    const fused = await answer(engine, suiteVector("direction", EAST, { k: 2, alpha: 0.6 }), { text, sort })
    // By words all three match equally; of the two that are near, one is a kettle.
    expect([fused.found, idsOf(fused)]).toEqual([4, ["east", "west", "north", "near"]])
    expect((fused.hits ?? []).map(({ hybrid_search_info }) => rounded(hybrid_search_info?.rank_fusion_score))).toEqual([
      1, 0.4, 0.4, 0.3
    ])
    // A near document does not count as found by words, so the second word is still dropped.
    const fewer = await answer(engine, suiteVector("direction", EAST, { k: 2, alpha: 0.6 }), {
      text: suiteText(["old", "mug"], ["name"]),
      sort
    })
    expect([fewer.found, idsOf(fewer)]).toEqual([3, ["east", "west", "near"]])
  }
const findsLastWritten =
  (expect: Expect) =>
  async (engine: SearchEngine): Promise<void> => {
    await engine.write("a", "points", [
      putOf({ id: "north", direction: [1, 0.1, 0] }, "update"),
      putOf({ id: "new", name: "new", n: 4, direction: [1, 0.05, 0] }),
      { kind: "delete", id: "near" }
    ])
    const found = await answer(engine, suiteVector("direction", EAST, { k: 4 }))
    expect(idsOf(found)).toEqual(["east", "new", "north", "aside"])
    const got = await engine.get("a", "points", ["new"])
    expect(got.ok && got.value[0]?.direction).toEqual([1, 0.05, 0])
  }

/**
 * Declares the tests. Each gets its own engine from `make`.
 *
 * @example
 * ```ts
 * import { createEngine } from "@dowser/engine-sdk"
 * import { vectorSuite } from "@dowser/engine-sdk/testing"
 * import { describe, expect, it } from "vitest"
 *
 * vectorSuite({ describe, expect, it }, "my engine", async () => {
 *   const engine = createEngine()
 *   return { engine, dispose: async () => engine.close() }
 * })
 * ```
 */
export const vectorSuite = (
  { describe, expect, it }: SuiteFramework,
  name: string,
  make: () => Promise<EngineUnderTest>
): void => {
  const using = (body: (engine: SearchEngine) => Promise<void>) => async (): Promise<void> => {
    const { dispose, engine } = await make()
    try {
      const made = await engine.createCollection("a", schema, 1)
      if (engine.capabilities().grades.vector_index === "none") {
        expect(made.ok ? "made" : made.error.kind).toBe("CapabilityMissing")
        return
      }
      if (!made.ok) throw new Error(made.error.message)
      const puts = POINTS.map((document) => putOf(document))
      const written = await engine.write("a", "points", puts)
      if (!written.ok || written.value.some(({ result }) => !result.ok)) throw new Error("points could not be written")
      await body(engine)
    } finally {
      await dispose()
    }
  }
  describe(`${name}: vectors`, () => {
    it("finds the nearest, nearest first, with their distances", using(findsNearest(expect)))
    it(
      "filters before it looks, counts facets of what is near, and looks around a document",
      using(filtersFirst(expect))
    )
    it("fuses what words and a vector find", using(fusesWords(expect)))
    it("finds what was written last, and not what is gone", using(findsLastWritten(expect)))
  })
}
