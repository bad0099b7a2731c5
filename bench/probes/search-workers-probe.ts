/**
 * One engine with a given number of search workers on an existing folder, in a separate process, so that its memory and
 * processor time can be measured alone. Reads a job as JSON on standard input and writes figures to standard output.
 */
import { openEngine } from "../../engine-sdk/src/mod.ts"
import {
  closed,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  writeAnswer
} from "../../engine-sdk/src/operations/mod.ts"
import { ownMb, percentiles, processorSeconds, round } from "../harness/harness.ts"
import { contextOver } from "../inputs/filled.ts"

type Asked = Readonly<Record<string, unknown>>
export interface ProbeJob {
  readonly path: string
  readonly workers: number
  /** As in `SearchWorkers`; 0 if absent. */ readonly here_share?: number
  readonly collection: string
  readonly warm: ReadonlyArray<Asked>
  readonly queries: ReadonlyArray<Asked>
  readonly at_a_time: number
  /** A query of another tenant, repeated during the queries. Absent: none. */ readonly heavy?: Asked
  readonly heavyNamespace: string
}

const text = await new Response(
  (globalThis as { readonly Deno?: { readonly stdin: { readonly readable: ReadableStream } } }).Deno?.stdin.readable ??
    (process.stdin as unknown as ReadableStream)
).text()
const job = JSON.parse(text) as ProbeJob

const engine = await openEngine({
  path: job.path,
  worker: true,
  // No search is too cheap to be sent to a worker: the probe measures only sending and the choice of a worker.
  searchWorkers: { count: job.workers, documents_min: 0, cost_min_ms: 0, here_share: job.here_share ?? 0 }
})
const context = contextOver(engine)
const answered = async (own: OperationContext, asked: Asked): Promise<number> => {
  const reach = new Reach(own, {})
  const read = readSearch(own, job.collection, asked, reach.restrictions)
  if (!read.ok) throw new Error(read.error.message)
  const planned = await prepareSearch(own, read.value, reach)
  if (!planned.ok) throw new Error(planned.error.message)
  const found = await runSearch(own, planned.value)
  if (!found.ok) throw new Error(found.error.message)
  const written = writeAnswer(planned.value, found.value)
  if (!written.ok) throw new Error(written.error.message)
  return closed(written.value).length
}
/** Sends each query once, `at_a_time` at a time, and returns the milliseconds of each. */
const all = async (queries: ReadonlyArray<Asked>, at_a_time: number): Promise<ReadonlyArray<number>> => {
  const times: Array<number> = []
  let next = 0
  await Promise.all(
    Array.from({ length: at_a_time }, async () => {
      for (let i = next++; i < queries.length; i = next++) {
        const from = performance.now()
        await answered(context, queries[i]!)
        times.push(performance.now() - from)
      }
    })
  )
  return times
}
const measured = async (queries: ReadonlyArray<Asked>, at_a_time: number) => {
  const seconds = () => processorSeconds(process.pid)
  const before = seconds(),
    from = performance.now()
  const times = await all(queries, at_a_time)
  const wall_s = (performance.now() - from) / 1_000,
    after = seconds()
  const each = (used_s: number) => round((used_s / queries.length) * 1_000, 4)
  return {
    queries_per_s: Math.round(queries.length / wall_s),
    ...percentiles([...times]),
    processor_ms: each(after.process - before.process),
    processor_ms_front: each(after.firstThread - before.firstThread),
    processors_busy: round((after.process - before.process) / wall_s, 2)
  }
}
const START_MAX_MS = 60_000,
  POLL_MS = 50
const settled = async (): Promise<void> => {
  await all(job.warm.slice(0, 1), 1)
  const until = performance.now() + START_MAX_MS
  while (engine.searchWorkers().ready < job.workers) {
    if (performance.now() > until) throw new Error("The workers did not come up.")
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
}
/** Runs cheap queries while one of another tenant is repeated as soon as it is answered. */
const beside = async (heavy: Asked) => {
  const other = { ...context, namespace: job.heavyNamespace }
  let isOver = false,
    count = 0
  const times: Array<number> = []
  await answered(other, heavy)
  const looping = (async () => {
    while (!isOver) {
      const from = performance.now()
      await answered(other, heavy)
      times.push(performance.now() - from)
      count++
    }
  })()
  const cheap = await measured(job.queries, 2)
  isOver = true
  await looping
  return { ...cheap, heavy: count, heavy_p50_ms: percentiles(times).p50_ms }
}

await settled()
const bare_mb = ownMb(process.pid)
for (let round_ = 0; round_ < 2; round_++) await all(job.warm, job.at_a_time)
const sentBefore = engine.searchWorkers().searches
const together = await measured(job.queries, job.at_a_time)
const sent = engine.searchWorkers().searches - sentBefore
const { heavy } = job
const figures = {
  workers: job.workers,
  ...together,
  sent,
  own_mb: ownMb(process.pid),
  bare_mb,
  worker_heaps_mb: engine.searchWorkers().own_bytes.map((bytes) => round(bytes / 1e6, 1)),
  ...(heavy === undefined ? {} : { quiet: await measured(job.queries, 2), beside_heavy: await beside(heavy) })
}
await engine.close()
process.stdout.write(`${JSON.stringify(figures)}\n`)
