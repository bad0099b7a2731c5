/**
 * Connections to the brokers, made when they are first used. Whatever fails on them, they are thrown away and made
 * anew.
 */
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

  /** Those that are there, or new ones; who comes meanwhile waits for the same. Rejects when no broker answers. */
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

  /** Somebody else may have made new connections already; only the failed ones go. */
  drop(cluster: Cluster | undefined): void {
    if (cluster === undefined) return
    if (this.#cluster === cluster) this.#cluster = undefined
    this.#disconnect(cluster)
  }

  /** Not waited for: it would wait for answers of the broker that does not answer. */
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
