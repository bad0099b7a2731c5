/**
 * Question: what does a search cost over HTTP, and how much of that is not the engine? Workload: the queries of
 * `--queries` (one JSON object of search parameters per line) as multi-search requests of one search, over keep-alive
 * sockets from a separate load process: 300 per second from the end of the import, while segments are merged; closed
 * loops on 1, 2, 4 and 16 connections and on `--connections` (peak); then fixed arrival rates of 30, 60 and 90 % of the
 * peak; all of it with and without a search worker. Processor time of server and load is reported separately, because
 * they share the machine. `idle_caches` shows how much slower this machine runs a fixed piece of code after a pause, as
 * between searches at a low rate. Excluded: TLS and the network. `--mixed` repeats the fixed rate while events and
 * documents stream in, three times. `--rules` repeats the queries on one connection with a thousand rules, a linear
 * rerank and diversity, and reports what they cost beyond the engine call: the median over HTTP minus the median of the
 * engine call, which `explain` reports for the same searches.
 */
import { availableParallelism } from "node:os"
import { searchWorkersDefault } from "../../src/config.ts"
import type { LoadJob } from "../harness/load.ts"
import { machine, percentiles, processorSeconds, report, round, rssMb, writeFigures } from "../harness/harness.ts"
import { idleCaches } from "../harness/idle-caches.ts"
import { type InputOptions, type Inputs, loadInputs } from "../inputs/inputs.ts"
import { requestBytes, runLoad, type RunningProgram, startServer } from "../harness/program.ts"
import { ruleSetOf } from "./rules.ts"
import type { Texts } from "../inputs/texts.ts"

export interface SearchOptions extends InputOptions {
  readonly seconds: number
  readonly connections: number
  readonly rate: number | undefined
  readonly mixed: boolean
  readonly rules: boolean
  readonly out: string | undefined
}

