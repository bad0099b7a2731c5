/**
 * Question: how does this machine perform in every lane, and did anything change since the last run here? Workload: a
 * small version of each bench (`lane-list.ts`), one after another, each in a fresh process with default seeds. Small
 * inputs on a shared machine are noisy: a ratio shows which bench to run in full, not what happened.
 */
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { machine } from "../harness/harness.ts"
import { type Lane, lanes } from "./lane-list.ts"
import { runtimeCommand } from "../harness/program.ts"
import { earlierRuns, type LaneResult, machineClass, rowsOf, type RunResult, tableOf } from "./results.ts"

export interface AllOptions {
  /** The file for this run's results; in `bench/results` if not given. */ readonly out: string | undefined
  /** Only lanes whose name begins with this; all if undefined. */ readonly only: string | undefined
}
const resultsFolder = fileURLToPath(new URL("../results", import.meta.url))
/** A lane that hangs must not hold up the rest. */
const LANE_MAX_MS = 300_000

/** The output of the lane's process is kept only to explain a failure. */
const runProcess = (args: ReadonlyArray<string>): Promise<{ readonly code: number | null; readonly output: string }> =>
  new Promise((settle) => {
    const [binary, ...flags] = runtimeCommand()
    const child = spawn(
      binary,
      [...flags, fileURLToPath(new URL("../../src/main.ts", import.meta.url)), "bench", ...args],
      { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, DOWSER_PARENT_PID: String(process.pid) } }
    )
    const timer = setTimeout(() => child.kill("SIGTERM"), LANE_MAX_MS)
    let output = ""
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output = (output + chunk.toString()).slice(-4_000)
      })
    child.once("exit", (code) => {
      clearTimeout(timer)
      settle({ code, output })
    })
  })
const withoutLists = (figures: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(figures).filter(([, value]) => !Array.isArray(value)))

const runLane = async (lane: Lane): Promise<LaneResult> => {
  const reason = lane.missing?.()
  if (reason !== undefined) return { kind: "skipped", reason }
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-lane-"))
  const started = performance.now()
  try {
    const out = join(folder, "figures.json")
    for (const args of [
      ...(lane.prepare === undefined ? [] : [lane.prepare(folder)]),
      [...lane.arguments(folder), "--out", out]
    ]) {
      const { code, output } = await runProcess(args)
      if (code !== 0)
        return {
          kind: "failed",
          reason: `exit code ${code}: ${/^.*\b\w*Error\b.*$/m.exec(output)?.[0].trim() ?? output.trim().split("\n").at(-1) ?? ""}`
        }
    }
    return {
      kind: "measured",
      figures: withoutLists(JSON.parse(readFileSync(out, "utf8")) as Record<string, unknown>),
      seconds: Math.round((performance.now() - started) / 100) / 10
    }
  } catch (error) {
    return { kind: "failed", reason: error instanceof Error ? error.message : String(error) }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Sets exit code 1 if a lane failed. Skipped lanes are listed with their reason. */
export const benchAll = async ({ only, out }: AllOptions): Promise<void> => {
  const chosen = lanes.filter(({ name }) => only === undefined || name.startsWith(only))
  if (chosen.length === 0)
    throw new Error(`No lane begins with ${only}; there are ${lanes.map(({ name }) => name).join(", ")}.`)
  const at = new Date().toISOString()
  const here = machine()
  const earlier = earlierRuns(resultsFolder, here)
  const results: Record<string, LaneResult> = {}
  for (const [i, lane] of chosen.entries()) {
    process.stdout.write(`${String(i + 1).padStart(2)}/${chosen.length} ${lane.name} ... `)
    const result = (results[lane.name] = await runLane(lane))
    process.stdout.write(`${result.kind === "measured" ? `${result.seconds} s` : result.kind}\n`)
  }
  const run: RunResult = { at, machine: here, lanes: results }
  const file = out ?? join(resultsFolder, `${at.replaceAll(":", "-")}.json`)
  if (out === undefined) mkdirSync(resultsFolder, { recursive: true })
  writeFileSync(file, `${JSON.stringify(run, undefined, 1)}\n`)
  process.stdout.write(
    `\n${machineClass(here)}, load ${here.load_1m}; ${earlier.length === 0 ? "no earlier run of this machine class in bench/results" : `previous: ${earlier[0].at}, or the newest before it that has the lane`}\n\n${tableOf(rowsOf(chosen, run, earlier))}\n\nraw results: ${file}\n`
  )
  if (Object.values(results).some(({ kind }) => kind === "failed")) process.exitCode = 1
}
