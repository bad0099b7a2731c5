/**
 * The approximate vector index within a small bound: recall compared with exact search, deletions, filters, hybrid
 * fusion, what survives a restart, and the writer in a worker. Data is clustered and comes from a seed.
 */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import {
  createEngine,
  openEngine,
  type LocalEngine,
  type SearchAnswer,
  type SearchPlan,
  type VectorQuery
} from "../src/mod.ts"
import { allocateLinear } from "../src/index/graph-kernel.ts"
import { SegmentBuilder } from "../src/index/builders.ts"
import { allocatePlain } from "../src/index/sections.ts"
import { LmdbJournal } from "../src/store/lmdb-journal.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

const DIMENSIONS = 24,
  COUNT = 6_000,
  BOUND = 500
const randomOf = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
const vectorsOf = (count: number, seed: number): number[][] => {
  const centre = randomOf(5),
    random = randomOf(seed)
  const centres = Array.from({ length: 20 }, () => Array.from({ length: DIMENSIONS }, () => centre() - 0.5))
  return Array.from({ length: count }, () => {
    const own = centres[Math.floor(random() * centres.length)]
    return own.map((part) => Math.fround(part + (random() - 0.5) * 0.6))
  })
}
const schemaOf = (vec_dist: "cosine" | "ip" = "cosine") =>
  suiteSchema("things", [
    suiteField("name", "string"),
    suiteField("shelf", "int32"),
    suiteField("embedding", "float[]", {
      num_dim: DIMENSIONS,
      vec_dist,
      sort: false,
      hnsw_params: { M: 16, ef_construction: 200 }
    })
  ])
const vectors = vectorsOf(COUNT, 1),
  queries = vectorsOf(40, 2)
const documents = vectors.map((embedding, i) => ({
  id: String(i),
  name: i % 3 === 0 ? "red lamp" : "blue chair",
  shelf: i % 100,
  embedding
}))
const queryOf = (vector: ReadonlyArray<number> | undefined, more: Partial<VectorQuery> = {}): VectorQuery => ({
  field: "embedding",
  vector,
  k: 10,
  alpha: 0.3,
  distanceThreshold: undefined,
  flatSearchCutoff: 0,
  ef: 10,
  rerankHybridMatches: false,
  ...more
})
const planOf = (vector: VectorQuery, more: Partial<SearchPlan> = {}): SearchPlan =>
  suitePlan("things", { vector, sort: [{ kind: "vector_distance", order: "asc" }], limit: 250, ...more })

const answer = async (engine: LocalEngine, plan: SearchPlan): Promise<SearchAnswer> => {
  const [result] = await engine.search("t", [plan])
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}
const hits = async (engine: LocalEngine, plan: SearchPlan): Promise<Array<[string, number | undefined]>> =>
  ((await answer(engine, plan)).hits ?? []).map(({ document, vector_distance }) => [
    String(document.id),
    vector_distance
  ])