const post = async (url: string, key: string, body: string): Promise<string> => {
  const response = await fetch(url, { method: "POST", headers: { "x-svc-api-key": key }, body })
  const text = await response.text()
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.slice(0, 300)}`)
  return text
}

type Common = {
  readonly host: string
  readonly port: number
  readonly requests: ReadonlyArray<string>
  readonly unique: boolean
}
/** Returns documents per second. */
const importInto = async (server: RunningProgram, { documents, schema }: Inputs): Promise<number> => {
  await post(`${server.base}/collections`, server.full_key, JSON.stringify(schema))
  const started = performance.now()
  for (let at = 0; at < documents.length; at += 10_000) {
    const answer = await post(
      `${server.base}/collections/${schema.name}/documents/import?action=create`,
      server.full_key,
      [...documents.slice(at, at + 10_000)].join("\n")
    )
    const refused = answer.split("\n").find((line) => !line.includes('"success":true'))
    if (refused !== undefined) throw new Error(`A document was refused: ${refused.slice(0, 300)}`)
  }
  return documents.length / ((performance.now() - started) / 1000)
}
/** Runs one load. Adds processor time per search of the server's first thread, of all its threads, and of the load. */
const loaded = async (server: RunningProgram, job: LoadJob) => {
  const before = processorSeconds(server.pid)
  const result = await runLoad(job)
  const after = processorSeconds(server.pid)
  const each = (used_s: number) => round((used_s / Math.max(1, result.answered)) * 1_000, 3)
  return {
    result,
    figures: {
      queries_per_s: Math.round(result.answered / result.seconds),
      ...percentiles(result.latencies_ms as Array<number>),
      // Part of each latency: the load noticed so much later that a request was due.
      ...(job.rate > 0 ? { load_late_p50_ms: percentiles(result.late_ms as Array<number>).p50_ms } : {}),
      processor_ms_server: each(after.process - before.process),
      processor_ms_first_thread: each(after.firstThread - before.firstThread),
      processor_ms_load: each(result.processor_s)
    }
  }
}
const CONNECTIONS = [1, 2, 4, 16]
const RATE_SHARES = [0.3, 0.6, 0.9]

const AFTER_IMPORT_PER_S = 300,
  AFTER_IMPORT_S = 5
/** How many of the searches due in each of the first seconds after the import are answered, and their medians. */
const afterImport = async (common: Common) => {
  const answered: Array<number> = [],
    p50_ms: Array<number> = []
  for (let second = 0; second < AFTER_IMPORT_S; second++) {
    const result = await runLoad({ ...common, connections: 16, seconds: 1, rate: AFTER_IMPORT_PER_S })
    answered.push(result.answered)
    p50_ms.push(percentiles(result.latencies_ms as Array<number>).p50_ms)
  }
  return { due_per_s: AFTER_IMPORT_PER_S, answered, p50_ms }
}

const measured = async (options: SearchOptions, server: RunningProgram, common: Common) => {
  const { connections, seconds } = options
  const after_import = await afterImport(common)
  await runLoad({ ...common, connections: 4, seconds: 3, rate: 0 })
  const byConnections: Record<string, unknown> = {},
    byRate: Record<string, unknown> = {}
  for (const count of CONNECTIONS)
    byConnections[`connections_${count}`] = (
      await loaded(server, { ...common, connections: count, seconds, rate: 0 })
    ).figures
  const peak = await loaded(server, { ...common, connections, seconds, rate: 0 })
  for (const share of RATE_SHARES) {
    const rate = Math.max(1, Math.floor(share * peak.figures.queries_per_s))
    byRate[`rate_${share * 100}_percent`] = (await loaded(server, { ...common, connections, seconds, rate })).figures
  }
  const rate = options.rate ?? Math.max(1, Math.floor(0.3 * peak.figures.queries_per_s))
  const quiet = await runLoad({ ...common, connections, seconds, rate })
  return {
    rate,
    figures: {
      rss_mb: rssMb(server.pid),
      after_import,
      one_connection: byConnections["connections_1"],
      ...byConnections,
      peak_qps: peak.figures.queries_per_s,
      queries_per_processor_s: Math.round(1_000 / Math.max(0.001, peak.figures.processor_ms_server)),
      peak: peak.figures,
      statuses: peak.result.statuses,
      ...byRate,
      fixed_rate_per_s: rate,
      quiet: percentiles(quiet.latencies_ms as Array<number>)
    }
  }
}
/** `--rules` and `--mixed` run on the last of these servers. */
const withWorkers = async (options: SearchOptions, inputs: Inputs, workers: number, isLast: boolean) => {
  const server = await startServer(["--search-workers", String(workers)])
  try {
    const import_docs_per_s = Math.round(await importInto(server, inputs))
    const requests = inputs.queries.map((query) =>
      requestBytes(
        "POST",
        "/v1/multi_search",
        server.search_key,
        JSON.stringify({ searches: [{ collection: inputs.schema.name, ...query }] })
      )
    )
    const common = { host: "127.0.0.1", port: server.port, requests, unique: false }
    const { figures, rate } = await measured(options, server, common)
    if (!isLast) return { import_docs_per_s, ...figures }
    const plain_ms = (figures.one_connection as { readonly p50_ms: number }).p50_ms
    return {
      import_docs_per_s,
      ...figures,
      ...(options.rules ? await ruled(options, server, common, inputs, plain_ms) : {}),
      ...(options.mixed ? await mixed(options, server, common, rate, inputs.documents) : {})
    }
  } finally {
    await server.stop()
  }
}
/** The default of a start without flags on this machine is last, for `--rules` and `--mixed`. */
const WORKERS = searchWorkersDefault(availableParallelism()) === 0 ? [1, 0] : [0, 1]

export const benchSearch = async (options: SearchOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const idle_caches = await idleCaches()
  report("the machine", { idle_caches }, undefined)
  const all: Record<string, unknown> = { machine: machine(), idle_caches, documents: inputs.documents.length }
  for (const workers of WORKERS) {
    const figures = await withWorkers(options, inputs, workers, workers === WORKERS.at(-1))
    all[`workers_${workers}`] = figures
    report(`search, ${workers} search workers`, figures, undefined)
  }
  writeFigures(all, options.out)
}

const rulesCount = 1_000
/** Number of requests whose explanation is read: enough for a median. */
const explained = 300

const ruled = async (
  options: SearchOptions,
  server: RunningProgram,
  common: Common,
  inputs: Inputs,
  plain_ms: number
) => {
  const engine = async () => percentiles(await engineCalls(server, inputs)).p50_ms
  const plainEngine_ms = await engine()
  const [first, ...more] = (inputs.queries[0].query_by as string).split(",").map((field) => field.trim())
  const field =
    more.find((name) =>
      (inputs.schema.fields as ReadonlyArray<{ readonly name: string; readonly facet?: boolean }> | undefined)?.some(
        (own) => own.name === name && own.facet === true
      )
    ) ?? first
  const answer = await fetch(`${server.base}/collections/${inputs.schema.name}/search_rules`, {
    method: "PUT",
    headers: { "x-svc-api-key": server.full_key },
    body: JSON.stringify(ruleSetOf(inputs, { rules: rulesCount, texts: [first, ...more], field }))
  })
  if (!answer.ok) throw new Error(`The rules were refused: ${await answer.text()}`)
  await runLoad({ ...common, connections: 4, seconds: 3, rate: 0 })
  const single = await runLoad({ ...common, connections: 1, seconds: options.seconds, rate: 0 })
  const ruledEngine_ms = await engine()
  const latency = percentiles(single.latencies_ms as Array<number>)
  // Removes the rules, so that the following mixed part stays comparable with earlier runs.
  await fetch(`${server.base}/collections/${inputs.schema.name}/search_rules`, {
    method: "DELETE",
    headers: { "x-svc-api-key": server.full_key }
  })
  return {
    rules: rulesCount,
    rules_one_connection: latency,
    engine_call_p50_ms: { plain: plainEngine_ms, rules: ruledEngine_ms },
    beyond_engine_p50_ms: { plain: round(plain_ms - plainEngine_ms), rules: round(latency.p50_ms - ruledEngine_ms) },
    rules_statuses: single.statuses
  }
}
/** Milliseconds of each search's engine call, from its explanation. */
const engineCalls = async (server: RunningProgram, { queries, schema }: Inputs): Promise<Array<number>> => {
  const calls: Array<number> = []
  for (let i = 0; i < explained; i++) {
    const text = await post(
      `${server.base}/multi_search`,
      server.full_key,
      JSON.stringify({ searches: [{ collection: schema.name, ...queries[i % queries.length], debug: true }] })
    )
    const { explain } = (
      JSON.parse(text) as {
        readonly results: ReadonlyArray<{
          readonly explain: { readonly stages: ReadonlyArray<{ readonly name: string; readonly us: number }> }
        }>
      }
    ).results[0]
    calls.push(explain.stages.filter(({ name }) => name === "engine").reduce((sum, { us }) => sum + us, 0) / 1_000)
  }
  return calls
}

/** 20,000 events/s and 2,000 documents/s during the same fixed rate of searches. */
const mixed = async (
  options: SearchOptions,
  server: RunningProgram,
  common: Common,
  rate: number,
  documents: Texts
) => {
  const events = requestBytes(
    "POST",
    "/v1/events",
    server.search_key,
    JSON.stringify({
      events: Array.from({ length: 100 }, (_, i) => ({
        type: i % 4 === 0 ? "search" : "click",
        collection: "products",
        event_id: `m-@@@@@@@@@@@@-${i}`,
        session_id: "s-@@@@@@@@@@@@",
        ...(i % 4 === 0 ? { q: "running shoes", results_found: 3 } : { document_id: `p${i + 1}`, q: "running shoes" })
      }))
    })
  )
  const imports = Array.from({ length: 20 }, (_, i) =>
    requestBytes(
      "POST",
      "/v1/collections/products/documents/import?action=upsert",
      server.full_key,
      [...documents.slice(i * 100, i * 100 + 100)].join("\n")
    )
  )
  const { host, port } = common,
    { connections, seconds } = options
  const together = async (uniqueFrom: number) => {
    const [busy, eventLoad, importLoad] = await Promise.all([
      runLoad({ ...common, connections, seconds, rate }),
      runLoad({ host, port, connections: 8, seconds, rate: 200, requests: [events], unique: true, uniqueFrom }),
      runLoad({ host, port, connections: 2, seconds, rate: 20, requests: imports, unique: false })
    ])
    return {
      ...percentiles(busy.latencies_ms as Array<number>),
      statuses: busy.statuses,
      events_per_s: Math.round(eventLoad.accepted / eventLoad.seconds),
      documents_per_s: Math.round((importLoad.answered * 100) / importLoad.seconds)
    }
  }
  // The first time, most of the code for events and writes is not compiled yet, as for searches before they are
  // measured.
  return {
    busy_first: await together(FIRST_UNIQUE),
    busy_second: await together(FIRST_UNIQUE + UNIQUE_STEP),
    busy: await together(FIRST_UNIQUE + 2 * UNIQUE_STEP),
    quiet_again: percentiles((await runLoad({ ...common, connections, seconds, rate })).latencies_ms as Array<number>)
  }
}
const FIRST_UNIQUE = 500_000_000,
  UNIQUE_STEP = 10_000_000
