/**
 * Question: how fast is the in-process engine on one thread, and how does Lucene do the same work?
 * Workload: any documents, schema and queries (files or generated from a seed); every query is parameters → compile →
 * search → JSON text, as a program that uses the package pays for it. Warmed with other queries than the measured ones.
 * Excluded: HTTP. `--peer lucene` runs Lucene 9.12 on one thread in the same run; compare ratios, not absolute figures.
 */
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  search
} from "../../engine-sdk/src/operations/mod.ts"
import { measureStallsOf, type StallMode } from "../probes/stalls.ts"
import { measureWrites, writeModes } from "../probes/writes.ts"
import { checksum, machine, percentiles, report, round, rssMb, writeFigures } from "../harness/harness.ts"
import { type InputOptions, type Inputs, loadInputs } from "../inputs/inputs.ts"
import { javascriptPeers } from "../peers/javascript.ts"
import { luceneMissing, runLucene } from "../peers/lucene.ts"

export interface EngineOptions extends InputOptions {
  readonly out: string | undefined
  readonly peers: ReadonlyArray<PeerName>
  /** Imports and single upserts beside them as well. */ readonly writes: boolean
  /** What holds the searching thread beside imports, merges and a start. */ readonly stalls: ReadonlyArray<StallMode>
}
type PeerName = "lucene" | "minisearch" | "orama" | "sqlite"
interface Measured {
  readonly ms: number
  readonly found: number
  readonly ids: ReadonlyArray<string>
  readonly facets: Readonly<Record<string, ReadonlyArray<readonly [string, number]>>>
}

interface Answer {
  readonly found: number
  readonly hits?: ReadonlyArray<{ readonly document: { readonly id?: string } }>
  readonly facet_counts: ReadonlyArray<{
    readonly field_name: string
    readonly counts: ReadonlyArray<{ readonly value: string; readonly count: number }>
  }>
}
const measuredOf = (ms: number, text: string): Measured => {
  const answer = JSON.parse(text) as Answer
  return {
    ms: round(ms, 4),
    found: answer.found,
    ids: (answer.hits ?? []).slice(0, 10).map(({ document }) => document.id ?? ""),
    facets: Object.fromEntries(
      answer.facet_counts.map(({ counts, field_name }) => [
        field_name,
        counts.map(({ count, value }) => [value, count] as const)
      ])
    )
  }
}

const SETTLE_MAX_ms = 120_000
const POLL_ms = 100
/** As many as the peer has. */
const WARM_ROUNDS = 3
/** Longer than the rest after which an engine starts to merge everything into one. */
const REST_ms = 2_000
/**
 * Until background merging has come to rest (one segment, or no work for a while), as the peer's forced merge does.
 * Answers the seconds since `from`.
 */
const settled = async (segments: () => number, from: number): Promise<number> => {
  let last = performance.now()
  for (
    let at = last, used = process.cpuUsage();
    segments() > 1 && at - last < REST_ms && at - from < SETTLE_MAX_ms;
    at = performance.now()
  ) {
    await new Promise((resolve) => setTimeout(resolve, POLL_ms))
    const { user, system } = process.cpuUsage(used)
    used = process.cpuUsage()
    if (user + system > (POLL_ms * 1000) / 4) last = performance.now()
  }
  return ((segments() > 1 ? last : performance.now()) - from) / 1000
}

