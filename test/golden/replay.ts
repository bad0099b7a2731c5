/**
 * Replays the recorded answers of the reference engine against the operations in process, and counts agreement group by
 * group. As a program it prints the table: `replay.ts [--only GROUP,…] [--diff ID] [--fails] [--opensearch ADDRESS]`,
 * where the last option uses a cluster in place of the engine in memory; the test beside it uses the same functions.
 * The recordings are expected beside the project; without them nothing is replayed.
 */
import { existsSync, readFileSync } from "node:fs"
import { gunzipSync } from "node:zlib"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { Capabilities } from "../../engine-sdk/src/capabilities.ts"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { OpensearchEngine } from "../../engine-sdk/src/opensearch/mod.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { routerOver } from "../support/operation-router.ts"
import { excuseOf, type GoldenRecord } from "./differences.ts"

const RECORDINGS = fileURLToPath(new URL("../../../shared/data/engine_golden/", import.meta.url))
export const hasRecordings = (): boolean => existsSync(`${RECORDINGS}golden-dev.jsonl.gz`)

type Metrics = Record<string, boolean>
interface Comparer {
  compare(record: GoldenRecord, status: number, answer: unknown): Metrics[]
  toStored(text: string, options: object): unknown
  readonly METRICS: ReadonlyArray<string>
}
interface GroupResult {
  compared: number
  agreeing: number
  expected: number
  /** Requests that the engine declares it cannot perform. */ refused: number
  readonly metrics: Map<string, { agreeing: number; compared: number }>
}
interface Disagreement {
  readonly id: string
  readonly group: string
  readonly metrics: ReadonlyArray<string>
  /** The reasons for all columns; undefined if a column has none. */ readonly reason: string | undefined
  /** Columns without a reason. */ readonly unexcused: ReadonlyArray<string>
  readonly record: GoldenRecord
  readonly status: number
  readonly answer: unknown
}
interface ReplayResult {
  readonly groups: Map<string, GroupResult>
  readonly disagreements: ReadonlyArray<Disagreement>
  readonly metrics: ReadonlyArray<string>
  /** Groups about capabilities that the engine lacks; they are left out of the total. */
  readonly lacking: ReadonlySet<string>
}
type Grades = Capabilities["grades"]
const lackingOf = (grades: Grades): ReadonlySet<string> =>
  new Set([
    ...(grades.vector_index === "none" ? ["vector", "hybrid"] : []),
    ...(grades.joins === "none" ? ["joins", "join_writes"] : [])
  ])

