/**
 * Two organizations use the same names. Every operation of the API is walked with the other organization's key and ids:
 * nothing of the first is seen, changed, counted or joined.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { QUIET } from "../../src/voice/quiet.ts"
import { suggested } from "../support/synonym-suggestions.ts"
import { talkFields } from "../support/talks.ts"

let program: Program
let first: Tenant
let second: Tenant
const secret = "zanzibar"

const fill = async (tenant: Tenant, word: string) => {
  const send = (method: string, path: string, body?: unknown) =>
    program.request(method, path, { key: tenant.full_key, body })
  await send("POST", "/v1/collections", {
    name: "makers",
    fields: [
      { name: "code", type: "string" },
      { name: "name", type: "string" }
    ]
  })
  await send("POST", "/v1/collections", {
    name: "goods",
    fields: [
      { name: "title", type: "string", facet: true },
      { name: "maker", type: "string", reference: "makers.code" }
    ]
  })
  await send("POST", "/v1/collections/makers/documents", { id: `m-${word}`, code: word, name: `Maker ${word}` })
  await send("POST", "/v1/collections/goods/documents", { id: `g-${word}`, title: `Goods ${word}`, maker: word })
  await send("PUT", "/v1/aliases/shop", { collection_name: "goods" })
  await send("PUT", `/v1/presets/p-${word}`, { value: { q: word } })
  await send("PUT", `/v1/search_policies/q-${word}`, { params: { analytics_tag: word } })
  const profiles = "/v1/collections/goods/search-profiles"
  await send("POST", profiles, {
    name: `l-${word}`,
    label: word,
    searchable_fields: ["title"],
    fixed_filter_by: `title:${word}`,
    search_policy: `q-${word}`
  })
  const release = await send("POST", `${profiles}/l-${word}/publish`, { expected_revision: 1, note: word })
  await send("PUT", `/v1/synonym_sets/s-${word}`, { items: [{ id: "one", synonyms: [word, "same"] }] })
  await send("PUT", `/v1/curation_sets/c-${word}`, {
    items: [{ id: "one", rule: { query: word, match: "exact" }, includes: [{ id: `g-${word}`, position: 1 }] }]
  })
  await send("PUT", `/v1/stopwords/w-${word}`, { stopwords: [word] })
  await send("PUT", "/v1/collections/goods/search_rules", {
    banners: [{ id: `b-${word}`, content: { text: word } }],
    pins: [{ doc_id: `g-${word}`, position: 1 }],
    suggestions: [{ suggestions: [word] }]
  })
  await program.request("POST", `/v1/stemming/dictionaries/import?id=d-${word}`, {
    key: tenant.full_key,
    body: `{"word":"${word}","root":"root"}`
  })
  await program.request("POST", "/v1/events", {
    key: tenant.full_key,
    body: {
      events: [{ type: "search", q: word, collection: "goods", event_id: "e1", session_id: "s", results_found: 1 }]
    }
  })
  await send("POST", "/v1/analytics/rules", {
    name: `r-${word}`,
    type: "log",
    collection: "goods",
    event_type: "click",
    params: {}
  })
  const queryId = (await send("GET", "/v1/collections/goods/documents/search?q=goods&query_by=title")).body
    .query_id as string
  const job = await send("POST", "/v1/collections/goods/reindex")
  const upload = await program.request("POST", `/v1/ingest/uploads?collection=goods&format=csv&name=${word}`, {
    key: tenant.full_key,
    headers: { "tus-resumable": "1.0.0", "upload-length": "9" }
  })
  const key = (await send("POST", "/v1/keys", { description: word, scope: "search" })).body.id as string
  const suite = { name: word, collection: "goods", judgments: [{ q: word, document_id: "1", grade: 1 }] }
  const suiteId = (await send("POST", "/v1/quality/suites", suite)).body.id as string
  const ruleId = (await send("POST", "/v1/seo/rules", { name: word, collection: "goods", facet_field: "title" })).body
    .id as string
  await send("POST", `/v1/seo/rules/${ruleId}/pages/generate`)
  await program.topUp(tenant.organization_id, 100)
  await send("POST", "/v1/collections/goods/graph/communities/generate")
  const [suggestionId] = await suggested(program, tenant, "goods", new Map([[`brulaxo${word}`, `one${word}`]]))
  const alertId = (
    await send("POST", "/v1/alerts", { name: word, metric: "events", op: ">", threshold: 1e9, window_minutes: 5 })
  ).body.id as string
  const experimentId = (
    await send("POST", "/v1/experiments", {
      name: word,
      collection: "goods",
      metric: "ctr",
      variants: [{ id: "a" }, { id: "b" }]
    })
  ).body.id as string
  const webhookId = (
    await send("POST", "/v1/webhooks", { name: word, url: `http://127.0.0.1:9/${word}`, events: ["*"] })
  ).body.id as string
  const deliveryId = (await send("POST", `/v1/webhooks/${webhookId}/test`)).body.id as string
  const connector = { name: word, collection: "goods", provider: "generic", sync_mode: "push" }
  const connectorId = (await send("POST", "/v1/connectors", connector)).body.id as string
  const cms = { name: word, provider: "p", environment: "staging", origin: "https://shop.example" }
  const installationId = (await send("POST", "/v1/cms/installations", cms)).body.id as string
  const password = `the password of ${tenant.organization_id}`
  const memberId = (
    await program.request("POST", `/console/v1/organizations/${tenant.organization_id}/members`, {
      headers: operator(),
      body: { email: `${word}@shop.example`, role: "owner", name: word, password }
    })
  ).body.id as string
  const recommendation = { name: word, collection: "goods", type: "popular" }
  const modelId = (await send("POST", "/v1/recommendations/models", recommendation)).body.id as string
  // With the same id, so that every path of a model names one of each kind.
  const words = { id: modelId, model_name: "dowser/rules", max_bytes: 1_000, system_prompt: word }
  expect((await send("POST", "/v1/nl_search_models", words)).status).toBe(201)
  await send("POST", "/v1/collections", { name: "talks", fields: talkFields })
  const talks = { ...words, model_name: "dowser/extractive", history_collection: "talks" }
  expect((await send("POST", "/v1/conversations/models", talks)).status).toBe(201)
  const mediaId = (await send("POST", "/v1/media", { filename: `${word}.txt` })).body.id as string
  await program.request("PUT", `/v1/media/${mediaId}/content`, { key: tenant.full_key, body: word })
  const thread = { subject: word, text: word, session_id: `ses-${word}`, media_ids: [mediaId] }
  const threadId = (await send("POST", "/v1/support/threads", thread)).body.id as string
  const kept = { name: word, collections: ["goods"], instructions: word }
  const assistantId = (await send("POST", "/v1/assistants", kept)).body.id as string
  const asking = { messages: [{ role: "user", content: word }] }
  const conversationId = (await send("POST", `/v1/assistants/${assistantId}/chat/completions`, asking)).body
    .conversation_id as string
  const signedIn = await program.request("POST", "/console/v1/sessions", {
    body: { email: `${word}@shop.example`, password }
  })
  return {
    releaseId: release.body.id as string,
    jobId: job.body.id as string,
    uploadId: upload.body.id as string,
    keyId: key,
    webhookId,
    connectorId,
    installationId,
    deliveryId,
    suiteId,
    suggestionId: suggestionId!,
    ruleId,
    alertId,
    experimentId,
    modelId,
    mediaId,
    threadId,
    assistantId,
    conversationId,
    memberId,
    queryId,
    session: (signedIn.headers.get("set-cookie") ?? "").split(";")[0]!
  }
}
const operator = () => ({ authorization: `Bearer ${program.operatorToken}` })

let ids: Awaited<ReturnType<typeof fill>>
let ownIds: Awaited<ReturnType<typeof fill>>
beforeAll(async () => {
  program = await startProgram()
  first = await program.tenant("First")
  second = await program.tenant("Second")
  ids = await fill(first, secret)
  ownIds = await fill(second, "ordinary")
  await new Promise((settle) => setTimeout(settle, 1500))
})
afterAll(() => program.stop())

/** Values for the parameters of a path: the first organization's. */
const values: Record<string, string> = {
  collectionName: "goods",
  documentId: `g-${secret}`,
  aliasName: "shop",
  presetId: `p-${secret}`,
  policyName: `q-${secret}`,
  profileName: `l-${secret}`,
  setId: `w-${secret}`,
  itemId: "one",
  dictionaryId: `d-${secret}`,
  file: "config.json",
  slug: `goods-${secret}`,
  userId: "visitor"
}
const pathOf = (path: string, operationId: string) =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(
      name === "setName"
        ? operationId.includes("Synonym")
          ? `s-${secret}`
          : `c-${secret}`
        : name === "jobId" ||
            name === "uploadId" ||
            name === "suiteId" ||
            name === "ruleId" ||
            name === "suggestionId" ||
            name === "alertId" ||
            name === "experimentId" ||
            name === "modelId" ||
            name === "mediaId" ||
            name === "threadId" ||
            name === "assistantId" ||
            name === "conversationId"
          ? ids[name]
          : name === "keyId"
            ? ids.keyId
            : name === "webhookId" || name === "connectorId" || name === "installationId"
              ? ids[name]
              : name === "releaseId"
                ? ids.releaseId
                : name === "deliveryId"
                  ? ids.deliveryId
                  : name === "organizationId"
                    ? first.organization_id
                    : name === "memberId"
                      ? ids.memberId
                      : name === "ruleName"
                        ? `r-${secret}`
                        : (values[name] ?? secret)
    )
  )
