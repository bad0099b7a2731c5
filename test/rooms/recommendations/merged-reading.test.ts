/** Partitions read as one: in the order of the log's time, every record once, up to the end of each. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { EventLog, LogRecord, ReadRequest } from "../../../log/event-log/event-log.ts"
import { readMerged } from "../../../src/recommendation-models/live/merged-reading.ts"

const HOUR_MS = 3_600_000
/** Records of each partition, by the hours at which they were appended; a read returns three. */
const logOf = (partitions: ReadonlyArray<ReadonlyArray<number>>, startOffset = 0) => {
  const records = partitions.map((hours) =>
    hours.map((hour, offset): LogRecord => ({
      offset,
      appendedAt: hour * HOUR_MS,
      key: undefined,
      value: new Uint8Array()
    }))
  )
  const read = ({ from, partition }: ReadRequest) =>
    Effect.sync(() => {
      const first = Math.max(from, startOffset)
      const found = records[partition]!.slice(first, first + 3)
      return { records: found, nextOffset: (found.at(-1)?.offset ?? first - 1) + 1, startOffset }
    })
  return { read } as unknown as EventLog["Service"]
}
const merged = async (log: EventLog["Service"], ends: ReadonlyArray<number>, froms = ends.map(() => 0)) => {
  const taken: Array<readonly [partition: number, hour: number]> = []
  const next = [...froms]
  const stretches = ends.map((end, partition) => ({ partition, from: froms[partition]!, end }))
  const all = readMerged(log, "t", stretches, (part) => {
    for (const { appendedAt } of part.records) taken.push([part.partition, appendedAt / HOUR_MS])
    next[part.partition] = part.next
    return undefined
  })
  await Effect.runPromise(all)
  return { taken, next }
}

describe("partitions read as one", () => {
  it("come in the order of time, whichever is longer", async () => {
    const log = logOf([[1, 2, 3, 50, 51, 52, 53], [4, 5, 6, 7, 8, 9, 60], [], [55]])
    const { next, taken } = await merged(log, [7, 7, 0, 1])
    expect(taken.map(([, hour]) => hour)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 51, 52, 53, 55, 60])
    expect(next).toEqual([7, 7, 0, 1])
  })
  it("end where each ends, begin where each begins, and skip what retention removed", async () => {
    const log = logOf(
      [
        [1, 3, 5, 7, 9],
        [2, 4, 6, 8]
      ],
      1
    )
    expect((await merged(log, [4, 2])).taken).toEqual([
      [0, 3],
      [1, 4],
      [0, 5],
      [0, 7]
    ])
    expect((await merged(log, [5, 4], [3, 3])).taken).toEqual([
      [0, 7],
      [1, 8],
      [0, 9]
    ])
  })
})
