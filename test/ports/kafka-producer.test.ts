/** The lane's two rules and its ways out of trouble, against a producer that does what a test says. */
import type { Kafka, ProducerRecord } from "kafkajs"
import { describe, expect, it } from "vitest"
import { type LaneAppend, ProducerLane } from "../../src/ports/kafka/lane.ts"

class BrokerError extends Error {
  readonly type: string
  constructor(type: string) {
    super(type)
    this.type = type
  }
}

/** `answer` is asked for every send: a base offset, or an error to throw. Sends are kept as `producer:partition:values`. */
const scripted = (answer: (send: number) => number | Error) => {
  const sends: Array<string> = []
  const troubles: Array<string> = []
  let producers = 0
  let inFlight = 0
  let inFlightMax = 0
  const kafka = {
    producer: () => {
      const id = ++producers
      return {
        connect: async () => {},
        disconnect: async () => {},
        send: async ({ messages }: ProducerRecord) => {
          inFlightMax = Math.max(inFlightMax, ++inFlight)
          await new Promise((settle) => setTimeout(settle, 2))
          inFlight--
          const answered = answer(sends.length)
          sends.push(`${id}:${messages[0]!.partition}:${messages.map(({ value }) => String(value)).join("")}`)
          if (answered instanceof Error) throw answered
          return [{ baseOffset: String(answered) }]
        }
      }
    }
  } as unknown as Kafka
  const lane = new ProducerLane({ kafka, compression: 0, sendBytesMax: 3, requestTimeout_ms: 100, onTrouble: (message) => troubles.push(message) })
  const append = (partition: number, values: string) =>
    new Promise<Parameters<LaneAppend["done"]>[0]>((done) => lane.append({ topic: "t", partition, messages: [...values].map((value) => ({ partition, value })), bytes: values.length, done }))
  return { lane, append, sends, troubles, inFlightMax: () => inFlightMax }
}

describe("a producer lane", () => {
  it("has one send in flight, gathers what waits for a partition within its bound, and takes partitions in turn", async () => {
    let offset = 0
    const { append, inFlightMax, sends } = scripted(() => (offset += 10) - 10)
    const answers = await Promise.all([append(0, "a"), append(0, "bc"), append(0, "d"), append(1, "e")])
    expect(sends).toEqual(["1:0:abc", "1:1:e", "1:0:d"])
    expect(answers).toEqual([{ baseOffset: 0 }, { baseOffset: 1 }, { baseOffset: 20 }, { baseOffset: 10 }])
    expect(inFlightMax()).toBe(1)
  })
  it("sends the identical batch again and nothing else until it is acknowledged, and says so once", async () => {
    const { append, lane, sends, troubles } = scripted((send) => send < 3 ? new BrokerError("NOT_LEADER_FOR_PARTITION") : send)
    const first = append(0, "a")
    await new Promise((settle) => setTimeout(settle, 20))
    const second = append(0, "b")
    expect(lane.trouble?.message).toBe("NOT_LEADER_FOR_PARTITION")
    expect(await Promise.all([first, second])).toEqual([{ baseOffset: 3 }, { baseOffset: 4 }])
    expect(sends).toEqual(["1:0:a", "1:0:a", "1:0:a", "1:0:a", "1:0:b"])
    expect(troubles).toHaveLength(1)
    expect(lane.trouble).toBeUndefined()
  })
  it("goes on with a new producer when the broker will never agree with this one", async () => {
    const { append, sends } = scripted((send) => send === 0 ? new BrokerError("OUT_OF_ORDER_SEQUENCE_NUMBER") : send)
    expect(await append(0, "a")).toEqual({ baseOffset: 1 })
    expect(sends).toEqual(["1:0:a", "2:0:a"])
  })
  it("fails what the broker refuses for good, wherever the client has wrapped the reason, and goes on", async () => {
    const wrapped = Object.assign(new Error("gave up"), { cause: new BrokerError("MESSAGE_TOO_LARGE") })
    const { append, lane } = scripted((send) => send === 0 ? new BrokerError("REQUEST_TIMED_OUT") : send === 1 ? wrapped : send)
    expect(await append(0, "a")).toEqual({ message: "the broker refuses a record of t: gave up" })
    expect(lane.trouble).toBeUndefined()
    expect(await append(1, "b")).toEqual({ baseOffset: 2 })
  })
  it("answers everything when it is closed, sent or not", async () => {
    const { append, lane } = scripted(() => new Error("away"))
    const answers = Promise.all([append(0, "abc"), append(0, "d")])
    await lane.close(50)
    expect(await answers).toEqual([{ message: "not acknowledged before closing: away" }, { message: "not sent before closing" }])
    expect(await append(0, "e")).toEqual({ message: "the event log is closing" })
  })
})
