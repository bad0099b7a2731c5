/**
 * The first searches of a process on a folder that is already filled, and the first after a merge: how long each took
 * and blocked the thread. Reads a job as JSON on standard input and writes figures to standard output.
 */
import { openEngine } from "../../engine-sdk/src/mod.ts"
import {
  closed,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  warmUp,
  writeAnswer
} from "../../engine-sdk/src/operations/mod.ts"
import { ROUNDS_FIRST } from "../../src/runtime/warm-start.ts"
import { ownMb, processorSeconds, round } from "../harness/harness.ts"
import { contextOver, imported } from "../inputs/filled.ts"

export interface FirstSearchesJob {
  readonly path: string
  readonly collection: string
  /** A small collection with the same fields, searched first to compile the code; undefined: not done. */
  readonly small: string | undefined
  readonly workers: number
  /** Whether to warm up first, as the service does after a start, for a collection that was never searched. */
  readonly practised: boolean
  readonly searches: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Written between the two measurements. */ readonly more: ReadonlyArray<string>
}

const text = await new Response(
  (globalThis as { readonly Deno?: { readonly stdin: { readonly readable: ReadableStream } } }).Deno?.stdin.readable ??
    (process.stdin as unknown as ReadableStream)
).text()
const job = JSON.parse(text) as FirstSearchesJob
const engine = await openEngine({
  path: job.path,
  worker: true,
  searchWorkers: { count: job.workers, documents_min: 0, cost_min_ms: 0, here_share: 0 }
})
const context = contextOver(engine)
const took_ms = async (asked: Readonly<Record<string, unknown>>, collection = job.collection): Promise<number> => {
  const from = performance.now()
  const reach = new Reach(context, {})
  const read = readSearch(context, collection, asked, reach.restrictions)
  if (!read.ok) throw new Error(read.error.message)
  const planned = await prepareSearch(context, read.value, reach)
  if (!planned.ok) throw new Error(planned.error.message)
  const found = await runSearch(context, planned.value)
  if (!found.ok) throw new Error(found.error.message)
  const written = writeAnswer(planned.value, found.value)
  if (!written.ok) throw new Error(written.error.message)
  closed(written.value)
  return round(performance.now() - from, 2)
}
const processor_ms = (): number => processorSeconds(process.pid).firstThread * 1_000
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const AGAIN = 5
/** Times the first run of each search, and returns the median of `AGAIN` further runs. */
const looked = async (): Promise<
  Readonly<Record<string, { readonly first_ms: number; readonly again_ms: number }>>
> => {
  const figures: Record<string, { readonly first_ms: number; readonly again_ms: number }> = {}
  for (const [name, asked] of Object.entries(job.searches)) {
    const first_ms = await took_ms(asked),
      again: number[] = []
    for (let i = 0; i < AGAIN; i++) again.push(await took_ms(asked))
    figures[name] = { first_ms, again_ms: again.toSorted((a, b) => a - b)[AGAIN >> 1]! }
  }
  return figures
}
const MERGED_MAX_MS = 120_000,
  POLL_MS = 20
const merged = async (): Promise<void> => {
  const until = performance.now() + MERGED_MAX_MS
  while (engine.usage(context.namespace, job.collection)!.segments > 1) {
    if (performance.now() > until) throw new Error("The segments were not merged.")
    await pause(POLL_MS)
  }
}

const COMPILED = 200
if (job.small !== undefined)
  for (let i = 0; i < COMPILED; i++) for (const asked of Object.values(job.searches)) await took_ms(asked, job.small)
/** Threads for slow searches start one and two seconds after there is something to search. */
const THREADS_UP_MS = 3_000
const practised = async (): Promise<{ readonly took_ms: number; readonly processor_ms: number }> => {
  await pause(THREADS_UP_MS)
  const from = performance.now(),
    before_ms = processor_ms()
  await warmUp({ ...context, engine }, job.collection, ROUNDS_FIRST)
  return { took_ms: round(performance.now() - from, 1), processor_ms: round(processor_ms() - before_ms, 1) }
}
const practice = job.practised ? await practised() : undefined
const open_ms = await took_ms({ q: "*", per_page: 1 })
const before_ms = processor_ms()
const start = await looked()
const start_processor_ms = round(processor_ms() - before_ms, 1)
await imported(context, job.collection, job.more)
await merged()
const merge = await looked()
const own_mb = ownMb(process.pid)
await engine.close()
process.stdout.write(`${JSON.stringify({ practice, open_ms, start, start_processor_ms, merge, own_mb })}\n`)
