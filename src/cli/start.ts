/**
 * `dowser start`: boots the embedded stack, or one process of a distributed one, fills the demo once, prints its
 * addresses, and runs until it is stopped.
 */
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { Access } from "../access/access.ts"
import { type DistributedConfig, SEARCH_WORKERS_MAX, type ServerConfig } from "../config.ts"
import { Demo, readDemoRecord, writeDemoRecord } from "../demo/demo.ts"
import { loadLanguages } from "../understanding/language.ts"
import { seedDemo, startDemoFeed } from "../demo/seed.ts"
import { dataVersion } from "../migrations/index.ts"
import { Models } from "../models/models.ts"
import { Organizations } from "../organizations/organizations.ts"
import { createWithKeys } from "../tenants/routes.ts"
import { parseAiPrices } from "../metering/ai-prices.ts"
import { MICRO } from "../metering/plans.ts"
import { Wallet } from "../metering/wallet.ts"
import { parseWeights } from "@dowser/streams/runner/weights"
import { readOperatorModels } from "../ports/text-embedder/operator/models-file.ts"
import { collectorGivesWay } from "@dowser/log/process/background"
import { layerTraces, refusalOfTraces } from "@dowser/log/process/traces"
import { type DataFolder, type GivenSecrets, openDataFolder, StartRefused } from "../runtime/data-folder.ts"
import { parseCidr } from "../net/network-address.ts"
import { layerEmbedded } from "../runtime/embedded.ts"
import { addressIn } from "../runtime/remote-engine.ts"
import { layerAdmin } from "../admin-server.ts"
import { layerServer } from "../server.ts"
import { assertPortFree } from "./assert-port-free.ts"
import { makeProgress } from "./progress.ts"

const print = (text: string) =>
  Effect.sync(() => {
    process.stderr.write(`${text}\n`)
  })
const demoCollection = "products"

interface Prepared {
  readonly organization_id?: string
  readonly full_key?: string
  readonly search_key?: string
}

/** The first start creates the organization and shows its keys; later ones only find it. */
const prepareOrganization = Effect.fnUntraced(function* (folder: DataFolder, isDemo: boolean) {
  const access = yield* Access
  const [existing] = yield* (yield* Organizations).list
  if (!folder.isFresh() && existing !== undefined) return { organization_id: existing.id } satisfies Prepared
  // A start that was killed before it could print its keys left an organization with unknown keys, which are revoked.
  for (const key of existing === undefined ? [] : access.listKeys(existing.id))
    yield* Effect.orDie(access.revokeKey(key.organization_id, key.id))
  const made: Prepared = yield* createWithKeys(isDemo ? "Demo" : "Main", "unlimited", 0)
  return made
})

/** Loaded on demand: the embedded stack needs no Kafka client. */
const distributedRuntime = Effect.promise(() => import("../runtime/distributed.ts"))

/**
 * Several processes may start over one database: existing data is not touched, and one of them creates the first
 * organization.
 */
const prepareShared = Effect.gen(function* () {
  const [existing] = yield* (yield* Organizations).list
  if (existing !== undefined) return { organization_id: existing.id } satisfies Prepared
  const { claimFirstOrganization } = yield* distributedRuntime
  const made: Prepared = (yield* claimFirstOrganization) ? yield* createWithKeys("Main", "unlimited", 0) : {}
  return made
})

const prepareDemo = Effect.fnUntraced(function* (folder: DataFolder, config: ServerConfig, prepared: Prepared) {
  const demo = yield* Demo
  const file = join(folder.path, "demo.json")
  const record = readDemoRecord(file)
  const isWanted = record !== undefined || (prepared.full_key !== undefined && config.demo)
  if (!isWanted) return
  const organizationId = record?.is_seeded === true ? record.organization_id : prepared.organization_id
  if (organizationId === undefined) return
  if (record?.is_seeded !== true) {
    writeDemoRecord(file, { organization_id: organizationId, collection: demoCollection, is_seeded: false })
    const started = performance.now()
    const bars = { products: makeProgress("Demo catalogue"), events: makeProgress("Demo visitors ") }
    const seeded = yield* seedDemo({
      organizationId,
      collection: demoCollection,
      products: config.demoProducts,
      report: (part, done, total) => bars[part].step(done, total)
    })
    bars.events.end(
      `Demo shop ready: ${seeded.products.toLocaleString("en")} products, ${seeded.events.toLocaleString("en")} visitor events, ${((performance.now() - started) / 1000).toFixed(1)} s`
    )
    writeDemoRecord(file, { organization_id: organizationId, collection: demoCollection, is_seeded: true })
    // Enough for a thousand searches by meaning.
    const credited = (yield* Wallet).topUp(organizationId, 100 * MICRO, "demo")
    yield* Effect.catch(credited, (error) => Effect.logError("The demo shop got no credits", error))
    yield* Effect.catch(startDemoFeed(organizationId, demoCollection, config.demoProducts), (error) =>
      Effect.logError("The demo's feed could not be queued", error)
    )
  }
  yield* demo.open(organizationId, demoCollection)
})

