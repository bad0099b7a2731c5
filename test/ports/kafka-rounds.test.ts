/** Concurrent reads from brokers, against brokers scripted by the test. */
import { describe, expect, it } from "vitest"
import { type AskedPartition, byTopic, Rounds } from "../../log/event-log/kafka/rounds.ts"

interface Asked extends AskedPartition {
  readonly from: number
}
const asked = (partition: number, from = 0, topic = "t"): Asked => ({ topic, partition, from })
/** An error as the client throws it: with the broker's type, or with none if the broker did not answer. */
const refusal = (type: string): Error => Object.assign(new Error(`broker says ${type}`), { type })

/**
 * `fate` is called for each partition of a request: it returns the answer, undefined to omit the partition, or an error
 * for the whole request.
 */
const scripted = (fate: (asked: Asked) => string | undefined | Error) => {
  const requests: Array<string> = []
  let inFlight = 0,
    inFlightMax = 0
  const rounds = new Rounds(async (_: object, all: ReadonlyArray<Asked>) => {
    requests.push(all.map(({ from, partition, topic }) => `${topic}/${partition}@${from}`).join(" "))
    inFlightMax = Math.max(inFlightMax, ++inFlight)
    await new Promise((settle) => setTimeout(settle, 2))
    inFlight--
    return all.flatMap((one) => {
      const answer = fate(one)
      if (answer instanceof Error) throw answer
      return answer === undefined ? [] : [{ topic: one.topic, partition: one.partition, answer }]
    })
  })
  return { rounds, requests, inFlightMax: () => inFlightMax }
}
const broker = {}
const told = (one: Asked): string => `${one.topic}/${one.partition} from ${one.from}`

describe("concurrent reads from a broker", () => {
  it("share a request, and each gets its own answer", async () => {
    const { inFlightMax, requests, rounds } = scripted(told)
    const first = [
      rounds.ask(broker, asked(0, 5)),
      rounds.ask(broker, asked(1, 7)),
      rounds.ask(broker, asked(0, 9, "u"))
    ]
    await new Promise((settle) => setTimeout(settle, 1))
    // Two of these reads are for the same partition, which a request cannot contain twice.
    const later = [rounds.ask(broker, asked(2)), rounds.ask(broker, asked(1, 8)), rounds.ask(broker, asked(1, 3))]
    expect(await Promise.all([...first, ...later])).toEqual([
      "t/0 from 5",
      "t/1 from 7",
      "u/0 from 9",
      "t/2 from 0",
      "t/1 from 8",
      "t/1 from 3"
    ])
    expect(requests).toEqual(["t/0@5 t/1@7 u/0@9", "t/2@0 t/1@8", "t/1@3"])
    expect(inFlightMax()).toBe(1)
  })

  it("do not wait for another broker", async () => {
    const { inFlightMax, requests, rounds } = scripted(told)
    await Promise.all([rounds.ask(broker, asked(0)), rounds.ask({}, asked(1))])
    expect(requests).toEqual(["t/0@0", "t/1@0"])
    expect(inFlightMax()).toBe(2)
  })

  it("are repeated separately when the broker refuses one of them, and only that one fails", async () => {
    const { requests, rounds } = scripted((one) => (one.partition === 1 ? refusal("OFFSET_OUT_OF_RANGE") : told(one)))
    const [zero, one, two] = await Promise.allSettled([
      rounds.ask(broker, asked(0)),
      rounds.ask(broker, asked(1)),
      rounds.ask(broker, asked(2))
    ])
    expect([zero, two]).toEqual([
      { status: "fulfilled", value: "t/0 from 0" },
      { status: "fulfilled", value: "t/2 from 0" }
    ])
    expect(one).toMatchObject({ status: "rejected", reason: { type: "OFFSET_OUT_OF_RANGE" } })
    expect(requests).toEqual(["t/0@0 t/1@0 t/2@0", "t/0@0", "t/1@0", "t/2@0"])
  })

  it("fail together, once, when the broker does not answer; later reads are still sent", async () => {
    let isAway = true
    const { requests, rounds } = scripted((one) => (isAway ? new Error("Connection timeout") : told(one)))
    const ended = await Promise.allSettled([rounds.ask(broker, asked(0)), rounds.ask(broker, asked(1))])
    expect(ended.map(({ status }) => status)).toEqual(["rejected", "rejected"])
    isAway = false
    expect(await rounds.ask(broker, asked(1))).toBe("t/1 from 0")
    expect(requests).toEqual(["t/0@0 t/1@0", "t/1@0"])
  })

  it("are undefined where the broker's answer omits the partition", async () => {
    const { rounds } = scripted((one) => (one.partition === 1 ? undefined : told(one)))
    expect(await Promise.all([rounds.ask(broker, asked(0)), rounds.ask(broker, asked(1))])).toEqual([
      "t/0 from 0",
      undefined
    ])
  })
})

describe("partitions by topic", () => {
  it("keep their order", () => {
    expect(byTopic([asked(1), asked(0, 2, "u"), asked(0)])).toEqual([
      { topic: "t", partitions: [asked(1), asked(0)] },
      { topic: "u", partitions: [asked(0, 2, "u")] }
    ])
  })
})
