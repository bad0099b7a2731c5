/**
 * Question: how long does it take to generate a landing page for every value of a field, and how does that affect
 * searches meanwhile? Workload: a generated catalogue whose products each have one of `values` series, over HTTP to a
 * program started as its users start it: pages of all values, once more over the existing ones, an audit; then
 * searches at a fixed rate, first alone and then while generations follow each other. Times are those of the jobs,
 * from request to completion; latencies count from when a request was due.
 */
import { generateCatalog, productSchema } from "../../fixtures/catalog/generate.ts"
import { machine, percentiles, processorSeconds, report, round } from "../harness/harness.ts"
import { requestBytes, runLoad, type RunningProgram, startServer } from "../harness/program.ts"

export interface SeoOptions {
  readonly products: number
  readonly values: number
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

const fill = async (ask: Ask, { products, seed, values }: SeoOptions): Promise<ReadonlyArray<string>> => {
  const schema = productSchema("products")
  await ask("POST", "/v1/collections", {
    ...schema,
    fields: [...schema.fields, { name: "series", type: "string", facet: true }]
  })
  const titles: Array<string> = []
  let lines: Array<string> = []
  let n = 0
  const send = async () => {
    if (lines.length > 0) await ask("POST", "/v1/collections/products/documents/import", lines.join("\n"))
    lines = []
  }
  for (const product of generateCatalog({ seed, products })) {
    const series = n++ % values
    if (titles.length < 1_000) titles.push(product.title)
    lines.push(JSON.stringify({ ...product, series: `Serie ${series.toString(36)} nº ${series}` }))
    if (lines.length >= LINES_PER_IMPORT) await send()
  }
  await send()
  return titles
}
const ran = async (ask: Ask, path: string): Promise<Job> => {
  const { id } = (await ask("POST", path)) as Job
  for (;;) {
    const job = (await ask("GET", `/v1/jobs/${id}`)) as Job
    if (job.finished_at !== undefined) {
      if (job.status !== "ready") throw new Error(`${path}: ${job.error}`)
      return job
    }
    await pause(POLL_MS)
  }
}
const took_s = ({ created_at, finished_at = created_at }: Job): number => (finished_at - created_at) / 1_000

export const benchSeo = async (options: SeoOptions): Promise<void> => {
  const { products, rate, seconds, values } = options
  const server = await startServer()
  try {
    const ask = asking(server)
    const titles = await fill(ask, options)
    const rule = await ask("POST", "/v1/seo/rules", {
      name: "bench",
      collection: "products",
      facet_field: "series",
      url_template: "https://shop.example/series/#SLUG#",
      site_name: "Shop"
    })
    const generate = `/v1/seo/rules/${rule.id}/pages/generate`
    const before = processorSeconds(server.pid)
    const first = await ran(ask, generate)
    const after = processorSeconds(server.pid)
    const again = await ran(ask, generate)
    const audit = await ran(ask, `/v1/seo/rules/${rule.id}/pages/audit`)
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
    while (!isOver) jobs.push(await ran(ask, generate))
    const busy = await beside
    report(
      `seo: pages of ${values} values of ${products} products`,
      {
        pages: first.result?.pages,
        index: first.result?.index,
        generation_s: round(took_s(first), 2),
        generation_processor_s: round(after.process - before.process, 2),
        again_s: round(took_s(again), 2),
        audit_s: round(took_s(audit), 2),
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
