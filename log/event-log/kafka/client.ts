/**
 * `kafkajs` as we use it: its client with our time-outs, codecs and log. `producer.ts` and `reader.ts` describe how
 * this program writes and reads with it.
 */
// Imported through the default export: Node does not find the names in this CommonJS module, Deno does.
import kafkajs, { type ISocketFactory, type Kafka, type LogEntry } from "kafkajs"
import { registerCodecs } from "./codecs.ts"
import { calmRequestQueue } from "./kafkajs-internals.ts"
import type { KafkaSecurity } from "./security.ts"

export interface KafkaSettings {
  /** `host:port` of the brokers to connect to first. */
  readonly brokers: ReadonlyArray<string>
  readonly clientId: string
  /** How long a broker may take to answer one request before it is sent again. */
  readonly requestTimeout_ms?: number
  /** Receives the log of `kafkajs`. Most of it is one line per retry, which the callers report once and better. */
  readonly onLog?: (line: string) => void
  /** TLS and credentials; plain connections when absent. */
  readonly security?: KafkaSecurity
  /** How a connection is made; tests insert a transport that drops answers. */
  readonly socketFactory?: ISocketFactory
}

const REQUEST_TIMEOUT_MS = 5_000
const CONNECT_TIMEOUT_MS = 3_000

/** The callers retry by themselves until their own deadline; here, only brief network glitches are retried. */
const retry = { initialRetryTime: 100, maxRetryTime: 1_000, retries: 3 }

let isPrepared = false

export const makeKafka = (settings: KafkaSettings): Kafka => {
  if (!isPrepared) {
    registerCodecs()
    calmRequestQueue()
    isPrepared = true
  }
  const { brokers, clientId, onLog, requestTimeout_ms, security, socketFactory } = settings
  return new kafkajs.Kafka({
    brokers: [...brokers],
    clientId,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    requestTimeout: requestTimeout_ms ?? REQUEST_TIMEOUT_MS,
    retry,
    logCreator:
      () =>
      ({ label, log, namespace }: LogEntry) =>
        onLog?.(
          `kafkajs ${label} ${namespace}: ${log.message}${typeof log.error === "string" ? ` (${log.error})` : ""}`
        ),
    ...(security?.ssl === undefined ? {} : { ssl: security.ssl }),
    ...(security?.sasl === undefined ? {} : { sasl: security.sasl }),
    ...(socketFactory === undefined ? {} : { socketFactory })
  })
}
