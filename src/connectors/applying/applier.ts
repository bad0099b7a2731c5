/**
 * Turns pushes into documents, in every process that has an engine. Three loops run while the process holds its claims:
 *
 *   claims    renews claims, and takes unclaimed partitions
 *   reading   reads the log ahead of the engine into the queues of collections (`lines.ts`), as far as there is room
 *   workers   take the next queue, apply its first batches (`apply-batch.ts`), and queue it again
 *
 * The loops stop when a claim is lost or an unexpected error occurs. They are then restarted at the stored offsets,
 * below which everything is applied.
 */
import { ConsumedElsewhere, consumedKey } from "@dowser/log/consumed"
import { EventLog, type LogRecord } from "@dowser/log/event-log/event-log"
import { encodeRecord } from "@dowser/log/record"
import { CATALOG_PUSHES, deadLettersOf } from "@dowser/log/topics"
import { Identifiers } from "@dowser/log/identifiers"
import { supervised } from "@dowser/log/process/supervised"
import { weightIn } from "@dowser/streams/runner/weights"
import { Effect, Fiber, Latch, Layer, Queue } from "effect"
import { Installation } from "../../installation.ts"
import { counted } from "../../metrics/background.ts"
import { OwnsEngine } from "../../ports/engine/engine.ts"
import { pushOf, type PushRecord } from "../push.ts"
import { ClaimLost, type KnownDocuments, makeApplyBatch, type Place, type Recording } from "./apply-batch.ts"
import { makeClaims } from "./claims.ts"
import { type Entry, type Line, Lines } from "./lines.ts"

const RENEW_MS = 2_000
/** A claim lasts ten seconds. If it has not been renewed for this long, another process may soon own it. */
const CLAIM_TRUSTED_MS = 7_000
/** How often an idle loop polls, for records that other processes wrote or for a queue to apply. */
const LOOK_EVERY_MS = 500
const READ_RECORDS_MAX = 1_000
const READ_BYTES_MAX = 4_000_000
/** Collections that are written concurrently. */
const WORKERS = 4
/** Pause before a retry if the database or the log does not respond. */
const AGAIN_MS = 1_000
/** While no other collection waits, batches of one collection are written and recorded concurrently. */
const TURN_MS = 1_000

interface Parts {
  readonly apply: Effect.Success<typeof makeApplyBatch>
  readonly claims: Effect.Success<typeof makeClaims>
  /** Offsets reported to the log's retention. */ readonly consumed: Map<string, number>
  readonly log: EventLog["Service"]
  readonly process: string
  readonly partitions: number
  readonly isAlone: boolean
}
type RecordFailure = Effect.Error<Recording["record"]>
const parsed = (value: Uint8Array): PushRecord | string => {
  try {
    return pushOf(value)
  } catch (error) {
    return String(error)
  }
}

/** The loops between two restarts. */
class Applier {
  readonly #parts: Parts
  readonly #lines: Lines
  /** By partition of this process: where reading continues. */ readonly #positions = new Map<number, number>()
  readonly #work: Latch.Latch
  readonly #look: Latch.Latch
  #renewedAt = performance.now()

