/**
 * The producer of this process: everything that waits for any partition is sent to each broker in one request, and the
 * next request is sent as soon as that one is answered. Two rules keep acknowledged records from being lost or stored
 * twice; both were found by dropping answers on the way back. A partition has one batch in flight. After an error the
 * same bytes are sent again, with the sequence numbers by which the broker recognizes a repetition, until they are
 * acknowledged. The client's own producer reuses a failed batch's numbers for the next batch, whose records are then
 * mistaken for those that may be stored already; here, a number that was sent belongs to its batch permanently.
 *
 * A partition is waiting for its broker to answer the request in progress
 *                   under way  its batch is sent; what arrives meanwhile waits
 *                   failing    the batch may or may not be stored; it is sent again after growing delays
 *
 * Partitions share only requests and connections: each has its own numbers, and a partition that permanently disagrees
 * with its broker moves to a new producer id while the others keep theirs.
 */
import type { Brokers, ProducerIdentity } from "./brokers.ts"
import type { Compression } from "./codecs.ts"
import { errorTypeOf, messageOf } from "./errors.ts"
import { brokerError } from "./kafkajs-internals.ts"
import type { PartitionAnswer } from "./produce.ts"
import { type BatchRecord, encodeBatch } from "./record-batch.ts"

/** The records of one append for one partition. `done` is called exactly once. */
export interface PartitionAppend {
  readonly topic: string
  readonly partition: number
  readonly records: ReadonlyArray<BatchRecord>
  readonly bytes: number
  /** The offset of the first record, or why there is none. The others follow without gaps. */
  readonly done: (result: { readonly baseOffset: number } | AppendFailure) => void
}

/**
 * Nothing was stored if the broker refused or the batch was never sent; if the producer closed during a send, that is
 * unknown.
 */
interface AppendFailure {
  readonly message: string
}

interface ProducerOptions {
  readonly brokers: Brokers
  readonly compression: Compression
  /** Bytes of one partition's batch, before compression; a single append may be larger. */
  readonly batchBytesMax: number
  /** Bytes of one request, before compression: no further batch is added beyond it. */
  readonly requestBytesMax: number
  readonly onTrouble: (message: string) => void
}

/** Errors after which nothing of a batch is or will be stored, however often it is sent. */
const REFUSALS: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE",
  "RECORD_LIST_TOO_LARGE",
  "INVALID_RECORD",
  "INVALID_TIMESTAMP",
  "UNSUPPORTED_COMPRESSION_TYPE",
  "INVALID_REQUIRED_ACKS",
  "TOPIC_AUTHORIZATION_FAILED",
  "CLUSTER_AUTHORIZATION_FAILED"
])
/** The broker and this producer permanently disagree about what was sent: continue with a new producer id. */
const DISAGREEMENTS: ReadonlySet<string> = new Set([
  "OUT_OF_ORDER_SEQUENCE_NUMBER",
  "UNKNOWN_PRODUCER_ID",
  "INVALID_PRODUCER_EPOCH",
  "PRODUCER_FENCED",
  "INVALID_PRODUCER_ID_MAPPING",
  "DUPLICATE_SEQUENCE_NUMBER"
])

const AGAIN_AFTER_MS = 100
/** Each connection attempt itself takes a second, so a broker that returns is noticed within two. */
const AGAIN_AFTER_MAX_MS = 500
const SEQUENCES = 2 ** 31

interface Batch {
  readonly appends: Array<PartitionAppend>
  readonly records: ReadonlyArray<BatchRecord>
  readonly bytes: number
  /** Encoded when it is first sent. */ encoded: Buffer | undefined
  /** Sent, but not acknowledged. */ isInDoubt: boolean
}
interface Partition {
  readonly topic: string
  readonly partition: number
  readonly waiting: Array<PartitionAppend>
  batch: Batch | undefined
  /** In a request, or waiting for a retry. */ isAway: boolean
  identity: ProducerIdentity | undefined
  /** Sequence number of the next unsent batch, or of the one in flight. */ sequence: number
  again_ms: number
  failing: { readonly since: number; message: string } | undefined
}

const keyOf = ({ partition, topic }: { readonly topic: string; readonly partition: number }): string =>
  `${topic}/${partition}`

/** Takes the first appends within the bound; the rest keep waiting. */
const takeBatch = (waiting: Array<PartitionAppend>, bytesMax: number): Batch => {
  let count = 1
  let bytes = waiting[0]!.bytes
  for (; count < waiting.length && bytes + waiting[count]!.bytes <= bytesMax; count++) bytes += waiting[count]!.bytes
  const appends = waiting.splice(0, count)
  return { appends, records: appends.flatMap(({ records }) => records), bytes, encoded: undefined, isInDoubt: false }
}

