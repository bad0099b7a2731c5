/** The internals of `kafkajs` that we use: unchanged in the pinned version, and used in one file only. */
import { execFileSync } from "node:child_process"
import { createRequire } from "node:module"
import { describe, expect, it, vi } from "vitest"
import { makeKafka } from "../../log/event-log/kafka/client.ts"
import { brokerError, makeCluster } from "../../log/event-log/kafka/kafkajs-internals.ts"

const require = createRequire(import.meta.url)
const kafka = () => makeKafka({ brokers: ["localhost:1"], clientId: "inner-parts" })
const methodsOf = (prototype: object): ReadonlyArray<string> => Object.getOwnPropertyNames(prototype)

describe("internals of kafkajs", () => {
  it("are those of 2.2.4", () => {
    expect((require("kafkajs/package.json") as { readonly version: string }).version).toBe("2.2.4")
  })

  it("are a cluster with the calls that reading and writing make", () => {
    expect(methodsOf(Object.getPrototypeOf(makeCluster(kafka())) as object)).toEqual(
      expect.arrayContaining([
        "connect",
        "disconnect",
        "addMultipleTargetTopics",
        "refreshMetadata",
        "refreshMetadataIfNecessary",
        "findLeaderForPartitions",
        "findBroker",
        "findControllerBroker"
      ])
    )
  })

  it("are connections with the requests that reading and writing send", () => {
    const Broker = require("kafkajs/src/broker/index.js") as { readonly prototype: object }
    const Pool = require("kafkajs/src/network/connectionPool.js") as { readonly prototype: object }
    expect(methodsOf(Broker.prototype)).toEqual(
      expect.arrayContaining(["initProducerId", "fetch", "listOffsets", "deleteRecords"])
    )
    expect(methodsOf(Pool.prototype)).toContain("send")
  })

  it("are a queue of requests that does not wait while it is empty, and continues where it is not", () => {
    kafka()
    const Queue = require("kafkajs/src/network/requestQueue/index.js") as new (options: object) => {
      pending: Array<object>
      throttleCheckTimeoutId: unknown
      throttledUntil: number
      checkPendingRequests(): void
      destroy(): void
    }
    vi.useFakeTimers()
    try {
      const logger = { debug: () => {}, warn: () => {} }
      const queue = new Queue({ maxInFlightRequests: null, requestTimeout: 1_000, clientId: "c", broker: "b", logger })
      queue.checkPendingRequests()
      expect(queue.throttleCheckTimeoutId).toBeNull()
      const sent = vi.fn()
      queue.throttledUntil = Date.now() + 50
      queue.pending.push({ send: sent, expectResponse: true, correlationId: 1 })
      queue.checkPendingRequests()
      vi.advanceTimersByTime(49)
      expect(sent).not.toHaveBeenCalled()
      vi.advanceTimersByTime(2)
      expect(sent).toHaveBeenCalledOnce()
      queue.destroy()
    } finally {
      vi.useRealTimers()
    }
  })

  it("are words for a broker's codes", () => {
    expect([brokerError(6).type, brokerError(45).type]).toEqual([
      "NOT_LEADER_FOR_PARTITION",
      "OUT_OF_ORDER_SEQUENCE_NUMBER"
    ])
  })

  it("are named in one file of the program", () => {
    const found = execFileSync("git", ["grep", "-l", "kafkajs/src\\|private:Kafka", "--", "log", "src", "streams"], {
      encoding: "utf8"
    })
    expect(found.trim().split("\n")).toEqual(["log/event-log/kafka/kafkajs-internals.ts"])
  })
})
