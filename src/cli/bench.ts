/** `dowser bench …`: the benches of `bench/`, loaded on demand. */
import { Effect } from "effect"
import type { AccessOptions } from "../../bench/lanes/access.ts"
import type { AllOptions } from "../../bench/runs/all.ts"
import type { AnalyticsOptions } from "../../bench/lanes/analytics.ts"
import type { ConfigurationOptions } from "../../bench/lanes/configuration.ts"
import type { CountingOptions } from "../../bench/lanes/counting.ts"
import type { AssistantsOptions } from "../../bench/lanes/assistants.ts"
import type { EmbeddingsOptions } from "../../bench/lanes/embeddings.ts"
import type { EngineOptions } from "../../bench/lanes/engine.ts"
import type { EventsOptions } from "../../bench/lanes/events.ts"
import type { FirstSearchesOptions } from "../../bench/lanes/first-searches.ts"
import type { FixtureOptions } from "../../bench/inputs/fixtures.ts"
import type { PackageOptions } from "../../bench/lanes/package.ts"
import type { PersonalizationOptions } from "../../bench/lanes/personalization.ts"
import type { PipelineOptions } from "../../bench/lanes/pipeline.ts"
import type { ExperimentsOptions } from "../../bench/lanes/experiments.ts"
import type { OpensearchBenchOptions } from "../../bench/lanes/opensearch.ts"
import type { RemoteEngineOptions } from "../../bench/lanes/remote-engine.ts"
import type { ProfilesOptions } from "../../bench/lanes/profiles.ts"
import type { RelevanceOptions } from "../../bench/lanes/relevance.ts"
import type { QualityOptions } from "../../bench/lanes/quality.ts"
import type { RecommendationsOptions } from "../../bench/lanes/recommendations.ts"
import type { SpeedOptions } from "../../bench/lanes/recommendations-speed.ts"
import type { ReplaysOptions } from "../../bench/lanes/replays.ts"
import type { SearchOptions } from "../../bench/lanes/search.ts"
import type { SearchWorkersOptions } from "../../bench/lanes/search-workers.ts"
import type { CrawlOptions } from "../../bench/lanes/crawl.ts"
import type { FeedsOptions } from "../../bench/lanes/feeds.ts"
import type { GraphOptions } from "../../bench/lanes/graph.ts"
import type { ImagesOptions } from "../../bench/lanes/images.ts"
import type { SeoOptions } from "../../bench/lanes/seo.ts"
import type { SynonymsOptions } from "../../bench/lanes/synonyms.ts"
import type { SuggestionsOptions } from "../../bench/lanes/suggestions.ts"
import type { TogetherOptions } from "../../bench/lanes/together.ts"
import type { RequestsOptions } from "../../bench/lanes/requests.ts"
import type { UnderstandingOptions } from "../../bench/lanes/understanding.ts"
import type { VoiceOptions } from "../../bench/lanes/voice.ts"
import type { VoiceStreamOptions } from "../../bench/lanes/voice-stream.ts"
import type { VectorsOptions } from "../../bench/lanes/vectors.ts"
import type { PushesOptions } from "../../bench/lanes/pushes.ts"
import type { WebhooksOptions } from "../../bench/lanes/webhooks.ts"

const running = <A>(load: () => Promise<A>, run: (module: A) => Promise<void>) =>
  Effect.promise(async () => run(await load()))
export const benchAccess = (options: AccessOptions) =>
  running(
    () => import("../../bench/lanes/access.ts"),
    (module) => module.benchAccess(options)
  )
export const benchAll = (options: AllOptions) =>
  running(
    () => import("../../bench/runs/all.ts"),
    (module) => module.benchAll(options)
  )
export const benchAnalytics = (options: AnalyticsOptions) =>
  running(
    () => import("../../bench/lanes/analytics.ts"),
    (module) => module.benchAnalytics(options)
  )
export const benchConfiguration = (options: ConfigurationOptions) =>
  running(
    () => import("../../bench/lanes/configuration.ts"),
    (module) => module.benchConfiguration(options)
  )
export const benchAssistants = (options: AssistantsOptions) =>
  running(
    () => import("../../bench/lanes/assistants.ts"),
    (module) => module.benchAssistants(options)
  )
export const benchEmbeddings = (options: EmbeddingsOptions) =>
  running(
    () => import("../../bench/lanes/embeddings.ts"),
    (module) => module.benchEmbeddings(options)
  )
export const benchPackage = (options: PackageOptions) =>
  running(
    () => import("../../bench/lanes/package.ts"),
    (module) => module.benchPackage(options)
  )
export const benchCounting = (options: CountingOptions) =>
  running(
    () => import("../../bench/lanes/counting.ts"),
    (module) => module.benchCounting(options)
  )
export const benchEngine = (options: EngineOptions) =>
  running(
    () => import("../../bench/lanes/engine.ts"),
    (module) => module.benchEngine(options)
  )
export const benchSearch = (options: SearchOptions) =>
  running(
    () => import("../../bench/lanes/search.ts"),
    (module) => module.benchSearch(options)
  )
export const benchEvents = (options: EventsOptions) =>
  running(
    () => import("../../bench/lanes/events.ts"),
    (module) => module.benchEvents(options)
  )
