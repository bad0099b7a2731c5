/** `dowser bench …`: the benches of `bench/`, loaded only when asked for. */
import { Effect } from "effect"
import type { AccessOptions } from "../../bench/access.ts"
import type { AllOptions } from "../../bench/all.ts"
import type { AnalyticsOptions } from "../../bench/analytics.ts"
import type { ConfigurationOptions } from "../../bench/configuration.ts"
import type { EngineOptions } from "../../bench/engine.ts"
import type { EventsOptions } from "../../bench/events.ts"
import type { FixtureOptions } from "../../bench/fixtures.ts"
import type { PackageOptions } from "../../bench/package.ts"
import type { PipelineOptions } from "../../bench/pipeline.ts"
import type { RelevanceOptions } from "../../bench/relevance.ts"
import type { ReplaysOptions } from "../../bench/replays.ts"
import type { SearchOptions } from "../../bench/search.ts"
import type { SuggestionsOptions } from "../../bench/suggestions.ts"
import type { VectorsOptions } from "../../bench/vectors.ts"
import type { WebhooksOptions } from "../../bench/webhooks.ts"

const running = <A>(load: () => Promise<A>, run: (module: A) => Promise<void>) =>
  Effect.promise(async () => run(await load()))
export const benchAccess = (options: AccessOptions) =>
  running(
    () => import("../../bench/access.ts"),
    (module) => module.benchAccess(options)
  )
export const benchAll = (options: AllOptions) =>
  running(
    () => import("../../bench/all.ts"),
    (module) => module.benchAll(options)
  )
export const benchAnalytics = (options: AnalyticsOptions) =>
  running(
    () => import("../../bench/analytics.ts"),
    (module) => module.benchAnalytics(options)
  )
export const benchConfiguration = (options: ConfigurationOptions) =>
  running(
    () => import("../../bench/configuration.ts"),
    (module) => module.benchConfiguration(options)
  )
export const benchPackage = (options: PackageOptions) =>
  running(
    () => import("../../bench/package.ts"),
    (module) => module.benchPackage(options)
  )
export const benchEngine = (options: EngineOptions) =>
  running(
    () => import("../../bench/engine.ts"),
    (module) => module.benchEngine(options)
  )
export const benchSearch = (options: SearchOptions) =>
  running(
    () => import("../../bench/search.ts"),
    (module) => module.benchSearch(options)
  )
export const benchEvents = (options: EventsOptions) =>
  running(
    () => import("../../bench/events.ts"),
    (module) => module.benchEvents(options)
  )
export const writeFixtures = (options: FixtureOptions) =>
  running(
    () => import("../../bench/fixtures.ts"),
    (module) => module.writeFixtures(options)
  )
export const benchPipeline = (options: PipelineOptions) =>
  running(
    () => import("../../bench/pipeline.ts"),
    (module) => module.benchPipeline(options)
  )
export const benchRelevance = (options: RelevanceOptions) =>
  running(
    () => import("../../bench/relevance.ts"),
    (module) => module.benchRelevance(options)
  )
export const benchReplays = (options: ReplaysOptions) =>
  running(
    () => import("../../bench/replays.ts"),
    (module) => module.benchReplays(options)
  )
export const benchSuggestions = (options: SuggestionsOptions) =>
  running(
    () => import("../../bench/suggestions.ts"),
    (module) => module.benchSuggestions(options)
  )
export const benchVectors = (options: VectorsOptions) =>
  running(
    () => import("../../bench/vectors.ts"),
    (module) => module.benchVectors(options)
  )
export const benchWebhooks = (options: WebhooksOptions) =>
  running(
    () => import("../../bench/webhooks.ts"),
    (module) => module.benchWebhooks(options)
  )
