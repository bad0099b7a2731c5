/**
 * One producer and the partitions it owns. Two rules keep acknowledged records from being lost or stored twice, both
 * found by dropping answers on the way back: one send is in flight, and after an error the identical batch goes again
 * until it is acknowledged. The idempotent producer hands a failed send's sequence numbers to whatever comes next, so that
 * anything else sent in between would be taken for the batch that may be stored already.
 *
 * A send carries one partition's records. With several, `kafkajs` forgets a partition whose leader moves, between two
 * tries, to a broker that has answered already.
 */
import kafkajs, { type CompressionTypes, type Kafka, type Message, type Producer } from "kafkajs"

/** Records of one append that go to one partition. `done` is called exactly once. */
export interface LaneAppend {
  readonly topic: string
  readonly partition: number
  readonly messages: ReadonlyArray<Message>
  readonly bytes: number
  /** The offset of the first record, or why there is none. The rest follow without gaps. */
  readonly done: (result: { readonly baseOffset: number } | LaneFailure) => void
}

/** Nothing was stored when the broker refused or the batch was never sent; when the lane was closed under way, nobody knows. */
export interface LaneFailure { readonly message: string }

export interface LaneOptions {
  readonly kafka: Kafka
  readonly compression: CompressionTypes
  /** Bytes of one send, before compression; a single append may be larger. */
  readonly sendBytesMax: number
  readonly requestTimeout_ms: number
  readonly onTrouble: (message: string) => void
}

/** Nothing of such a batch is stored and nothing will be, however often it is sent. */
const REFUSALS: ReadonlySet<string> = new Set([
  "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "INVALID_RECORD", "INVALID_TIMESTAMP", "UNSUPPORTED_COMPRESSION_TYPE", "INVALID_REQUIRED_ACKS",
  "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED"
])
/** The broker and this producer disagree for good about what was sent: only a producer with a new id goes on. */
const DISAGREEMENTS: ReadonlySet<string> = new Set(["OUT_OF_ORDER_SEQUENCE_NUMBER", "UNKNOWN_PRODUCER_ID", "INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED", "INVALID_PRODUCER_ID_MAPPING", "DUPLICATE_SEQUENCE_NUMBER"])

const AGAIN_AFTER_MS = 100
const AGAIN_AFTER_MAX_MS = 2_000

/** The broker's name for an error, which `kafkajs` may have wrapped. */
export const errorTypeOf = (error: unknown): string => {
  const { cause, originalError, type } = (error ?? {}) as { readonly type?: unknown; readonly cause?: unknown; readonly originalError?: unknown }
  if (typeof type === "string") return type
  const inner = originalError ?? cause
  return inner === undefined || inner === error ? "" : errorTypeOf(inner)
}
export const messageOf = (error: unknown): string => error instanceof Error ? error.message : String(error)

const pause = (ms: number): Promise<void> => new Promise((settle) => setTimeout(settle, ms))

export class ProducerLane {
  readonly #options: LaneOptions
  #producer: Producer | undefined
  /** By `topic/partition`; the first to wait is the next to go. Bounded by the log above. */
  readonly #waiting = new Map<string, Array<LaneAppend>>()
  #underWay: Array<LaneAppend> = []
  #draining: Promise<void> | undefined
  #isClosed = false
  #failingSince: number | undefined
  #failure = ""

  constructor(options: LaneOptions) {
    this.#options = options
  }

  /** Since when (ms, this machine's clock) no send was acknowledged though one is under way, and what was said last. */
  get trouble(): { readonly since: number; readonly message: string } | undefined {
    return this.#failingSince === undefined ? undefined : { since: this.#failingSince, message: this.#failure }
  }

