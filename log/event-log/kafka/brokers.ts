/** The requests that a producer (`producer.ts`) sends to brokers, over the client's connections. */
import type { Kafka } from "kafkajs"
import type { Cluster } from "./kafkajs-internals.ts"
import { Connections } from "./connections.ts"
import { type PartitionAnswer, type PartitionBatch, produce } from "./produce.ts"

export interface ProducerIdentity {
  readonly producerId: bigint
  readonly producerEpoch: number
}

export interface Brokers {
  /** Returns a new producer id, unknown to all brokers. */
  readonly newIdentity: () => Promise<ProducerIdentity>
  /** The leader of each partition; undefined if unknown. `isNewAsked` means that the cached answer was wrong. */
  readonly leadersOf: (
    partitions: ReadonlyArray<{ readonly topic: string; readonly partition: number }>,
    isNewAsked: boolean
  ) => Promise<ReadonlyArray<string | undefined>>
  /** Rejects if no answer arrived: the records may have been stored. */
  readonly produce: (nodeId: string, batches: ReadonlyArray<PartitionBatch>) => Promise<ReadonlyArray<PartitionAnswer>>
  readonly close: () => void
}

export const makeBrokers = (kafka: Kafka, requestTimeout_ms: number, onTrouble: (message: string) => void): Brokers => {
  const connections = new Connections(kafka, onTrouble)
  const using = async <A>(use: (cluster: Cluster) => Promise<A>): Promise<A> => {
    let cluster: Cluster | undefined
    try {
      cluster = await connections.connected()
      return await use(cluster)
    } catch (error) {
      connections.drop(cluster)
      throw error
    }
  }
  return {
    newIdentity: () =>
      using(async (cluster) => {
        await cluster.refreshMetadataIfNecessary()
        const broker = await cluster.findControllerBroker()
        const { producerEpoch, producerId } = await broker.initProducerId({
          transactionalId: null,
          transactionTimeout: requestTimeout_ms
        })
        return { producerId: BigInt(producerId), producerEpoch }
      }),
    leadersOf: (partitions, isNewAsked) =>
      using(async (cluster) => {
        const topics = [...new Set(partitions.map(({ topic }) => topic))]
        await cluster.addMultipleTargetTopics(topics)
        if (isNewAsked) await cluster.refreshMetadata()
        else await cluster.refreshMetadataIfNecessary()
        const leaders = new Map<string, string>()
        for (const topic of topics) {
          for (const [nodeId, led] of Object.entries(
            cluster.findLeaderForPartitions(
              topic,
              partitions.filter((each) => each.topic === topic).map(({ partition }) => partition)
            )
          )) {
            for (const partition of led) leaders.set(`${topic}/${partition}`, nodeId)
          }
        }
        return partitions.map(({ partition, topic }) => leaders.get(`${topic}/${partition}`))
      }),
    produce: (nodeId, batches) =>
      using(async (cluster) => produce(await cluster.findBroker({ nodeId }), batches, requestTimeout_ms)),
    close: () => connections.close()
  }
}