/** Imports, lets merging come to rest, warms and measures; shared with the test that keeps this bench from rotting. */
const measureEngine = async (inputs: Inputs) => {
  const engine = createEngine()
  const context: OperationContext = { engine, resources: memoryResources(), namespace: "bench", now_s: 0 }
  const created = await createCollection(context, JSON.stringify(inputs.schema))
  if (!created.ok) throw new Error(created.error.message)
  const before = performance.now()
  const imported = importDocuments(context, inputs.schema.name, inputs.documents.chunks(), { action: "create" })
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const lines of imported.value.lines)
    if (lines.includes('"success":false')) throw new Error(lines.split("\n").find((line) => line.includes("false")))
  const importSeconds = (performance.now() - before) / 1000
  const settledSeconds = await settled(() => engine.usage("bench", inputs.schema.name)?.segments ?? 0, before)
  const run = async (parameters: Record<string, unknown>): Promise<string> => {
    const answered = await search(context, inputs.schema.name, parameters)
    if (!answered.ok) throw new Error(`${JSON.stringify(parameters)}: ${answered.error.message}`)
    return answered.value.text ?? ""
  }
  for (let round = 0; round < WARM_ROUNDS; round++) for (const query of inputs.warm) await run(query)
  const times = new Float64Array(inputs.queries.length)
  const texts: Array<string> = []
  const started = performance.now()
  for (let i = 0; i < times.length; i++) {
    const at = performance.now()
    texts.push(await run(inputs.queries[i]))
    times[i] = performance.now() - at
  }
  const seconds = (performance.now() - started) / 1000
  const usage = engine.usage("bench", inputs.schema.name)
  const queries = texts.map((text, i) => measuredOf(times[i], text))
  const figures = {
    import_docs_per_s: Math.round(inputs.documents.length / importSeconds),
    import_and_merge_docs_per_s: Math.round(inputs.documents.length / settledSeconds),
    segments: engine.usage("bench", inputs.schema.name)?.segments ?? 0,
    rss_mb: rssMb(process.pid),
    index_bytes_per_doc: usage === undefined ? 0 : Math.round(usage.index_bytes / Math.max(1, usage.documents)),
    qps: Math.round(times.length / seconds),
    ...percentiles(times),
    checksum: checksum(queries.map(({ found, ids }) => `${found} ${ids.join(",")}`))
  }
  await engine.close()
  return { figures, queries }
}

export const benchEngine = async (options: EngineOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const { figures, queries } = await measureEngine(inputs)
  const all = { ...figures, machine: machine(), queries }
  report(`engine: ${inputs.documents.length} documents, ${inputs.queries.length} queries, one thread`, all, undefined)
  const writes = options.writes ? await measureWrites(inputs) : undefined
  for (const mode of writes === undefined ? [] : writeModes)
    report(`import, and single upserts beside one: ${mode}`, writes?.[mode] ?? {}, undefined)
  const stalls: Partial<Record<StallMode, unknown>> = {}
  for (const mode of options.stalls) {
    const measured = await measureStallsOf(inputs, mode)
    const { longest, phases, ...rest } = measured
    stalls[mode] = measured
    report(`what holds the searching thread: ${mode}`, { ...phases, ...rest }, undefined)
    for (const line of longest) process.stdout.write(`    ${line}\n`)
  }
  const peers: Record<string, unknown> = {}
  for (const name of options.peers) {
    if (name !== "lucene") {
      const peer = javascriptPeers[name]
      const measured = await peer.run(inputs)
      peers[name] = measured
      report(`${peer.name} (cannot: ${peer.cannot})`, measured, undefined)
      continue
    }
    const missing = luceneMissing()
    if (missing !== undefined) {
      peers.lucene = { skipped: missing }
      process.stdout.write(`\nSKIPPED PEER lucene: ${missing}\n`)
      continue
    }
    const peer = runLucene(inputs)
    const { queries: peerQueries, ...rest } = peer
    peers.lucene = { ...rest, qps_ratio: round(figures.qps / peer.qps, 2) }
    report(
      "lucene 9.12.1, the same work, one thread",
      { ...rest, none_found: peerQueries.filter(({ found }) => found === 0).length },
      undefined
    )
    if (inputs.mistyped !== undefined) {
      const p99 = (all: ReadonlyArray<{ readonly ms: number }>) =>
        percentiles(all.flatMap(({ ms }, i) => (inputs.mistyped?.[i] === true ? [ms] : []))).p99_ms
      process.stdout.write(`\nqueries with a typo: p99 ours ${p99(queries)} ms, Lucene ${p99(peerQueries)} ms\n`)
    }
    process.stdout.write(
      `\nratios, ours / Lucene: queries/s ${round(figures.qps / peer.qps, 2)}, p50 ${round(figures.p50_ms / peer.p50_ms, 2)}, p99 ${round(figures.p99_ms / peer.p99_ms, 2)}, import and merge ${round(figures.import_and_merge_docs_per_s / peer.import_docs_per_s, 2)}\n`
    )
  }
  writeFigures(
    { ...all, peers, ...(writes === undefined ? {} : { writes }), ...(options.stalls.length === 0 ? {} : { stalls }) },
    options.out
  )
}