export const benchExperiments = (options: ExperimentsOptions) =>
  running(
    () => import("../../bench/lanes/experiments.ts"),
    (module) => module.benchExperiments(options)
  )
export const writeFixtures = (options: FixtureOptions) =>
  running(
    () => import("../../bench/inputs/fixtures.ts"),
    (module) => module.writeFixtures(options)
  )
export const benchPersonalization = (options: PersonalizationOptions) =>
  running(
    () => import("../../bench/lanes/personalization.ts"),
    (module) => module.benchPersonalization(options)
  )
export const benchPipeline = (options: PipelineOptions) =>
  running(
    () => import("../../bench/lanes/pipeline.ts"),
    (module) => module.benchPipeline(options)
  )
export const benchProfiles = (options: ProfilesOptions) =>
  running(
    () => import("../../bench/lanes/profiles.ts"),
    (module) => module.benchProfiles(options)
  )
export const benchOpensearch = (options: OpensearchBenchOptions) =>
  running(
    () => import("../../bench/lanes/opensearch.ts"),
    (module) => module.benchOpensearch(options)
  )
export const benchTogether = (options: TogetherOptions) =>
  running(
    () => import("../../bench/lanes/together.ts"),
    (module) => module.benchTogether(options)
  )
export const benchRemoteEngine = (options: RemoteEngineOptions) =>
  running(
    () => import("../../bench/lanes/remote-engine.ts"),
    (module) => module.benchRemoteEngine(options)
  )
export const benchFirstSearches = (options: FirstSearchesOptions) =>
  running(
    () => import("../../bench/lanes/first-searches.ts"),
    (module) => module.benchFirstSearches(options)
  )
export const benchSearchWorkers = (options: SearchWorkersOptions) =>
  running(
    () => import("../../bench/lanes/search-workers.ts"),
    (module) => module.benchSearchWorkers(options)
  )
export const benchRelevance = (options: RelevanceOptions) =>
  running(
    () => import("../../bench/lanes/relevance.ts"),
    (module) => module.benchRelevance(options)
  )
export const benchRecommendations = (options: RecommendationsOptions) =>
  running(
    () => import("../../bench/lanes/recommendations.ts"),
    (module) => module.benchRecommendations(options)
  )
export const benchRecommendationSpeed = (options: SpeedOptions) =>
  running(
    () => import("../../bench/lanes/recommendations-speed.ts"),
    (module) => module.benchRecommendationSpeed(options)
  )
export const benchReplays = (options: ReplaysOptions) =>
  running(
    () => import("../../bench/lanes/replays.ts"),
    (module) => module.benchReplays(options)
  )
export const benchQuality = (options: QualityOptions) =>
  running(
    () => import("../../bench/lanes/quality.ts"),
    (module) => module.benchQuality(options)
  )
export const benchCrawl = (options: CrawlOptions) =>
  running(
    () => import("../../bench/lanes/crawl.ts"),
    (module) => module.benchCrawl(options)
  )
export const benchFeeds = (options: FeedsOptions) =>
  running(
    () => import("../../bench/lanes/feeds.ts"),
    (module) => module.benchFeeds(options)
  )
export const benchSeo = (options: SeoOptions) =>
  running(
    () => import("../../bench/lanes/seo.ts"),
    (module) => module.benchSeo(options)
  )
export const benchGraph = (options: GraphOptions) =>
  running(
    () => import("../../bench/lanes/graph.ts"),
    (module) => module.benchGraph(options)
  )
export const benchImages = (options: ImagesOptions) =>
  running(
    () => import("../../bench/lanes/images.ts"),
    (module) => module.benchImages(options)
  )
export const benchSynonyms = (options: SynonymsOptions) =>
  running(
    () => import("../../bench/lanes/synonyms.ts"),
    (module) => module.benchSynonyms(options)
  )
export const benchRequests = (options: RequestsOptions) =>
  running(
    () => import("../../bench/lanes/requests.ts"),
    (module) => module.benchRequests(options)
  )
export const benchSuggestions = (options: SuggestionsOptions) =>
  running(
    () => import("../../bench/lanes/suggestions.ts"),
    (module) => module.benchSuggestions(options)
  )
export const benchUnderstanding = (options: UnderstandingOptions) =>
  running(
    () => import("../../bench/lanes/understanding.ts"),
    (module) => module.benchUnderstanding(options)
  )
export const benchVoice = (options: VoiceOptions) =>
  running(
    () => import("../../bench/lanes/voice.ts"),
    (module) => module.benchVoice(options)
  )
export const benchVoiceStream = (options: VoiceStreamOptions) =>
  running(
    () => import("../../bench/lanes/voice-stream.ts"),
    (module) => module.benchVoiceStream(options)
  )
export const benchVectors = (options: VectorsOptions) =>
  running(
    () => import("../../bench/lanes/vectors.ts"),
    (module) => module.benchVectors(options)
  )
export const benchPushes = (options: PushesOptions) =>
  running(
    () => import("../../bench/lanes/pushes.ts"),
    (module) => module.benchPushes(options)
  )
export const benchWebhooks = (options: WebhooksOptions) =>
  running(
    () => import("../../bench/lanes/webhooks.ts"),
    (module) => module.benchWebhooks(options)
  )
