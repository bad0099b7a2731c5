/**
 * The audit log. Every writing operation of the API is walked: it leaves an entry, or is in one table of exemptions
 * with its reason; an operation that a later room adds fails here until one of these is true.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type EmbeddingServer, startEmbeddingServer } from "../support/embedding-server.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { suggested } from "../support/synonym-suggestions.ts"
import { talkFields } from "../support/talks.ts"

interface Entry {
  readonly id: string
  readonly at: number
  readonly actor: { readonly type: string; readonly id?: string }
  readonly operation?: string
  readonly request_id?: string
  readonly subject: { readonly kind: string; readonly id: string }
  readonly action: string
  readonly changed: ReadonlyArray<string>
  readonly before?: any
  readonly after?: any
  readonly settled: boolean
}

let program: Program
let tenant: Tenant
let models: EmbeddingServer
let keyId: string
const operator = () => ({ authorization: `Bearer ${program.operatorToken}` })
const entries = async (query = "", key = tenant.full_key) =>
  (await program.request("GET", `/v1/audit?limit=250${query}`, { key })).body.data as ReadonlyArray<Entry>
/** As the operator reads it, even while the organization is paused. */
const operatorEntries = async () =>
  (
    await program.request("GET", `/console/v1/organizations/${tenant.organization_id}/audit?limit=250`, {
      headers: operator()
    })
  ).body.data as ReadonlyArray<Entry>
const assistantBody = { name: "Shop", collections: ["goods"] }
const supportThread = async (): Promise<string> =>
  (await send("POST", "/v1/support/threads", { subject: "A question", session_id: "ses-1" })).body.id
const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  program.request(method, path, { key: tenant.full_key, ...(body === undefined ? {} : { body }), headers })

beforeAll(async () => {
  models = await startEmbeddingServer()
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Audited")
  await program.topUp(tenant.organization_id, 100)
  await send("POST", "/v1/collections", { name: "talks", fields: talkFields })
  keyId = (await send("GET", "/v1/keys")).body.keys.find(({ scope }: { scope: string }) => scope === "full").id
})
afterAll(async () => {
  await program.stop()
  await models.close()
})

/** Operations that change no configuration, with their reason. */
const exempt: Readonly<Record<string, string>> = {
  indexDocument: "data",
  importDocuments: "data",
  updateDocument: "data",
  updateDocuments: "data",
  deleteDocument: "data",
  deleteDocuments: "data",
  recommend: "reads",
  createEmbeddings: "reads",
  consoleCreateEmbeddings: "reads",
  semanticSearch: "reads",
  imageSearch: "reads",
  transcribeVoice: "reads",
  voiceSearch: "reads",
  uploadImage: "data: visitors send them",
  chat: "data: visitors ask",
  consoleChat: "data",
  deleteConversation: "data: visitors delete theirs",
  consoleDeleteConversation: "data",
  createSupportThread: "data: visitors write them",
  updateSupportThread: "data",
  postSupportMessage: "data: visitors write them",
  consoleCreateSupportThread: "data",
  consoleUpdateSupportThread: "data",
  consolePostSupportMessage: "data",
  ingestEvents: "data",
  reportCmsRuntime: "data",
  pushCmsEvents: "data",
  retryFailedEvents: "data",
  createIngestUpload: "data: the job that it becomes is noted",
  appendIngestUpload: "data: the job that it becomes is noted",
  deleteIngestUpload: "data",
  gatewayPutDocuments: "data",
  gatewayDeleteDocuments: "data",
  createBrowserKey: "signs what is stored nowhere",
  createScopedToken: "signs what is stored nowhere",
  multiSearch: "reads",
  previewSearchRule: "reads",
  gatewaySearch: "reads",
  gatewayMultiSearch: "reads",
  gatewayFederatedSearch: "reads",
  gatewayGeoSearch: "reads",
  deleteRerankModel: "test/contract/rerank-models.test.ts trains one and looks for the entry",
  consoleDeleteRerankModel: "as deleteRerankModel",
  pushConnectorEvents: "data",
  testConnectorMapping: "reads",
  consoleTestConnectorMapping: "reads",
  testWebhook: "sends a message and changes nothing",
  consoleTestWebhook: "sends a message and changes nothing"
}

