/** The rooms of the program. Each comes after those whose services it uses: any other order does not compile. */
import type { PgClient } from "@effect/sql-pg"
import type { SqlClient } from "effect/sql"
import type { StreamWorker } from "@dowser/streams/host/host"
import { room as access } from "./access/room.ts"
import type { OperatorAuth } from "./identity/operator.ts"
import type { Seal } from "./access/seal.ts"
import { room as alerts } from "./alerts/room.ts"
import { room as analytics } from "./analytics/room.ts"
import { room as analyticsRules } from "./analytics-rules/room.ts"
import { room as assistants } from "./assistants/room.ts"
import { room as audit } from "./audit/room.ts"
import type { RowReaders } from "./identity/row-readers.ts"
import { room as catalog } from "./catalog/room.ts"
import { room as cms } from "./cms/room.ts"
import type { Configuration } from "./configuration/configuration.ts"
import { room as connectors } from "./connectors/room.ts"
import { room as console } from "./console/room.ts"
import { room as conversations } from "./conversations/room.ts"
import { room as demo } from "./demo/room.ts"
import { room as aiProviders } from "./ai-providers/room.ts"
import { room as embedding } from "./embedding/room.ts"
import { room as events } from "./events/room.ts"
import { room as experiments } from "./experiments/room.ts"
import { room as gateway } from "./gateway/room.ts"
import { room as graph } from "./graph/room.ts"
import { room as health } from "./health/room.ts"
import { room as ingest } from "./ingest/room.ts"
import type { Installation } from "./installation.ts"
import { room as jobs } from "./jobs/room.ts"
import { room as media } from "./media/room.ts"
import { room as metering } from "./metering/room.ts"
import { room as models } from "./models/room.ts"
import type { Models } from "./models/models.ts"
import { room as nlSearch } from "./nl-search/room.ts"
import { room as organizations } from "./organizations/room.ts"
import { room as tenants } from "./tenants/room.ts"
import type { Outbox } from "@dowser/log/outbox"
import { room as outbox } from "./outbox/room.ts"
import type { AudioDecoder } from "./ports/audio-decoder/audio-decoder.ts"
import type { BlobStore } from "./ports/blob-store/blob-store.ts"
import type { Counters } from "./ports/counter/counter.ts"
import type { DedupeWindow } from "./ports/dedupe/dedupe-window.ts"
import type { Engine } from "./ports/engine/engine.ts"
import type { FeedStore } from "./ports/feed-store/feed-store.ts"
import type { Generator } from "./ports/generator/generator.ts"
import type { ImageEmbedder } from "./ports/image-embedder/image-embedder.ts"
import type { ImageProcess } from "./ports/image-process/image-process.ts"
import type { EventLog } from "@dowser/log/event-log/event-log"
import type { Identifiers } from "@dowser/log/identifiers"
import type { OutboundHttp } from "./ports/outbound-http/outbound-http.ts"
import type { TextEmbedder } from "./ports/text-embedder/text-embedder.ts"
import type { Transcriber } from "./ports/transcriber/transcriber.ts"
import { room as quality } from "./quality/room.ts"
import { RoomList } from "./room.ts"
import { room as personalization } from "./personalization/room.ts"
import { room as policies } from "./policies/room.ts"
import { room as profiles } from "./profiles/room.ts"
import { room as recommendationModels } from "./recommendation-models/room.ts"
import { room as recommendations } from "./recommendations/room.ts"
import { room as rerankModels } from "./rerank-models/room.ts"
import { room as rerankers } from "./rerankers/room.ts"
import { room as rules } from "./rules/room.ts"
import { room as search } from "./search/room.ts"
import { room as imageSearch } from "./image-search/room.ts"
import { room as semanticSearch } from "./semantic-search/room.ts"
import { room as seo } from "./seo/room.ts"
import { room as support } from "./support/room.ts"
import { room as suggestions } from "./suggestions/room.ts"
import { room as synonymSuggestions } from "./synonym-suggestions/room.ts"
import { room as understanding } from "./understanding/room.ts"
import { room as voice } from "./voice/room.ts"
import { room as webhooks } from "./webhooks/room.ts"

/** What every room may require: the database, the log, the engine, and the operator's settings (`src/runtime`). */
type Ground =
  | AudioDecoder
  | BlobStore
  | Configuration
  | Counters
  | DedupeWindow
  | Engine
  | EventLog
  | FeedStore
  | Generator
  | ImageEmbedder
  | ImageProcess
  | Identifiers
  | Installation
  | Models
  | OperatorAuth
  | OutboundHttp
  | Outbox
  | PgClient.PgClient
  | RowReaders
  | Seal
  | SqlClient.SqlClient
  | StreamWorker
  | TextEmbedder
  | Transcriber

export const rooms = RoomList.over<Ground>()
  .with(outbox)
  .with(models)
  .with(metering)
  .with(organizations)
  .with(policies)
  .with(profiles)
  .with(access)
  .with(tenants)
  .with(audit)
  .with(console)
  .with(events)
  .with(aiProviders)
  .with(catalog)
  .with(embedding)
  .with(analytics)
  .with(suggestions)
  .with(understanding)
  .with(nlSearch)
  .with(rerankers)
  .with(recommendationModels)
  .with(rules)
  .with(experiments)
  .with(personalization)
  .with(search)
  .with(semanticSearch)
  .with(imageSearch)
  .with(voice)
  .with(conversations)
  .with(analyticsRules)
  .with(connectors)
  .with(cms)
  .with(ingest)
  .with(jobs)
  .with(media)
  .with(support)
  .with(assistants)
  .with(quality)
  .with(seo)
  .with(graph)
  .with(synonymSuggestions)
  .with(alerts)
  .with(rerankModels)
  .with(recommendations)
  .with(webhooks)
  .with(gateway)
  .with(health)
  .with(demo)