const bodies: Record<string, unknown> = {
  createCollection: { name: "goods", fields: [{ name: "title", type: "string" }] },
  updateCollection: { metadata: { touched: true } },
  indexDocument: { id: `g-${secret}`, title: "Mine", maker: "ordinary" },
  updateDocument: { title: "Changed" },
  updateDocuments: { title: "Changed" },
  upsertAlias: { collection_name: "goods" },
  upsertPreset: { value: { q: "x" } },
  upsertSearchPolicy: { params: { num_typos: 0 } },
  createSearchProfile: { name: "mine", searchable_fields: ["title"] },
  replaceSearchProfile: { searchable_fields: ["title"] },
  publishSearchProfile: { expected_revision: 1 },
  activateProfileRelease: { release_id: "rel_none", expected_revision: 1 },
  upsertSynonymSet: { items: [{ id: "two", synonyms: ["a", "b"] }] },
  upsertSynonymItem: { synonyms: ["a", "b"] },
  upsertCurationSet: { items: [{ id: "two", rule: { query: "x", match: "exact" }, excludes: [{ id: "x" }] }] },
  upsertCurationItem: { rule: { query: "x", match: "exact" }, excludes: [{ id: "x" }] },
  upsertStopwords: { stopwords: ["x"] },
  upsertSearchRule: { exclusion_filter_by: "title:x", redirects: [{ query: "x", url: "/x" }] },
  previewSearchRule: { search: { q: "*", query_by: "title" } },
  createKey: { description: "mine", scope: "search" },
  createIngestJob: { collection: "goods", source: "inline", config: { documents: [{ id: "new", title: "Mine" }] } },
  uploadIngestFeed: "id,title\nnew,Mine\n",
  createConnector: { name: "mine", collection: "goods", provider: "generic", sync_mode: "push" },
  updateConnector: { name: "mine" },
  testConnectorMapping: { event: { id: "1", title: "Mine" } },
  createCmsInstallation: { name: "mine", provider: "p", environment: "staging", origin: "https://shop.example" },
  publishCmsConfig: { expected_revision: 0, config: { protocol_version: 1, stores: [] } },
  createWebhook: { name: "mine", url: "https://mine.example/", events: ["*"] },
  updateWebhook: { name: "mine", url: "https://mine.example/", events: ["*"] },
  recoverWebhook: { since: 0 },
  createQualitySuite: { name: "mine", collection: "goods", judgments: [] },
  replaceQualitySuite: { name: "mine", collection: "goods", judgments: [] },
  weighMeaning: { profile: "mine" },
  judgeFromClicks: { from: "2026-01-01", to: "2026-01-31" },
  createSupportThread: { subject: "mine", session_id: "mine" },
  updateSupportThread: { status: "closed" },
  postSupportMessage: { text: "mine" },
  createAssistant: { name: "mine", collections: ["goods"] },
  replaceAssistant: { name: "mine", collections: ["goods"] },
  chat: { messages: [{ role: "user", content: "mine" }] },
  evaluateAssistant: { cases: [{ question: "mine" }] },
  createSeoRule: { name: "mine", collection: "goods", facet_field: "title" },
  updateSeoRule: { name: "mine", collection: "goods", facet_field: "title" },
  semanticSearch: { q: "mine" },
  imageSearch: { media_id: "med_mine" },
  transcribeVoice: { audio: QUIET },
  voiceSearch: { audio: QUIET },
  suggestSynonyms: {},
  acceptSynonymSuggestion: { synonym_set: "mine" },
  createMedia: { filename: "mine.txt" },
  putMediaContent: "mine",
  createAlert: { name: "mine", metric: "events", op: ">", threshold: 1e9, window_minutes: 5 },
  replaceAlert: { name: "mine", metric: "events", op: ">", threshold: 1e9, window_minutes: 5 },
  createRecommendationModel: { name: "mine", collection: "goods", type: "popular" },
  replaceRecommendationModel: { name: "mine", collection: "goods", type: "popular" },
  recommend: { model_id: "rec_01ARZ3NDEKTSV4RRFFQ69G5FAV" },
  createNlSearchModel: { model_name: "dowser/rules", max_bytes: 9, system_prompt: "mine" },
  updateNlSearchModel: { max_bytes: 9, system_prompt: "mine" },
  createConversationModel: { model_name: "dowser/extractive", max_bytes: 9, history_collection: "talks" },
  updateConversationModel: { max_bytes: 9, system_prompt: "mine" },
  trainRerankModel: { name: "mine", from: "2026-01-01", to: "2026-01-31" },
  replayEvents: { from: "2026-01-01", to: "2026-01-31", target: "analytics" },
  ingestEvents: {
    events: [
      { type: "search", q: "mine", collection: "goods", event_id: "e3", session_id: "s" },
      { type: "click", collection: "goods", document_id: `g-${secret}`, query_id: "", event_id: "e2", session_id: "s" }
    ]
  },
  createAnalyticsRule: {
    name: `r-${secret}`,
    type: "counter",
    collection: "goods",
    event_type: "click",
    params: { counter_field: "title", weight: 1 }
  },
  upsertAnalyticsRule: { type: "log", collection: "goods", event_type: "click", params: {} },
  createBrowserKey: { collections: ["goods"] },
  multiSearch: {
    searches: [
      { collection: "goods", q: "*", query_by: "title", facet_by: "title", include_fields: "*,$makers(*)" },
      { collection: "goods", q: secret, query_by: "title" },
      { collection: "goods", q: "*", filter_by: `$makers(code:=${secret})` }
    ]
  }
}
/** Of today, when both have figures; what each sees of them is in `isolation-metrics.test.ts`. */
const today = `?from=${new Date().toISOString().slice(0, 10)}&to=${new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)}`
const queries: Record<string, string> = {
  searchCollection: `?q=*&query_by=title&facet_by=title&include_fields=${encodeURIComponent("*,$makers(*)")}`,
  uploadIngestFeed: "?collection=goods&format=csv",
  createIngestUpload: "?collection=goods&format=csv",
  updateDocuments: "?filter_by=id:*",
  deleteDocuments: "?filter_by=id:*",
  getQueryMetrics: today,
  getZeroResultMetrics: today,
  getOverviewMetrics: today,
  getProductMetrics: today,
  getFilterMetrics: today,
  exportDocuments: "?filter_by=id:*",
  importStemmingDictionary: `?id=d-${secret}`
}

