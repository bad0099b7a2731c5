/** Flags that several commands share, and their conversion to options. */
import { Config, Option } from "effect"
import { Flag } from "effect/cli"
import { fileURLToPath } from "node:url"
import { VISITOR_PARTITIONS_DISTRIBUTED } from "@dowser/log/topics"
import { type DistributedConfig } from "../../config.ts"

export const dataDirDefault = fileURLToPath(new URL("../../../.dowser", import.meta.url))

export const dataDir = Flag.String("data-dir").pipe(
  Flag.withDescription("Folder that holds everything"),
  Flag.withFallbackConfig(Config.String("DOWSER_DATA_DIR")),
  Flag.withDefault(dataDirDefault)
)

export const json = Flag.Boolean("json").pipe(
  Flag.withDescription("One JSON line on standard output"),
  Flag.withFallbackConfig(Config.Boolean("DOWSER_JSON")),
  Flag.withDefault(false)
)

export const modelsDir = Flag.String("models-dir").pipe(
  Flag.withDescription(
    "Folder of installed models (else models/installed of the program, or models in the data folder)"
  ),
  Flag.withFallbackConfig(Config.String("DOWSER_MODELS_DIR")),
  Flag.withDefault("")
)

export const weights = Flag.String("weights").pipe(
  Flag.withDescription("Shares of organizations when counting is behind, e.g. org_a=4,org_b=0.5 (others 1)"),
  Flag.withFallbackConfig(Config.String("DOWSER_WEIGHTS")),
  Flag.withDefault("")
)

/** The first two are required only in distributed mode, which reports missing ones. */
export const meeting = {
  brokers: Flag.String("kafka-brokers").pipe(
    Flag.withDescription("Kafka brokers, host:port, separated by commas"),
    Flag.withFallbackConfig(Config.String("KAFKA_BROKERS")),
    Flag.withDefault("")
  ),
  databaseUrl: Flag.String("database-url").pipe(
    Flag.withDescription("Postgres of the installation"),
    Flag.withFallbackConfig(Config.String("DATABASE_URL")),
    Flag.withDefault("")
  ),
  topicPrefix: Flag.String("topic-prefix").pipe(
    Flag.withDescription("Put before every topic's name, for installations that share brokers"),
    Flag.withFallbackConfig(Config.String("DOWSER_TOPIC_PREFIX")),
    Flag.withDefault("")
  ),
  visitorPartitions: Flag.Int("visitor-partitions").pipe(
    Flag.withDescription("Partitions of the visitor topics; the same in every process"),
    Flag.withFallbackConfig(Config.Int("DOWSER_VISITOR_PARTITIONS")),
    Flag.withDefault(VISITOR_PARTITIONS_DISTRIBUTED)
  ),
  compression: Flag.Literals("compression", ["zstd", "gzip", "none"]).pipe(
    Flag.withDescription("Of records on their way to Kafka (zstd where the runtime has it, else gzip)"),
    Flag.withFallbackConfig(Config.Literals(["zstd", "gzip", "none"], "DOWSER_COMPRESSION")),
    Flag.optional
  ),
  replication: Flag.Int("replication").pipe(
    Flag.withDescription("Replicas of topics made here (the brokers' default otherwise)"),
    Flag.withFallbackConfig(Config.Int("DOWSER_REPLICATION")),
    Flag.optional
  )
}

type MeetingFlags = Pick<DistributedConfig, "brokers" | "databaseUrl" | "topicPrefix" | "visitorPartitions"> & {
  readonly compression: Option.Option<"zstd" | "gzip" | "none">
  readonly replication: Option.Option<number>
}
export const meetingOf = ({
  brokers,
  compression,
  databaseUrl,
  replication,
  topicPrefix,
  visitorPartitions
}: MeetingFlags): DistributedConfig => ({
  brokers,
  databaseUrl,
  topicPrefix,
  visitorPartitions,
  compression: Option.getOrUndefined(compression),
  replication: Option.getOrUndefined(replication)
})

export const admin = {
  adminPort: Flag.Int("admin-port").pipe(
    Flag.withDescription("Port of /metrics for Prometheus, without credentials (0: none)"),
    Flag.withFallbackConfig(Config.Int("DOWSER_ADMIN_PORT")),
    Flag.withDefault(0)
  ),
  adminHost: Flag.String("admin-host").pipe(
    Flag.withDescription("Address of the admin port"),
    Flag.withFallbackConfig(Config.String("DOWSER_ADMIN_HOST")),
    Flag.withDefault("127.0.0.1")
  )
}

export const target = {
  dataDir,
  url: Flag.String("url").pipe(
    Flag.withDescription("Address of a running Dowser (else the one that owns --data-dir)"),
    Flag.withFallbackConfig(Config.String("DOWSER_URL")),
    Flag.optional
  ),
  operatorToken: Flag.String("operator-token").pipe(
    Flag.withDescription("Token of the operator, needed with --url"),
    Flag.withFallbackConfig(Config.String("DOWSER_OPERATOR_TOKEN")),
    Flag.optional
  )
}

export const targetOf = (flags: {
  readonly dataDir: string
  readonly url: Option.Option<string>
  readonly operatorToken: Option.Option<string>
}) => ({
  dataDir: flags.dataDir,
  url: Option.getOrUndefined(flags.url),
  operatorToken: Option.getOrUndefined(flags.operatorToken)
})

export const organization = Flag.String("organization").pipe(Flag.withDescription("Id of the organization"))

export const key = Flag.String("key").pipe(
  Flag.withDescription("A full key"),
  Flag.withFallbackConfig(Config.String("DOWSER_KEY"))
)
