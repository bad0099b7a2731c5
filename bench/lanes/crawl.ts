/**
 * Question: how many pages does a crawl read per second, and what does one cost? Workload: a generated site of N pages
 * on loopback, each with some 3 kB of text and ten links, responding once immediately and once after 20 ms. The program
 * crawls it with `delay_ms: 0`, which is impolite to real sites. It sends one request at a time, so a slow host limits
 * it. Processor time is that of all threads; memory is the program's resident set, before and at its highest.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { machine, processorSeconds, report, round, rssMb } from "../harness/harness.ts"
import { type RunningProgram, startServer } from "../harness/program.ts"

export interface CrawlOptions {
  readonly pages: number
  readonly out: string | undefined
}
const POLL_MS = 50
const LATENCIES_MS = [0, 20]
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

const WORDS = "lamp light room desk shelf warm bright switch cable bulb glass brass linen oak floor wall".split(" ")
const pageOf = (n: number, pages: number): string => {
  const word = (i: number) => WORDS[(n * 7 + i * 13 + ((n * i) % 11)) % WORDS.length]!
  const paragraph = (p: number) => `<p>${Array.from({ length: 60 }, (_, i) => word(p * 60 + i)).join(" ")}.</p>`
  const links = Array.from({ length: 10 }, (_, i) => `<li><a href="/p${(n * 10 + i + 1) % pages}">${word(i)}</a></li>`)
  return `<!doctype html><html lang="en"><head><title>Page ${n}</title><meta name="description" content="About ${word(1)}"></head><body><nav><ul>${links.join("")}</ul></nav><article><h1>${word(2)} ${n}</h1>${Array.from({ length: 4 }, (_, p) => `<h2>${word(p)}</h2>${paragraph(p)}${paragraph(p + 9)}`).join("")}</article></body></html>`
}
const startSite = async (pages: number, latency_ms: number) => {
  const server = createServer((request, response) => {
    const n = /^\/p(\d+)$/.exec(request.url ?? "")
    const send = () =>
      n === null
        ? response.writeHead(404).end()
        : response.writeHead(200, { "content-type": "text/html" }).end(pageOf(Number(n[1]), pages))
    if (latency_ms === 0) send()
    else setTimeout(send, latency_ms)
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((settle) => {
        server.closeAllConnections()
        server.close(settle)
      })
  }
}

const crawl = async (program: RunningProgram, origin: string, pages: number, collection: string) => {
  const ask = async (method: string, path: string, body?: unknown): Promise<any> => {
    const answer = await fetch(`http://127.0.0.1:${program.port}${path}`, {
      method,
      headers: { "x-svc-api-key": program.full_key },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const before = processorSeconds(program.pid)
  const rss_before_mb = rssMb(program.pid)
  let rss_highest_mb = rss_before_mb
  const config = { start_urls: [`${origin}/p0`], max_pages: pages, max_depth: 5, delay_ms: 0, create_collection: true }
  const { id } = await ask("POST", "/v1/ingest/jobs", { collection, source: "url", config })
  for (;;) {
    const job = await ask("GET", `/v1/ingest/jobs/${id}`)
    rss_highest_mb = Math.max(rss_highest_mb, rssMb(program.pid))
    if (job.finished_at === undefined) {
      await pause(POLL_MS)
      continue
    }
    if (job.status !== "ready" || job.stats.failed > 0) throw new Error(JSON.stringify(job))
    const seconds = (job.finished_at - job.created_at) / 1_000
    const spent = processorSeconds(program.pid)
    return {
      pages: job.stats.fetched,
      documents: job.stats.imported,
      seconds: round(seconds, 2),
      pages_per_s: round(job.stats.fetched / seconds, 1),
      processor_ms_per_page: round((1_000 * (spent.process - before.process)) / job.stats.fetched, 2),
      first_thread_ms_per_page: round((1_000 * (spent.firstThread - before.firstThread)) / job.stats.fetched, 2),
      rss_before_mb: round(rss_before_mb, 0),
      rss_highest_mb: round(rss_highest_mb, 0)
    }
  }
}

export const benchCrawl = async ({ out, pages }: CrawlOptions): Promise<void> => {
  const program = await startServer(["--allow-private-addresses"])
  try {
    const figures: Record<string, unknown> = { machine: machine(), pages }
    for (const latency_ms of LATENCIES_MS) {
      const site = await startSite(pages, latency_ms)
      try {
        figures[`latency_${latency_ms}_ms`] = await crawl(program, site.origin, pages, `crawl_${latency_ms}`)
        // The cost of a second crawl of the same site, where nothing changed.
        figures[`again_${latency_ms}_ms`] = await crawl(program, site.origin, pages, `crawl_${latency_ms}`)
      } finally {
        await site.stop()
      }
    }
    report(`A crawl of ${pages} pages`, figures, out)
  } finally {
    await program.stop()
  }
}
