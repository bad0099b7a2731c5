/** What every mode is made of, once somebody has chosen the database, the log, the engine and who runs the processors. */
import type { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { readFingerprintKey } from "../../streams/fingerprint-key.ts"
import type { StreamWorker } from "../../streams/host.ts"
import type { Weights } from "../../streams/weights.ts"
import { EVENT_FINGERPRINTS } from "../../streams/topics.ts"
import { Access } from "../access/access.ts"
import { layerKeyExpiry } from "../access/expiry.ts"
import { OperatorAuth } from "../access/operator.ts"
import { Seal } from "../access/seal.ts"
import { layerRulesPublisher } from "../analytics-rules/publisher.ts"
import { PopularDocuments } from "../analytics/popular-documents.ts"
import { Analytics } from "../analytics/service.ts"
import { Console } from "../console/console.ts"
import { layerDictionaries } from "../catalog/dictionaries.ts"
import { layerEngineDamages } from "../catalog/engine-damages.ts"
import { CatalogNames } from "../catalog/names.ts"
import { CatalogResources } from "../catalog/resources.ts"
import type { Configuration } from "../configuration/configuration.ts"
import { Demo } from "../demo/demo.ts"
import { layerAdmission } from "../events/admission.ts"
import { FailedEvents } from "../events/failed.ts"
import { Replays } from "../events/replays.ts"
import { SearchServed } from "../events/serve-log.ts"
import { Events } from "../events/service.ts"
import { Health } from "../health/health.ts"
import { Ingest } from "../ingest/ingest.ts"
import { Jobs } from "../jobs/jobs.ts"
import { AiAllowance } from "../metering/ai-allowance.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { Quota } from "../metering/quota.ts"
import { Wallet } from "../metering/wallet.ts"
import { WindowedCaps } from "../metering/windowed-caps.ts"
import { layer as layerMigrations } from "../migrations/index.ts"
import { Outbox } from "../outbox/outbox.ts"
import { layerLeased } from "../ports/counter-leased-sql.ts"
import { DedupeWindow } from "../ports/dedupe-window.ts"
import type { Engine } from "../ports/engine.ts"
import type { EventLog } from "../ports/event-log.ts"
import type { LogSpaceOptions } from "../ports/log-space.ts"
import { Identifiers } from "../ports/identifiers.ts"
import { SearchRules } from "../rules/search-rules.ts"
import { layer as layerOutboundHttp } from "../ports/outbound-http-node.ts"
import { Search, type SearchLayerOptions } from "../search/search.ts"
import { PopularQueries } from "../suggestions/popular-queries.ts"
import { Suggestions } from "../suggestions/service.ts"
import { layerDispatcher } from "../webhooks/dispatcher.ts"
import { Webhooks } from "../webhooks/webhooks.ts"
import { layerHousekeeping } from "./housekeeping.ts"

/** What the person who starts the program chooses, whatever the mode. */
export interface RuntimeOptions {
  readonly searching?: SearchLayerOptions
  /** Contract part 7; false when absent. */ readonly allowPrivateAddresses?: boolean
  /** Of organizations, where they share what is counted a second. */ readonly weights?: Weights
  /** The service's own: free organizations may list its subdomains as origins of keys. */ readonly serviceDomain?: string | undefined
  /** Of the embedded event log. */ readonly logSpace?: LogSpaceOptions
  /** Another engine than the in-process one, which would keep its files under the path. */ readonly engine?: (path: string) => Layer.Layer<Engine>
}

export interface Parts<PortsE, SqlE, StreamsE, ConfigurationE> {
  readonly sql: Layer.Layer<SqlClient.SqlClient | PgClient.PgClient, SqlE>
  readonly ports: Layer.Layer<Engine | EventLog, PortsE, SqlClient.SqlClient>
  readonly streams: Layer.Layer<StreamWorker, StreamsE, EventLog | SqlClient.SqlClient>
  readonly configuration: Layer.Layer<Configuration, ConfigurationE, Identifiers | SqlClient.SqlClient>
  readonly options: RuntimeOptions
  /** Folder of the dedupe window's runs, this process's own. */ readonly dedupePath: string
  /** No other process uses this database. */ readonly isAlone: boolean
  readonly visitorPartitions: number
  readonly operatorKey: Uint8Array
  readonly operatorToken: string
}

export const assemble = <PortsE, SqlE, StreamsE, ConfigurationE>({ configuration, dedupePath, isAlone, operatorKey, operatorToken, options: { allowPrivateAddresses = false, searching, serviceDomain, weights }, sql, streams, visitorPartitions, ...parts }: Parts<PortsE, SqlE, StreamsE, ConfigurationE>) => {
  const ports = Layer.mergeAll(Identifiers.layer, Seal.layer(operatorKey), OperatorAuth.layer(operatorToken), layerOutboundHttp({ allowPrivateAddresses }), parts.ports)
  const dedupe = Layer.unwrap(Effect.map(Effect.orDie(readFingerprintKey), (key) => DedupeWindow.layerSealed({ key, topic: EVENT_FINGERPRINTS.name, folder: dedupePath })))
  const accepting = Layer.provideMerge(FailedEvents.layer, Layer.provide(Events.layer({ visitorPartitions }), layerAdmission(weights === undefined ? {} : { weights })))
  const events = Layer.mergeAll(Layer.provideMerge(accepting, streams), Replays.layer({ visitorPartitions }), SearchServed.layer({ visitorPartitions }), Analytics.layer)
  const metering = Layer.provideMerge(Layer.mergeAll(Quota.layer, AiAllowance.layer, WindowedCaps.layer), Layer.mergeAll(Entitlements.layer, Wallet.layer))
  return Layer.mergeAll(Search.layer({ ...searching, weights }), Layer.provideMerge(Jobs.layer, Ingest.layer), Demo.layer, Suggestions.layer, layerRulesPublisher(), Health.layer(), layerHousekeeping(), layerKeyExpiry, Webhooks.layer, layerDispatcher({ isAlone })).pipe(
    Layer.provideMerge(Layer.mergeAll(CatalogNames.layer, layerDictionaries, layerEngineDamages, SearchRules.layer)),
    Layer.provideMerge(Layer.mergeAll(PopularDocuments.layer, PopularQueries.layer)),
    Layer.provideMerge(Layer.mergeAll(events, CatalogResources.layer, Access.layerWith({ serviceDomain }), Console.layer)),
    Layer.provideMerge(metering),
    Layer.provideMerge(Layer.mergeAll(dedupe, Outbox.layer, configuration, layerLeased({ isAlone }))),
    Layer.provideMerge(ports),
    Layer.provideMerge(Layer.provideMerge(layerMigrations, sql))
  )
}