interface Step {
  readonly path: string
  readonly method: string
  readonly body?: unknown
  readonly kind: string
  readonly as?: "operator" | "session"
}
const suite = {
  name: "s",
  collection: "goods",
  params: { query_by: "title" },
  judgments: Array.from({ length: 20 }, (_, n) => ({ q: `lamp ${n}`, document_id: "1", grade: 1 }))
}
const experiment = {
  name: "e",
  collection: "goods",
  metric: "ctr",
  target: { preset: "tried" },
  variants: [{ id: "a" }, { id: "b", params: { num_typos: 2 } }]
}
const recommendation = { name: "a", collection: "goods", type: "popular" }
const seoRule = { name: "r", collection: "goods", facet_field: "kind" }
const synonyms = new Map([
  ["brulaxo", "one"],
  ["stiveko", "two"],
  ["gamolin", "three"],
  ["wurtefa", "four"]
])
const alert = { name: "a", metric: "searches", op: "<", threshold: 1, window_minutes: 5 }
/** For either plane: from the draft to the rollback. */
const experimentSteps = (
  made: Record<string, string>,
  twin: "" | "console",
  base: string
): Readonly<Record<string, () => Step | Promise<Step>>> => {
  const as = twin === "console" ? ({ as: "operator" } as const) : {}
  const named = (id: string) => (twin === "" ? id : `console${id[0]!.toUpperCase()}${id.slice(1)}`)
  const step = (id: string, method: string, path: () => string, body?: unknown) => ({
    [named(id)]: async (): Promise<Step> => {
      if (id === "createExperiment") await send("PUT", "/v1/presets/tried", { value: { query_by: "title" } })
      return { method, path: path(), kind: "experiment", ...as, ...(body === undefined ? {} : { body }) }
    }
  })
  const one =
    (act = "") =>
    () =>
      `${base}/experiments/${made[named("createExperiment")]}${act}`
  return {
    ...step("createExperiment", "POST", () => `${base}/experiments`, experiment),
    ...step("updateExperiment", "PUT", one(), { ...experiment, traffic: 0.5 }),
    ...step("startExperiment", "POST", one("/start")),
    ...step("stopExperiment", "POST", one("/stop")),
    ...step("promoteExperiment", "POST", one("/promote"), { variant_id: "b" }),
    ...step("rollbackExperimentPromotion", "POST", one("/rollback")),
    ...step("deleteExperiment", "DELETE", one())
  }
}
/** In an order in which each finds what it needs. */
const steps = (made: Record<string, string>): Readonly<Record<string, () => Step | Promise<Step>>> => {
  const organization = `/console/v1/organizations/${tenant.organization_id}`
  const connector = {
    name: "c",
    collection: "goods",
    provider: "generic",
    sync_mode: "pull",
    pull_url: "http://127.0.0.1:9/goods"
  }
  const webhook = { name: "w", url: "http://127.0.0.1:9/hook", events: ["*"] }
  /** The same in the console. */
  const twin = (step: Step): Step => ({
    ...step,
    path: `${organization}/${step.path.slice("/v1/".length)}`,
    as: "operator"
  })
  const talker = {
    id: "talker",
    model_name: "vllm/any",
    max_bytes: 1_000,
    vllm_url: models.url,
    api_key: "sk-audited-key",
    history_collection: "talks"
  }
  const profiles = "/v1/collections/goods/search-profiles"
  const consoleProfiles = `${organization}/collections/goods/search-profiles`
  const delivered = async () => {
    const { id } = (await send("POST", `/v1/webhooks/${made.webhook}/test`)).body as { id: string }
    return id
  }
  return {
    createCollection: () => ({
      method: "POST",
      path: "/v1/collections",
      body: {
        name: "goods",
        fields: [
          { name: "title", type: "string" },
          { name: "kind", type: "string", facet: true, optional: true },
          { name: "clicks", type: "int32", optional: true }
        ]
      },
      kind: "collection"
    }),
    updateCollection: () => ({
      method: "PATCH",
      path: "/v1/collections/goods",
      body: { metadata: { season: "spring" } },
      kind: "collection"
    }),
    upsertAlias: () => ({
      method: "PUT",
      path: "/v1/aliases/shop",
      body: { collection_name: "goods" },
      kind: "engine_resource"
    }),
    deleteAlias: () => ({ method: "DELETE", path: "/v1/aliases/shop", kind: "engine_resource" }),
    upsertPreset: () => ({
      method: "PUT",
      path: "/v1/presets/p",
      body: { value: { q: "x" } },
      kind: "engine_resource"
    }),
    deletePreset: () => ({ method: "DELETE", path: "/v1/presets/p", kind: "engine_resource" }),
    upsertSynonymSet: () => ({
      method: "PUT",
      path: "/v1/synonym_sets/s",
      body: { items: [{ id: "one", synonyms: ["a", "b"] }] },
      kind: "engine_resource"
    }),
    upsertSynonymItem: () => ({
      method: "PUT",
      path: "/v1/synonym_sets/s/items/two",
      body: { synonyms: ["c", "d"] },
      kind: "engine_resource"
    }),
    deleteSynonymItem: () => ({ method: "DELETE", path: "/v1/synonym_sets/s/items/two", kind: "engine_resource" }),
    deleteSynonymSet: () => ({ method: "DELETE", path: "/v1/synonym_sets/s", kind: "engine_resource" }),
    upsertCurationSet: () => ({
      method: "PUT",
      path: "/v1/curation_sets/c",
      body: { items: [{ id: "one", rule: { query: "x", match: "exact" }, excludes: [{ id: "x" }] }] },
      kind: "engine_resource"
    }),
    upsertCurationItem: () => ({
      method: "PUT",
      path: "/v1/curation_sets/c/items/two",
      body: { rule: { query: "y", match: "exact" }, excludes: [{ id: "x" }] },
      kind: "engine_resource"
    }),
    deleteCurationItem: () => ({ method: "DELETE", path: "/v1/curation_sets/c/items/two", kind: "engine_resource" }),
    deleteCurationSet: () => ({ method: "DELETE", path: "/v1/curation_sets/c", kind: "engine_resource" }),
    upsertStopwords: () => ({
      method: "PUT",
      path: "/v1/stopwords/w",
      body: { stopwords: ["the"] },
      kind: "engine_resource"
    }),
    deleteStopwords: () => ({ method: "DELETE", path: "/v1/stopwords/w", kind: "engine_resource" }),
    importStemmingDictionary: () => ({
      method: "POST",
      path: "/v1/stemming/dictionaries/import?id=d",
      body: '{"word":"a","root":"b"}',
      kind: "engine_resource"
    }),
    deleteStemmingDictionary: () => ({
      method: "DELETE",
      path: "/v1/stemming/dictionaries/d",
      kind: "engine_resource"
    }),
    upsertSearchRule: () => ({
      method: "PUT",
      path: "/v1/collections/goods/search_rules",
      body: { redirects: [{ query: "x", url: "/x" }] },
      kind: "search_rule_set"
    }),
    deleteSearchRule: () => ({ method: "DELETE", path: "/v1/collections/goods/search_rules", kind: "search_rule_set" }),
    upsertSearchPolicy: () => ({
      method: "PUT",
      path: "/v1/search_policies/p",
      body: { params: { num_typos: 1 } },
      kind: "search_policy"
    }),
    createSearchProfile: () => ({
      method: "POST",
      path: profiles,
      body: { name: "l", searchable_fields: ["title"], is_default: true },
      kind: "search_profile"
    }),
    replaceSearchProfile: () => ({
      method: "PUT",
      path: `${profiles}/l`,
      body: { searchable_fields: ["title"], per_page_max: 5, is_default: true },
      kind: "search_profile"
    }),
    publishSearchProfile: () => ({
      method: "POST",
      path: `${profiles}/l/publish`,
      body: { expected_revision: 2 },
      kind: "search_profile"
    }),
    activateProfileRelease: () => ({
      method: "POST",
      path: `${profiles}/l/activate`,
      body: { expected_revision: 2, release_id: made.publishSearchProfile },
      kind: "search_profile"
    }),
    // It takes the default from the other one, which gets an entry, too.
    consoleCreateSearchProfile: () => ({
      method: "POST",
      path: consoleProfiles,
      body: { name: "c", searchable_fields: ["title"], is_default: true },
      kind: "search_profile",
      as: "operator"
    }),
    consoleReplaceSearchProfile: () => ({
      method: "PUT",
      path: `${consoleProfiles}/c`,
      body: { searchable_fields: ["title"], label: "C" },
      kind: "search_profile",
      as: "operator"
    }),
    consolePublishSearchProfile: () => ({
      method: "POST",
      path: `${consoleProfiles}/c/publish`,
      body: { expected_revision: 2 },
      kind: "search_profile",
      as: "operator"
    }),
    consoleActivateProfileRelease: () => ({
      method: "POST",
      path: `${consoleProfiles}/c/activate`,
      body: { expected_revision: 2, release_id: made.consolePublishSearchProfile },
      kind: "search_profile",
      as: "operator"
    }),
    consoleDeleteSearchProfile: () => ({
      method: "DELETE",
      path: `${consoleProfiles}/c`,
      kind: "search_profile",
      as: "operator"
    }),
    deleteSearchProfile: () => ({ method: "DELETE", path: `${profiles}/l`, kind: "search_profile" }),
    deleteSearchPolicy: () => ({ method: "DELETE", path: "/v1/search_policies/p", kind: "search_policy" }),
    consoleUpsertSearchPolicy: () => ({
      method: "PUT",
      path: `${organization}/search_policies/p`,
      body: { params: { num_typos: 2 } },
      kind: "search_policy",
      as: "operator"
    }),
    consoleDeleteSearchPolicy: () => ({
      method: "DELETE",
      path: `${organization}/search_policies/p`,
      kind: "search_policy",
      as: "operator"
    }),
    createIngestJob: () => ({
      method: "POST",
      path: "/v1/ingest/jobs",
      body: { collection: "goods", source: "inline", config: { documents: [{ id: "1", title: "One" }] } },
      kind: "job"
    }),
    uploadIngestFeed: () => ({
      method: "POST",
      path: "/v1/ingest/feeds?collection=goods&format=csv",
      body: "id,title\n1,One\n",
      kind: "job"
    }),
    reindexCollection: () => ({ method: "POST", path: "/v1/collections/goods/reindex", kind: "job" }),
    createAnalyticsRule: () => ({
      method: "POST",
      path: "/v1/analytics/rules",
      body: {
        name: "r",
        type: "counter",
        collection: "goods",
        event_type: "click",
        params: { counter_field: "clicks", weight: 1 }
      },
      kind: "analytics_rule"
    }),
    upsertAnalyticsRule: () => ({
      method: "PUT",
      path: "/v1/analytics/rules/r",
      body: { params: { counter_field: "clicks", weight: 2 } },
      kind: "analytics_rule"
    }),
    deleteAnalyticsRule: () => ({ method: "DELETE", path: "/v1/analytics/rules/r", kind: "analytics_rule" }),
    createQualitySuite: () => ({ method: "POST", path: "/v1/quality/suites", body: suite, kind: "quality_suite" }),
    replaceQualitySuite: () => ({
      method: "PUT",
      path: `/v1/quality/suites/${(made.suite = made.createQualitySuite!)}`,
      body: { ...suite, name: "t" },
      kind: "quality_suite"
    }),
    runQualitySuite: () => ({ method: "POST", path: `/v1/quality/suites/${made.suite}/run`, kind: "job" }),
    weighMeaning: async () => {
      await send("POST", profiles, { name: "weighed", searchable_fields: ["title"] })
      return {
        method: "POST",
        path: `/v1/quality/suites/${made.suite}/meaning`,
        body: { profile: "weighed" },
        kind: "job"
      }
    },
    judgeFromClicks: () => ({
      method: "POST",
      path: `/v1/quality/suites/${made.suite}/judgments/from-clicks`,
      body: { from: "2026-01-01", to: "2026-01-02" },
      kind: "job"
    }),
    deleteQualitySuite: () => ({
      method: "DELETE",
      path: `/v1/quality/suites/${made.suite}`,
      kind: "quality_suite"
    }),
    createSeoRule: () => ({ method: "POST", path: "/v1/seo/rules", body: seoRule, kind: "seo_rule" }),
    updateSeoRule: () => ({
      method: "PUT",
      path: `/v1/seo/rules/${(made.seoRule = made.createSeoRule!)}`,
      body: { ...seoRule, name: "s" },
      kind: "seo_rule"
    }),
    generateSeoPages: () => ({ method: "POST", path: `/v1/seo/rules/${made.seoRule}/pages/generate`, kind: "job" }),
    auditSeoPages: () => ({ method: "POST", path: `/v1/seo/rules/${made.seoRule}/pages/audit`, kind: "job" }),
    deleteSeoRule: () => ({ method: "DELETE", path: `/v1/seo/rules/${made.seoRule}`, kind: "seo_rule" }),
    putAiProvider: () => ({
      method: "PUT",
      path: "/v1/ai/providers/text_embedder",
      body: { kind: "openai", model: "words", url: models.url, api_key: "sk-audited-key" },
      kind: "ai_provider"
    }),
    createNlSearchModel: () => ({
      method: "POST",
      path: "/v1/nl_search_models",
      body: { id: "words", model_name: "vllm/any", max_bytes: 1_000, api_url: models.url, api_key: "sk-audited-key" },
      kind: "nl_search_model"
    }),
    updateNlSearchModel: () => ({
      method: "PUT",
      path: "/v1/nl_search_models/words",
      body: { max_bytes: 2_000 },
      kind: "nl_search_model"
    }),
    deleteNlSearchModel: () => ({ method: "DELETE", path: "/v1/nl_search_models/words", kind: "nl_search_model" }),
    consoleCreateNlSearchModel: () =>
      twin({
        method: "POST",
        path: "/v1/nl_search_models",
        body: { id: "words", model_name: "vllm/any", max_bytes: 1_000, api_url: models.url, api_key: "sk-audited-key" },
        kind: "nl_search_model"
      }),
    consoleUpdateNlSearchModel: () =>
      twin({ method: "PUT", path: "/v1/nl_search_models/words", body: { max_bytes: 2_000 }, kind: "nl_search_model" }),
    consoleDeleteNlSearchModel: () =>
      twin({ method: "DELETE", path: "/v1/nl_search_models/words", kind: "nl_search_model" }),
    createConversationModel: () => ({
      method: "POST",
      path: "/v1/conversations/models",
      body: talker,
      kind: "conversation_model"
    }),
    updateConversationModel: () => ({
      method: "PUT",
      path: "/v1/conversations/models/talker",
      body: { max_bytes: 2_000 },
      kind: "conversation_model"
    }),
    deleteConversationModel: () => ({
      method: "DELETE",
      path: "/v1/conversations/models/talker",
      kind: "conversation_model"
    }),
    consoleCreateConversationModel: () =>
      twin({ method: "POST", path: "/v1/conversations/models", body: talker, kind: "conversation_model" }),
    consoleUpdateConversationModel: () =>
      twin({
        method: "PUT",
        path: "/v1/conversations/models/talker",
        body: { max_bytes: 2_000 },
        kind: "conversation_model"
      }),
    consoleDeleteConversationModel: () =>
      twin({ method: "DELETE", path: "/v1/conversations/models/talker", kind: "conversation_model" }),
    deleteAiProvider: () => ({ method: "DELETE", path: "/v1/ai/providers/text_embedder", kind: "ai_provider" }),
    consolePutAiProvider: () =>
      twin({
        method: "PUT",
        path: "/v1/ai/providers/text_embedder",
        body: { kind: "openai", model: "words", url: models.url, api_key: "sk-audited-key" },
        kind: "ai_provider"
      }),
    consoleDeleteAiProvider: () =>
      twin({ method: "DELETE", path: "/v1/ai/providers/text_embedder", kind: "ai_provider" }),
    suggestSynonyms: () => ({
      method: "POST",
      path: "/v1/collections/goods/synonym_suggestions",
      body: {},
      kind: "job"
    }),
    acceptSynonymSuggestion: async () => {
      made.suggestions = (await suggested(program, tenant, "goods", synonyms)).join()
      return {
        method: "POST",
        path: `/v1/collections/goods/synonym_suggestions/${made.suggestions.split(",")[0]}/accept`,
        body: { synonym_set: "made" },
        kind: "synonym_suggestion"
      }
    },
    rejectSynonymSuggestion: () => ({
      method: "POST",
      path: `/v1/collections/goods/synonym_suggestions/${made.suggestions!.split(",")[1]}/reject`,
      kind: "synonym_suggestion"
    }),
    generateGraphEntities: () => ({
      method: "POST",
      path: "/v1/collections/goods/graph/entities/generate",
      kind: "job"
    }),
    generateGraphCommunities: () => ({
      method: "POST",
      path: "/v1/collections/goods/graph/communities/generate",
      kind: "job"
    }),
    createMedia: () => ({ method: "POST", path: "/v1/media", body: { filename: "a.txt" }, kind: "media_asset" }),
    putMediaContent: () => ({
      method: "PUT",
      path: `/v1/media/${(made.media = made.createMedia!)}/content`,
      body: "bytes",
      kind: "media_asset"
    }),
    deleteMedia: () => ({ method: "DELETE", path: `/v1/media/${made.media}`, kind: "media_asset" }),
    consoleCreateMedia: () => twin({ method: "POST", path: "/v1/media", body: {}, kind: "media_asset" }),
    consolePutMediaContent: () =>
      twin({
        method: "PUT",
        path: `/v1/media/${(made.media = made.consoleCreateMedia!)}/content`,
        body: "bytes",
        kind: "media_asset"
      }),
    consoleDeleteMedia: () => twin({ method: "DELETE", path: `/v1/media/${made.media}`, kind: "media_asset" }),
    createAlert: () => ({ method: "POST", path: "/v1/alerts", body: alert, kind: "alert" }),
    replaceAlert: () => ({
      method: "PUT",
      path: `/v1/alerts/${(made.alert = made.createAlert!)}`,
      body: { ...alert, threshold: 2 },
      kind: "alert"
    }),
    deleteSupportThread: async () => ({
      method: "DELETE",
      path: `/v1/support/threads/${await supportThread()}`,
      kind: "support_thread"
    }),
    deleteAlert: () => ({ method: "DELETE", path: `/v1/alerts/${made.alert}`, kind: "alert" }),
    createAssistant: () => ({ method: "POST", path: "/v1/assistants", body: assistantBody, kind: "assistant" }),
    replaceAssistant: () => ({
      method: "PUT",
      path: `/v1/assistants/${(made.assistant = made.createAssistant!)}`,
      body: { ...assistantBody, name: "Other" },
      kind: "assistant"
    }),
    evaluateAssistant: () => ({
      method: "POST",
      path: `/v1/assistants/${made.assistant}/evaluations`,
      body: { cases: [{ question: "Which one?" }] },
      kind: "job"
    }),
    deleteAssistant: () => ({ method: "DELETE", path: `/v1/assistants/${made.assistant}`, kind: "assistant" }),
    ...experimentSteps(made, "", "/v1"),
    ...experimentSteps(made, "console", organization),
    createRecommendationModel: () => ({
      method: "POST",
      path: "/v1/recommendations/models",
      body: recommendation,
      kind: "recommendation_model"
    }),
    replaceRecommendationModel: () => ({
      method: "PUT",
      path: `/v1/recommendations/models/${(made.recommendation = made.createRecommendationModel!)}`,
      body: { ...recommendation, name: "b" },
      kind: "recommendation_model"
    }),
    trainRecommendationModel: () => ({
      method: "POST",
      path: `/v1/recommendations/models/${made.recommendation}/train`,
      kind: "job"
    }),
    deleteRecommendationModel: () => ({
      method: "DELETE",
      path: `/v1/recommendations/models/${made.recommendation}`,
      kind: "recommendation_model"
    }),
    trainRerankModel: () => ({
      method: "POST",
      path: "/v1/collections/goods/rerank_models",
      body: { name: "clicks", from: "2026-01-01", to: "2026-01-02" },
      kind: "job"
    }),
    consoleCreateQualitySuite: () =>
      twin({ method: "POST", path: "/v1/quality/suites", body: suite, kind: "quality_suite" }),
    consoleReplaceQualitySuite: () =>
      twin({
        method: "PUT",
        path: `/v1/quality/suites/${(made.suite = made.consoleCreateQualitySuite!)}`,
        body: { ...suite, name: "u" },
        kind: "quality_suite"
      }),
    consoleRunQualitySuite: () => twin({ method: "POST", path: `/v1/quality/suites/${made.suite}/run`, kind: "job" }),
    consoleWeighMeaning: () =>
      twin({
        method: "POST",
        path: `/v1/quality/suites/${made.suite}/meaning`,
        body: { profile: "weighed" },
        kind: "job"
      }),
    consoleJudgeFromClicks: () =>
      twin({
        method: "POST",
        path: `/v1/quality/suites/${made.suite}/judgments/from-clicks`,
        body: { from: "2026-01-01", to: "2026-01-02" },
        kind: "job"
      }),
    consoleDeleteQualitySuite: () =>
      twin({ method: "DELETE", path: `/v1/quality/suites/${made.suite}`, kind: "quality_suite" }),
    consoleCreateSeoRule: () => twin({ method: "POST", path: "/v1/seo/rules", body: seoRule, kind: "seo_rule" }),
    consoleUpdateSeoRule: () =>
      twin({
        method: "PUT",
        path: `/v1/seo/rules/${(made.seoRule = made.consoleCreateSeoRule!)}`,
        body: { ...seoRule, name: "t" },
        kind: "seo_rule"
      }),
    consoleGenerateSeoPages: () =>
      twin({ method: "POST", path: `/v1/seo/rules/${made.seoRule}/pages/generate`, kind: "job" }),
    consoleAuditSeoPages: () =>
      twin({ method: "POST", path: `/v1/seo/rules/${made.seoRule}/pages/audit`, kind: "job" }),
    consoleDeleteSeoRule: () => twin({ method: "DELETE", path: `/v1/seo/rules/${made.seoRule}`, kind: "seo_rule" }),
    consoleSuggestSynonyms: () =>
      twin({ method: "POST", path: "/v1/collections/goods/synonym_suggestions", body: {}, kind: "job" }),
    consoleAcceptSynonymSuggestion: () =>
      twin({
        method: "POST",
        path: `/v1/collections/goods/synonym_suggestions/${made.suggestions!.split(",")[2]}/accept`,
        body: { synonym_set: "made" },
        kind: "synonym_suggestion"
      }),
    consoleRejectSynonymSuggestion: () =>
      twin({
        method: "POST",
        path: `/v1/collections/goods/synonym_suggestions/${made.suggestions!.split(",")[3]}/reject`,
        kind: "synonym_suggestion"
      }),
    consoleGenerateGraphEntities: () =>
      twin({ method: "POST", path: "/v1/collections/goods/graph/entities/generate", kind: "job" }),
    consoleGenerateGraphCommunities: () =>
      twin({ method: "POST", path: "/v1/collections/goods/graph/communities/generate", kind: "job" }),
    consoleCreateAlert: () => twin({ method: "POST", path: "/v1/alerts", body: alert, kind: "alert" }),
    consoleReplaceAlert: () =>
      twin({
        method: "PUT",
        path: `/v1/alerts/${(made.alert = made.consoleCreateAlert!)}`,
        body: { ...alert, threshold: 3 },
        kind: "alert"
      }),
    consoleDeleteSupportThread: async () =>
      twin({ method: "DELETE", path: `/v1/support/threads/${await supportThread()}`, kind: "support_thread" }),
    consoleCreateAssistant: () =>
      twin({ method: "POST", path: "/v1/assistants", body: assistantBody, kind: "assistant" }),
    consoleReplaceAssistant: () =>
      twin({
        method: "PUT",
        path: `/v1/assistants/${(made.assistant = made.consoleCreateAssistant!)}`,
        body: { ...assistantBody, name: "Other" },
        kind: "assistant"
      }),
    consoleEvaluateAssistant: () =>
      twin({
        method: "POST",
        path: `/v1/assistants/${made.assistant}/evaluations`,
        body: { cases: [{ question: "Which one?" }] },
        kind: "job"
      }),
    consoleDeleteAssistant: () =>
      twin({ method: "DELETE", path: `/v1/assistants/${made.assistant}`, kind: "assistant" }),
    consoleDeleteAlert: () => twin({ method: "DELETE", path: `/v1/alerts/${made.alert}`, kind: "alert" }),
    consoleTrainRerankModel: () =>
      twin({
        method: "POST",
        path: "/v1/collections/goods/rerank_models",
        body: { name: "clicks", from: "2026-01-01", to: "2026-01-02" },
        kind: "job"
      }),
    replayEvents: () => ({
      method: "POST",
      path: "/v1/events/replays",
      body: {
        from: new Date().toISOString().slice(0, 10),
        to: new Date().toISOString().slice(0, 10),
        target: "analytics"
      },
      kind: "job"
    }),
    eraseSubject: () => ({ method: "DELETE", path: "/v1/events/subjects/somebody", kind: "job" }),
    createKey: () => ({
      method: "POST",
      path: "/v1/keys",
      body: { description: "k", scope: "search" },
      kind: "api_key"
    }),
    deleteKey: () => ({ method: "DELETE", path: `/v1/keys/${made.createKey}`, kind: "api_key" }),
    createConnector: () => ({ method: "POST", path: "/v1/connectors", body: connector, kind: "connector" }),
    updateConnector: () => ({
      method: "PUT",
      path: `/v1/connectors/${made.createConnector}`,
      body: { name: "d" },
      kind: "connector"
    }),
    rotateConnectorSecret: () => ({
      method: "POST",
      path: `/v1/connectors/${made.createConnector}/secret`,
      kind: "connector"
    }),
    syncConnector: () => ({ method: "POST", path: `/v1/connectors/${made.createConnector}/sync`, kind: "job" }),
    deleteConnector: () => ({ method: "DELETE", path: `/v1/connectors/${made.createConnector}`, kind: "connector" }),
    consoleCreateConnector: () => twin({ method: "POST", path: "/v1/connectors", body: connector, kind: "connector" }),
    consoleUpdateConnector: () =>
      twin({
        method: "PUT",
        path: `/v1/connectors/${made.consoleCreateConnector}`,
        body: { name: "d" },
        kind: "connector"
      }),
    consoleRotateConnectorSecret: () =>
      twin({ method: "POST", path: `/v1/connectors/${made.consoleCreateConnector}/secret`, kind: "connector" }),
    consoleSyncConnector: () =>
      twin({ method: "POST", path: `/v1/connectors/${made.consoleCreateConnector}/sync`, kind: "job" }),
    consoleDeleteConnector: () =>
      twin({ method: "DELETE", path: `/v1/connectors/${made.consoleCreateConnector}`, kind: "connector" }),
    createCmsInstallation: () => ({
      method: "POST",
      path: "/v1/cms/installations",
      body: { name: "c", provider: "p", environment: "staging", origin: "https://shop.example" },
      kind: "cms_installation"
    }),
    publishCmsConfig: () => ({
      method: "PUT",
      path: `/v1/cms/installations/${made.createCmsInstallation}/config`,
      body: { expected_revision: 0, config: { protocol_version: 1, stores: [] } },
      kind: "cms_installation"
    }),
    revokeCmsInstallation: () => ({
      method: "DELETE",
      path: `/v1/cms/installations/${made.createCmsInstallation}/key`,
      kind: "cms_installation"
    }),
    consoleCreateCmsInstallation: () =>
      twin({
        method: "POST",
        path: "/v1/cms/installations",
        body: { name: "c", provider: "p", environment: "staging", origin: "https://shop.example" },
        kind: "cms_installation"
      }),
    consolePublishCmsConfig: () =>
      twin({
        method: "PUT",
        path: `/v1/cms/installations/${made.consoleCreateCmsInstallation}/config`,
        body: { expected_revision: 0, config: { protocol_version: 1, stores: [] } },
        kind: "cms_installation"
      }),
    consoleRevokeCmsInstallation: () =>
      twin({
        method: "DELETE",
        path: `/v1/cms/installations/${made.consoleCreateCmsInstallation}/key`,
        kind: "cms_installation"
      }),
    createWebhook: () => ({ method: "POST", path: "/v1/webhooks", body: webhook, kind: "webhook" }),
    updateWebhook: () => ({
      method: "PUT",
      path: `/v1/webhooks/${(made.webhook = made.createWebhook!)}`,
      body: { ...webhook, name: "v" },
      kind: "webhook"
    }),
    rotateWebhookSecret: () => ({ method: "POST", path: `/v1/webhooks/${made.webhook}/secret`, kind: "webhook" }),
    redeliverWebhookDelivery: async () => ({
      method: "POST",
      path: `/v1/webhooks/${made.webhook}/deliveries/${await delivered()}/redeliver`,
      kind: "webhook"
    }),
    recoverWebhook: () => ({
      method: "POST",
      path: `/v1/webhooks/${made.webhook}/recover`,
      body: { since: 0 },
      kind: "webhook"
    }),
    consoleUpdateWebhook: () => ({
      method: "PUT",
      path: `${organization}/webhooks/${made.webhook}`,
      body: webhook,
      kind: "webhook",
      as: "operator"
    }),
    consoleRotateWebhookSecret: () => ({
      method: "POST",
      path: `${organization}/webhooks/${made.webhook}/secret`,
      kind: "webhook",
      as: "operator"
    }),
    consoleRedeliverWebhookDelivery: async () => ({
      method: "POST",
      path: `${organization}/webhooks/${made.webhook}/deliveries/${await delivered()}/redeliver`,
      kind: "webhook",
      as: "operator"
    }),
    consoleRecoverWebhook: () => ({
      method: "POST",
      path: `${organization}/webhooks/${made.webhook}/recover`,
      body: { since: 0 },
      kind: "webhook",
      as: "operator"
    }),
    deleteWebhook: () => ({ method: "DELETE", path: `/v1/webhooks/${made.webhook}`, kind: "webhook" }),
    consoleCreateWebhook: () => ({
      method: "POST",
      path: `${organization}/webhooks`,
      body: webhook,
      kind: "webhook",
      as: "operator"
    }),
    consoleDeleteWebhook: () => ({
      method: "DELETE",
      path: `${organization}/webhooks/${made.consoleCreateWebhook}`,
      kind: "webhook",
      as: "operator"
    }),
    pauseOrganization: () => ({
      method: "POST",
      path: `${organization}/pause`,
      body: { reason: "manual" },
      kind: "organization",
      as: "operator"
    }),
    setOrganizationPlan: () => ({
      method: "POST",
      path: `${organization}/plan`,
      body: { plan: "unlimited", quota: 1_000_000 },
      kind: "organization",
      as: "operator"
    }),
    topUpOrganization: () => ({
      method: "POST",
      path: `${organization}/top-up`,
      body: { credits: 5, reference: "invoice 1" },
      kind: "wallet",
      as: "operator"
    }),
    resumeOrganization: () => ({
      method: "POST",
      path: `${organization}/resume`,
      kind: "organization",
      as: "operator"
    }),
    createOrganizationKey: () => ({
      method: "POST",
      path: `${organization}/keys`,
      body: { description: "k", scope: "search" },
      kind: "api_key",
      as: "operator"
    }),
    consoleDeleteKey: () => ({
      method: "DELETE",
      path: `${organization}/keys/${made.createOrganizationKey}`,
      kind: "api_key",
      as: "operator"
    }),
    createMember: () => ({
      method: "POST",
      path: `${organization}/members`,
      body: { email: "o@audit.example", role: "owner", password: "a long password" },
      kind: "member",
      as: "operator"
    }),
    createSession: () => ({
      method: "POST",
      path: "/console/v1/sessions",
      body: { email: "o@audit.example", password: "a long password" },
      kind: "console_session"
    }),
    updateMember: async () => {
      await send("POST", `${organization}/members`, { email: "m@audit.example", role: "member" }, operator())
      made.member = (await send("GET", `${organization}/members`, undefined, operator())).body.data.find(
        ({ email }: { email: string }) => email === "m@audit.example"
      ).id
      return {
        method: "PATCH",
        path: `${organization}/members/${made.member}`,
        body: { role: "admin" },
        kind: "member",
        as: "session"
      }
    },
    deleteMember: () => ({
      method: "DELETE",
      path: `${organization}/members/${made.member}`,
      kind: "member",
      as: "session"
    }),
    changeOwnPassword: () => ({
      method: "POST",
      path: "/console/v1/sessions/current/password",
      body: { current_password: "a long password", new_password: "a longer password" },
      kind: "member",
      as: "session"
    }),
    deleteCurrentSession: () => ({
      method: "DELETE",
      path: "/console/v1/sessions/current",
      kind: "console_session",
      as: "session"
    }),
    cancelJob: async () => ({
      method: "POST",
      path: `/v1/jobs/${await cancellable("/v1/events/replays")}/cancel`,
      kind: "job"
    }),
    consoleCancelJob: async () =>
      twin({ method: "POST", path: `/v1/jobs/${await cancellable("/v1/events/replays")}/cancel`, kind: "job" }),
    cancelIngestJob: async () => ({
      method: "POST",
      path: `/v1/ingest/jobs/${await cancellable("/v1/collections/goods/reindex")}/cancel`,
      kind: "job"
    }),
    deleteCollection: () => ({ method: "DELETE", path: "/v1/collections/goods", kind: "collection" })
  }
}
/** A job that is certainly unfinished: retried until the jobs before it have ended and it is accepted. */
const cancellable = async (path: string): Promise<string> => {
  const today = new Date().toISOString().slice(0, 10)
  for (let attempt = 0; attempt < 200; attempt++) {
    const { body, status } = await send(
      "POST",
      path,
      path.endsWith("reindex") ? undefined : { from: today, to: today, target: "analytics" }
    )
    if (status === 202) return body.id as string
    await new Promise((settle) => setTimeout(settle, 50))
  }
  throw new Error(`nothing could be started at ${path}`)
}

