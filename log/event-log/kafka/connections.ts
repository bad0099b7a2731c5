/** Connections to the brokers, opened on first use. After any failure they are dropped and reopened. */
import type { Kafka } from "kafkajs"
import { type Cluster, makeCluster } from "./kafkajs-internals.ts"
import { messageOf } from "./errors.ts"

export class Connections {
  readonly #kafka: Kafka
  readonly #onTrouble: (message: string) => void
  #cluster: Cluster | undefined
  #connecting: Promise<Cluster> | undefined
  #isClosed = false

  constructor(kafka: Kafka, onTrouble: (message: string) => void) {
    this.#kafka = kafka
    this.#onTrouble = onTrouble
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** The open connections, or new ones; concurrent callers wait for the same. Rejects if no broker answers. */
  async connected(): Promise<Cluster> {
    if (this.#isClosed) throw new Error("the event log is closed")
    if (this.#cluster !== undefined) return this.#cluster
    return (this.#connecting ??= (async () => {
      const cluster = makeCluster(this.#kafka)
      try {
        await cluster.connect()
        if (this.#isClosed) throw new Error("the event log is closed")
        return (this.#cluster = cluster)
      } catch (error) {
        this.#disconnect(cluster)
        throw error
      } finally {
        this.#connecting = undefined
      }
    })())
  }

  /** Another caller may have reconnected already, so drop only the connections that failed. */
  drop(cluster: Cluster | undefined): void {
    if (cluster === undefined) return
    if (this.#cluster === cluster) this.#cluster = undefined
    this.#disconnect(cluster)
  }

  /** Not awaited, because it would wait for the broker that does not answer. */
  #disconnect(cluster: Cluster): void {
    cluster
      .disconnect()
      .catch((error: unknown) => this.#onTrouble(`a connection could not be closed: ${messageOf(error)}`))
  }

  close(): void {
    this.#isClosed = true
    this.drop(this.#cluster)
  }
}
