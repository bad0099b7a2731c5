/**
 * Question: how long does the graph of a collection take, and how does that affect searches meanwhile? Workload: a
 * generated catalogue with prose, over HTTP to a program started as its users start it: entities, communities, and
 * both once more over the existing ones; then searches at a fixed rate, first alone and then while graphs follow each
 * other. Times are those of the jobs, from request to completion; latencies count from when a request was due.
 */
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { machine, percentiles, processorSeconds, report, round } from "../harness/harness.ts"
import { requestBytes, runLoad, type RunningProgram, startServer } from "../harness/program.ts"

export interface GraphOptions {
  readonly products: number
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
  readonly error?: string
  readonly result?: Readonly<Record<string, unknown>>
}

const LINES_PER_IMPORT = 5_000
const POLL_MS = 50
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
    return path.includes("/import") ? undefined : JSON.parse(text)
  }
type Ask = ReturnType<typeof asking>

const fill = async (ask: Ask, { products, seed }: GraphOptions): Promise<ReadonlyArray<string>> => {
  await ask("POST", "/v1/collections", productSchema("products"))
  const titles: Array<string> = []
  let lines: Array<string> = []
  const send = async () => {
    if (lines.length > 0) await ask("POST", "/v1/collections/products/documents/import", lines.join("\n"))
    lines = []
  }
  for (const product of generateCatalog({ seed, products, prose: true })) {
    if (titles.length < 1_000) titles.push(product.title)
    lines.push(JSON.stringify(product))
    if (lines.length >= LINES_PER_IMPORT) await send()
  }
  await send()
  return titles
}
const ran = async (ask: Ask, part: string): Promise<Job> => {
  const { id } = (await ask("POST", `/v1/collections/products/graph/${part}/generate`)) as Job
  for (;;) {
    const job = (await ask("GET", `/v1/jobs/${id}`)) as Job
    if (job.finished_at !== undefined) {
      if (job.status !== "ready") throw new Error(`${part}: ${job.error}`)
      return job
    }
    await pause(POLL_MS)
  }
}
const took_s = ({ created_at, finished_at = created_at }: Job): number => (finished_at - created_at) / 1_000

export const benchGraph = async (options: GraphOptions): Promise<void> => {
  const { products, rate, seconds } = options
  const server = await startServer(["--credit-prices", "graph=0"])
  try {
    const ask = asking(server)
    const titles = await fill(ask, options)
    const before = processorSeconds(server.pid)
    const first = await ran(ask, "communities")
    const after = processorSeconds(server.pid)
    const again = await ran(ask, "entities")
    const requests = titles.map((title) =>
      requestBytes(
        "GET",
        `/v1/collections/products/documents/search?query_by=title,brand&q=${encodeURIComponent(title)}`,
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
    const jobs: Array<Job> = []
    while (!isOver) jobs.push(await ran(ask, "communities"))
    const busy = await beside
    report(
      `graph: of ${products} products`,
      {
        ...first.result,
        generation_s: round(took_s(first), 2),
        generation_processor_s: round(after.process - before.process, 2),
        again_s: round(took_s(again), 2),
        generation_beside_searches_s: round(jobs.reduce((sum, job) => sum + took_s(job), 0) / jobs.length, 2),
        searches_per_s: rate,
        quiet: percentiles([...quiet.latencies_ms]),
        beside: percentiles([...busy.latencies_ms]),
        statuses: busy.statuses,
        machine: machine()
      },
      options.out
    )
  } finally {
    await server.stop()
  }
}