  constructor(parts: Parts, lines: Lines, { look, work }: { readonly look: Latch.Latch; readonly work: Latch.Latch }) {
    this.#parts = parts
    this.#lines = lines
    this.#look = look
    this.#work = work
  }
  readonly claiming = Effect.gen({ self: this }, function* () {
    const { claims, isAlone, partitions, process } = this.#parts
    yield* claims.prepare(partitions)
    for (let isFirst = true; ; isFirst = false) {
      const began = performance.now()
      const ours = yield* claims.renew(process)
      for (const { next_offset, partition } of ours)
        this.#parts.consumed.set(consumedKey(CATALOG_PUSHES.name, partition), next_offset)
      for (const held of this.#positions.keys())
        if (!ours.some(({ partition }) => partition === held))
          return yield* new ClaimLost({ message: `Partition ${held} was taken by another process.` })
      const taken = yield* claims.take(process, partitions, isAlone && isFirst)
      this.#renewedAt = began
      // Claims from before a restart of this loop still belong to this process.
      for (const { next_offset, partition } of [...ours, ...taken])
        if (!this.#positions.has(partition)) this.#positions.set(partition, next_offset)
      if (taken.length > 0) yield* this.#look.open
      yield* Effect.sleep(RENEW_MS)
    }
  })

  readonly reading = Effect.gen({ self: this }, function* () {
    const hints = yield* this.#parts.log.subscribe
    yield* Effect.forkScoped(
      Effect.forever(
        Effect.flatMap(Queue.take(hints), ({ topic }) =>
          topic === CATALOG_PUSHES.name ? this.#look.open : Effect.void
        )
      )
    )
    for (;;) {
      yield* this.#look.close
      let read = 0
      for (const partition of [...this.#positions.keys()]) if (!this.#lines.isFull) read += yield* this.#read(partition)
      if (read === 0) yield* Effect.raceFirst(this.#look.await, Effect.sleep(LOOK_EVERY_MS))
    }
  })

  /** Returns how many records were read. */
  readonly #read = Effect.fnUntraced({ self: this }, function* (partition: number) {
    const { claims, log, process } = this.#parts
    const from = this.#positions.get(partition)!
    const { nextOffset, records } = yield* log.read({
      topic: CATALOG_PUSHES.name,
      partition,
      from,
      recordsMax: READ_RECORDS_MAX,
      bytesMax: READ_BYTES_MAX
    })
    let unread = 0
    for (const { appendedAt, offset, value } of records) {
      const record = parsed(value)
      if (typeof record === "string") {
        yield* this.#deadLetter(partition, { appendedAt, offset, value }, record)
        unread++
      } else this.#lines.put(this.#entryOf(record, partition, offset, value.length))
      this.#positions.set(partition, offset + 1)
    }
    this.#positions.set(partition, nextOffset)
    if (records.length > 0) yield* this.#work.open
    // Moves the offset past unreadable records now, because no later record may arrive that would.
    if (unread > 0) yield* claims.move(process, [[partition, this.#lines.lowest(partition, []) ?? nextOffset]])
    return records.length
  })
  #entryOf({ organizationId, push }: PushRecord, partition: number, offset: number, bytes: number): Entry {
    const { changes, collection } = push
    return { organizationId, collection, partition, offset, changes: changes.length, bytes, push }
  }
  #deadLetter(partition: number, { appendedAt, offset, value }: Omit<LogRecord, "key">, reason: string) {
    const letter = encodeRecord({
      schema_version: 1,
      organization_id: "",
      occurred_at: appendedAt,
      payload: { group: "connectors", partition, topic: CATALOG_PUSHES.name, offset, reason, body: value }
    })
    return Effect.andThen(
      Effect.logError(`A push at ${partition}/${offset} cannot be read and was moved to the dead letters: ${reason}`),
      this.#parts.log.append([{ topic: deadLettersOf(CATALOG_PUSHES).name, partition: 0, value: letter }])
    )
  }

  readonly working = Effect.gen({ self: this }, function* () {
    for (;;) {
      yield* this.#work.close
      const line = this.#lines.next()
      if (line === undefined) yield* Effect.raceFirst(this.#work.await, Effect.sleep(LOOK_EVERY_MS))
      else yield* this.#turn(line)
    }
  })
  /** Applies the queue's first batch, and further ones while no other queue waits. */
  readonly #turn = Effect.fnUntraced({ self: this }, function* (line: Line) {
    const began = performance.now()
    const after_ms = yield* counted("pushes applying")(this.#batches(line)).pipe(
      Effect.catchTag(["SqlError", "EventLogUnavailable"], (error) =>
        Effect.as(Effect.logError("Pushes could not be applied; tried again in a moment", error), AGAIN_MS)
      )
    )
    if (after_ms === undefined) this.#lines.release(line, performance.now() - began)
    else
      yield* Effect.forkScoped(
        Effect.andThen(
          Effect.sleep(after_ms),
          Effect.andThen(
            Effect.sync(() => this.#lines.again(line)),
            this.#work.open
          )
        )
      )
    if (this.#lines.size > 0) yield* this.#work.open
    yield* Effect.yieldNow
  })
  /** Writes a batch while the previous one is recorded. Returns the milliseconds until the first batch is retried. */
  readonly #batches = Effect.fnUntraced({ self: this }, function* (line: Line) {
    let recording: { readonly known: KnownDocuments; readonly done: Fiber.Fiber<void, RecordFailure> } | undefined
    let ahead: ReadonlyArray<Entry> = []
    const until_ms = performance.now() + TURN_MS
    for (;;) {
      const entries = this.#lines.batchOf(line, ahead.length)
      const isLast = entries.length === 0 || (ahead.length > 0 && this.#lines.someWait) || performance.now() > until_ms
      const next = isLast ? undefined : yield* Effect.exit(this.#written(line, entries, recording?.known))
      if (recording !== undefined) {
        yield* Fiber.join(recording.done)
        this.#lines.applied(line, ahead)
      }
      if (next === undefined) return undefined
      const recorded = (yield* next)(this.#placeOf(entries))
      if (typeof recorded === "number") return recorded
      ahead = entries
      recording = { known: recorded.known, done: yield* Effect.forkChild(recorded.record) }
    }
  })
  readonly #written = Effect.fnUntraced(
    { self: this },
    function* (line: Line, entries: ReadonlyArray<Entry>, before: KnownDocuments | undefined) {
      if (performance.now() - this.#renewedAt > CLAIM_TRUSTED_MS)
        return yield* new ClaimLost({ message: "The claims could not be renewed in time." })
      const parts = yield* this.#held(entries)
      return yield* this.#parts.apply({ line, entries, parts, before })
    }
  )
  #placeOf(entries: ReadonlyArray<Entry>): Place {
    const partitions = [...new Set(entries.map(({ partition }) => partition))]
    return {
      process: this.#parts.process,
      offsets: () =>
        partitions.map((partition) => [
          partition,
          this.#lines.lowest(partition, entries) ?? this.#positions.get(partition)!
        ])
    }
  }
  /** The contents of a batch's records; records that were not kept in memory are read again. */
  #held(entries: ReadonlyArray<Entry>) {
    return Effect.forEach(entries, (entry) =>
      entry.push !== undefined
        ? Effect.succeed({ entry, push: entry.push })
        : Effect.map(
            this.#parts.log.read({
              topic: CATALOG_PUSHES.name,
              partition: entry.partition,
              from: entry.offset,
              recordsMax: 1,
              bytesMax: 1
            }),
            ({ records }) => ({ entry, push: pushOf(records[0]!.value).push })
          )
    )
  }
}

const make = Effect.gen(function* () {
  if (!(yield* OwnsEngine)) return
  const { isAlone, visitorPartitions, weights } = yield* Installation
  const parts: Parts = {
    apply: yield* makeApplyBatch,
    claims: yield* makeClaims,
    consumed: yield* ConsumedElsewhere,
    log: yield* EventLog,
    process: yield* (yield* Identifiers).make("prc"),
    partitions: visitorPartitions,
    isAlone
  }
  const life = Effect.scoped(
    Effect.gen(function* () {
      const latches = { look: yield* Latch.make(), work: yield* Latch.make() }
      const applier = new Applier(parts, new Lines(weightIn(weights)), latches)
      const workers = Array.from({ length: WORKERS }, () => applier.working)
      return yield* Effect.raceAllFirst([applier.claiming, applier.reading, ...workers])
    })
  )
  yield* Effect.addFinalizer(() => Effect.ignore(parts.claims.release(parts.process)))
  yield* Effect.forkScoped(
    supervised(
      { first_ms: AGAIN_MS, max_ms: 10 * AGAIN_MS, healthyAfter_ms: 60_000 },
      Effect.catchCause(life, (cause) =>
        Effect.as(Effect.logError("Applying of pushes stopped and begins again", cause), "failed" as const)
      )
    )
  )
})

/** Applies while the layer lives. */
export const layerApplier = Layer.effectDiscard(make)