  append(append: LaneAppend): void {
    if (this.#isClosed) return append.done({ message: "the event log is closing" })
    const key = `${append.topic}/${append.partition}`
    const waiting = this.#waiting.get(key)
    if (waiting === undefined) this.#waiting.set(key, [append])
    else waiting.push(append)
    this.#draining ??= this.#drain()
  }

  async #drain(): Promise<void> {
    // One turn of grace lets every append of this turn join the first send.
    await Promise.resolve()
    try {
      for (let next = this.#waiting.entries().next(); !next.done; next = this.#waiting.entries().next()) {
        const [key, waiting] = next.value
        let count = 1
        for (let bytes = waiting[0]!.bytes; count < waiting.length && bytes + waiting[count]!.bytes <= this.#options.sendBytesMax; count++) bytes += waiting[count]!.bytes
        const group = waiting.splice(0, count)
        this.#waiting.delete(key)
        // What is left goes behind the other partitions, which have waited longer.
        if (waiting.length > 0) this.#waiting.set(key, waiting)
        const { partition, topic } = group[0]!
        this.#underWay = group
        const result = await this.#sendUntilAcknowledged(topic, partition, group.flatMap(({ messages }) => messages))
        let offset = "baseOffset" in result ? result.baseOffset : 0
        // Empty when the lane was closed meanwhile and has answered them.
        for (const { done, messages } of this.#underWay.splice(0)) {
          done("baseOffset" in result ? { baseOffset: offset } : result)
          offset += messages.length
        }
      }
    } finally {
      // In the same turn as the look that found nothing: an append between the two would wait for the next one.
      this.#draining = undefined
    }
  }

  async #sendUntilAcknowledged(topic: string, partition: number, messages: ReadonlyArray<Message>): Promise<{ readonly baseOffset: number } | LaneFailure> {
    for (let again_ms = AGAIN_AFTER_MS;; again_ms = Math.min(AGAIN_AFTER_MAX_MS, 2 * again_ms)) {
      try {
        const producer = await this.#connected()
        const [answer] = await producer.send({ acks: -1, timeout: this.#options.requestTimeout_ms, compression: this.#options.compression, topic, messages: [...messages] })
        const baseOffset = Number(answer?.baseOffset)
        if (!Number.isInteger(baseOffset) || baseOffset < 0) throw new Error(`the broker acknowledged ${topic}/${partition} without an offset`)
        this.#failingSince = undefined
        return { baseOffset }
      } catch (error) {
        const type = errorTypeOf(error)
        if (REFUSALS.has(type)) {
          this.#failingSince = undefined
          return { message: `the broker refuses a record of ${topic}: ${messageOf(error)}` }
        }
        // The new producer sends the batch under a new id. Whether it is stored already the broker could no longer say:
        // it may stand twice in the partition then, and the processors' look at event_id counts it once.
        if (DISAGREEMENTS.has(type)) await this.#dropProducer()
        if (this.#failingSince === undefined) this.#options.onTrouble(`${topic}/${partition} was not acknowledged and is sent again until it is: ${messageOf(error)}`)
        this.#failingSince ??= Date.now()
        this.#failure = messageOf(error)
        if (this.#isClosed) return { message: `not acknowledged before closing: ${this.#failure}` }
        await pause(again_ms)
      }
    }
  }

  async #connected(): Promise<Producer> {
    if (this.#producer !== undefined) return this.#producer
    const producer = this.#options.kafka.producer({
      idempotent: true, allowAutoTopicCreation: false, maxInFlightRequests: 1, createPartitioner: kafkajs.Partitioners.DefaultPartitioner
    })
    try {
      await producer.connect()
    } catch (error) {
      await producer.disconnect().catch((reason: unknown) => this.#options.onTrouble(`a producer could not be closed: ${messageOf(reason)}`))
      throw error
    }
    return this.#producer = producer
  }

  async #dropProducer(): Promise<void> {
    const producer = this.#producer
    this.#producer = undefined
    await producer?.disconnect().catch((error: unknown) => this.#options.onTrouble(`a producer could not be closed: ${messageOf(error)}`))
  }

  /** Sends what waits, for at most `within_ms`; what is not acknowledged by then is answered as failed. */
  async close(within_ms: number): Promise<void> {
    let timer: ReturnType<typeof setTimeout> | undefined
    await Promise.race([this.#draining, new Promise((settle) => { timer = setTimeout(settle, within_ms) })])
    clearTimeout(timer)
    this.#isClosed = true
    for (const { done } of this.#underWay.splice(0)) done({ message: `not acknowledged before closing: ${this.#failure || "the broker does not answer"}` })
    for (const waiting of this.#waiting.values()) for (const { done } of waiting) done({ message: "not sent before closing" })
    this.#waiting.clear()
    // Not waited for: it would wait for the answer that does not come.
    void this.#dropProducer()
  }
}