export class KafkaProducer {
  readonly #options: ProducerOptions
  /**
   * The partition served last is at the end. Bounded by the table of topics; the waiting records are bounded by the log
   * above.
   */
  readonly #partitions = new Map<string, Partition>()
  /** Brokers with a request in flight. */
  readonly #busy = new Set<string>()
  readonly #timers = new Set<ReturnType<typeof setTimeout>>()
  #identity: ProducerIdentity | undefined
  #isDispatching = false
  #isAskedAgain = false
  #areLeadersDoubted = false
  #isClosed = false
  #whenIdle: (() => void) | undefined

  constructor(options: ProducerOptions) {
    this.#options = options
  }

  /** Since when (ms, this machine's clock) the longest failing partition has been failing, and its latest error. */
  get trouble(): { readonly since: number; readonly message: string } | undefined {
    let longest: Partition["failing"]
    for (const { failing } of this.#partitions.values())
      if (failing !== undefined && (longest === undefined || failing.since < longest.since)) longest = failing
    return longest
  }

  append(append: PartitionAppend): void {
    if (this.#isClosed) return append.done({ message: "the event log is closing" })
    const key = keyOf(append)
    const found = this.#partitions.get(key)
    if (found !== undefined) found.waiting.push(append)
    else {
      this.#partitions.set(key, {
        topic: append.topic,
        partition: append.partition,
        waiting: [append],
        batch: undefined,
        isAway: false,
        identity: undefined,
        sequence: 0,
        again_ms: AGAIN_AFTER_MS,
        failing: undefined
      })
    }
    this.#dispatch()
  }

  /** Only one walk over the partitions runs at a time; a caller that arrives meanwhile triggers another walk. */
  #dispatch(): void {
    if (this.#isDispatching) return void (this.#isAskedAgain = true)
    this.#isDispatching = true
    void (async () => {
      // Yielding once lets every append of this turn join the first batch.
      await Promise.resolve()
      do {
        this.#isAskedAgain = false
        await this.#walk()
      } while (this.#isAskedAgain)
      this.#isDispatching = false
      if (this.#isIdle) this.#whenIdle?.()
    })()
  }

  get #isIdle(): boolean {
    for (const { batch, waiting } of this.#partitions.values())
      if (batch !== undefined || waiting.length > 0) return false
    return true
  }

  /** Sends what waits to every broker without a request in flight. Never rejects. */
  async #walk(): Promise<void> {
    const ready = [...this.#partitions.values()].filter(
      ({ batch, isAway, waiting }) => !isAway && (batch !== undefined || waiting.length > 0)
    )
    if (ready.length === 0 || this.#isClosed) return
    let leaders: ReadonlyArray<string | undefined>
    try {
      const isNewAsked = this.#areLeadersDoubted
      this.#areLeadersDoubted = false
      leaders = await this.#options.brokers.leadersOf(ready, isNewAsked)
      this.#identity ??= await this.#options.brokers.newIdentity()
    } catch (error) {
      for (const partition of ready) this.#fail(partition, error)
      return
    }
    // The producer was closed during the look-up: everything has been answered.
    if (this.#isClosed) return
    const requests = new Map<string, { readonly partitions: Array<Partition>; bytes: number }>()
    ready.forEach((partition, i) => {
      const nodeId = leaders[i]
      if (nodeId === undefined)
        return this.#fail(partition, new Error(`the brokers know no leader of ${keyOf(partition)}`))
      if (this.#busy.has(nodeId)) return
      const request = requests.get(nodeId) ?? { partitions: [], bytes: 0 }
      if (request.partitions.length > 0 && request.bytes >= this.#options.requestBytesMax) return
      const batch = (partition.batch ??= takeBatch(partition.waiting, this.#options.batchBytesMax))
      request.partitions.push(partition)
      request.bytes += batch.bytes
      requests.set(nodeId, request)
    })
    for (const [nodeId, { partitions }] of requests) void this.#send(nodeId, partitions)
  }

  async #send(nodeId: string, partitions: ReadonlyArray<Partition>): Promise<void> {
    this.#busy.add(nodeId)
    for (const partition of partitions) {
      partition.isAway = true
      // Moved behind the others, which have waited longer.
      this.#partitions.delete(keyOf(partition))
      this.#partitions.set(keyOf(partition), partition)
    }
    try {
      const answers = await this.#options.brokers.produce(
        nodeId,
        partitions.map((partition) => ({
          topic: partition.topic,
          partition: partition.partition,
          bytes: this.#encoded(partition)
        }))
      )
      const byPartition = new Map(answers.map((answer) => [keyOf(answer), answer]))
      for (const partition of partitions) this.#settle(partition, byPartition.get(keyOf(partition)))
    } catch (error) {
      for (const partition of partitions) this.#fail(partition, error)
    }
    this.#busy.delete(nodeId)
    this.#dispatch()
  }

  #encoded(partition: Partition): Buffer {
    const batch = partition.batch!
    const identity = (partition.identity ??= this.#identity!)
    return (batch.encoded ??= encodeBatch(
      batch.records,
      { ...identity, firstSequence: partition.sequence },
      this.#options.compression,
      Date.now()
    ))
  }

  #settle(partition: Partition, answer: PartitionAnswer | undefined): void {
    if (answer === undefined)
      return this.#fail(partition, new Error(`the broker answers nothing about ${keyOf(partition)}`))
    const batch = partition.batch!
    if (answer.error === 0) {
      if (answer.baseOffset < 0)
        return this.#fail(partition, new Error(`the broker acknowledged ${keyOf(partition)} without an offset`))
      partition.sequence = (partition.sequence + batch.records.length) % SEQUENCES
      let baseOffset = answer.baseOffset
      this.#answered(partition, (append) => {
        append.done({ baseOffset })
        baseOffset += append.records.length
      })
      return
    }
    const error = brokerError(answer.error)
    const type = errorTypeOf(error)
    if (REFUSALS.has(type)) {
      // If it was stored before it was refused, its numbers are used up. That is unknown, so they are not reused.
      if (batch.isInDoubt) this.#disown(partition)
      return this.#answered(partition, ({ done }) =>
        done({ message: `the broker refuses a record of ${partition.topic}: ${messageOf(error)}` })
      )
    }
    // Under a new id the broker cannot tell whether the batch is stored already, so the partition may contain it twice;
    // the processors' check of event_id counts it once.
    if (DISAGREEMENTS.has(type)) this.#disown(partition)
    this.#fail(partition, error)
  }

  /** The next batch is sent with a producer id that the partition has not seen. */
  #disown(partition: Partition): void {
    if (partition.identity === this.#identity) this.#identity = undefined
    partition.identity = undefined
    partition.sequence = 0
    partition.batch!.encoded = undefined
  }

  /** Takes the batch that was answered and calls `settle` for each append, unless closing has answered them already. */
  #answered(partition: Partition, settle: (append: PartitionAppend) => void): void {
    const { appends } = partition.batch!
    partition.batch = undefined
    partition.isAway = false
    partition.failing = undefined
    partition.again_ms = AGAIN_AFTER_MS
    appends.splice(0).forEach(settle)
  }

