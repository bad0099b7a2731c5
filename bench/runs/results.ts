/**
 * Results of complete runs: the contents of a run's file, the choice of the earlier run to compare with, and the
 * table. Pure except for reading the folder. Runs of different machine classes are never compared.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Machine } from "../harness/harness.ts"
import type { Figure, Lane } from "./lane-list.ts"

export type LaneResult =
  | {
      readonly kind: "measured"
      /** Everything that the bench wrote, without its lists. */ readonly figures: Readonly<Record<string, unknown>>
      readonly seconds: number
    }
  | { readonly kind: "skipped"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string }
export interface RunResult {
  /** ISO 8601. */ readonly at: string
  readonly machine: Machine
  readonly lanes: Readonly<Record<string, LaneResult>>
}

/** Runs are comparable if their machine classes are equal. */
export const machineClass = ({ cores, cpu, runtime }: Machine): string =>
  `${cpu}, ${cores} cores, ${runtime.split(" ")[0]}`

/** Runs of the same machine class among the files of a folder, newest first. Files that are not runs are skipped. */
export const earlierRuns = (folder: string, machine: Machine): ReadonlyArray<RunResult> => {
  if (!existsSync(folder)) return []
  const runs = readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => runOf(readFileSync(join(folder, name), "utf8")))
  return runs
    .filter((run) => machineClass(run.machine) === machineClass(machine))
    .sort((a, b) => (a.at < b.at ? 1 : -1))
}
const runOf = (text: string): ReadonlyArray<RunResult> => {
  try {
    const run = JSON.parse(text) as Partial<RunResult>
    return run.at === undefined || run.machine === undefined || run.lanes === undefined ? [] : [run as RunResult]
  } catch {
    return []
  }
}

const valueAt = (figures: unknown, path: Figure["path"]): number | undefined => {
  const value = path.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], figures)
  return typeof value === "number" ? value : undefined
}
interface Row {
  readonly lane: string
  readonly figure: string
  readonly value: string
  readonly unit: string
  readonly previous: string
  readonly ratio: string
}
const COLUMNS = ["lane", "figure", "value", "unit", "previous", "ratio"] as const
/**
 * One row per figure, or one row with the reason for a lane without figures. `earlier` is newest first; a lane is
 * compared with the first run that measured it.
 */
export const rowsOf = (
  lanes: ReadonlyArray<Pick<Lane, "name" | "figures">>,
  run: RunResult,
  earlier: ReadonlyArray<RunResult>
): ReadonlyArray<Row> =>
  lanes.flatMap(({ figures, name: lane }): ReadonlyArray<Row> => {
    const result = run.lanes[lane]
    if (result === undefined) return []
    if (result.kind !== "measured")
      return [
        { lane, figure: `${result.kind.toUpperCase()}: ${result.reason}`, value: "", unit: "", previous: "", ratio: "" }
      ]
    const before = earlier.map(({ lanes }) => lanes[lane]).find((known) => known?.kind === "measured")
    return figures.map(({ name, path, unit }) => {
      const value = valueAt(result.figures, path),
        previous = before?.kind === "measured" ? valueAt(before.figures, path) : undefined
      return {
        lane,
        figure: name,
        value: value === undefined ? "absent" : shown(value),
        unit,
        previous: previous === undefined ? "" : shown(previous),
        ratio: value === undefined || previous === undefined || previous === 0 ? "" : (value / previous).toFixed(2)
      }
    })
  })
const shown = (value: number): string =>
  Math.abs(value) >= 1_000 ? Math.round(value).toLocaleString("en") : String(Math.round(value * 1e4) / 1e4)

/** Columns as wide as their contents, numbers right-aligned. A skipped lane's reason may extend over the rest. */
export const tableOf = (rows: ReadonlyArray<Row>): string => {
  const header = Object.fromEntries(COLUMNS.map((name) => [name, name])) as unknown as Row
  const measured = [header, ...rows.filter(({ value }) => value !== "")]
  const width = Object.fromEntries(
    COLUMNS.map((name) => [
      name,
      Math.max(...(name === "lane" ? [header, ...rows] : measured).map((row) => row[name].length))
    ])
  )
  const isNumber = new Set<string>(["value", "previous", "ratio"])
  const line = (row: Row) =>
    COLUMNS.map((name) => (isNumber.has(name) ? row[name].padStart(width[name]) : row[name].padEnd(width[name])))
      .join("  ")
      .trimEnd()
  return [line(header), ...rows.map(line)].join("\n")
}