const fill = async (engine: LocalEngine, vec_dist: "cosine" | "ip" = "cosine"): Promise<void> => {
  const made = await engine.createCollection("t", schemaOf(vec_dist), 1)
  const written = await engine.write(
    "t",
    "things",
    documents.map((document) => putOf(document))
  )
  if (!made.ok || !written.ok || written.value.some(({ result }) => !result.ok))
    throw new Error("the things could not be written")
}
const usageOf = (engine: LocalEngine) => engine.usage("t", "things")?.vectors?.[0]
/** Waits for the graphs, which are built after the merges. */
const approximate = async (engine: LocalEngine, least = COUNT): Promise<void> => {
  for (let i = 0; i < 600 && (usageOf(engine)?.approximate ?? 0) < least; i++)
    await new Promise((resolve) => {
      setTimeout(resolve, 50)
    })
  expect(usageOf(engine)?.approximate).toBeGreaterThanOrEqual(least)
}
const recallOf = async (
  approximateEngine: LocalEngine,
  exactEngine: LocalEngine,
  make: (vector: number[]) => SearchPlan
): Promise<number> => {
  let same = 0,
    wanted = 0
  for (const query of queries) {
    const truth = new Map(await hits(exactEngine, make(query)))
    for (const [id, distance] of await hits(approximateEngine, make(query)))
      if (truth.has(id)) {
        same++
        expect(distance).toBe(truth.get(id))
      }
    wanted += truth.size
  }
  return same / wanted
}
const using = async (
  open: () => Promise<LocalEngine> | LocalEngine,
  body: (engine: LocalEngine) => Promise<void>
): Promise<void> => {
  const engine = await open()
  try {
    await body(engine)
  } finally {
    await engine.close()
  }
}
const inFolder = async (body: (path: string) => Promise<void>): Promise<void> => {
  const path = await mkdtemp(join(tmpdir(), "vectors-"))
  try {
    await body(path)
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

describe("approximate vector index", () => {
  for (const metric of ["cosine", "ip"] as const)
    it(`finds what an exact search finds, with its distances (${metric})`, () =>
      using(
        () => createEngine({ approximateFrom: BOUND }),
        (engine) =>
          using(
            () => createEngine({ approximateFrom: Infinity }),
            async (exact) => {
              await fill(engine, metric)
              await fill(exact, metric)
              expect(engine.capabilities().grades.vector_index).toBe("approximate")
              expect(exact.capabilities().grades.vector_index).toBe("exact")
              await approximate(engine)
              expect(usageOf(exact)).toEqual({
                field: "embedding",
                vectors: COUNT,
                approximate: 0,
                graph_bytes: 0,
                // Zero, because there is no folder.
                memory_bytes: COUNT * DIMENSIONS * 4 + Math.ceil(COUNT / 32) * 4,
                disk_bytes: 0,
                recall: 1
              })
              expect(usageOf(engine)!.recall).toBeGreaterThanOrEqual(0.95)
              // One byte for each number, 16 more for each vector, and at most 32 links of three bytes with their
              // positions.
              expect(usageOf(engine)!.graph_bytes / COUNT).toBeGreaterThan(32 + 12)
              expect(usageOf(engine)!.graph_bytes / COUNT).toBeLessThan(32 + 12 + 32 * 3 + 8)
              expect(engine.usage("t", "things")!.index_bytes).toBeGreaterThan(exact.usage("t", "things")!.index_bytes)
              expect(await recallOf(engine, exact, (query) => planOf(queryOf(query)))).toBeGreaterThanOrEqual(0.95)
              expect(
                await recallOf(engine, exact, (query) => planOf(queryOf(query, { k: 100 })))
              ).toBeGreaterThanOrEqual(0.95)
              expect(
                await recallOf(engine, exact, (query) => planOf(queryOf(query, { distanceThreshold: 0.2 })))
              ).toBeGreaterThanOrEqual(0.95)
              const like = planOf(queryOf(undefined, { likeId: "7" }))
              expect((await hits(engine, like)).map(([id]) => id)).not.toContain("7")
              expect((await hits(engine, like)).length).toBe(10)
            }
          )
      ))

  it("accepts a vector of zeros, and finds the others as if it did not exist", () =>
    using(
      () => createEngine({ approximateFrom: BOUND }),
      (engine) =>
        using(
          () => createEngine({ approximateFrom: Infinity }),
          async (exact) => {
            for (const each of [engine, exact]) {
              await fill(each)
              const none = Array.from({ length: DIMENSIONS }, () => 0)
              const zeros = Array.from({ length: 50 }, (_, i) => putOf({ ...documents[i]!, embedding: none }))
              await each.write("t", "things", zeros)
            }
            await approximate(engine)
            expect(await recallOf(engine, exact, (query) => planOf(queryOf(query)))).toBeGreaterThanOrEqual(0.95)
          }
        )
    ))

  it("does not use a graph that an older version wrote, or a damaged one", () =>
    inFolder(async (path) => {
      const journal = await LmdbJournal.open(path)
      try {
        await journal.saveCollection({ key: 1, namespace: "t", schema: schemaOf(), createdAt_s: 1 })
        const { meta, region } = new SegmentBuilder(schemaOf()).finish(allocatePlain)
        const record = {
          field: "embedding",
          dimensions: DIMENSIONS,
          metric: "cos",
          M: 16,
          ef_construction: 200,
          vectors: 1,
          bytes: 1,
          ef: 64,
          recall: 1,
          name: "1-1-2.usearch"
        } as const
        const whole = { ...record, name: "1-1-3.graph", meta: { ...meta, bytes: region.length } }
        const hash = await journal.saveGraph(whole.name, whole.meta, region)
        await writeFile(join(path, "graphs", record.name), "of the library")
        const save = (hashed: string) =>
          journal.saveIndex(
            1,
            {
              asked: [],
              segments: [
                {
                  id: 1,
                  meta,
                  region,
                  deleted: new Uint32Array(0),
                  sections: [],
                  graphs: [record, { ...whole, hash: hashed }].map((each) => ({ record: each, region: undefined }))
                }
              ]
            },
            0
          )
        const found = async () =>
          (await journal.loadIndex(1, allocatePlain, allocateLinear))!.segments[0]!.graphs.map(
            ({ record: { name } }) => name
          )
        await save(hash)
        expect(await found()).toEqual([whole.name])
        expect(await readdir(join(path, "graphs"))).toEqual([whole.name])
        await save("another")
        expect(await found()).toEqual([])
      } finally {
        await journal.close()
      }
    }))

  it("respects filters: narrow ones exactly, wide ones through the index", () =>
    using(
      () => createEngine({ approximateFrom: BOUND }),
      (engine) =>
        using(
          () => createEngine({ approximateFrom: Infinity }),
          async (exact) => {
            await fill(engine)
            await fill(exact)
            await approximate(engine)
            const shelves = (max: number) =>
              ({ filter: { kind: "number", field: "shelf", type: "int32", ranges: [{ min: 0, max }] } }) as const
            for (const query of queries.slice(0, 10)) {
              for (const max of [0, 2, 9])
                expect(await hits(engine, planOf(queryOf(query), shelves(max)))).toEqual(
                  await hits(exact, planOf(queryOf(query), shelves(max)))
                )
              // Below the cutoff, every passing document is returned, nearest first.
              const whole = planOf(queryOf(query, { flatSearchCutoff: COUNT / 5 }), shelves(9))
              expect(await hits(engine, whole)).toEqual(await hits(exact, whole))
              expect((await answer(engine, whole)).found).toBe(COUNT / 10)
              expect(
                (await answer(engine, planOf(queryOf(query), shelves(89)))).hits!.every(
                  ({ document }) => Number(document.shelf) <= 89
                )
              ).toBe(true)
            }
            expect(
              await recallOf(engine, exact, (query) => planOf(queryOf(query), shelves(89)))
            ).toBeGreaterThanOrEqual(0.95)
          }
        )
    ))

  it("never returns what was deleted or replaced meanwhile", () =>
    using(
      () => createEngine({ approximateFrom: BOUND }),
      async (engine) => {
        await fill(engine)
        await approximate(engine)
        for (const query of queries.slice(0, 10)) {
          const [[first], [second]] = await hits(engine, planOf(queryOf(query)))
          await engine.write("t", "things", [
            { kind: "delete", id: first },
            putOf({ ...documents[Number(second)], embedding: query.map((part) => -part) })
          ])
          const after = (await hits(engine, planOf(queryOf(query)))).map(([id]) => id)
          expect(after.length).toBe(10)
          expect(after).not.toContain(first)
          expect(after).not.toContain(second)
          expect(
            (
              await hits(
                engine,
                planOf(
                  queryOf(
                    query.map((part) => -part),
                    { k: 1 }
                  )
                )
              )
            )[0][0]
          ).toBe(second)
        }
      }
    ))

  it("is fused with text like an exact search", () =>
    using(
      () => createEngine({ approximateFrom: BOUND }),
      (engine) =>
        using(
          () => createEngine({ approximateFrom: Infinity }),
          async (exact) => {
            await fill(engine)
            await fill(exact)
            await approximate(engine)
            for (const rerankHybridMatches of [false, true]) {
              let same = 0
              for (const query of queries) {
                const plan = planOf(queryOf(query, { k: 100, rerankHybridMatches }), {
                  text: suiteText(["lamp"], ["name"]),
                  sort: [{ kind: "text_match", order: "desc" }],
                  limit: 10
                })
                const [a, b] = [await answer(engine, plan), await answer(exact, plan)]
                if (
                  JSON.stringify(
                    a.hits!.map(({ document, hybrid_search_info }) => [document.id, hybrid_search_info])
                  ) ===
                  JSON.stringify(b.hits!.map(({ document, hybrid_search_info }) => [document.id, hybrid_search_info]))
                )
                  same++
              }
              expect(same).toBeGreaterThanOrEqual(queries.length * 0.9)
            }
          }
        )
    ))

  for (const worker of [false, true])
    it(`answers the same after a restart, without rebuilding (${worker ? "worker" : "one thread"})`, () =>
      inFolder(async (path) => {
        const open = () => openEngine({ path, worker, approximateFrom: BOUND })
        const before: Array<Array<[string, number | undefined]>> = []
        await using(open, async (engine) => {
          await fill(engine)
          await approximate(engine)
          for (const query of queries) before.push(await hits(engine, planOf(queryOf(query))))
        })
        const files = await readdir(join(path, "graphs"))
        expect(files.length).toBeGreaterThan(0)
        await using(open, async (engine) => {
          expect(await hits(engine, planOf(queryOf(queries[0])))).toEqual(before[0])
          // Immediately, because the graph was read from the file.
          expect(usageOf(engine)!.approximate).toBe(COUNT)
          for (let i = 0; i < queries.length; i++)
            expect(await hits(engine, planOf(queryOf(queries[i])))).toEqual(before[i])
        })
        // A lost graph costs a rebuild, but changes no answer.
        for (const file of files) await rm(join(path, "graphs", file))
        await using(open, async (engine) => {
          expect(await hits(engine, planOf(queryOf(queries[0])))).toEqual(before[0])
          expect(usageOf(engine)!.approximate).toBe(0)
          await approximate(engine)
          await engine.dropCollection("t", "things")
        })
        expect(await readdir(join(path, "graphs"))).toEqual([])
      }))

  it("is removed with its segment: merges build new graphs and leave no file behind", () =>
    inFolder((path) =>
      using(
        () => openEngine({ path, worker: true, approximateFrom: BOUND }),
        async (engine) => {
          await fill(engine)
          await approximate(engine)
          const more = vectorsOf(COUNT, 3).map((embedding, i) => ({
            id: `n${i}`,
            name: "green door",
            shelf: 1,
            embedding
          }))
          await engine.write(
            "t",
            "things",
            more.map((document) => putOf(document))
          )
          await approximate(engine, 2 * COUNT)
          for (
            let i = 0;
            i < 200 && (await readdir(join(path, "graphs"))).length > engine.usage("t", "things")!.segments;
            i++
          )
            await new Promise((resolve) => {
              setTimeout(resolve, 50)
            })
          expect((await readdir(join(path, "graphs"))).length).toBeLessThanOrEqual(
            engine.usage("t", "things")!.segments
          )
          expect((await hits(engine, planOf(queryOf(more[3].embedding, { k: 1 }))))[0][0]).toBe("n3")
        }
      )
    ))
})
