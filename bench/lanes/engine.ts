/**
 * Question: how fast is the in-process engine on one thread, and how fast is Lucene at the same work? Workload: any
 * documents, schema and queries (files, or generated from a seed). Every query takes the path parameters → compile →
 * search → JSON text, whose cost a program with the package would pay. Warm-up queries differ from the measured ones.
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
import { measureCommonWord } from "../probes/common-word.ts"
import { measureStallsOf, type StallMode } from "../probes/stalls.ts"
import { measureWrites, writeModes } from "../probes/writes.ts"
import { checksum, machine, percentiles, report, round, rssMb, writeFigures } from "../harness/harness.ts"
import { type InputOptions, type Inputs, loadInputs } from "../inputs/inputs.ts"
import { javascriptPeers } from "../peers/javascript.ts"
import { luceneMissing, runLucene } from "../peers/lucene.ts"
import { runTantivy, tantivyMissing } from "../peers/tantivy.ts"

export interface EngineOptions extends InputOptions {
  readonly out: string | undefined
  readonly peers: ReadonlyArray<PeerName>
  /** Whether imports and single upserts run too. */ readonly writes: boolean
  /** Whether each query also runs with `ranking=relevance`, in turn with the plain one. */ readonly relevance: boolean
  /** Whether to measure delays of the searching thread, per mode. */ readonly stalls: ReadonlyArray<StallMode>
}
type PeerName = "lucene" | "tantivy" | "minisearch" | "orama" | "sqlite"
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

/** Figures for each class of queries. */
const classFigures = (times: Float64Array, classes: ReadonlyArray<string>) =>
  Object.fromEntries(
    [...new Set(classes)].sort().map((name) => {
      const own = times.filter((_ms, i) => classes[i] === name)
      return [
        name,
        {
          queries: own.length,
          qps: Math.round((own.length * 1000) / own.reduce((a, b) => a + b, 0)),
          ...percentiles(own)
        }
      ]
    })
  )

const SETTLE_MAX_MS = 120_000
const POLL_MS = 100
const OPENING_BRACE = 123
/** As many as for the peer. */
const WARM_ROUNDS = 3
/** Longer than the idle time after which an engine starts to merge everything into one segment. */
const REST_MS = 2_000
/**
 * Waits until background merging has finished (one segment, or no work for a while), as the peer's forced merge does.
 * Returns the seconds since `from`.
 */
const settled = async (segments: () => number, from: number): Promise<number> => {
  let last = performance.now()
  for (
    let at = last, used = process.cpuUsage();
    segments() > 1 && at - last < REST_MS && at - from < SETTLE_MAX_MS;
    at = performance.now()
  ) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
    const { user, system } = process.cpuUsage(used)
    used = process.cpuUsage()
    if (user + system > (POLL_MS * 1000) / 4) last = performance.now()
  }
  return ((segments() > 1 ? last : performance.now()) - from) / 1000
}

const RELEVANCE_ROUNDS = 4
/** The fastest of some rounds of each query, plain and by relevance in turn. */
const measureRelevance = async (
  run: (parameters: Record<string, unknown>) => Promise<string>,
  { queries, warm }: Inputs
) => {
  const byRelevance = (query: Record<string, unknown>) => ({ ...query, ranking: "relevance" })
  for (let turn = 0; turn < WARM_ROUNDS; turn++) for (const query of warm) await run(byRelevance(query))
  const kinds = [(query: Record<string, unknown>) => query, byRelevance].map((asked) => ({
    asked,
    least: new Float64Array(queries.length).fill(Infinity)
  }))
  for (let turn = 0; turn < RELEVANCE_ROUNDS; turn++)
    for (let i = 0; i < queries.length; i++)
      for (const { asked, least } of turn % 2 === 0 ? kinds : kinds.toReversed()) {
        const at = performance.now()
        await run(asked(queries[i]))
        least[i] = Math.min(least[i], performance.now() - at)
      }
  const [plain, relevance] = kinds.map(({ least }) => percentiles(least))
  return {
    plain,
    relevance,
    p50_ratio: round(relevance.p50_ms / plain.p50_ms, 2),
    p99_ratio: round(relevance.p99_ms / plain.p99_ms, 2)
  }
}

