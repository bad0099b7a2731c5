/**
 * Question: how long does anything block the searching thread while imports cause merges, and what is it? Workload:
 * the collection is imported, merged, reopened (on disk) and a tenth of it replaced, in memory and with the writer in
 * a worker; meanwhile each search is due a millisecond after the previous one ended. Searches alternate between
 * facets, sorting and filters, including a facet with as many values as there are products. Excluded: the work of the
 * search itself. Work that a search did only once (over three times what the same query costs at rest) is counted as
 * `first_use`. For the longest blocks, samples of the processor show what ran. `at rest` is the same search without
 * any writing or merging, for comparison: the runtime's garbage collector also stops the thread there, so the part of
 * a block without the collector's samples is reported separately. `wait` is wall-clock time since a search was due.
 * `held` is the thread's processor time between two searches, and `search` that of the search, so other programs do
 * not affect them (Linux, Deno; elsewhere wall-clock).
 */
import { Session } from "node:inspector"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import type { LocalEngine } from "../../engine-sdk/src/memory/local-engine.ts"
import { openEngine } from "../../engine-sdk/src/memory/open-engine.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  search
} from "../../engine-sdk/src/operations/mod.ts"
import { percentiles, round } from "../harness/harness.ts"
import type { Inputs } from "../inputs/inputs.ts"
import type { Texts } from "../inputs/texts.ts"

/** Where documents are written: in memory, on the searching thread; or on disk, in a worker. */
export type StallMode = "memory" | "worker"
/** The shortest block in milliseconds that is reported, and how many of each kind. */
const REPORTED_MS = 5
const REPORTED_MAX = 12
const SAMPLES_US = 500
const INTERVAL_MS = 1
const QUERIES = 240
/** Duration of the phase in which only searches run. */
const ALONE_MS = 5_000
const COLLECTOR = "(garbage collector)"
/** Longer than a merge of everything takes between two publications: a constant part and a part per document. */
const REST_MS = 12_000
const REST_MS_PER_DOCUMENT = 0.04
const REST_MAX_MS = 240_000

interface Stretch {
  readonly phase: string
  readonly kind: "wait" | "first_use"
  readonly query: number
  readonly from: number
  readonly until: number
  readonly ms: number
}
type Parameters = Record<string, unknown>

/** Adds one facet value per document, and searches that use every structure that a segment prepares on first use. */
const withSerials = (
  inputs: Inputs
): { readonly schema: Inputs["schema"]; readonly documents: Texts; readonly queries: ReadonlyArray<Parameters> } => {
  const fields = inputs.schema.fields as ReadonlyArray<{
    readonly name: string
    readonly type: string
    readonly facet?: boolean
  }>
  const number = fields.find(({ type }) => type === "int32")?.name ?? fields.find(({ type }) => type === "float")?.name
  const kinds: ReadonlyArray<Parameters> = [
    {},
    { facet_by: "serial" },
    ...(number === undefined
      ? []
      : [{ sort_by: `${number}:desc` }, { filter_by: `${number}:>100`, sort_by: `${number}:asc` }]),
    { q: "*" },
    {
      q: "*",
      facet_by: fields
        .filter(({ facet }) => facet === true)
        .map(({ name }) => name)
        .join(",")
    },
    { filter_by: "serial:>=a", facet_by: "serial" },
    { facet_by: "serial", facet_strategy: "exhaustive" }
  ]
  return {
    schema: { ...inputs.schema, fields: [...fields, { name: "serial", type: "string", facet: true }] },
    documents: inputs.documents.map((text, i) => `${text.slice(0, text.lastIndexOf("}"))},"serial":"serial ${i}"}`),
    queries: inputs.queries.slice(0, QUERIES).map((query, i) => ({ ...query, ...kinds[i % kinds.length] }))
  }
}

// ---- what ran
// --------------------------------------------------------------------------------------------------------