const everything = async (tenant: Tenant) => {
  const today = new Date().toISOString().slice(0, 10)
  const reads = [
    "/v1/collections",
    "/v1/collections/goods",
    "/v1/collections/goods/documents/export",
    "/v1/collections/makers/documents/export",
    "/v1/collections/goods/search_rules",
    "/v1/aliases",
    "/v1/presets",
    "/v1/search_policies",
    "/v1/collections/goods/search-profiles",
    "/v1/synonym_sets",
    "/v1/collections/goods/synonym_suggestions",
    "/v1/collections/goods/graph/entities",
    "/v1/collections/goods/graph/communities",
    "/v1/curation_sets",
    "/v1/stopwords",
    "/v1/nl_search_models",
    "/v1/conversations/models",
    "/v1/stemming/dictionaries",
    "/v1/analytics/rules",
    "/v1/audit",
    "/v1/collections/goods/suggestions?q=go",
    "/v1/collections/goods/prompts",
    `/v1/analytics/events?name=r-${secret}&user_id=s&n=10`,
    `/v1/analytics/metrics/overview?from=${today}&to=${today}`,
    `/v1/analytics/metrics/products?from=${today}&to=${today}`,
    `/v1/analytics/metrics/filters?from=${today}&to=${today}`,
    "/v1/keys",
    "/v1/connectors",
    "/v1/cms/installations",
    "/v1/media",
    `/v1/media/${ids.mediaId}/content`,
    "/v1/webhooks",
    `/v1/webhooks/${ids.webhookId}/deliveries`,
    "/v1/entitlement",
    "/v1/ingest/jobs",
    "/v1/jobs",
    "/v1/events/failed",
    `/v1/analytics/metrics/queries?from=${today}&to=${today}`,
    `/v1/analytics/metrics/zero-results?from=${today}&to=${today}`,
    `/v1/collections/goods/documents/search?q=*&query_by=title&facet_by=title&enable_analytics=false&include_fields=${encodeURIComponent("*,$makers(*)")}`
  ]
  const answers = []
  for (const path of reads) {
    const { body, text } = await program.request("GET", path, { key: tenant.full_key })
    // Reading changes the count by itself.
    if (path === "/v1/entitlement") delete body.quota.used
    if (body?.query_id !== undefined) {
      delete body.query_id
      delete body.search_time_ms
    }
    answers.push([path, body === undefined ? text : JSON.stringify(body)])
  }
  for (const path of ["", "/members", "/keys", "/connectors", "/webhooks", "/audit"])
    answers.push([
      path,
      (
        await program.request("GET", `/console/v1/organizations/${tenant.organization_id}${path}`, {
          headers: operator()
        })
      ).text
    ])
  return answers
}
/** Everything, once two reads three seconds apart agree: what was done during the setup is counted by then. */
const everythingCounted = async (tenant: Tenant) => {
  for (let before = await everything(tenant); ;) {
    await new Promise((resolve) => setTimeout(resolve, 3_000))
    const now = await everything(tenant)
    if (JSON.stringify(now) === JSON.stringify(before)) return now
    before = now
  }
}