/** Loading blocks the thread for half a second, so it happens now rather than in the first search. */
const prepareLanguages = Effect.catch(Effect.tryPromise({ try: loadLanguages, catch: (error) => error }), (error) =>
  Effect.logError("The library that detects languages could not be loaded; answers name none", error)
)
const readyLine = (config: ServerConfig, base: string, prepared: Prepared) =>
  JSON.stringify({
    ready: true,
    base_url: `${base}/v1`,
    gateway_url: `${base}/api/v1`,
    console_url: `${base}/console`,
    ...prepared,
    ...(prepared.full_key === undefined && prepared.organization_id !== undefined
      ? {
          keys_hint: `dowser keys create --organization ${prepared.organization_id} --scope full --data-dir ${config.dataDir}`
        }
      : {})
  })

const welcome = (base: string, prepared: Prepared, hasDemo: boolean): string => {
  const { full_key, organization_id, search_key } = prepared
  const keys =
    full_key === undefined
      ? `  Keys         as printed on the first start; new ones: npm run dowser -- keys create --organization ${organization_id} --scope full`
      : `  Full key     ${full_key}\n  Search key   ${search_key}\n               (shown once; only hashes are kept)`
  const secret = full_key ?? "YOUR_FULL_KEY"
  const searchable = search_key ?? "YOUR_SEARCH_KEY"
  const curl = !hasDemo
    ? `  curl '${base}/v1/collections' -H 'X-SVC-API-KEY: ${secret}'`
    : [
        `  curl '${base}/v1/collections/${demoCollection}/documents/search?q=wireles+hedphones&query_by=title,brand&filter_by=price:<200&facet_by=brand' -H 'X-SVC-API-KEY: ${searchable}'`,
        `  curl '${base}/v1/events' -H 'X-SVC-API-KEY: ${searchable}' -d '{"events":[{"type":"click","collection":"${demoCollection}","document_id":"p1","q":"headphones","session_id":"me"}]}'`,
        `  curl "${base}/v1/analytics/metrics/queries?from=$(date -u +%F)&to=$(date -u +%F)&limit=5" -H 'X-SVC-API-KEY: ${secret}'`
      ].join("\n\n")
  return `\nDowser is ready.\n\n${hasDemo ? `  Demo page    ${base}/\n` : ""}  API          ${base}/v1\n  Guide        ${base}/docs/guide\n  Reference    ${base}/docs\n  Organization ${organization_id ?? "another process is making the first one"}\n${keys}\n\nTry:\n\n${curl}\n`
}

/** Validates all flags; fails with one sentence about the first wrong one. */
const checkedFlags = Effect.fnUntraced(function* (config: ServerConfig) {
  const weights = parseWeights(config.weights)
  if (typeof weights === "string") return yield* Effect.fail(new StartRefused(`--weights: ${weights}`))
  const aiPrices = parseAiPrices(config.creditPrices)
  if (typeof aiPrices === "string") return yield* Effect.fail(new StartRefused(`--credit-prices: ${aiPrices}`))
  const logSpace = {
    ...(config.logMegabytesMax > 0 ? { bytesMax: config.logMegabytesMax * 1024 * 1024 } : {}),
    reserveBytes: config.diskReserveMegabytes * 1024 * 1024
  }
  const trustedProxies = config.trustedProxies
    .split(",")
    .map((range) => range.trim())
    .filter((range) => range !== "")
  const badRange = trustedProxies.find((range) => parseCidr(range) === undefined)
  if (badRange !== undefined)
    return yield* Effect.fail(new StartRefused(`--trusted-proxies: \`${badRange}\` is not an address or a CIDR range.`))
  if (config.countryHeader !== undefined && trustedProxies.length === 0)
    return yield* Effect.fail(
      new StartRefused("--country-header: only proxies that are named with --trusted-proxies are believed.")
    )
  if (config.connectionsMax < 1 || config.connectionsPerAddressMax < 1)
    return yield* Effect.fail(new StartRefused("--connections-max and --connections-per-address-max: at least 1."))
  if (config.searchWorkers < 0 || config.searchWorkers > SEARCH_WORKERS_MAX)
    return yield* Effect.fail(new StartRefused(`--search-workers: from 0 to ${SEARCH_WORKERS_MAX}.`))
  if (config.requestMegabytesMax < 1)
    return yield* Effect.fail(new StartRefused("--request-megabytes-max: at least 1."))
  const embeddingModels = yield* Effect.try({
    try: () => (config.embeddingModels === "" ? [] : readOperatorModels(config.embeddingModels)),
    catch: (error) => new StartRefused(`--embedding-models: ${error instanceof Error ? error.message : String(error)}`)
  })
  return { aiPrices, embeddingModels, weights, logSpace, trustedProxies }
})