interface ProfileNode {
  readonly id: number
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  readonly children?: ReadonlyArray<number>
}
interface Profile {
  readonly nodes: ReadonlyArray<ProfileNode>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

const SPIN_MS = 200
/** Keeps the thread busy for a while and returns the middle of that time. */
const markedSpin = (): number => {
  const from = performance.now()
  while (performance.now() < from + SPIN_MS) {
    /* Empty: the sampler sees this loop. */
  }
  return (from + performance.now()) / 2
}

class Sampler {
  private readonly session = new Session()
  /** The middle of a spin of known time at either end, because the profile has a different clock. */
  private readonly spins: Array<number> = []
  private ask<A>(method: string, parameters: object = {}): Promise<A> {
    return new Promise((resolve, reject) => {
      this.session.post(method, parameters, (error: Error | null, value: unknown) => {
        if (error === null) resolve(value as A)
        else reject(error)
      })
    })
  }
  async start(): Promise<void> {
    this.session.connect()
    await this.ask("Profiler.enable")
    await this.ask("Profiler.setSamplingInterval", { interval: SAMPLES_US })
    await this.ask("Profiler.start")
    this.spins.push(markedSpin())
  }
  /** For each block, the functions that ran, longest first, and the garbage collector's share. */
  async explain(
    stretches: ReadonlyArray<Stretch>
  ): Promise<ReadonlyArray<{ readonly ran: string; readonly collector: number }>> {
    this.spins.push(markedSpin())
    const { profile } = await this.ask<{ profile: Profile }>("Profiler.stop")
    this.session.disconnect()
    const byId = new Map(profile.nodes.map((node) => [node.id, node]))
    const parents = new Map(
      profile.nodes.flatMap(({ children = [], id }) => children.map((child) => [child, id] as const))
    )
    const nameOf = (id: number): string => {
      const path: Array<string> = []
      for (let at: number | undefined = id; at !== undefined && path.length < 4; at = parents.get(at)) {
        const { functionName, lineNumber, url } = byId.get(at)!.callFrame
        if (url.includes("engine-sdk/src") || path.length === 0)
          path.push(
            url === ""
              ? functionName
              : `${functionName === "" ? "…" : functionName} ${url.slice(url.lastIndexOf("/") + 1)}:${lineNumber + 1}`
          )
      }
      return path.join(" < ")
    }
    const times = new Float64Array(profile.samples.length)
    for (let i = 0, at = 0; i < times.length; i++) times[i] = at += profile.timeDeltas[i] / 1_000
    const isSpin = (id: number): boolean => {
      for (let at: number | undefined = id; at !== undefined; at = parents.get(at))
        if (byId.get(at)!.callFrame.functionName === markedSpin.name) return true
      return false
    }
    const spinning = new Set(profile.nodes.filter(({ id }) => isSpin(id)).map(({ id }) => id))
    const marked = [...times].filter((_at, i) => spinning.has(profile.samples[i])),
      middle = (times[times.length - 1] + times[0]) / 2
    const mean = (list: ReadonlyArray<number>): number => list.reduce((sum, at) => sum + at, 0) / list.length
    const first = mean(marked.filter((at) => at < middle)),
      last = mean(marked.filter((at) => at >= middle))
    for (let i = 0; i < times.length; i++)
      times[i] = this.spins[0] + ((times[i] - first) * (this.spins[1] - this.spins[0])) / (last - first)
    // Without a sample in either spin, the clocks cannot be aligned.
    if (!Number.isFinite(first + last)) return stretches.map(() => ({ ran: "what ran is not known", collector: 0 }))
    return stretches.map(({ from, until }) => {
      const spent = new Map<string, number>()
      for (let i = 0; i < times.length; i++) {
        if (times[i] < from || times[i] > until + SAMPLES_US / 1_000) continue
        const name = nameOf(profile.samples[i])
        spent.set(name, (spent.get(name) ?? 0) + profile.timeDeltas[i] / 1_000)
      }
      // Time spent waiting for a processor or for the timer is not work of any function.
      const total = [...spent].reduce((sum, [name, ms]) => (name.startsWith("(idle)") ? sum : sum + ms), 0)
      return {
        ran: [...spent]
          .sort((a, b) => b[1] - a[1])
          .slice(0, 3)
          .map(([name, ms]) => `${round(ms, 1)} ms ${name}`)
          .join("; "),
        collector: total === 0 ? 0 : (spent.get(COLLECTOR) ?? 0) / total
      }
    })
  }
}

const THREAD_CPU = 3
interface NativeLibraries {
  readonly dlopen: (
    library: string,
    symbols: object
  ) => { readonly symbols: { readonly clock_gettime: (clock: number, into: Uint8Array) => number } }
}
/**
 * Milliseconds for which the calling thread was on a processor, so other programs do not count. Uses the system call
 * itself, because the kernel's files and `getrusage` are updated only once per tick, up to 4 ms ago.
 */
const makeHeld_ms = (): (() => number) => {
  const native = (globalThis as { readonly Deno?: NativeLibraries }).Deno
  if (native === undefined) return () => performance.now()
  const { clock_gettime } = native.dlopen("libc.so.6", {
    clock_gettime: { parameters: ["i32", "buffer"], result: "i32" }
  }).symbols
  const spec = new BigInt64Array(2),
    bytes = new Uint8Array(spec.buffer)
  return () => {
    clock_gettime(THREAD_CPU, bytes)
    return Number(spec[0]) * 1e3 + Number(spec[1]) / 1e6
  }
}

// ---- measuring
// -------------------------------------------------------------------------------------------------------

const quiet = async (engine: LocalEngine, name: string, documents: number): Promise<void> => {
  const rest_ms = Math.max(REST_MS, documents * REST_MS_PER_DOCUMENT)
  let last = performance.now(),
    segments = -1
  for (const began = last; performance.now() - last < rest_ms && performance.now() - began < REST_MAX_MS;) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    const now = engine.usage("bench", name)?.segments ?? 0
    if (now !== segments || now > 1) {
      if (now !== segments) last = performance.now()
      segments = now
    } else if (now <= 1 && performance.now() - last > 1_000) return
  }
}

