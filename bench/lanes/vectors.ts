/**
 * Question: how good and how fast is the approximate vector index, compared with exact search in the same engine?
 * Workload: seeded vectors, clustered or uniform, in a durable engine with its writer in a worker; queries are new
 * points from the same distribution. The true neighbours are computed here, independently of the engine. Recall@10
 * counts true neighbours among ten hits. Excluded: HTTP, embedding of texts. Exact figures come from the same folder
 * opened again without the index.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openEngine, type LocalEngine, type SearchPlan } from "../../engine-sdk/src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { machine, percentiles, report, round, rssMb } from "../harness/harness.ts"

export interface VectorsOptions {
  readonly vectors: number
  readonly dim: number
  readonly queryCount: number
  readonly seed: number
  readonly approximateFrom: number
  readonly out: string | undefined
}
type Kind = "clustered" | "uniform"

const NEAREST = 10
/** The engine's default for a hybrid search whose query does not give a number. */
const HYBRID_NEAREST = 100
const CLUSTERS = 200
/** Deviation of a vector from the centre of its cluster; each component of both is normally distributed. */
const SPREAD = 0.6
/** Every document is on one of 100 shelves, so a filter on the first n shelves matches n percent. */
const SHELVES = 100
const BATCH = 1_000

const generate = (kind: Kind, count: number, dim: number, seed: number, part: string): Float32Array => {
  const centres = makeRandom(seed).fork("centres"),
    random = makeRandom(seed).fork(part)
  const centre = Float32Array.from({ length: kind === "clustered" ? CLUSTERS * dim : 0 }, centres.normal)
  const values = new Float32Array(count * dim)
  for (let i = 0; i < count; i++) {
    const own = kind === "clustered" ? random.below(CLUSTERS) * dim : -1
    for (let d = 0; d < dim; d++)
      values[i * dim + d] = round(own < 0 ? random.next() * 2 - 1 : centre[own + d] + SPREAD * random.normal(), 4)
  }
  return values
}

/** Ids of the ten nearest by cosine, by brute force over everything that passes the filter. */
const truthOf = (
  values: Float32Array,
  norms: Float64Array,
  dim: number,
  query: Float32Array,
  shelves: number
): ReadonlySet<string> => {
  const best: Array<{ readonly i: number; readonly score: number }> = []
  for (let i = 0; i < norms.length; i++) {
    if (i % SHELVES >= shelves) continue
    let score = 0
    for (let d = 0, at = i * dim; d < dim; d++, at++) score += query[d] * values[at]
    score /= norms[i]
    if (best.length === NEAREST && score <= best[NEAREST - 1].score) continue
    best.push({ i, score })
    best.sort((a, b) => b.score - a.score)
    best.length = Math.min(best.length, NEAREST)
  }
  return new Set(best.map(({ i }) => String(i)))
}

const planOf = (query: Float32Array, shelves: number): SearchPlan =>
  suitePlan("vectors", {
    vector: {
      field: "embedding",
      vector: Array.from(query),
      k: NEAREST,
      alpha: 0.3,
      distanceThreshold: undefined,
      flatSearchCutoff: 0,
      ef: 10,
      rerankHybridMatches: false
    },
    sort: [{ kind: "vector_distance", order: "asc" }],
    filter:
      shelves === SHELVES
        ? undefined
        : { kind: "number", field: "shelf", type: "int32", ranges: [{ min: 0, max: shelves - 1 }] }
  })

/** A word in one of twenty documents, and a word in one of two thousand. */
const wordsOf = (i: number): ReadonlyArray<string> => [`common${i % 20}`, `rare${i % 2_000}`]
/** The plan of a search by meaning: words ranked by relevance, both scores fused, ten hits. */
const hybridOf = (query: Float32Array, q: number): SearchPlan => {
  const { vector } = planOf(query, SHELVES)
  return suitePlan("vectors", {
    vector: { ...vector!, k: HYBRID_NEAREST },
    text: suiteText(wordsOf(q * 7), ["title"], {
      relevance: {
        ranking: "relevance",
        text: wordsOf(q * 7).join(" "),
        variants: [],
        units: [{ name: "title", locale: "", weight: 1 }],
        corrects: true,
        completes: true,
        mayDropWords: true
      }
    }),
    limit: NEAREST
  })
}
const measureHybrid = async (engine: LocalEngine, queries: ReadonlyArray<Float32Array>) => {
  const times = new Float64Array(queries.length)
  for (let round = 0; round < 2; round++)
    for (let q = 0; q < queries.length; q++) {
      const plan = hybridOf(queries[q], q),
        at = performance.now()
      const [answer] = await engine.search("bench", [plan])
      times[q] = performance.now() - at
      if (!answer.ok || answer.value.hits?.length !== NEAREST) throw new Error("a hybrid search found too little")
    }
  const { p50_ms, p99_ms } = percentiles(times)
  return { p50_ms, p99_ms }
}

interface Truth {
  readonly shelves: number
  readonly nearest: ReadonlyArray<ReadonlySet<string>>
}
const measure = async (engine: LocalEngine, queries: ReadonlyArray<Float32Array>, { nearest, shelves }: Truth) => {
  const times = new Float64Array(queries.length)
  let hits = 0,
    wanted = 0
  for (let warm = 0; warm < Math.min(20, queries.length); warm++)
    await engine.search("bench", [planOf(queries[warm], shelves)])
  for (let q = 0; q < queries.length; q++) {
    const plan = planOf(queries[q], shelves),
      at = performance.now()
    const [answer] = await engine.search("bench", [plan])
    times[q] = performance.now() - at
    if (!answer.ok) throw new Error(answer.error.message)
    for (const { document } of answer.value.hits ?? []) if (nearest[q].has(String(document.id))) hits++
    wanted += nearest[q].size
  }
  const { p50_ms, p99_ms } = percentiles(times)
  return { recall_at_10: round(hits / wanted, 4), p50_ms, p99_ms }
}