const linesOf = (path: string): string[] =>
  gunzipSync(readFileSync(path))
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "")
/** Removes from a collection what an engine with fewer capabilities would refuse, so that the rest can be compared. */
const bodyOf = ({ body, path }: GoldenRecord, grades: Grades | undefined): string => {
  const { fields } = body as { readonly fields?: unknown }
  if (grades === undefined || path !== "/collections" || !Array.isArray(fields)) return JSON.stringify(body)
  const kept = (fields as ReadonlyArray<Readonly<Record<string, unknown>>>).filter(
    ({ embed, num_dim, reference, type }) =>
      (grades.vector_index !== "none" || (embed === undefined && num_dim === undefined)) &&
      (grades.joins !== "none" || reference === undefined) &&
      (grades.per_element_filters !== "none" || type !== "geopolygon")
  )
  return JSON.stringify({ ...(body as object), fields: kept })
}
/** The setup and every sequence of the wanted groups, in order, with the text that each request sends. */
export function* recordings(
  wanted: (record: GoldenRecord) => boolean = () => true,
  grades?: Grades
): Generator<{ readonly record: GoldenRecord; readonly body: string | undefined }> {
  const files = new Map<string, string[]>()
  const fileLines = (name: string): string[] => {
    let lines = files.get(name)
    if (lines === undefined) files.set(name, (lines = linesOf(`${RECORDINGS}collections/${name}.jsonl.gz`)))
    return lines
  }
  for (const record of linesOf(`${RECORDINGS}golden-dev.jsonl.gz`).map((line) => JSON.parse(line) as GoldenRecord)) {
    if (record.group !== "setup" && !wanted(record)) continue
    const body =
      record.file !== undefined
        ? fileLines(record.file)
            .slice(record.from ?? 0, record.to)
            .join("\n")
        : (record.text ?? (record.body === undefined ? undefined : bodyOf(record, grades)))
    yield { record, body }
  }
}
/** Runs the wanted recordings against a fresh engine. */
export const replay = async (
  wanted: (record: GoldenRecord) => boolean = () => true,
  engine: SearchEngine = createEngine()
): Promise<ReplayResult> => {
  const { compare, toStored, METRICS } = (await import(pathToFileURL(`${RECORDINGS}replay.mjs`).href)) as Comparer
  const call = routerOver({ engine, resources: memoryResources(), namespace: "golden" })
  const { grades } = engine.capabilities()
  const groups = new Map<string, GroupResult>()
  const disagreements: Disagreement[] = []
  for (const { body, record } of recordings(wanted, grades)) {
    const { status, text } = await call(record.method, record.path, body)
    const stored = toStored(text, { sum: record.sum, cut: record.cut, lines: record.lines })
    const results = compare(record, status, stored)
    for (const result of results) for (const name of record.skip ?? []) delete result[name]
    if (record.aux === true) continue
    if (isRefusal(text)) {
      groupOf(groups, record.group).refused++
      continue
    }
    tally(record, results, METRICS, groups, disagreements, status, stored)
  }
  await engine.close()
  return { groups, disagreements, metrics: METRICS, lacking: lackingOf(grades) }
}
/** Whether an answer refuses something that this kind of engine lacks: there is nothing to compare then. */
const isRefusal = (text: string): boolean => text.includes("The search engine of this installation (")
const groupOf = (groups: Map<string, GroupResult>, name: string): GroupResult => {
  let group = groups.get(name)
  if (group === undefined) groups.set(name, (group = emptyGroup()))
  return group
}
const tally = (
  record: GoldenRecord,
  results: ReadonlyArray<Metrics>,
  names: ReadonlyArray<string>,
  groups: Map<string, GroupResult>,
  disagreements: Disagreement[],
  status: number,
  answer: unknown
): void => {
  const group = groupOf(groups, record.group)
  const bad = new Set<string>()
  for (const result of results) {
    for (const name of names) {
      if (result[name] === undefined) continue
      let metric = group.metrics.get(name)
      if (metric === undefined) group.metrics.set(name, (metric = { agreeing: 0, compared: 0 }))
      metric.compared++
      if (result[name]) metric.agreeing++
      else bad.add(name)
    }
  }
  group.compared++
  if (bad.size === 0) {
    group.agreeing++
    return
  }
  const { reasons, unexcused } = excuseOf({ record, metrics: [...bad] })
  const reason = unexcused.length > 0 ? undefined : reasons.join("; and ")
  if (reason !== undefined) group.expected++
  disagreements.push({
    id: record.id,
    group: record.group,
    metrics: [...bad],
    reason,
    unexcused,
    record,
    status,
    answer
  })
}

const percent = ({ agreeing, compared }: { readonly agreeing: number; readonly compared: number }): string =>
  compared === 0 ? "-" : ((100 * agreeing) / compared).toFixed(1)