/** Imports, waits for merging to end, warms up, measures; shared with the test that keeps this bench from rotting. */
const measureEngine = async (inputs: Inputs, withRelevance: boolean) => {
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
    const { text = "" } = answered.value
    // The runtime joins the pieces of a text when one of its characters is read, as whoever sends it must.
    if (text.charCodeAt(0) !== OPENING_BRACE) throw new Error(`not an answer: ${text.slice(0, 80)}`)
    return text
  }
  for (let round = 0; round < WARM_ROUNDS; round++) for (const query of inputs.warm) await run(query)
  const times = new Float64Array(inputs.queries.length)
  const texts: Array<string> = []
  const started = performance.now()
  const used = process.cpuUsage()
  for (let i = 0; i < times.length; i++) {
    const at = performance.now()
    texts.push(await run(inputs.queries[i]))
    times[i] = performance.now() - at
  }
  const seconds = (performance.now() - started) / 1000
  const { system, user } = process.cpuUsage(used)
  const commonWord = inputs.common === undefined ? undefined : await measureCommonWord(run, inputs.common)
  const relevance = withRelevance ? await measureRelevance(run, inputs) : undefined
  const usage = engine.usage("bench", inputs.schema.name)
  const queries = texts.map((text, i) => measuredOf(times[i], text))
  const figures = {
    import_docs_per_s: Math.round(inputs.documents.length / importSeconds),
    import_and_merge_docs_per_s: Math.round(inputs.documents.length / settledSeconds),
    segments: engine.usage("bench", inputs.schema.name)?.segments ?? 0,
    rss_mb: rssMb(process.pid),
    index_bytes_per_doc: usage === undefined ? 0 : Math.round(usage.index_bytes / Math.max(1, usage.documents)),
    qps: Math.round(times.length / seconds),
    queries_per_processor_s: Math.round((times.length * 1e6) / (user + system)),
    ...percentiles(times),
    ...(inputs.classes === undefined ? {} : { classes: classFigures(times, inputs.classes) }),
    ...(commonWord === undefined ? {} : { common_word: commonWord }),
    ...(relevance === undefined ? {} : { by_relevance: relevance }),
    checksum: checksum(queries.map(({ found, ids }) => `${found} ${ids.join(",")}`))
  }
  await engine.close()
  return { figures, queries }
}

const programs = {
  lucene: { title: "lucene 9.12.1", missing: luceneMissing, run: runLucene },
  tantivy: { title: "tantivy 0.25.0", missing: tantivyMissing, run: runTantivy }
}
/** Runs a peer in a separate process, with the same queries. */
const besideProgram = (
  name: keyof typeof programs,
  inputs: Inputs,
  figures: Awaited<ReturnType<typeof measureEngine>>["figures"],
  queries: ReadonlyArray<Measured>
): unknown => {
  const { missing, run, title } = programs[name]
  const reason = missing()
  if (reason !== undefined) {
    process.stdout.write(`\nSKIPPED PEER ${name}: ${reason}\n`)
    return { skipped: reason }
  }
  const { queries: peerQueries, ...peerFigures } = run(inputs)
  const rest = { ...peerFigures, qps: Math.round(peerFigures.qps), ...percentiles(peerQueries.map(({ ms }) => ms)) }
  const classes =
    inputs.classes === undefined
      ? {}
      : {
          classes: classFigures(
            Float64Array.from(peerQueries, ({ ms }) => ms),
            inputs.classes
          )
        }
  report(
    `${title}, the same work, one thread, no filters remembered, ${peerQueries.length} queries`,
    { ...rest, ...classes, none_found: peerQueries.filter(({ found }) => found === 0).length },
    undefined
  )
  if (inputs.mistyped !== undefined) {
    const p99 = (all: ReadonlyArray<{ readonly ms: number }>) =>
      percentiles(all.flatMap(({ ms }, i) => (inputs.mistyped?.[i] === true ? [ms] : []))).p99_ms
    process.stdout.write(`\nqueries with a typo: p99 ours ${p99(queries)} ms, ${name} ${p99(peerQueries)} ms\n`)
  }
  const ratio = (own: number, other: number): number => round(own / other, 2)
  process.stdout.write(
    `\nratios, ours / ${name}: queries/s ${ratio(figures.qps, rest.qps)}, p50 ${ratio(figures.p50_ms, rest.p50_ms)}, p99 ${ratio(figures.p99_ms, rest.p99_ms)}, import and merge ${ratio(figures.import_and_merge_docs_per_s, rest.import_docs_per_s)}\n`
  )
  return { ...rest, ...classes, qps_ratio: ratio(figures.qps, rest.qps) }
}
const besideLibrary = async (name: Exclude<PeerName, keyof typeof programs>, inputs: Inputs): Promise<unknown> => {
  const peer = javascriptPeers[name]
  const measured = await peer.run(inputs)
  report(`${peer.name} (cannot: ${peer.cannot})`, measured, undefined)
  return measured
}

export const benchEngine = async (options: EngineOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const { figures, queries } = await measureEngine(inputs, options.relevance)
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
  for (const name of options.peers)
    peers[name] =
      name === "lucene" || name === "tantivy"
        ? besideProgram(name, inputs, figures, queries)
        : await besideLibrary(name, inputs)
  writeFigures(
    { ...all, peers, ...(writes === undefined ? {} : { writes }), ...(options.stalls.length === 0 ? {} : { stalls }) },
    options.out
  )
}
