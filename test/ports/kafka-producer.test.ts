/** The producer's two rules and how it recovers from failures, against scripted brokers. */
import { describe, expect, it } from "vitest"
import { createRequire } from "node:module"
import type { Brokers } from "../../log/event-log/kafka/brokers.ts"
import { KafkaProducer, type PartitionAppend } from "../../log/event-log/kafka/producer.ts"

const { errorCodes } = createRequire(import.meta.url)("kafkajs/src/protocol/error.js") as {
  readonly errorCodes: ReadonlyArray<{ readonly type: string; readonly code: number }>
}
const codeOf = (type: string): number => errorCodes.find((each) => each.type === type)!.code

type Fate = number | string | Error
const PRODUCER_ID_AT = 43,
  SEQUENCE_AT = 53
/** The values of an uncompressed batch of one-byte records without keys. */
const valuesOf = (batch: Buffer): string => {
  let values = ""
  for (let at = 61; at < batch.length; at += 8) values += String.fromCharCode(batch[at + 6]!)
  return values
}

/**
 * `answer` is called for every batch: it returns a base offset, the name of a broker's error, or an error to throw for
 * the whole request. Requests are recorded as `node: producer/partition/sequence/values …`, with their bytes beside
 * them.
 */
const scripted = (
  answer: (request: number, partition: number) => Fate,
  leaderOf: (partition: number) => string | undefined = () => "1"
) => {
  const requests: Array<string> = []
  const bytes: Array<ReadonlyArray<Buffer>> = []
  const troubles: Array<string> = []
  const inFlight = new Map<string, number>()
  let inFlightMax = 0
  let identities = 0
  let gate: Promise<void> | undefined
  const brokers: Brokers = {
    newIdentity: async () => ({ producerId: BigInt(++identities), producerEpoch: 0 }),
    leadersOf: async (partitions) => partitions.map(({ partition }) => leaderOf(partition)),
    produce: async (nodeId, batches) => {
      const request = requests.length
      requests.push(
        `${nodeId}: ${batches.map(({ bytes: batch, partition }) => `${batch.readBigInt64BE(PRODUCER_ID_AT)}/${partition}/${batch.readInt32BE(SEQUENCE_AT)}/${valuesOf(batch)}`).join(" ")}`
      )
      bytes.push(batches.map((batch) => batch.bytes))
      inFlight.set(nodeId, (inFlight.get(nodeId) ?? 0) + 1)
      inFlightMax = Math.max(inFlightMax, inFlight.get(nodeId)!)
      await (gate ?? new Promise((settle) => setTimeout(settle, 2)))
      inFlight.set(nodeId, inFlight.get(nodeId)! - 1)
      return batches.map(({ partition, topic }) => {
        const fate = answer(request, partition)
        if (fate instanceof Error) throw fate
        return typeof fate === "number"
          ? { topic, partition, error: 0, baseOffset: fate }
          : { topic, partition, error: codeOf(fate), baseOffset: -1 }
      })
    },
    close: () => {}
  }
  const producer = new KafkaProducer({
    brokers,
    compression: "none",
    batchBytesMax: 3,
    requestBytesMax: 100,
    onTrouble: (message) => troubles.push(message)
  })
  const append = (partition: number, values: string) =>
    new Promise<Parameters<PartitionAppend["done"]>[0]>((done) =>
      producer.append({
        topic: "t",
        partition,
        records: [...values].map((value) => ({ key: undefined, value: Buffer.from(value) })),
        bytes: values.length,
        done
      })
    )
  return {
    producer,
    append,
    requests,
    bytes,
    troubles,
    inFlightMax: () => inFlightMax,
    hold: (until: Promise<void> | undefined) => {
      gate = until
    }
  }
}

