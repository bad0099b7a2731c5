/**
 * Question: what does a search cost when another process's engine answers it, compared with the same search in
 * process: over the port of `--engine remote`, and over another program's `/v1` (`--engine http`)? Workload:
 * generated documents and queries (or files); parameters → plan → search → JSON text here, the engine here or in a
 * child process. One search at a time, each query sent each way directly after the other; then 16 at a time. All ways
 * must return the same result. Processor time is reported separately for this process and the child. Excluded: HTTP
 * and keys of this process; those of the other program's `/v1` are part of what is measured.
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
import { TypesenseEngine } from "../../engine-sdk/src/typesense/mod.ts"
import { machine, percentiles, processorSeconds, report, round } from "../harness/harness.ts"
import { runtimeCommand, startServer } from "../harness/program.ts"
import { contextOver, filled } from "../inputs/filled.ts"
import { type InputOptions, loadInputs } from "../inputs/inputs.ts"

export interface RemoteEngineOptions extends InputOptions {
  readonly out: string | undefined
}
const AT_A_TIME = 16
const TOKEN = "bench"

/** Starts the owner as a separate process and resolves with its port. */
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
/** Runs all queries, this many at a time. Returns searches per second and processor time per search, here and there. */
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

/** One way to reach an engine. */
interface Way {
  readonly name: "in_process" | "of_another_process" | "of_another_v1"
  readonly context: OperationContext
  /** The process that has the engine. */ readonly pid: number
  readonly times: Array<number>
}
const openedTypesense = async (base: string, apiKey: string): Promise<TypesenseEngine> => {
  const opened = await TypesenseEngine.open({ nodes: [base], apiKey, keyHeader: "x-svc-api-key" })
  if (!opened.ok) throw new Error(opened.error.message)
  return opened.value
}
const oneByOne = async (ways: ReadonlyArray<Way>, queries: InputQueries, collection: string): Promise<void> => {
  const searches = ways.map(({ context }) => searching(context, collection))
  const differing = new Map<string, number>()
  for (const isWarmUp of [true, false])
    for (const query of queries) {
      let first: string | undefined
      for (const [i, { name, times }] of ways.entries()) {
        const text = await timed(searches[i]!, query, times)
        first ??= text
        if (text !== first) differing.set(name, (differing.get(name) ?? 0) + 1)
        if (isWarmUp) times.length = 0
      }
    }
  if (differing.size > 0) throw new Error(`Queries are answered otherwise: ${JSON.stringify([...differing])}.`)
}
type InputQueries = ReadonlyArray<Readonly<Record<string, unknown>>>

export const benchRemoteEngine = async (options: RemoteEngineOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const { name } = inputs.schema
  const { child, port } = await startOwner()
  const server = await startServer()
  const ways: ReadonlyArray<Way> = [
    { name: "in_process", context: contextOver(createEngine()), pid: process.pid, times: [] },
    {
      name: "of_another_process",
      context: contextOver(await connectEngine({ host: "127.0.0.1", port, token: TOKEN })),
      pid: child.pid!,
      times: []
    },
    {
      name: "of_another_v1",
      context: contextOver(await openedTypesense(server.base, server.full_key)),
      pid: server.pid,
      times: []
    }
  ]
  try {
    for (const { context } of ways) await filled(context, inputs)
    await oneByOne(ways, inputs.queries, name)
    const asked = ways.map((way) => [way.name, percentiles(way.times)] as const)
    const at16: Array<readonly [string, Awaited<ReturnType<typeof together>>]> = []
    for (const way of ways)
      at16.push([`together_${way.name}`, await together(searching(way.context, name), inputs.queries, way.pid)])
    report(
      "remote engine",
      {
        machine: machine(),
        documents: inputs.documents.length,
        ...Object.fromEntries(asked),
        ...Object.fromEntries(at16)
      },
      options.out
    )
  } finally {
    for (const { context } of ways) await context.engine.close()
    child.kill()
    await server.stop()
  }
}
