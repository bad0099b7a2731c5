/** Commands that run the program: all of it, or only stream processors. */
import { dataDir, json, modelsDir, weights, meeting, meetingOf, admin } from "./flags.ts"
import { Config, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { availableParallelism } from "node:os"
import { PORT_DEFAULT, searchWorkersDefault } from "../../config.ts"
import { CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX } from "../../http/connections.ts"
import { REQUEST_MEMORY_DEFAULT } from "../../http/request-memory.ts"
import { start } from "../start.ts"
import { streams } from "../streams.ts"

export const startCommand = Command.make(
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
      Flag.withDefault(PORT_DEFAULT)
    ),
    ...admin,
    countryHeader: Flag.String("country-header").pipe(
      Flag.withDescription("Header in which a proxy in front names the visitor's country, e.g. cf-ipcountry"),
      Flag.withFallbackConfig(Config.String("DOWSER_COUNTRY_HEADER")),
      Flag.optional
    ),
    trustedProxies: Flag.String("trusted-proxies").pipe(
      Flag.withDescription(
        "CIDR ranges of proxies in front, separated by commas; their X-Forwarded-For is trusted for the client's address"
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
        "Prices of AI operations, e.g. semantic_search=0.2,embeddings=0 (the others as in docs/plans.md)"
      ),
      Flag.withFallbackConfig(Config.String("DOWSER_CREDIT_PRICES")),
      Flag.withDefault("")
    ),
    logMegabytesMax: Flag.Int("log-megabytes-max").pipe(
      Flag.withDescription(
        "Megabytes that the embedded event log may hold before events are answered 429 (0: as much as the disk has)"
      ),
      Flag.withFallbackConfig(Config.Int("DOWSER_LOG_MEGABYTES_MAX")),
      Flag.withDefault(0)
    ),
    diskReserveMegabytes: Flag.Int("disk-reserve-megabytes").pipe(
      Flag.withDescription("Megabytes that must stay free on the disk of the embedded event log"),
      Flag.withFallbackConfig(Config.Int("DOWSER_DISK_RESERVE_MEGABYTES")),
      Flag.withDefault(256)
    ),
    connectionsMax: Flag.Int("connections-max").pipe(
      Flag.withDescription("Connections open at once; further ones are closed with 503"),
      Flag.withFallbackConfig(Config.Int("DOWSER_CONNECTIONS_MAX")),
      Flag.withDefault(CONNECTIONS_MAX)
    ),
    connectionsPerAddressMax: Flag.Int("connections-per-address-max").pipe(
      Flag.withDescription("The same per address (per /64 of IPv6); trusted proxies are exempt"),
      Flag.withFallbackConfig(Config.Int("DOWSER_CONNECTIONS_PER_ADDRESS_MAX")),
      Flag.withDefault(CONNECTIONS_PER_ADDRESS_MAX)
    ),
    requestMegabytesMax: Flag.Int("request-megabytes-max").pipe(
      Flag.withDescription(
        "Memory of bodies and unread answers of all requests together before requests are answered 429; one organization gets at most half"
      ),
      Flag.withFallbackConfig(Config.Int("DOWSER_REQUEST_MEGABYTES_MAX")),
      Flag.withDefault(REQUEST_MEMORY_DEFAULT / 1024 / 1024)
    ),
    searchWorkers: Flag.Int("search-workers").pipe(
      Flag.withDescription(
        "Search threads beside the one that takes requests, 0 to 16 (0: searches run on that one). Default: processors less one, none below four"
      ),
      Flag.withFallbackConfig(Config.Int("DOWSER_SEARCH_WORKERS")),
      Flag.withDefault(searchWorkersDefault(availableParallelism()))
    ),
    models: Flag.Literals("models", ["background", "off"]).pipe(
      Flag.withDescription("Whether to install missing models while serving"),
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

export const streamsCommand = Command.make(
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
    "Run stream processors alone: the named ones, or all, sharing partitions with all other such processes"
  )
)
