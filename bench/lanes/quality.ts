/**
 * Question: how long does a run of a quality suite take, and how does it affect searches meanwhile? Workload: a
 * generated catalogue, judged queries of one to three words with typos and prefixes, over HTTP to a program started
 * as its users start it: searches alone at a fixed rate, then the same while runs follow each other. The time of a
 * run is that of its job, from request to completion; latencies count from when a request was due.
 */
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { generateQueries, gradeOf } from "../../fixtures/queries/generate.ts"
import { machine, percentiles, processorSeconds, report, round } from "../harness/harness.ts"
import { requestBytes, runLoad, type RunningProgram, startServer } from "../harness/program.ts"

export interface QualityOptions {
  readonly products: number
  readonly queryCount: number
  readonly seconds: number
  readonly rate: number
  readonly seed: number
  readonly out: string | undefined
}
interface Job {
  readonly id: string
  readonly status: string
  readonly created_at: number
  readonly finished_at?: number
  readonly result?: Readonly<Record<string, unknown>>
}

const LINES_PER_IMPORT = 5_000
const POLL_MS = 20
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

const asking =
  (server: RunningProgram) =>
  async (method: string, path: string, body?: unknown): Promise<any> => {
    const answer = await fetch(`http://127.0.0.1:${server.port}${path}`, {
      method,
      headers: { "x-svc-api-key": server.full_key },
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`)
    return path.endsWith("/import") ? undefined : JSON.parse(text)
  }
type Ask = ReturnType<typeof asking>

/** Creates the shop and its judged queries, graded by how well a product matches what the query names. */
const fill = async (ask: Ask, { products, queryCount, seed }: QualityOptions) => {
  const all = [...generateCatalog({ seed, products })]
  await ask("POST", "/v1/collections", productSchema("products"))
  for (let i = 0; i < all.length; i += LINES_PER_IMPORT)
    await ask(
      "POST",
      "/v1/collections/products/documents/import",
      all
        .slice(i, i + LINES_PER_IMPORT)
        .map((product) => JSON.stringify(product))
        .join("\n")
    )
  const texts = new Map<string, ReadonlyArray<{ readonly document_id: string; readonly grade: number }>>()
  for (const query of generateQueries(all, { seed, queries: 3 * queryCount })) {
    if (texts.size >= queryCount) break
    if (texts.has(query.q)) continue
    const judged = all
      .map((product) => ({ document_id: product.id, grade: gradeOf(query, product) }))
      .filter(({ grade }) => grade > 0)
      .sort((a, b) => b.grade - a.grade)
    if (judged.length > 0) texts.set(query.q, judged.slice(0, 20))
  }
  return [...texts]
}
const ran = async (ask: Ask, suiteId: string): Promise<Job> => {
  const { id } = (await ask("POST", `/v1/quality/suites/${suiteId}/run`)) as Job
  for (;;) {
    const job = (await ask("GET", `/v1/jobs/${id}`)) as Job
    if (job.finished_at !== undefined) return job
    await pause(POLL_MS)
  }
}
const took_s = ({ created_at, finished_at = created_at }: Job): number => (finished_at - created_at) / 1_000

export const benchQuality = async (options: QualityOptions): Promise<void> => {
  const { rate, seconds } = options
  const server = await startServer()
  try {
    const ask = asking(server)
    const queries = await fill(ask, options)
    const suite = await ask("POST", "/v1/quality/suites", {
      name: "bench",
      collection: "products",
      params: { query_by: "title,brand,description" },
      judgments: queries.flatMap(([q, judged]) => judged.map((one) => ({ q, ...one })))
    })
    const first = await ran(ask, suite.id)
    const before = processorSeconds(server.pid)
    const alone = await ran(ask, suite.id)
    const after = processorSeconds(server.pid)
    const requests = queries.map(([q]) =>
      requestBytes(
        "GET",
        `/v1/collections/products/documents/search?query_by=title,brand&q=${encodeURIComponent(q)}`,
        server.search_key,
        undefined
      )
    )
    const load = { host: "127.0.0.1", port: server.port, requests, unique: false, connections: 8, seconds, rate }
    await runLoad({ ...load, seconds: 1 })
    const quiet = await runLoad(load)
    let isOver = false
    const beside = runLoad(load).finally(() => {
      isOver = true
    })
    const runs: Array<Job> = []
    while (!isOver) runs.push(await ran(ask, suite.id))
    const busy = await beside
    const times = (latencies: ReadonlyArray<number>) => percentiles([...latencies])
    report(
      `quality: ${queries.length} judged queries over ${options.products} products`,
      {
        first_run_s: round(took_s(first), 2),
        run_processor_s: round(after.process - before.process, 2),
        run_first_thread_s: round(after.firstThread - before.firstThread, 2),
        run_s: round(took_s(alone), 2),
        ndcg_at_10: round(Number(alone.result?.ndcg_at_10), 4),
        runs_beside_searches: runs.length,
        run_beside_searches_s: round(runs.reduce((sum, job) => sum + took_s(job), 0) / Math.max(1, runs.length), 2),
        searches_per_s: rate,
        quiet: times(quiet.latencies_ms),
        beside_runs: times(busy.latencies_ms),
        statuses: busy.statuses,
        machine: machine()
      },
      options.out
    )
  } finally {
    await server.stop()
  }
}