const checkedEngine = ({ engine, engineAddress, enginePort, mode }: ServerConfig) => {
  const refused = (sentence: string) => Effect.fail(new StartRefused(sentence))
  if (mode === "embedded" && engine !== "embedded") {
    const why =
      engine === "opensearch" || engine === "http"
        ? "whose processes share a search cluster"
        : "where another process has the engine"
    return refused(`--engine ${engine} is for --mode distributed, ${why}.`)
  }
  if (mode === "embedded" && enginePort !== 0)
    return refused("--engine-port is for --mode distributed, where other processes use the engine.")
  if (engine === "remote" && addressIn(engineAddress) === undefined)
    return refused("--engine remote: --engine-address must name the process that has the engine, host:port.")
  if (engine !== "embedded" && enginePort !== 0)
    return refused("--engine-port: this process has no engine that others could use.")
  return Effect.void
}

const running = Effect.fn("start")(function* (
  config: ServerConfig,
  distributed: DistributedConfig,
  secrets: GivenSecrets
) {
  yield* checkedEngine(config)
  yield* assertPortFree(config.host, config.port)
  if (config.adminPort !== 0) yield* assertPortFree(config.adminHost, config.adminPort, "--admin-port")
  collectorGivesWay()
  const folder = yield* Effect.acquireRelease(
    Effect.try({
      try: () => openDataFolder(config.dataDir, dataVersion, secrets),
      catch: (error) => (error instanceof StartRefused ? error : new StartRefused(String(error)))
    }),
    (opened) => Effect.sync(opened.release)
  )
  const { aiPrices, embeddingModels, logSpace, trustedProxies, weights } = yield* checkedFlags(config)
  const listening = {
    host: config.host,
    port: config.port,
    trustedProxies,
    requestBytesMax: config.requestMegabytesMax * 1024 * 1024,
    connectionsMax: config.connectionsMax,
    connectionsPerAddressMax: config.connectionsPerAddressMax,
    countryHeader: config.countryHeader
  }
  const options = {
    weights,
    aiPrices,
    serviceDomain: config.serviceDomain,
    logSpace,
    countryHeader: config.countryHeader?.toLowerCase(),
    allowPrivateAddresses: config.allowPrivateAddresses,
    searchWorkers: config.searchWorkers,
    modelsFolder: config.modelsDir,
    embeddingModels
  }
  const admin = config.adminPort === 0 ? Layer.empty : layerAdmin({ host: config.adminHost, port: config.adminPort })
  const servers = Layer.mergeAll(layerServer(listening), admin)
  const stack = yield* config.mode === "embedded"
    ? Layer.build(servers.pipe(Layer.provideMerge(layerEmbedded(folder, options))))
    : Layer.build(
        servers.pipe(
          Layer.provideMerge((yield* distributedRuntime).layerDistributed(folder, distributed, config, options))
        )
      )
  const base = `http://${config.host === "0.0.0.0" || config.host === "::" ? "127.0.0.1" : config.host}:${config.port}`
  folder.announce(base)
  const prepared = yield* Effect.provide(
    Effect.gen(function* () {
      if (config.mode === "distributed") return yield* prepareShared
      const organization = yield* prepareOrganization(folder, config.demo)
      yield* prepareDemo(folder, config, organization)
      return organization
    }),
    stack
  )
  if (config.engine !== "none") yield* prepareLanguages
  if (config.json) process.stdout.write(`${readyLine(config, base, prepared)}\n`)
  else yield* print(welcome(base, prepared, Context.get(stack, Demo).shop() !== undefined))
  folder.markInitialized()
  if (config.models === "background") yield* Context.get(stack, Models).installInBackground
  return yield* Effect.never
})

/** Runs until it is interrupted. Fails with `StartRefused`, which names what the user can change. */
export const start = (...given: Parameters<typeof running>) =>
  Effect.suspend(() => {
    const refusal = refusalOfTraces(process.env)
    return refusal === undefined
      ? Effect.provide(running(...given), layerTraces("dowser"))
      : Effect.fail(new StartRefused(refusal))
  })
