/**
 * Question: what does one id, new or known, cost the accepting thread when many ids are already known? Workload: runs
 * of real fingerprints written as the window writes them, opened by a window over a log in memory, then calls of
 * 2,000 random ids. Known ids are spread over all runs, which are in the page cache. Includes fingerprints and the
 * response's block. Run: deno run -A bench/probes/dedupe-probe.ts [--known 1000000,10000000,100000000] [--out file]
 */
import { Effect, Layer } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { machine, report, round, rssMb } from "../harness/harness.ts"
import { admitCost, writeKnownIds } from "../inputs/known-ids.ts"

const { values } = parseArgs({
  options: { known: { type: "string", default: "1000000,10000000,100000000" }, out: { type: "string" } }
})
const topic = "blocks"
const probe = (count: number, folder: string) =>
  Effect.gen(function* () {
    const began = performance.now()
    if (count > 0) yield* writeKnownIds({ folder, key: [1, 2, 3, 4], topic, count })
    const written = performance.now()
    return yield* Effect.gen(function* () {
      const opened = performance.now()
      return {
        known: count,
        written_s: round((written - began) / 1_000, 1),
        opened_ms: Math.round(opened - written),
        ...(yield* admitCost(count)),
        rss_mb: rssMb(process.pid)
      }
    }).pipe(Effect.provide(DedupeWindow.layerSealed({ key: [1, 2, 3, 4], topic, folder })))
  }).pipe(Effect.provide(Layer.fresh(EventLog.layerMemory)))

const figures: Record<string, unknown> = { machine: machine() }
for (const count of values.known.split(",").map(Number)) {
  const folder = mkdtempSync(join(tmpdir(), "dowser-dedupe-"))
  try {
    figures[`at_${count}`] = await Effect.runPromise(Effect.scoped(probe(count, folder)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
report("dedupe-probe", figures, values.out)