const emptyGroup = (): GroupResult => ({ compared: 0, agreeing: 0, expected: 0, refused: 0, metrics: new Map() })
const addGroup = (total: GroupResult, group: GroupResult): void => {
  total.compared += group.compared
  total.agreeing += group.agreeing
  total.expected += group.expected
  total.refused += group.refused
  for (const [metric, { agreeing, compared }] of group.metrics) {
    const sum = total.metrics.get(metric) ?? { agreeing: 0, compared: 0 }
    total.metrics.set(metric, { agreeing: sum.agreeing + agreeing, compared: sum.compared + compared })
  }
}
/** The table of agreement; `expected` counts the differences that have a reason. */
export const tableOf = ({ groups, lacking, metrics }: ReplayResult): string => {
  const rows = [
    `${"group".padStart(16)}${"n".padStart(6)}${"all %".padStart(8)}${"named".padStart(7)}${"refused".padStart(9)}${metrics.map((name) => name.slice(0, 8).padStart(9)).join("")}`
  ]
  const sums = [emptyGroup(), emptyGroup()]
  const [total, without] = sums
  const row = (name: string, group: GroupResult): string =>
    `${name.padStart(16)}${String(group.compared).padStart(6)}${percent(group).padStart(8)}${String(group.expected).padStart(7)}${String(group.refused).padStart(9)}${metrics
      .map((metric) => {
        const m = group.metrics.get(metric)
        return (m === undefined ? "-" : percent(m)).padStart(9)
      })
      .join("")}`
  for (const [name, group] of groups) {
    rows.push(row(name, group))
    if (name === "setup") continue
    for (const sum of lacking.has(name) ? [total] : sums) addGroup(sum, group)
  }
  if (lacking.size > 0) rows.push(row("WHAT IT HAS", without))
  rows.push(
    row("TOTAL", total),
    `records agreeing ${total.agreeing}/${total.compared}, named differences ${total.expected}, refused by name ${total.refused}`
  )
  return rows.join("\n")
}

const clusterAt = async (addresses: string): Promise<SearchEngine> => {
  const engine = await OpensearchEngine.open({
    nodes: addresses.split(","),
    replicas: 0,
    prefix: `golden-${Date.now()}`
  })
  if (!engine.ok) throw new Error(engine.error.message)
  return engine.value
}
const main = async (argv: ReadonlyArray<string>): Promise<void> => {
  if (!hasRecordings()) {
    console.log(`SKIPPED golden replay: no recordings at ${RECORDINGS}`)
    return
  }
  const option = (name: string): string | undefined => (argv.includes(name) ? argv[argv.indexOf(name) + 1] : undefined)
  const only = option("--only")?.split(",")
  const diff = option("--diff")
  const cluster = option("--opensearch")
  const result = await replay(
    (record) =>
      diff !== undefined
        ? record.id.split(".")[0] === diff.split(".")[0]
        : only === undefined || only.includes(record.group),
    cluster === undefined ? undefined : await clusterAt(cluster)
  )
  if (diff !== undefined) {
    for (const { id, metrics, record, status, answer } of result.disagreements) {
      if (id !== diff && diff.includes(".")) continue
      console.log(
        "REQUEST",
        id,
        record.method,
        decodeURIComponent(record.path),
        record.body === undefined ? (record.text ?? "") : JSON.stringify(record.body),
        `\nGOLDEN ${record.status}`,
        JSON.stringify(record.response),
        `\nANSWER ${status}`,
        JSON.stringify(answer),
        "\nDISAGREES",
        metrics.join()
      )
    }
    return
  }
  console.log(tableOf(result))
  if (argv.includes("--fails"))
    for (const { id, group, metrics, reason, record, status, answer } of result.disagreements) {
      const messages =
        metrics.includes("message") || metrics.includes("status")
          ? ` golden ${record.status} ${JSON.stringify((record.response as { message?: string })?.message)} got ${status} ${JSON.stringify((answer as { message?: string })?.message)}`
          : ""
      console.log(
        id,
        group,
        metrics.join(),
        decodeURIComponent(record.path).slice(0, 220),
        JSON.stringify(record.body ?? "").slice(0, 160),
        messages,
        reason === undefined ? "" : `NAMED: ${reason}`
      )
    }
}
if (import.meta.main) await main(process.argv.slice(2))