describe("the producer", () => {
  it("sends what waits for all partitions of a broker in one request at a time, each partition within its bound", async () => {
    const next = [0, 0]
    const { append, inFlightMax, requests } = scripted((_, partition) => (next[partition]! += 10) - 10)
    const answers = await Promise.all([append(0, "a"), append(0, "bc"), append(0, "d"), append(1, "e")])
    expect(requests).toEqual(["1: 1/0/0/abc 1/1/0/e", "1: 1/0/3/d"])
    expect(answers).toEqual([{ baseOffset: 0 }, { baseOffset: 1 }, { baseOffset: 10 }, { baseOffset: 0 }])
    expect(inFlightMax()).toBe(1)
  })
  it("does not make one broker wait for another", async () => {
    let open = () => {}
    const { append, hold, requests } = scripted(
      () => 0,
      (partition) => (partition === 0 ? "1" : "2")
    )
    hold(
      new Promise<void>((settle) => {
        open = settle
      })
    )
    const slow = append(0, "a")
    await new Promise((settle) => setTimeout(settle, 5))
    hold(undefined)
    expect(await append(1, "b")).toEqual({ baseOffset: 0 })
    open()
    expect(await slow).toEqual({ baseOffset: 0 })
    expect(requests).toEqual(["1: 1/0/0/a", "2: 1/1/0/b"])
  })
  it("repeats the identical bytes to a failed partition until they are acknowledged, reports it once, and serves others meanwhile", async () => {
    const { append, bytes, producer, requests, troubles } = scripted((request, partition) =>
      partition === 0 && request < 4 ? "NOT_LEADER_FOR_PARTITION" : request
    )
    const first = append(0, "a")
    await new Promise((settle) => setTimeout(settle, 20))
    const second = append(0, "b")
    expect(await append(1, "c")).toEqual({ baseOffset: 1 })
    expect(producer.trouble?.message).toContain("not the leader")
    expect(await Promise.all([first, second])).toEqual([{ baseOffset: 4 }, { baseOffset: 5 }])
    expect(requests).toEqual(["1: 1/0/0/a", "1: 1/1/0/c", "1: 1/0/0/a", "1: 1/0/0/a", "1: 1/0/0/a", "1: 1/0/1/b"])
    expect(bytes[4]![0]).toBe(bytes[0]![0])
    expect(troubles).toHaveLength(1)
    expect(producer.trouble).toBeUndefined()
  })
  it("repeats the whole request when no answer came, each partition with its own sequence numbers", async () => {
    const { append, requests, troubles } = scripted((request) => (request === 0 ? new Error("connection closed") : 7))
    expect(await Promise.all([append(0, "a"), append(1, "bc")])).toEqual([{ baseOffset: 7 }, { baseOffset: 7 }])
    expect(
      requests
        .slice(1)
        .join(" ")
        .match(/1\/\d\/\d\/\w+/g)!
        .sort()
    ).toEqual(["1/0/0/a", "1/1/0/bc"])
    expect(troubles).toEqual(["t/0 was not acknowledged and is sent again until it is: connection closed"])
  })
  it("takes a new producer id for a partition whose sequence the broker rejects for good, and keeps the others' numbers", async () => {
    const { append, requests } = scripted((request, partition) =>
      partition === 0 && request === 1 ? "OUT_OF_ORDER_SEQUENCE_NUMBER" : request
    )
    await Promise.all([append(0, "a"), append(1, "b")])
    expect(await Promise.all([append(0, "c"), append(1, "d")])).toEqual([{ baseOffset: 2 }, { baseOffset: 1 }])
    await Promise.all([append(0, "e"), append(1, "f")])
    expect(requests).toEqual(["1: 1/0/0/a 1/1/0/b", "1: 1/0/1/c 1/1/1/d", "1: 2/0/0/c", "1: 1/1/2/f 2/0/1/e"])
  })
  it("fails only what the broker refuses for good, and reuses its numbers only if nothing can have been stored", async () => {
    const { append, producer, requests } = scripted((request, partition) =>
      partition === 1
        ? request
        : request === 0
          ? "MESSAGE_TOO_LARGE"
          : request === 2
            ? "REQUEST_TIMED_OUT"
            : request === 3
              ? "INVALID_RECORD"
              : request
    )
    const refused = await Promise.all([append(0, "a"), append(1, "b")])
    expect(refused[0]).toHaveProperty("message")
    expect((refused[0] as { message: string }).message).toMatch(/^the broker refuses a record of t: /)
    expect(refused[1]).toEqual({ baseOffset: 0 })
    expect(await append(0, "c")).toEqual({ baseOffset: 1 })
    // The first answer timed out, so the record may be stored although it was refused afterwards.
    expect(await append(0, "d")).toHaveProperty("message")
    expect(await append(0, "e")).toEqual({ baseOffset: 4 })
    expect(producer.trouble).toBeUndefined()
    expect(requests).toEqual(["1: 1/0/0/a 1/1/0/b", "1: 1/0/0/c", "1: 1/0/1/d", "1: 1/0/1/d", "1: 2/0/0/e"])
  })
  it("waits for a partition without a leader and serves the others", async () => {
    let looked = 0
    const { append, producer } = scripted(
      () => 3,
      (partition) => (partition === 0 && looked++ === 0 ? undefined : "1")
    )
    const orphan = append(0, "a")
    expect(await append(1, "b")).toEqual({ baseOffset: 3 })
    expect(producer.trouble?.message).toBe("the brokers know no leader of t/0")
    expect(await orphan).toEqual({ baseOffset: 3 })
  })
  it("answers every append when it is closed, sent or not", async () => {
    const { append, producer } = scripted(() => new Error("away"))
    const answers = Promise.all([append(0, "abc"), append(0, "d")])
    await producer.close(50)
    expect(await answers).toEqual([
      { message: "not acknowledged before closing: away" },
      { message: "not sent before closing" }
    ])
    expect(await append(0, "e")).toEqual({ message: "the event log is closing" })
  })
  it("closes once everything is acknowledged, without waiting for its time", async () => {
    const { append, producer } = scripted(() => 0)
    const answer = append(0, "a")
    await producer.close(60_000)
    expect(await answer).toEqual({ baseOffset: 0 })
  })
})