const fill = async (engine: LocalEngine, values: Float32Array, count: number, dim: number): Promise<void> => {
  const made = await engine.createCollection(
    "bench",
    suiteSchema("vectors", [
      suiteField("title", "string"),
      suiteField("shelf", "int32"),
      suiteField("embedding", "float[]", {
        num_dim: dim,
        sort: false,
        store: false,
        hnsw_params: { M: 16, ef_construction: 200 }
      })
    ]),
    0
  )
  if (!made.ok) throw new Error(made.error.message)
  for (let from = 0; from < count; from += BATCH) {
    const batch = Array.from({ length: Math.min(BATCH, count - from) }, (_, b) =>
      putOf({
        id: String(from + b),
        title: wordsOf(from + b).join(" "),
        shelf: (from + b) % SHELVES,
        embedding: Array.from(values.subarray((from + b) * dim, (from + b + 1) * dim))
      })
    )
    const written = await engine.write("bench", "vectors", batch)
    const refused = written.ok ? written.value.find(({ result }) => !result.ok)?.result : written
    if (refused !== undefined && !refused.ok) throw new Error(refused.error.message)
  }
}
const usageOf = (engine: LocalEngine) => {
  const usage = engine.usage("bench", "vectors"),
    vectors = usage?.vectors?.[0]
  if (usage === undefined || vectors === undefined) throw new Error("the collection is not open")
  return { usage, vectors }
}
/** Waits until every large enough segment has its graph (or a note why not) and nothing has changed for a while. */
const settled = async (engine: LocalEngine, count: number, from: number): Promise<void> => {
  for (let still = 0, last = ""; still < 40;) {
    await new Promise((resolve) => {
      setTimeout(resolve, 100)
    })
    const { usage, vectors } = usageOf(engine)
    const now = JSON.stringify([usage.segments, vectors])
    const isDone = vectors.approximate === count || vectors.note !== undefined || count < from
    still = isDone && now === last ? still + 1 : 0
    last = now
  }
}

/** Measures one kind of data from an empty folder on; shared with the test that keeps this bench from rotting. */
export const measureVectors = async (kind: Kind, options: Omit<VectorsOptions, "out">) => {
  const { approximateFrom, dim, queryCount, seed, vectors: count } = options
  const values = generate(kind, count, dim, seed, "documents"),
    asked = generate(kind, queryCount, dim, seed, "queries")
  const queries = Array.from({ length: queryCount }, (_, q) => asked.subarray(q * dim, (q + 1) * dim))
  const norms = Float64Array.from({ length: count }, (_, i) => Math.hypot(...values.subarray(i * dim, (i + 1) * dim)))
  const truths = [100, 50, 10, 1].map((shelves): Truth => ({
    shelves,
    nearest: queries.map((query) => truthOf(values, norms, dim, query, shelves))
  }))
  const path = await mkdtemp(join(tmpdir(), "bench-vectors-"))
  try {
    const figures: Record<string, unknown> = {}
    const engine = await openEngine({ path, worker: true, approximateFrom })
    const started = performance.now()
    await fill(engine, values, count, dim)
    const imported = performance.now()
    // The longest delay of this thread, which searches, while the index is built.
    let stall = 0,
      last = performance.now()
    const timer = setInterval(() => {
      const now = performance.now()
      stall = Math.max(stall, now - last - 1)
      last = now
    }, 1)
    await settled(engine, count, approximateFrom)
    clearInterval(timer)
    const { usage, vectors } = usageOf(engine)
    figures.import_docs_per_s = Math.round((count / (imported - started)) * 1000)
    figures.merged_and_built_s = round((performance.now() - imported) / 1000 - 4, 1)
    figures.searching_thread_held_up_ms = round(stall, 1)
    figures.rss_mb = rssMb(process.pid)
    figures.index_bytes_per_vector = Math.round(usage.index_bytes / count)
    figures.bytes_per_vector_in_memory = round((vectors.memory_bytes + vectors.graph_bytes) / count, 1)
    figures.bytes_per_vector_on_disk = round(vectors.disk_bytes / count, 1)
    figures.graph_bytes_per_vector = Math.round(vectors.graph_bytes / Math.max(1, vectors.approximate))
    figures.segments = usage.segments
    figures.behind_graphs = vectors.approximate
    figures.recall_measured_by_engine = vectors.recall
    if (vectors.note !== undefined) figures.note = vectors.note
    for (const truth of truths) figures[`approximate, ${truth.shelves} % pass`] = await measure(engine, queries, truth)
    figures.hybrid = await measureHybrid(engine, queries)
    await engine.close()
    const exact = await openEngine({ path, worker: true, approximateFrom: Infinity })
    for (const truth of truths) figures[`exact, ${truth.shelves} % pass`] = await measure(exact, queries, truth)
    await exact.close()
    return figures
  } finally {
    await rm(path, { recursive: true, force: true })
  }
}

export const benchVectors = async (options: VectorsOptions): Promise<void> => {
  const all: Record<string, unknown> = { machine: machine() }
  for (const kind of ["clustered", "uniform"] as const) {
    const figures = (all[kind] = await measureVectors(kind, options))
    report(
      `vectors: ${options.vectors} ${kind}, ${options.dim} dimensions, ${options.queryCount} queries`,
      { ...figures, machine: all.machine },
      undefined
    )
  }
  if (options.out !== undefined) report("all figures", all, options.out)
}
