/**
 * One run of the thread, from its start to its end: feeds it the log from its snapshot on, without end, and again
 * from the start for an organization if something must be removed from its models or a rebuild is requested.
 */
import { Effect, Queue } from "effect"
import type { EventLog, LogRecord, ReadAnswer } from "@dowser/log/event-log/event-log"
import { BEHAVIOUR_EVENTS } from "@dowser/log/topics"
import type { Tombstone } from "@dowser/streams/erasure/erasures"
import type { LiveThread } from "./live-thread.ts"
import { type MergedPart, readMerged } from "./merged-reading.ts"
import type { Position } from "./messages.ts"

const READ = { recordsMax: 16, bytesMax: 128 * 1_024 }
/** Polling interval without hints: other processes' events arrive without a hint. */
const IDLE_MS = 250

const packed = (records: ReadonlyArray<LogRecord>) => {
  const bytes = new Uint8Array(records.reduce((sum, { value }) => sum + value.length, 0))
  let at = 0
  const parts = records.map(({ appendedAt, offset, value }) => {
    bytes.set(value, at)
    at += value.length
    return { offset, appendedAt, length: value.length }
  })
  return { buffer: bytes.buffer, parts }
}
const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** A request to rebuild an organization's models. */
export interface Rebuild {
  readonly organizationId: string
  readonly jobId: string
}

export class Life {
  readonly thread: LiveThread
  readonly #log: EventLog["Service"]
  readonly #partitions: number
  /** By partition: the first offset not taken, and the last known end. */
  readonly #next: Array<number>
  readonly #end: Array<number>
  /** Partitions that have been read to the end that they had when the thread started. */
  readonly #reached = new Set<number>()
  readonly #rebuilding = new Set<string>()
  readonly #known = new Map<string, number>()
  /** By organization: the last job that requested a rebuild. */ readonly #rebuilt = new Map<string, string>()

  constructor(log: EventLog["Service"], partitions: number, thread: LiveThread) {
    this.#log = log
    this.#partitions = partitions
    this.thread = thread
    this.#next = new Array<number>(partitions).fill(0)
    this.#end = new Array<number>(partitions).fill(0)
  }
  /** Whether the log has been read to its end once; models that are being rebuilt are complete a little later. */
  get isCaughtUp(): boolean {
    return this.#reached.size === this.#partitions
  }
  /** Whether no organization's models are being rebuilt. */
  readonly isWhole = (): boolean => this.#rebuilding.size === 0
  get behind(): number {
    return this.#next.reduce((sum, next, i) => sum + Math.max(0, this.#end[i]! - next), 0)
  }