describe("isolation", () => {
  it("shows nothing of one organization to the other, through any operation, and changes nothing of it", async () => {
    for (const [name, id] of [...Object.entries(ids), ...Object.entries(ownIds)]) expect(id, name).toBeTruthy()
    const before = await everythingCounted(first)
    const { paths } = (await program.request("GET", "/v1/openapi.json")).body as {
      paths: Record<string, Record<string, { operationId: string; "x-scope": string }>>
    }
    let walked = 0,
      crossed = 0
    ;(bodies.ingestEvents as { events: Array<{ query_id?: string }> }).events[1]!.query_id = ids.queryId
    // Deleting operations are sent last, so that the others meet the second organization's own things.
    const operations = Object.entries(paths)
      .flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, entry]) => ({
          path,
          method: method.toUpperCase(),
          id: entry.operationId,
          scope: entry["x-scope"]
        }))
      )
      .sort((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
    for (const { id, method, path, scope } of operations) {
      if (scope === "public") continue
      const address = pathOf(path, id) + (queries[id] ?? "")
      const body = bodies[id] ?? (method === "POST" || method === "PUT" || method === "PATCH" ? {} : undefined)
      const payload =
        id === "importDocuments"
          ? `{"id":"new","title":"Mine","maker":"${secret}"}`
          : id === "importStemmingDictionary"
            ? `{"word":"a","root":"b"}`
            : body
      const answer = await program.request(method, address, { key: second.full_key, body: payload })
      const shown = answer.text
        .toLowerCase()
        .replaceAll(/(g|p|s|c|w|d|r|q|l)-zanzibar/g, "")
        // The answer repeats what the caller sent.
        .replaceAll(/"(original|normalized)":"zanzibar"|"tokens":\["zanzibar"\]/g, "")
        .replaceAll(/"(first_)?q":"zanzibar"|"field":"code","value":"zanzibar"/g, "")
        .replace(/reference document having `code:= `?zanzibar`?`?/g, "")
      // An answer, not a refusal of the parameters.
      if (/^get\w+Metrics$/.test(id)) expect(answer.status, address).toBe(200)
      if (!["importDocuments", "importStemmingDictionary"].includes(id))
        expect(shown, `${method} ${address}`).not.toContain(secret)
      // The console accepts no keys: the other organization's ids give nothing without a session or the operator's
      // token.
      if (scope === "console" || scope === "operator") {
        expect(answer.status, `${method} ${address}`).toBe(401)
        // A member of the second organization: the first one's address is closed, and its ids give nothing under the
        // member's own.
        const session = { cookie: ownIds.session, origin: program.base, "sec-fetch-site": "same-origin" }
        if (!path.includes("{organizationId}")) continue
        const there = await program.request(method, address, { headers: session, body: payload })
        expect([401, 403, 404], `${method} ${address} ${there.text}`).toContain(there.status)
        expect(there.text.toLowerCase(), `${method} ${address}`).not.toContain(secret)
        crossed++
        if (!/\{(keyId|webhookId|memberId)\}/.test(path)) continue
        const own = await program.request(method, address.replace(first.organization_id, second.organization_id), {
          headers: session,
          body: payload
        })
        expect(own.status, `${method} ${address} ${own.text}`).toBe(404)
        continue
      }
      // A refusal may repeat the requested id; nothing else may show it.
      if (!address.includes(ids.jobId)) expect(answer.text, `${method} ${address}`).not.toContain(ids.jobId)
      else expect(answer.status, `${method} ${address}`).toBe(404)
      for (const id of [ids.uploadId, ids.mediaId, ids.keyId, ids.webhookId, ids.deliveryId, ids.memberId]) {
        if (!address.includes(id)) expect(answer.text, `${method} ${address}`).not.toContain(id)
        else expect(answer.status, `${method} ${address}`).toBe(404)
      }
      expect(answer.text, `${method} ${address}`).not.toContain(first.organization_id)
      walked++
      // An organization's own endpoint gives no access to another's deliveries.
      if (path.includes("{deliveryId}") && method !== "DELETE")
        expect(
          (
            await program.request(method, address.replace(ids.webhookId, ownIds.webhookId), {
              key: second.full_key,
              body: payload
            })
          ).status,
          address
        ).toBe(404)
    }
    expect(walked).toBeGreaterThan(80)
    expect(crossed).toBeGreaterThan(20)
    // Once the second one's own event is counted, anything it had received of the first's would be, too.
    await expect
      .poll(
        async () =>
          (
            await program.request(
              "GET",
              `/v1/analytics/metrics/queries?from=${new Date().toISOString().slice(0, 10)}&to=${new Date().toISOString().slice(0, 10)}`,
              { key: second.full_key }
            )
          ).text,
        { timeout: 60_000 }
      )
      .toContain('"q":"mine"')
    expect(await everything(first)).toEqual(before)
  })
  it("does not resolve a reference of one organization to a document of the other", async () => {
    const third = await program.tenant("Third")
    const send = (method: string, path: string, body?: unknown) =>
      program.request(method, path, { key: third.full_key, body })
    await send("POST", "/v1/collections", {
      name: "makers",
      fields: [
        { name: "code", type: "string" },
        { name: "name", type: "string" }
      ]
    })
    await send("POST", "/v1/collections", {
      name: "goods",
      fields: [
        { name: "title", type: "string" },
        { name: "maker", type: "string", reference: "makers.code" }
      ]
    })
    expect((await send("POST", "/v1/collections/goods/documents", { id: "x", title: "x", maker: secret })).status).toBe(
      400
    )
    expect(
      (
        await send(
          "GET",
          `/v1/collections/goods/documents/search?q=*&filter_by=${encodeURIComponent("$makers(code:*)")}`
        )
      ).body.found ?? 0
    ).toBe(0)
  })
  it("counts the same event id of two organizations twice, and once in each", async () => {
    const today = new Date().toISOString().slice(0, 10)
    for (const tenant of [first, second]) {
      const again = await program.request("POST", "/v1/events", {
        key: tenant.full_key,
        body: { events: [{ type: "search", q: "again", collection: "goods", event_id: "e1", session_id: "s" }] }
      })
      expect(again.body).toEqual({ accepted: 0, deduplicated: 1, rejected: [] })
      const searches = async () =>
        (
          (
            await program.request("GET", `/v1/analytics/metrics/queries?from=${today}&to=${today}&collection=goods`, {
              key: tenant.full_key
            })
          ).body.data as Array<{ q: string; searches: number }>
        )
          .filter(({ q }) => q === (tenant === first ? "ordinary" : secret))
          .map((row) => row.searches)
      // The second organization searched for the word once; the first one's event is not added to that.
      await expect.poll(searches, { timeout: 60_000 }).toEqual(tenant === first ? [] : [1])
    }
  })
})
