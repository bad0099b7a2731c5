/**
 * Topics as required: created if missing and compared if present. A difference is reported by name and not repaired:
 * partitions cannot be removed, a shorter retention loses what was promised, and both are the operator's decision.
 */
import kafkajs, { type Kafka } from "kafkajs"
import { errorTypeOf } from "./errors.ts"

export interface TopicSpec {
  readonly name: string
  readonly partitions: number
  readonly retention_ms: number
  readonly compaction: boolean
}

/** A topic as the broker describes it; settings by their Kafka names. */
interface FoundTopic {
  readonly partitions: number
  readonly settings: Readonly<Record<string, string>>
}

/** A record has about a megabyte; the limit applies to an entire batch, compressed. */
export const MESSAGE_BYTES_MAX = 16 * 1024 * 1024

const settingsOf = ({ compaction, retention_ms }: TopicSpec): Readonly<Record<string, string>> => ({
  "cleanup.policy": compaction ? "compact" : "delete",
  // Compacted topics keep the newest record of each key as long as it exists.
  "retention.ms": compaction ? "-1" : String(retention_ms),
  // The log's own clock at the append: consumers merge topics by it, and offsets are looked up by it.
  "message.timestamp.type": "LogAppendTime",
  "max.message.bytes": String(MESSAGE_BYTES_MAX)
})

/** How a topic differs from the required settings, in words; empty if it may be used. More than required is fine. */
export const differencesOf = (spec: TopicSpec, found: FoundTopic): ReadonlyArray<string> => {
  const differences: Array<string> = []
  if (found.partitions !== spec.partitions)
    differences.push(`it has ${found.partitions} partition${found.partitions === 1 ? "" : "s"}, not ${spec.partitions}`)
  for (const [name, wanted] of Object.entries(settingsOf(spec))) {
    const actual = found.settings[name]
    const isLimit = name === "retention.ms" || name === "max.message.bytes"
    const size = (text: string) => (Number(text) < 0 ? Number.POSITIVE_INFINITY : Number(text))
    const isGood = actual !== undefined && (isLimit ? size(actual) >= size(wanted) : actual === wanted)
    if (!isGood) differences.push(`${name} is ${actual ?? "unknown"}, not ${wanted}`)
  }
  return differences
}

/** The existing topics differ from the required settings. */
export class KafkaTopicsDiffer extends Error {
  override readonly name = "KafkaTopicsDiffer"
}

const APPEARS_WITHIN_MS = 15_000
const AGAIN_AFTER_MS = 100
/** Not all brokers may know a topic that was just created; the client gives up after 0.7 s, we wait longer. */
const isNotThereYet = (error: unknown): boolean =>
  /^(UNKNOWN_TOPIC_OR_PARTITION|LEADER_NOT_AVAILABLE)$/.test(errorTypeOf(error))
const again = (): Promise<void> => new Promise((settle) => setTimeout(settle, AGAIN_AFTER_MS))

/**
 * Creates what is missing (idempotent, even if processes start at the same time) and checks everything. Rejects with
 * `KafkaTopicsDiffer`, or with the broker's error.
 */
export const ensureTopics = async (
  kafka: Kafka,
  specs: ReadonlyArray<TopicSpec>,
  replication?: number
): Promise<void> => {
  for (const until = performance.now() + APPEARS_WITHIN_MS; ;) {
    try {
      return await makeAndCheck(kafka, specs, replication)
    } catch (error) {
      if (!isNotThereYet(error) || performance.now() >= until) throw error
      await again()
    }
  }
}
const makeAndCheck = async (
  kafka: Kafka,
  specs: ReadonlyArray<TopicSpec>,
  replication: number | undefined
): Promise<void> => {
  const admin = kafka.admin()
  await admin.connect()
  try {
    const missing = async () => {
      const present = new Set(await admin.listTopics())
      return specs.filter(({ name }) => !present.has(name))
    }
    const absent = await missing()
    if (absent.length > 0) {
      // Returns false if another process was faster for some or all of them.
      await admin.createTopics({
        waitForLeaders: true,
        topics: absent.map((spec) => ({
          topic: spec.name,
          numPartitions: spec.partitions,
          ...(replication === undefined ? {} : { replicationFactor: replication }),
          configEntries: Object.entries(settingsOf(spec)).map(([name, value]) => ({ name, value }))
        }))
      })
      for (const until = performance.now() + APPEARS_WITHIN_MS; (await missing()).length > 0;) {
        if (performance.now() >= until)
          throw new KafkaTopicsDiffer(
            `Topic ${(await missing())[0]?.name} was asked for and does not appear; look at the broker's log.`
          )
        await again()
      }
    }
    const names = specs.map(({ name }) => name)
    const { topics } = await admin.fetchTopicMetadata({ topics: names })
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: names.map((name) => ({
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name,
        configNames: Object.keys(settingsOf(specs[0]!))
      }))
    })
    const complaints = specs.flatMap((spec) => {
      const settings = Object.fromEntries(
        resources
          .find(({ resourceName }) => resourceName === spec.name)
          ?.configEntries.map(({ configName, configValue }) => [configName, configValue]) ?? []
      )
      const differences = differencesOf(spec, {
        partitions: topics.find(({ name }) => name === spec.name)?.partitions.length ?? 0,
        settings
      })
      return differences.length === 0
        ? []
        : [`Topic ${spec.name} is not as this program needs it: ${differences.join("; ")}.`]
    })
    if (complaints.length > 0) throw new KafkaTopicsDiffer(complaints.join(" "))
  } finally {
    await admin.disconnect()
  }
}
