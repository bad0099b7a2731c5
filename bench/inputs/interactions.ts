/** Reads sessions, baskets and ratings from files, gzipped or not, as lists of texts. */
import { linesOf } from "../harness/harness.ts"

export interface Visit {
  readonly items: ReadonlyArray<string>
  /** Unix milliseconds of each item. */ readonly times: ReadonlyArray<number>
}

/** Reads tab-separated lines `session item time` (seconds) after a header. */
export const readSessions = async (file: string): Promise<ReadonlyArray<Visit>> => visitsOf(file, 1, 2)
/** Reads lines `user item rating timestamp` (seconds) after a header, grouped by user. Ratings are not weighted. */
export const readRatings = async (file: string): Promise<ReadonlyMap<string, Visit>> => groupsOf(file, 1, 3)
/** Reads one basket per line, with its items separated by commas. */
export const readBaskets = async (file: string): Promise<ReadonlyArray<ReadonlyArray<string>>> => {
  const baskets: Array<ReadonlyArray<string>> = []
  for await (const line of linesOf(file)) {
    const items = [...new Set(line.split(",").map((item) => item.trim()))].filter((item) => item !== "")
    if (items.length > 0) baskets.push(items)
  }
  return baskets
}

const groupsOf = async (file: string, itemAt: number, timeAt: number): Promise<ReadonlyMap<string, Visit>> => {
  const rows = new Map<string, Array<readonly [item: string, time: number]>>()
  let isHeader = true
  for await (const line of linesOf(file)) {
    const fields = line.split("\t")
    if (isHeader) {
      isHeader = false
      continue
    }
    const time = Number(fields[timeAt]) * 1_000
    if (fields.length <= timeAt || Number.isNaN(time)) throw new Error(`${file}: not a row of this kind: ${line}`)
    const own = rows.get(fields[0])
    if (own === undefined) rows.set(fields[0], [[fields[itemAt], time]])
    else own.push([fields[itemAt], time])
  }
  const visits = [...rows].map(([id, own]): readonly [string, Visit] => {
    own.sort((a, b) => a[1] - b[1])
    return [id, { items: own.map(([item]) => item), times: own.map(([, time]) => time) }]
  })
  return new Map(visits.sort(([, a], [, b]) => (a.times.at(-1) ?? 0) - (b.times.at(-1) ?? 0)))
}
const visitsOf = async (file: string, itemAt: number, timeAt: number): Promise<ReadonlyArray<Visit>> => [
  ...(await groupsOf(file, itemAt, timeAt)).values()
]
