/**
 * Question: how many searches do several threads over one index answer, and does a heavy one delay cheap ones?
 * Workload: any documents and queries; parameters → plan → search → JSON text in process, a closed loop with the same
 * number of concurrent searches for 0, 1, 2 and 4 workers, each in a separate process over the same folder. Processor
 * time per search is reported for the thread where searches arrive and for all threads, which allows comparison when
 * there are too few processors. Then cheap searches run two at a time, first alone and then alongside one heavy
 * search of another tenant, sorted and with facets over all documents, in a loop. Excluded: HTTP.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { openEngine } from "../../engine-sdk/src/mod.ts"
import { machine, report, round } from "../harness/harness.ts"
import { runtimeCommand } from "../harness/program.ts"
import { contextOver, filled } from "../inputs/filled.ts"
import { type InputOptions, loadInputs } from "../inputs/inputs.ts"
import type { ProbeJob } from "../probes/search-workers-probe.ts"

export interface SearchWorkersOptions extends InputOptions {
  readonly out: string | undefined
  /** Repetitions for each number of workers; medians are reported. */ readonly rounds: number
}
interface Measured {
  readonly queries_per_s: number
  readonly p99_ms: number
  readonly processor_ms: number
  readonly processor_ms_front: number
}
interface Figures extends Measured {
  readonly own_mb: number
  readonly worker_heaps_mb: ReadonlyArray<number>
  readonly quiet: Measured
  readonly beside_heavy: Measured
}
const HERE_SHARE = 0.5
const COUNTS = [0, 1, 2, 4]
/** As many concurrent searches as keep the largest number of workers busy. */
const AT_A_TIME = 16
const HEAVY_NAMESPACE = "heavy"

const run = async (job: ProbeJob): Promise<Figures> => {
  const [command, ...flags] = runtimeCommand()
  const path = fileURLToPath(new URL("../probes/search-workers-probe.ts", import.meta.url))
  const child = spawn(command!, [...flags, path], { stdio: ["pipe", "pipe", "inherit"] })
  const chunks: Array<Buffer> = []
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
  child.stdin.end(JSON.stringify(job))
  const code = await ended
  if (code !== 0) throw new Error(`The probe with ${job.workers} workers ended with ${code}.`)
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as Figures
}
/** The run with the median queries per second. */
const middle = (runs: ReadonlyArray<Figures>): Figures =>
  runs.toSorted((a, b) => a.queries_per_s - b.queries_per_s)[Math.floor(runs.length / 2)]!

export const benchSearchWorkers = async (options: SearchWorkersOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-"))
  try {
    const path = join(folder, "engine")
    const engine = await openEngine({ path, worker: true })
    for (const namespace of ["bench", HEAVY_NAMESPACE]) await filled({ ...contextOver(engine), namespace }, inputs)
    await engine.close()
    const facets = ((inputs.schema.fields ?? []) as ReadonlyArray<{ readonly name: string; readonly facet?: boolean }>)
      .filter(({ facet, name }) => facet === true && !name.includes("*"))
      .map(({ name }) => name)
    const job = {
      path,
      collection: inputs.schema.name,
      warm: inputs.warm.length > 0 ? inputs.warm : inputs.queries,
      queries: inputs.queries,
      at_a_time: AT_A_TIME,
      heavy: { q: "*", sort_by: "_text_match:asc", facet_by: facets.join(","), max_facet_values: 250, per_page: 250 },
      heavyNamespace: HEAVY_NAMESPACE
    }
    const cases = [
      ...COUNTS.map((workers) => ({ name: `workers_${workers}`, workers })),
      // The default: the thread where searches arrive also runs some.
      ...[1, 2].map((workers) => ({ name: `workers_${workers}_and_here`, workers, here_share: HERE_SHARE }))
    ]
    const runs = new Map<string, Array<Figures>>(cases.map(({ name }) => [name, []]))
    // Cases take turns, because the speed of a shared machine changes by itself.
    for (let at = 0; at < options.rounds; at++)
      for (const { name, ...own } of cases) runs.get(name)!.push(await run({ ...job, ...own }))
    const of = Object.fromEntries([...runs].map(([name, figures]) => [name, middle(figures)]))
    const [none, one, two] = [0, 1, 2].map((workers) => of[`workers_${workers}`]!)
    report(
      "search workers",
      {
        machine: machine(),
        documents: inputs.documents.length,
        ...of,
        two_to_one: round(two!.queries_per_s / one!.queries_per_s, 2),
        one_to_none: round(one!.queries_per_s / none!.queries_per_s, 2),
        one_and_here_to_none: round(of.workers_1_and_here!.queries_per_s / none!.queries_per_s, 2),
        heavy_to_quiet_p99_of_two: round(two!.beside_heavy.p99_ms / two!.quiet.p99_ms, 2),
        own_mb_a_worker: round((of["workers_4"]!.own_mb - none!.own_mb) / 4, 1)
      },
      options.out
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
