/**
 * Every setting, with its unit in its name. Command-line flags override `DOWSER_*` variables, which override defaults.
 */
export interface ServerConfig {
  readonly host: string
  readonly port: number
  /** Port of `/metrics`, which needs no credential; 0 for none. */ readonly adminPort: number
  readonly adminHost: string
  /** The folder that holds all durable data. */ readonly dataDir: string
  /** Create the demo organization's catalogue and visitors on the first start. */ readonly demo: boolean
  /** One JSON line on standard output when ready; logs go to standard error. */ readonly json: boolean
  /** Header in which a proxy in front names the visitor's country. */ readonly countryHeader: string | undefined
  /** CIDR ranges of proxies in front, separated by commas, whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: string
  /** The service's own domain: free organizations may list its subdomains as origins of keys. */
  readonly serviceDomain: string | undefined
  /** Products of the demo catalogue. */ readonly demoProducts: number
  /** Outbound calls may reach private and loopback addresses. */ readonly allowPrivateAddresses: boolean
  /** `embedded`: everything in this program. `distributed`: over an existing Kafka and Postgres. */
  readonly mode: "embedded" | "distributed"
  /** Weights of organizations, `organization=weight` separated by commas. */ readonly weights: string
  /** Prices of AI operations, `operation=credits` separated by commas. */ readonly creditPrices: string
  /** Limit of the embedded event log; 0 for no limit but the disk. */ readonly logMegabytesMax: number
  /** Space that must stay free on the data folder's disk. */ readonly diskReserveMegabytes: number
  /** Memory limit for bodies and unread responses of all requests together; one organization gets at most half. */
  readonly requestMegabytesMax: number
  /** Open connections, in total and per address; further ones are closed with 503. */ readonly connectionsMax: number
  readonly connectionsPerAddressMax: number
  /** All values except the first require distributed mode. */ readonly engine: EngineKind
  /** Address of the process that has the engine, `host:port`; for `remote`. */ readonly engineAddress: string
  /** Port on which other processes reach this one's engine; 0 for none. */ readonly enginePort: number
  readonly engineHost: string
  /** Search threads in addition to the thread that takes requests; 0 for none. */ readonly searchWorkers: number
  /** Whether missing models are installed while serving. */ readonly models: "background" | "off"
  /** Folder of the models; "" for the program's folder, or the data folder. */ readonly modelsDir: string
  /** The operator's list of embedding models; "" for none. */ readonly embeddingModels: string
}

export const SEARCH_WORKERS_MAX = 16
/** On fewer processors, a worker costs more than it gains: a search then takes the time of two threads. */
const WORKERS_PROCESSORS_MIN = 4
/** Leaves one processor for the thread that accepts requests. */
export const searchWorkersDefault = (processors: number): number =>
  processors < WORKERS_PROCESSORS_MIN ? 0 : Math.min(SEARCH_WORKERS_MAX, processors - 1)

/**
 * `none` and `remote`: another process has the engine. `opensearch` and `http` (a server of the Typesense API): any
 * number of processes query it.
 */
type EngineKind = "embedded" | "none" | "remote" | "opensearch" | "http"

/** The servers that the processes of an installation share. */
export interface DistributedConfig {
  /** `host:port` of Kafka brokers, separated by commas. */ readonly brokers: string
  readonly databaseUrl: string
  /** Prefix of every topic's name, for installations that share brokers. */ readonly topicPrefix: string
  /** The same in every process of an installation; the topics fix it. */ readonly visitorPartitions: number
  readonly compression: "zstd" | "gzip" | "none" | undefined
  /** Replicas of newly created topics; the brokers' default if undefined. */ readonly replication: number | undefined
}

export const PORT_DEFAULT = 3100
export const version = "0.1.0"
/** The version of the API, not of the program. */
export const contractVersion = "1.0.0"