const measureMode = async ({ documents, queries, schema }: ReturnType<typeof withSerials>, mode: StallMode) => {
  const path = mode === "memory" ? undefined : mkdtempSync(join(tmpdir(), "dowser-bench-"))
  let engine = path === undefined ? createEngine() : await openEngine({ path, worker: true })
  try {
    const context = (): OperationContext => ({ engine, resources: memoryResources(), namespace: "bench", now_s: 0 })
    const created = await createCollection(context(), JSON.stringify(schema))
    if (!created.ok) throw new Error(created.error.message)
    const importAll = async (lines: Texts): Promise<void> => {
      const imported = importDocuments(context(), schema.name, lines.chunks(), { action: "upsert" })
      if (!imported.ok) throw new Error(imported.error.message)
      for await (const answers of imported.value.lines)
        if (answers.includes('"success":false'))
          throw new Error(answers.split("\n").find((line) => line.includes("false")))
    }
    const run = async (query: number): Promise<void> => {
      const answered = await search(context(), schema.name, queries[query])
      if (!answered.ok) throw new Error(`${JSON.stringify(queries[query])}: ${answered.error.message}`)
    }
    // Compilation is not part of a merge, so a small part of the workload runs beforehand.
    await importAll(documents.slice(0, 20_000))
    for (let i = 0; i < queries.length; i++) await run(i)
    await quiet(engine, schema.name, documents.length)

    const held_ms = makeHeld_ms(),
      sampler = new Sampler()
    await sampler.start()
    const stretches: Array<Stretch> = []
    const phases: Array<{
      readonly phase: string
      readonly waits: Array<number>
      readonly held: Array<number>
      readonly spent: Array<number>
      readonly segments_max: number
    }> = []
    let next = 0
    const beside = async (phase: string, work: () => Promise<void>): Promise<void> => {
      let isOver = false,
        segments_max = 0
      const done = work().finally(() => {
        isOver = true
      })
      const waits: Array<number> = [],
        held: Array<number> = [],
        spent: Array<number> = []
      while (!isOver) {
        const due = performance.now() + INTERVAL_MS,
          before = held_ms()
        await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))
        const at = performance.now(),
          between = held_ms(),
          query = next++ % queries.length
        await run(query)
        const until = performance.now(),
          after = held_ms()
        waits.push(Math.max(0, at - due))
        held.push(between - before)
        spent.push(after - between)
        segments_max = Math.max(segments_max, engine.usage("bench", schema.name)?.segments ?? 0)
        if (between - before > REPORTED_MS)
          stretches.push({ phase, kind: "wait", query, from: due - INTERVAL_MS, until: at, ms: between - before })
        if (after - between > REPORTED_MS)
          stretches.push({ phase, kind: "first_use", query, from: at, until, ms: after - between })
      }
      await done
      phases.push({ phase, waits, held, spent, segments_max })
    }
    await beside("import", () => importAll(documents))
    await beside("merging", () => quiet(engine, schema.name, documents.length))
    await beside("at rest", () => new Promise((resolve) => setTimeout(resolve, ALONE_MS)))
    await beside("replace a tenth", () => importAll(documents.filter((i) => i % 10 === 0)))
    await beside("merging again", () => quiet(engine, schema.name, documents.length))
    if (path !== undefined) {
      await engine.close()
      engine = await openEngine({ path, worker: true })
      await run(0)
      await beside("open again", async () => {
        for (let i = 0; i < queries.length; i++) await new Promise((resolve) => setTimeout(resolve, 2 * INTERVAL_MS))
      })
    }
    const reported = await (async () => {
      // A query's duration at rest: anything beyond it was spent on preparing something.
      const rest = new Map<number, number>()
      for (const { query } of stretches) {
        if (rest.has(query)) continue
        let most = 0
        for (let i = 0; i < 3; i++) {
          const at = held_ms()
          await run(query)
          if (i > 0) most = Math.max(most, held_ms() - at)
        }
        rest.set(query, most)
      }
      return stretches
        .filter(({ kind, ms, query }) => kind === "wait" || ms > 3 * rest.get(query)! + REPORTED_MS)
        .sort((a, b) => b.ms - a.ms)
    })()
    const reasons = await sampler.explain(reported)
    const longest_ms = (from: ReadonlyArray<number>): number => round(Math.max(0, ...from), 1)
    const between = reported.flatMap(({ kind, ms, phase }, i) =>
      kind === "wait" ? [{ phase, ms, own: ms * (1 - reasons[i].collector) }] : []
    )
    /** The longest block of one phase. Blocks up to `REPORTED_MS` are listed only with their own length. */
    const ownMax_ms = (of: string, held: ReadonlyArray<number>): number =>
      longest_ms([
        ...held.filter((ms) => ms <= REPORTED_MS),
        ...between.flatMap(({ own, phase }) => (phase === of ? [own] : []))
      ])
    return {
      phases: Object.fromEntries(
        phases.map(({ held, phase, segments_max, spent, waits }) => [
          phase,
          {
            searches: waits.length,
            segments_max,
            wait: percentiles(waits),
            held: { ...percentiles(held), max_without_collector_ms: ownMax_ms(phase, held) },
            search: percentiles(spent)
          }
        ])
      ),
      longer_than_5_ms: reported.length,
      longer_than_5_ms_without_collector: reported.filter(({ ms }, i) => ms * (1 - reasons[i].collector) > REPORTED_MS)
        .length,
      between_searches_max_ms: longest_ms(between.map(({ ms }) => ms)),
      between_searches_max_without_collector_ms: longest_ms(between.map(({ own }) => own)),
      longest: (["wait", "first_use"] as const)
        .flatMap((of) =>
          reported
            .flatMap((stretch, i) => (stretch.kind === of ? [{ ...stretch, ran: reasons[i].ran }] : []))
            .slice(0, REPORTED_MAX)
        )
        .map(
          ({ kind, ms, phase, query, ran }) =>
            `${round(ms, 1)} ms, ${kind}, ${phase}${kind === "wait" ? "" : ` ${JSON.stringify({ ...queries[query], query_by: undefined })}`}: ${ran}`
        )
    }
  } finally {
    await engine.close()
    if (path !== undefined) rmSync(path, { recursive: true, force: true })
  }
}

export const measureStallsOf = (inputs: Inputs, mode: StallMode) => measureMode(withSerials(inputs), mode)