  #fail(partition: Partition, error: unknown): void {
    if (this.#isClosed) return
    const message = messageOf(error)
    // Reported once for all partitions that one broker's silence affects.
    if (
      partition.failing === undefined &&
      ![...this.#partitions.values()].some(({ failing }) => failing?.message === message)
    ) {
      this.#options.onTrouble(`${keyOf(partition)} was not acknowledged and is sent again until it is: ${message}`)
    }
    partition.failing ??= { since: Date.now(), message }
    partition.failing.message = message
    // The batch no longer changes, even if it could not be sent yet.
    const batch = (partition.batch ??= takeBatch(partition.waiting, this.#options.batchBytesMax))
    batch.isInDoubt ||= batch.encoded !== undefined
    partition.isAway = true
    this.#areLeadersDoubted = true
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      partition.isAway = false
      this.#dispatch()
    }, partition.again_ms)
    this.#timers.add(timer)
    partition.again_ms = Math.min(AGAIN_AFTER_MAX_MS, 2 * partition.again_ms)
  }

  /** Sends what waits, for at most `within_ms`; whatever is not acknowledged by then fails. */
  async close(within_ms: number): Promise<void> {
    if (!this.#isIdle) {
      let timer: ReturnType<typeof setTimeout> | undefined
      await new Promise<void>((settle) => {
        timer = setTimeout(settle, within_ms)
        this.#whenIdle = settle
      })
      clearTimeout(timer)
    }
    this.#isClosed = true
    this.#timers.forEach(clearTimeout)
    for (const { batch, failing, waiting } of this.#partitions.values()) {
      for (const { done } of batch?.appends.splice(0) ?? [])
        done({ message: `not acknowledged before closing: ${failing?.message ?? "the broker does not answer"}` })
      for (const { done } of waiting.splice(0)) done({ message: "not sent before closing" })
    }
    this.#options.brokers.close()
  }
}
