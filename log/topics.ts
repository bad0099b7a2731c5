/**
 * Every topic in one table. A topic's name contains its version: a change of schema that old readers cannot read is a
 * new topic. Partition counts may only grow, because a query id contains the partition it was created for.
 */

export interface Topic {
  readonly name: string
  /**
   * `visitor`: partitioned by what an event says about its visitor, so that searches and the events after them meet.
   * `document`: partitioned by the changed document, into as many partitions. `one`: a single partition.
   */
  readonly partitioning: "visitor" | "document" | "one"
  readonly retentionHours: number
  /** The newest record of a key is kept forever, older ones may be removed; `retentionHours` has no effect then. */
  readonly compaction: boolean
  /** Whether retention must wait for the slowest consumer. Derived data need not. */
  readonly waitsForConsumers: boolean
  readonly writtenBy: string
}

const DAY = 24

export const BEHAVIOUR_EVENTS: Topic = {
  name: "behaviour.events.v1",
  partitioning: "visitor",
  retentionHours: 31 * DAY,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "POST /events"
}
export const SEARCH_SERVED: Topic = {
  name: "search.served.v1",
  partitioning: "visitor",
  retentionHours: 31 * DAY,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "every answered search"
}
/**
 * Fingerprints of accepted event ids, one block per slice of a commit: the source of the dedupe window. Kept as long as
 * the window although sealed runs cover most of it, because a process that is new, or has lost its runs, rebuilds them
 * from this topic.
 */
export const EVENT_FINGERPRINTS: Topic = {
  name: "behaviour.fingerprints.v1",
  partitioning: "one",
  retentionHours: 30 * DAY,
  compaction: false,
  waitsForConsumers: false,
  writtenBy: "POST /events"
}

/** Refused entries of `POST /events`, with the reason; the `rejections` processor lists them. */
export const BEHAVIOUR_REJECTED: Topic = {
  name: "behaviour.rejected.v1",
  partitioning: "one",
  retentionHours: 7 * DAY,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "POST /events"
}

/** Catalogue changes pushed by shop systems; `src/connectors/applying` turns them into documents. */
export const CATALOG_PUSHES: Topic = {
  name: "catalog.pushes.v1",
  partitioning: "document",
  retentionHours: 7 * DAY,
  compaction: false,
  waitsForConsumers: true,
  writtenBy: "connectors"
}

export const deadLettersOf = (topic: Topic): Topic => ({
  name: `${topic.name}.dlq`,
  partitioning: "one",
  retentionHours: 31 * DAY,
  compaction: false,
  waitsForConsumers: false,
  writtenBy: "any processor"
})

export const isDeadLetters = (topic: string): boolean => topic.endsWith(".dlq")

export const TOPICS: ReadonlyArray<Topic> = [
  BEHAVIOUR_EVENTS,
  SEARCH_SERVED,
  EVENT_FINGERPRINTS,
  BEHAVIOUR_REJECTED,
  CATALOG_PUSHES,
  deadLettersOf(BEHAVIOUR_EVENTS),
  deadLettersOf(SEARCH_SERVED),
  deadLettersOf(BEHAVIOUR_REJECTED),
  deadLettersOf(CATALOG_PUSHES)
]

/**
 * Decision: one visitor partition in embedded mode. There is one stream worker, so more partitions would only split
 * each request into more records; and with one, an event that names neither our query id nor the session of its search
 * still reaches the partition of that search. Distributed installations set more; `routing.ts` handles any number.
 */
export const VISITOR_PARTITIONS_EMBEDDED = 1

/** Default of an installation on Kafka: the number of stream processes that can share the work. */
export const VISITOR_PARTITIONS_DISTRIBUTED = 8

export const partitionsOf = (topic: Topic, visitorPartitions: number): number =>
  topic.partitioning === "one" ? 1 : visitorPartitions

const HOUR_MS = 3_600_000

/** The settings of every topic for brokers. */
export const topicSpecs = (visitorPartitions: number) =>
  TOPICS.map((topic) => ({
    name: topic.name,
    partitions: partitionsOf(topic, visitorPartitions),
    retention_ms: topic.retentionHours * HOUR_MS,
    compaction: topic.compaction
  }))