describe("every writing operation", () => {
  it("leaves an entry with the caller, the request, the operation and the subject, or is exempt by name", async () => {
    const documents = await Promise.all(
      ["/v1/openapi.json", "/api/v1/openapi.json"].map(
        async (path) =>
          (await program.request("GET", path)).body as {
            paths: Record<string, Record<string, { operationId: string; "x-scope": string }>>
          }
      )
    )
    const writing = documents
      .flatMap(({ paths }) => Object.values(paths))
      .flatMap((methods) =>
        Object.entries(methods)
          .filter(([method]) => method !== "get")
          .map(([, { operationId }]) => operationId)
      )
    const made: Record<string, string> = {}
    const plan = steps(made)
    const elsewhere = ["createOrganization"]
    expect(
      writing.filter((id) => exempt[id] === undefined && plan[id] === undefined && !elsewhere.includes(id)),
      "neither walked nor exempt"
    ).toEqual([])
    expect(
      [...Object.keys(exempt), ...Object.keys(plan)].filter((id) => !writing.includes(id)),
      "of operations that are gone"
    ).toEqual([])
    let cookie = ""
    for (const [id, step] of Object.entries(plan)) {
      const { as, body, kind, method, path } = await step()
      const requestId = `walk-${id}`
      const answer = await program.request(method, path, {
        ...(as === undefined ? { key: tenant.full_key } : {}),
        ...(body === undefined ? {} : { body }),
        headers: {
          "x-request-id": requestId,
          ...(as === "operator" ? operator() : as === "session" ? { cookie, "x-dowser-console": "1" } : {})
        }
      })
      expect(answer.status, `${id}: ${answer.text}`).toBeLessThan(300)
      if (id === "deleteConversation")
        console.log("DBG", path, answer.text, JSON.stringify((await operatorEntries()).slice(0, 3)))
      made[id] = answer.body?.id
      const setCookie = answer.headers.get("set-cookie")
      if (setCookie !== null) cookie = setCookie.split(";")[0]!
      const found = (await operatorEntries()).filter(({ request_id }) => request_id === requestId)
      if (["cancelIngestJob", "cancelJob", "consoleCancelJob"].includes(id) && found.length === 0) {
        // The job ended first: a job that is over is not cancelled, and nothing changed.
        expect(["ready", "failed"]).toContain(answer.body.status)
        continue
      }
      expect(
        found.map(({ subject }) => subject.kind),
        id
      ).toContain(kind)
      for (const entry of found) {
        expect(entry.operation, id).toBe(id)
        expect(entry.settled, id).toBe(true)
        expect(entry.actor, id).toEqual(
          as === "operator"
            ? { type: "operator" }
            : as === "session" || id === "createSession"
              ? { type: "member", id: made.createMember }
              : { type: "key", id: keyId }
        )
      }
    }
    const created = await program.request("POST", "/console/v1/organizations", {
      body: { name: "New" },
      headers: { ...operator(), "x-request-id": "walk-create" }
    })
    expect(
      (await entries("", created.body.full_key))
        .filter(({ request_id }) => request_id === "walk-create")
        .map(({ action, subject }) => [subject.kind, action])
        .sort()
    ).toEqual([
      ["api_key", "created"],
      ["api_key", "created"],
      ["organization", "created"]
    ])
  })
  it("leaves no entry if it is refused", async () => {
    const before = (await entries()).length
    expect((await send("POST", "/v1/collections", { name: "bad", fields: [] })).status).toBe(400)
    expect((await send("POST", "/v1/collections", "not json")).status).toBe(400)
    expect((await send("DELETE", "/v1/collections/nowhere")).status).toBe(404)
    expect((await send("DELETE", "/v1/aliases/nowhere")).status).toBe(404)
    expect((await send("POST", "/v1/keys", { description: "x" })).status).toBe(400)
    expect((await entries()).length).toBe(before)
  })
})