  /** Continues from the snapshot's positions, if it is of this log. */
  begin(positions: ReadonlyArray<Position>): void {
    for (const { next, partition } of positions) this.#next[partition] = next
  }
  /** Reads what is available now, in the order of the log's time. */
  readonly catchUp = Effect.fnUntraced({ self: this }, function* () {
    for (let partition = 0; partition < this.#partitions; partition++) {
      this.#end[partition] = (yield* this.#log.bounds(BEHAVIOUR_EVENTS.name, partition)).endOffset
    }
    const stretches = this.#next.map((from, partition) => ({ partition, from, end: this.#end[partition]! }))
    yield* readMerged(this.#log, BEHAVIOUR_EVENTS.name, stretches, (part) => {
      this.#next[part.partition] = part.next
      return this.#hand(part, undefined)
    })
  })
  #hand({ next, partition, records }: MergedPart, only: string | undefined): Promise<void> | undefined {
    return this.thread.add({ partition, next, only, ...packed(records) })
  }

  /** Reads a partition from its position on, forever. */
  readonly follow = Effect.fnUntraced({ self: this }, function* (partition: number) {
    const topic = BEHAVIOUR_EVENTS.name
    const hints = yield* this.#log.subscribe
    const { endOffset } = yield* this.#log.bounds(topic, partition)
    for (;;) {
      const from: number = this.#next[partition]!
      const { nextOffset, records }: ReadAnswer = yield* this.#log.read({ topic, partition, from, ...READ })
      if (records.length === 0 && nextOffset <= from) {
        this.#end[partition] = from
        this.#reached.add(partition)
        const own = Effect.repeat(Queue.take(hints), {
          until: (hint) => hint.topic === topic && hint.partition === partition
        })
        yield* Effect.timeoutOption(own, IDLE_MS)
        continue
      }
      this.#next[partition] = nextOffset
      this.#end[partition] = Math.max(this.#end[partition]!, nextOffset, endOffset)
      const room = this.#hand({ partition, next: nextOffset, records }, undefined)
      yield* room === undefined ? turn : Effect.promise(() => room)
      if (nextOffset >= endOffset) this.#reached.add(partition)
    }
  })
  /** Whether every position belongs to this log, and not to one that was wiped or restored. */
  readonly isOfLog = Effect.fnUntraced({ self: this }, function* (positions: ReadonlyArray<Position>) {
    for (const { appendedAt, next, partition } of positions) {
      const { endOffset, startOffset } = yield* this.#log.bounds(BEHAVIOUR_EVENTS.name, partition)
      if (next > endOffset) return false
      if (next <= startOffset) continue
      const from = Math.max(startOffset, next - 1)
      const { records } = yield* this.#log.read({
        topic: BEHAVIOUR_EVENTS.name,
        partition,
        from,
        recordsMax: 1,
        bytesMax: 1
      })
      // A broker may leave gaps, so the record before the position need not have the previous offset.
      if (records[0]?.offset === next - 1 && records[0].appendedAt !== appendedAt) return false
    }
    return true
  })

  /**
   * Rebuilds the organization's models without what has been erased. Live events continue meanwhile. Returns the number
   * of events; undefined if a rebuild is in progress already, or the thread ended. `report` reports progress, 0..1.
   */
  readonly rebuild = Effect.fnUntraced(
    { self: this },
    function* (organizationId: string, report: (progress: number) => void = () => {}) {
      if (this.#rebuilding.has(organizationId)) return undefined
      this.#rebuilding.add(organizationId)
      this.thread.send({ kind: "forget", organizationId })
      const stretches = this.#next.map((end, partition) => ({ partition, from: 0, end }))
      const whole = stretches.reduce((sum, { end }) => sum + end, 0)
      const done = new Map<number, number>()
      const all = readMerged(this.#log, BEHAVIOUR_EVENTS.name, stretches, (part) => {
        done.set(part.partition, part.next)
        report([...done.values()].reduce((sum, next) => sum + next, 0) / Math.max(1, whole))
        return this.#hand(part, organizationId)
      })
      return yield* Effect.ensuring(
        Effect.andThen(
          all,
          Effect.promise(() => this.thread.taken(organizationId))
        ),
        Effect.sync(() => this.#rebuilding.delete(organizationId))
      )
    }
  )
  /** Organizations whose rebuild was not requested at the last check. */
  asked(rebuilds: ReadonlyArray<Rebuild>): ReadonlyArray<string> {
    const fresh = rebuilds.filter(({ jobId, organizationId }) => this.#rebuilt.get(organizationId) !== jobId)
    this.#rebuilt.clear()
    for (const rebuild of rebuilds) this.did(rebuild)
    return fresh.map(({ organizationId }) => organizationId)
  }
  did({ jobId, organizationId }: Rebuild): void {
    this.#rebuilt.set(organizationId, jobId)
  }

  /** Sets the current tombstones; returns the organizations with erasures since the last check. */
  setTombstones(tombstones: ReadonlyArray<Tombstone>): ReadonlyArray<string> {
    const changed = new Set<string>()
    let isChanged = false
    const known = new Map(tombstones.map(({ jobId, prints }) => [jobId, prints.length]))
    for (const { jobId, organizationId, prints } of tombstones)
      if (this.#known.get(jobId) !== prints.length) changed.add(organizationId)
    isChanged = changed.size > 0 || known.size !== this.#known.size
    this.#known.clear()
    for (const [jobId, prints] of known) this.#known.set(jobId, prints)
    if (isChanged) this.thread.send({ kind: "tombstones", tombstones })
    return [...changed]
  }
}
