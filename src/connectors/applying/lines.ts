/**
 * Records of the log that wait to be applied, in one queue per collection. Organizations take turns by weight. One
 * worker at a time takes a queue, so that its changes stay in order, and a queue that waits for its collection does
 * not delay others. Beyond `HELD_BYTES_MAX`, only positions are kept, and the records are read again when their turn
 * comes. Pure.
 */
import { makeFairQueue } from "../../fair-queue.ts"
import type { Push } from "../push.ts"

/** Limit of waiting records, whether or not their content is in memory. */
const PLACES_MAX = 100_000
const HELD_BYTES_MAX = 16_000_000
const BATCH_CHANGES_MAX = 4_096
const BATCH_BYTES_MAX = 4_000_000

export interface Entry {
  readonly organizationId: string
  readonly collection: string
  readonly partition: number
  readonly offset: number
  readonly changes: number
  readonly bytes: number
  /** Its content, which is read again if it was not kept in memory. */ push: Push | undefined
}
export interface Line {
  readonly organizationId: string
  readonly collection: string
  /** In log order, per partition. */ entries: Array<Entry>
  /** How often writing its first batch failed. */ failures: number
  /** It is queued, taken by a worker, or waiting for its collection. */ isLinedUp: boolean
}

export class Lines {
  readonly #lines = new Map<string, Line>()
  readonly #turns: ReturnType<typeof makeFairQueue<Line>>
  /** By partition: offsets not applied yet, in order. */ readonly #open = new Map<number, Array<number>>()
  readonly #done = new Map<number, Set<number>>()
  #size = 0
  #held_bytes = 0

  constructor(weightOf: (organizationId: string) => number) {
    this.#turns = makeFairQueue<Line>(weightOf)
  }
  get isFull(): boolean {
    return this.#size >= PLACES_MAX
  }
  get size(): number {
    return this.#size
  }
  put(entry: Entry): void {
    const key = JSON.stringify([entry.organizationId, entry.collection])
    let line = this.#lines.get(key)
    if (line === undefined) {
      line = {
        organizationId: entry.organizationId,
        collection: entry.collection,
        entries: [],
        failures: 0,
        isLinedUp: false
      }
      this.#lines.set(key, line)
    }
    if (this.#held_bytes + entry.bytes > HELD_BYTES_MAX) entry.push = undefined
    else this.#held_bytes += entry.bytes
    line.entries.push(entry)
    this.#size++
    const open = this.#open.get(entry.partition)
    if (open === undefined) this.#open.set(entry.partition, [entry.offset])
    else open.push(entry.offset)
    if (!line.isLinedUp) this.again(line)
  }
  /** The queue whose turn it is. The caller holds it until `again` or `release`. */
  next(): Line | undefined {
    return this.#turns.take()?.entry
  }
  /** Whether another queue waits for its turn. */
  get someWait(): boolean {
    return this.#turns.size() > 0
  }
  /** The next batch: entries after the first `from`, at least one if there is one. */
  batchOf({ entries }: Line, from = 0): ReadonlyArray<Entry> {
    let changes = 0,
      bytes = 0,
      to = from
    for (; to < entries.length; to++) {
      changes += entries[to]!.changes
      bytes += entries[to]!.bytes
      if (to > from && (changes > BATCH_CHANGES_MAX || bytes > BATCH_BYTES_MAX)) break
    }
    return entries.slice(from, to)
  }
  /** Queues it again with its remaining entries. */
  again(line: Line): void {
    line.isLinedUp = true
    this.#turns.put(line.organizationId, line)
  }
  /** Call when the first batch is written and recorded. */
  applied(line: Line, batch: ReadonlyArray<Entry>): void {
    line.failures = 0
    line.entries = line.entries.slice(batch.length)
    this.#size -= batch.length
    for (const entry of batch) {
      if (entry.push !== undefined) this.#held_bytes -= entry.bytes
      this.pass(entry.partition, entry.offset)
    }
  }
  /** Ends its turn: it is queued again with its remaining entries, or removed. */
  release(line: Line, took_ms: number): void {
    if (line.entries.length > 0) this.again(line)
    else this.#lines.delete(JSON.stringify([line.organizationId, line.collection]))
    this.#turns.worked(line.organizationId, took_ms)
  }
  /** Marks an offset as finished. */
  pass(partition: number, offset: number): void {
    const done = this.#done.get(partition) ?? new Set<number>()
    this.#done.set(partition, done.add(offset))
    const open = this.#open.get(partition) ?? []
    let n = 0
    while (n < open.length && done.has(open[n]!)) done.delete(open[n++]!)
    if (n > 0) open.splice(0, n)
  }
  /** The lowest offset that would not be applied if the batch were; undefined if everything read would be. */
  lowest(partition: number, batch: ReadonlyArray<Entry>): number | undefined {
    const ours = new Set(batch.flatMap((entry) => (entry.partition === partition ? [entry.offset] : [])))
    const done = this.#done.get(partition)
    return this.#open.get(partition)?.find((offset) => !ours.has(offset) && done?.has(offset) !== true)
  }
}