describe("entries", () => {
  it("contain before and after, name what changed, and mask secrets", async () => {
    await send("PUT", "/v1/presets/kept", { value: { q: "one" } })
    await send("PUT", "/v1/presets/kept", { value: { q: "two" } })
    const [second, first] = await entries("&subject=engine_resource/preset/kept")
    expect([first!.action, first!.before, first!.after]).toEqual([
      "created",
      undefined,
      { name: "kept", value: { q: "one" } }
    ])
    expect([second!.action, second!.before.value, second!.after.value, second!.changed]).toEqual([
      "updated",
      { q: "one" },
      { q: "two" },
      ["value"]
    ])
    const { body: key } = await send("POST", "/v1/keys", { description: "secret one", scope: "search" })
    const [made] = await entries(`&subject=api_key/${key.id}`)
    expect(made!.after).toMatchObject({ description: "secret one", lookup_hash: "[masked]", sealed_digest: "[masked]" })
    const { body: webhook } = await send("POST", "/v1/webhooks", {
      name: "w",
      url: "https://mine.example/hook",
      events: ["*"]
    })
    const { body: rotated } = await send("POST", `/v1/webhooks/${webhook.id}/secret`)
    const [rotation] = await entries(`&subject=webhook/${webhook.id}`)
    expect([rotation!.before.secrets, rotation!.after.secrets, rotation!.changed]).toEqual([
      "[masked]",
      "[masked]",
      ["secrets", "updated_at"]
    ])
    const whole = JSON.stringify(await entries())
    for (const secret of [key.value, webhook.secret, rotated.secret, tenant.full_key, "a long password", "scrypt$"])
      expect(whole).not.toContain(secret)
    // The erasure's own log entry does not name the person who is to be forgotten.
    expect(whole).not.toContain("somebody")
  })
  it("come in pages, newest first, by subject, actor and time", async () => {
    const all = await entries()
    expect(all.map(({ id }) => id)).toEqual(
      all
        .map(({ id }) => id)
        .sort()
        .reverse()
    )
    const paged: Array<string> = []
    for (let cursor = ""; ;) {
      const { body } = await send("GET", `/v1/audit?limit=7${cursor}`)
      paged.push(...body.data.map(({ id }: Entry) => id))
      if (body.next_cursor === undefined) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(paged).toEqual(all.map(({ id }) => id))
    expect(new Set((await entries("&subject=webhook")).map(({ subject }) => subject.kind))).toEqual(
      new Set(["webhook"])
    )
    expect(new Set((await entries("&actor=operator")).map(({ actor }) => actor.type))).toEqual(new Set(["operator"]))
    expect((await entries(`&actor=${keyId}`)).every(({ actor }) => actor.id === keyId)).toBe(true)
    expect(await entries("&to=2020-01-01")).toEqual([])
    expect((await entries(`&from=${new Date(all[3]!.at).toISOString()}`)).every(({ at }) => at >= all[3]!.at)).toBe(
      true
    )
    for (const [query, path] of [
      ["limit=0", "limit"],
      ["limit=251", "limit"],
      ["from=yesterday", "from"],
      ["to=2026-13-01", "to"],
      ["cursor=x", "cursor"]
    ]) {
      const { body, status } = await send("GET", `/v1/audit?${query}`)
      expect([status, body.code, body.data.issues[0].path]).toEqual([400, "BAD_REQUEST", path])
    }
  })
  it("are readable with the full key only, and only for its own organization", async () => {
    expect((await program.request("GET", "/v1/audit", { key: tenant.search_key })).status).toBe(403)
    const other = await program.tenant("Other")
    const seen = await entries("", other.full_key)
    expect(seen.map(({ subject }) => subject.kind).sort()).toEqual(["api_key", "api_key", "organization"])
    expect(JSON.stringify(seen)).not.toContain(tenant.organization_id)
  })
})
