/**
 * The schema's history, forward only: rooms name their steps by date (`migrations` in `room.ts`), earlier ones are
 * numbered here; a name determines the position permanently. `dataVersion` names the newest step: a data folder with a
 * higher one was written by a newer program.
 */
import { Layer } from "effect"
import { RowReaders } from "../identity/row-readers.ts"
import { rooms } from "../rooms.ts"
import { migrate, type Migrations, versionOf } from "./migrate.ts"
import organizations from "./0001_organizations.ts"
import engineResources from "./0002_engine_resources.ts"
import ingestJobs from "./0003_ingest_jobs.ts"
import streams from "./0010_streams.ts"
import analytics from "./0011_analytics.ts"
import streamSkipped from "./0012_stream_skipped.ts"
import outboxSettled from "./0013_outbox_settled.ts"
import searchRules from "./0014_search_rules.ts"
import streamLeases from "./0015_stream_leases.ts"
import webhooks from "./0016_webhooks.ts"
import configuration from "./0017_configuration.ts"
import eventRejections from "./0021_event_rejections.ts"
import queryFigures from "./0022_query_figures.ts"
import analyticsRules from "./0023_analytics_rules.ts"
import analyticsChanges from "./0024_analytics_changes.ts"
import replays from "./0025_replays.ts"
import analyticsUnfolded from "./0026_analytics_unfolded.ts"
import counters from "./0027_counters.ts"
import money from "./0028_money.ts"
import keyKinds from "./0029_key_kinds.ts"
import signingKeys from "./0030_signing_keys.ts"
import audit from "./0031_audit.ts"
import members from "./0032_members.ts"
import keyLookup from "./0033_key_lookup.ts"
import counterExchanges from "./0034_counter_exchanges.ts"
import eventColumns from "./0035_event_columns.ts"
import visitsAsBytes from "./0036_visits_as_bytes.ts"
import namedResources from "./0037_named_resources.ts"
import makerNetworks from "./0038_maker_networks.ts"

const migrations = {
  "0001_organizations": organizations,
  "0002_engine_resources": engineResources,
  "0003_ingest_jobs": ingestJobs,
  "0010_streams": streams,
  "0011_analytics": analytics,
  "0012_stream_skipped": streamSkipped,
  "0013_outbox_settled": outboxSettled,
  "0014_search_rules": searchRules,
  "0015_stream_leases": streamLeases,
  "0016_webhooks": webhooks,
  "0017_configuration": configuration,
  "0021_event_rejections": eventRejections,
  "0022_query_figures": queryFigures,
  "0023_analytics_rules": analyticsRules,
  "0024_analytics_changes": analyticsChanges,
  "0025_replays": replays,
  "0026_analytics_unfolded": analyticsUnfolded,
  "0027_counters": counters,
  "0028_money": money,
  "0029_key_kinds": keyKinds,
  "0030_signing_keys": signingKeys,
  "0031_audit": audit,
  "0032_members": members,
  "0033_key_lookup": keyLookup,
  "0034_counter_exchanges": counterExchanges,
  "0035_event_columns": eventColumns,
  "0036_visits_as_bytes": visitsAsBytes,
  "0037_named_resources": namedResources,
  "0038_maker_networks": makerNetworks
}

/** The steps from before rooms had their own, then those of rooms by date. */
const all: Migrations = { ...migrations, ...Object.fromEntries(rooms.table("migrations")) }
export const dataVersion = Math.max(...Object.keys(all).map(versionOf))

const layerOf = (wanted: Migrations) => Layer.effectDiscard(migrate(wanted))

/** The schema at a version, into which a backup of that time is restored. */
export const layerUpTo = (version: number) =>
  layerOf(Object.fromEntries(Object.entries(all).filter(([name]) => versionOf(name) <= version)))

export const layerRowReaders = Layer.sync(RowReaders, () => rooms.table("audited"))
/** What rooms declare about the database: its schema, and how rows are read for the audit log. */
export const layer = Layer.merge(layerOf(all), layerRowReaders)
