/**
 * Question: what does a search cost that another process's engine answers, beside the same search in process?
 * Workload: generated documents and queries (or files); parameters → plan → search → JSON text here, the engine here or
 * in a child process over loopback. One search at a time, each query one way directly after the other; then 16 at a
 * time. Both ways must answer the same. Processor time is of this process and of the child, apart. Excluded: HTTP,
 * keys.
 */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  closed,
  type OperationContext,
  prepareSearch,
  Reach,
  readSearch,
  runSearch,
  writeAnswer
} from "../../engine-sdk/src/operations/mod.ts"
import { connectEngine } from "../../engine-sdk/src/remote/mod.ts"
import { machine, percentiles, processorSeconds, report, round } from "../harness/harness.ts"
import { runtimeCommand } from "../harness/program.ts"
import { contextOver, filled } from "../inputs/filled.ts"
import { type InputOptions, loadInputs } from "../inputs/inputs.ts"

export interface RemoteEngineOptions extends InputOptions {
  readonly out: string | undefined
}
const AT_A_TIME = 16
const TOKEN = "bench"

/** The owner, as a process of its own; resolves with its port. */
const startOwner = async () => {
  const [command, ...flags] = runtimeCommand()
  const path = fileURLToPath(new URL("../probes/engine-owner.ts", import.meta.url))
  const child = spawn(command!, [...flags, path, TOKEN], { stdio: ["pipe", "pipe", "inherit"] })
  const port = await new Promise<number>((resolve, reject) => {
    child.stdout.once("data", (bytes: Uint8Array) => resolve(Number(String(bytes))))
    child.once("exit", (code) => reject(new Error(`The owner of the engine ended: ${code}`)))
  })
  return { child, port }
}
const searching =
  (context: OperationContext, collection: string) => async (asked: Readonly<Record<string, unknown>>) => {
    const reach = new Reach(context, {})
    const read = readSearch(context, collection, asked, reach.restrictions)
    if (!read.ok) throw new Error(read.error.message)
    const planned = await prepareSearch(context, read.value, reach)
    if (!planned.ok) throw new Error(planned.error.message)
    const found = await runSearch(context, planned.value)
    if (!found.ok) throw new Error(found.error.message)
    const text = writeAnswer(planned.value, found.value)
    if (!text.ok) throw new Error(text.error.message)
    return closed(text.value)
  }
type Search = ReturnType<typeof searching>

const comparable = (text: string): string => text.replace(/"search_time_ms":[\d.]+/, "")
const timed = async (search: Search, asked: Readonly<Record<string, unknown>>, times: Array<number>) => {
  const from = performance.now()
  const text = await search(asked)
  times.push(performance.now() - from)
  return comparable(text)
}
/** All queries, so many at a time: searches a second, and processor time of a search here and at the owner. */
const together = async (search: Search, queries: ReadonlyArray<Readonly<Record<string, unknown>>>, owner: number) => {
  const seconds = () => [processorSeconds(process.pid).process, processorSeconds(owner).process] as const
  const before = seconds(),
    began = performance.now(),
    times: Array<number> = []
  let next = 0
  const worker = async () => {
    for (let i = next++; i < queries.length; i = next++) await timed(search, queries[i]!, times)
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, worker))
  const wall_s = (performance.now() - began) / 1_000
  const [here, there] = seconds().map((now, i) => ((now - before[i]!) / queries.length) * 1_000)
  return {
    queries_per_s: Math.round(queries.length / wall_s),
    p99_ms: percentiles(times).p99_ms,
    processor_ms_here: round(here!, 3),
    processor_ms_owner: round(there!, 3)
  }
}

export const benchRemoteEngine = async (options: RemoteEngineOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const { name } = inputs.schema
  const own = contextOver(createEngine())
  await filled(own, inputs)
  const { child, port } = await startOwner()
  try {
    const remote = contextOver(await connectEngine({ host: "127.0.0.1", port, token: TOKEN }))
    await filled(remote, inputs)
    const [near, far] = [searching(own, name), searching(remote, name)]
    const times = { near: [] as Array<number>, far: [] as Array<number> }
    let differing = 0
    for (const round_ of [0, 1])
      for (const query of inputs.queries) {
        const [first, second] = [await timed(near, query, times.near), await timed(far, query, times.far)]
        differing += Number(first !== second)
        // The first round warms both ways up.
        if (round_ === 0) times.near.length = times.far.length = 0
      }
    if (differing > 0) throw new Error(`${differing} queries are answered otherwise by the other process.`)
    report(
      "remote engine",
      {
        machine: machine(),
        documents: inputs.documents.length,
        in_process: percentiles(times.near),
        of_another_process: percentiles(times.far),
        together_in_process: await together(near, inputs.queries, child.pid!),
        together_of_another_process: await together(far, inputs.queries, child.pid!)
      },
      options.out
    )
    await remote.engine.close()
    await own.engine.close()
  } finally {
    child.kill()
  }
}
