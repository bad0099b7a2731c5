/**
 * The table of a run: each lane is compared with the newest run of the same machine class that has it, nothing else.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { earlierRuns, type LaneResult, rowsOf, type RunResult, tableOf } from "./results.ts"

const machine = { cpu: "A", cores: 2, memory_gib: 8, runtime: "Deno 2.9.5", load_1m: 0 }
const measured = (qps: number): LaneResult => ({
  kind: "measured",
  figures: { qps, peers: { other: { qps: 7 } } },
  seconds: 1
})
const runAt = (at: string, lanes: RunResult["lanes"], more: Partial<RunResult["machine"]> = {}): RunResult => ({
  at,
  machine: { ...machine, ...more },
  lanes
})
const lanes = [
  {
    name: "engine",
    figures: [
      { name: "queries", unit: "/s", path: ["qps"] },
      { name: "peer", unit: "/s", path: ["peers", "other", "qps"] },
      { name: "gone", unit: "", path: ["nothing", "there"] }
    ]
  },
  { name: "search", figures: [{ name: "queries", unit: "/s", path: ["qps"] }] }
]

it("compares each lane with the newest comparable run that has it", () => {
  const folder = mkdtempSync(join(tmpdir(), "bench-results-"))
  try {
    const runs = [
      runAt("2026-01-01T00:00:00Z", { engine: measured(1000), search: measured(10) }),
      runAt(
        "2026-01-03T00:00:00Z",
        { engine: measured(2000), search: { kind: "failed", reason: "no port" } },
        { runtime: "Deno 2.9.4" }
      ),
      runAt("2026-01-04T00:00:00Z", { engine: measured(1) }, { cpu: "B" }),
      runAt("2026-01-05T00:00:00Z", { engine: measured(1) }, { runtime: "Node 24.1.0" })
    ]
    runs.forEach((run, i) => writeFileSync(join(folder, `${i}.json`), JSON.stringify(run)))
    writeFileSync(join(folder, "broken.json"), "{")
    const earlier = earlierRuns(folder, machine)
    expect(earlier.map(({ at }) => at)).toEqual([runs[1].at, runs[0].at])
    expect(
      tableOf(
        rowsOf(lanes, runAt("2026-01-06T00:00:00Z", { engine: measured(3000), search: measured(5) }), earlier)
      ).split("\n")
    ).toEqual([
      "lane    figure    value  unit  previous  ratio",
      "engine  queries   3,000  /s       2,000   1.50",
      "engine  peer          7  /s           7   1.00",
      "engine  gone     absent",
      "search  queries       5  /s          10   0.50"
    ])
    expect(earlierRuns(join(folder, "none"), machine)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
it("says why a lane has no figures", () => {
  expect(
    tableOf(
      rowsOf(
        lanes,
        runAt("2026-01-06T00:00:00Z", {
          engine: { kind: "skipped", reason: "no Java" },
          search: { kind: "failed", reason: "exit code 1" }
        }),
        []
      )
    )
  ).toBe(
    ["lane    figure  value  unit  previous  ratio", "engine  SKIPPED: no Java", "search  FAILED: exit code 1"].join(
      "\n"
    )
  )
})
