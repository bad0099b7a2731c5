/**
 * A key with a list of collections, in an organization that has others: every operation is tried with everything that
 * names the others, in the path, in the query, in the body. Nothing of them is shown or changed, the answers about them
 * equal those about collections that do not exist, and everything within the key's reach works.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { rooms } from "../../src/rooms.ts"
import { storeModel } from "../support/rerank-model.ts"
import { type Answer, type Program, startProgram, type Tenant } from "../support/program.ts"
import { QUIET } from "../../src/voice/quiet.ts"
import { suggested } from "../support/synonym-suggestions.ts"

const reaches = rooms.table("reaches")

let program: Program
let tenant: Tenant
/** Full, search and connector key that reach `apples` and everything that begins with `apples_`. */
let full: string
let search: string
let connector: string
/** Part of every value of what is closed. */
const secret = "zanzibar"
/** Part of every name of what is closed; `nonesuch` is part of those of what does not exist. */
const closed = "pears",
  absent = "nonesuch"
interface Ids {
  readonly jobId: string
  readonly uploadId: string
  readonly keyId: string
  readonly webhookId: string
  readonly connectorId: string
  readonly installationId: string
  readonly deliveryId: string
  readonly suiteId: string
  readonly ruleId: string
  readonly suggestionId: string
  readonly alertId: string
  readonly experimentId: string
  readonly modelId: string
  readonly mediaId: string
  readonly threadId: string
  readonly assistantId: string
  readonly conversationId: string
}
let ownSuite: string
let ownAssistant: string
let ownModel: string
let ownRule: string
let ownSuggestion: string
let ids: Ids
const nobodys: Ids = {
  jobId: "job_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  uploadId: "fed_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  keyId: "key_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  webhookId: "whk_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  connectorId: "con_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  installationId: "cms_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  deliveryId: "dlv_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  suiteId: "qst_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  ruleId: "seo_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  suggestionId: "syn_0f3a2b7c9d1e4f5a6b7c8d9e0f",
  alertId: "alr_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  experimentId: "exp_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  modelId: "rec_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  mediaId: "med_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  threadId: "thr_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  assistantId: "ast_01ARZ3NDEKTSV4RRFFQ69G5FAV",
  conversationId: "cnv_01ARZ3NDEKTSV4RRFFQ69G5FAV"
}
const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
const day = new Date().toISOString().slice(0, 10)

interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly scope: string
}
let operations: ReadonlyArray<Operation>

/** Headers that resumable uploads require. */
const UPLOADING = { "tus-resumable": "1.0.0", "upload-length": "9", "upload-offset": "0" }
const send = (key: string, method: string, path: string, body?: unknown): Promise<Answer> =>
  program.request(
    method,
    path,
    path.startsWith("/api/v1")
      ? { headers: { authorization: `Bearer ${key}` }, body }
      : { key, body, headers: path.startsWith("/v1/ingest/uploads") ? UPLOADING : {} }
  )
const begun = (key: string, collection: string) =>
  made(key, "POST", `/v1/ingest/uploads?collection=${collection}&format=csv`)
const made = async (...request: Parameters<typeof send>) => {
  const answer = await send(...request)
  if (answer.status >= 300) throw new Error(`${request[1]} ${request[2]}: ${answer.status} ${answer.text}`)
  return answer
}

const suiteOf = (collection: string, q: string, params: object = {}) => ({
  name: q,
  collection,
  params: { query_by: "title", ...params },
  judgments: Array.from({ length: 20 }, (_, n) => ({ q: n === 0 ? q : `${q} ${n}`, document_id: "1", grade: 1 }))
})
const seoRuleOf = (collection: string, name = "r") => ({
  name,
  collection,
  facet_field: "title",
  url_template: "https://fruit.example/#SLUG#"
})
const recommendationOf = (collection: string) => ({ name: "mine", collection, type: "popular" })
const alertOf = (collection: string) => ({
  name: "a",
  metric: "searches",
  op: ">",
  threshold: 1e9,
  window_minutes: 5,
  collection
})
const experimentOf = (collection: string, name = "e") => ({
  name,
  collection,
  metric: "ctr",
  variants: [{ id: "a" }, { id: "b", params: { num_typos: 2 } }]
})
const fields = [
  { name: "title", type: "string", facet: true },
  { name: "n", type: "int32", optional: true }
]
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Fruit")
  const own = (method: string, path: string, body?: unknown) => made(tenant.full_key, method, path, body)
  await own("POST", "/v1/collections", {
    name: "apples",
    fields: [
      ...fields,
      { name: "code", type: "string", optional: true },
      { name: "picture", type: "image", store: false, optional: true },
      {
        name: "look",
        type: "float[]",
        optional: true,
        embed: { from: ["picture"], model_config: { model_name: "dowser/look-alike" } }
      }
    ]
  })
  // Refers to apples and would be deleted with them; refers to nothing else within the key's reach.
  await own("POST", "/v1/collections", {
    name: closed,
    fields: [
      { name: "title", type: "string", facet: true },
      {
        name: "apple",
        type: "string",
        reference: "apples.id",
        optional: true,
        async_reference: true,
        cascade_delete: false
      }
    ],
    metadata: { secret }
  })
  await own("POST", "/v1/collections", {
    name: "apples_log",
    fields: [
      { name: "q", type: "string" },
      { name: "count", type: "int32" }
    ]
  })
  for (const id of ["1", "2", "3"])
    await own("POST", "/v1/collections/apples/documents", { id, title: `apple ${id}`, code: id })
  await own("POST", `/v1/collections/${closed}/documents`, { id: secret, title: `pear ${secret}`, apple: "1" })
  await own("PUT", `/v1/aliases/${closed}_live`, { collection_name: closed })
  await own("PUT", "/v1/aliases/apples_live", { collection_name: "apples" })
  await own("PUT", `/v1/presets/${closed}`, { value: { q: secret } })
  await own("PUT", `/v1/synonym_sets/${closed}`, { items: [{ id: "one", synonyms: [secret, "same"] }] })
  await own("PUT", `/v1/curation_sets/${closed}`, {
    items: [
      {
        id: "one",
        rule: { query: "apple", match: "contains" },
        includes: [{ id: secret, position: 1 }],
        metadata: { secret }
      }
    ]
  })
  await own("PUT", `/v1/stopwords/${closed}`, { stopwords: [secret] })
  await own("POST", `/v1/stemming/dictionaries/import?id=${closed}`, `{"word":"${secret}","root":"root"}`)
  for (const [collection, name] of [
    [closed, closed],
    ["apples", "own"]
  ])
    await own("POST", `/v1/collections/${collection}/search-profiles`, {
      name,
      label: collection === closed ? secret : "Apples",
      searchable_fields: ["title"]
    })
  await own("PUT", `/v1/search_policies/${closed}`, { params: { analytics_tag: secret } })
  await own("PUT", `/v1/collections/${closed}/search_rules`, { banners: [{ id: "b", content: { text: secret } }] })
  await own("POST", "/v1/analytics/rules", {
    name: closed,
    type: "log",
    collection: closed,
    event_type: "click",
    params: {}
  })
  await own("POST", "/v1/events", {
    events: [
      { type: "search", q: secret, collection: closed, event_id: "e1", session_id: "s" },
      { type: secret, collection: closed },
      { type: secret }
    ]
  })
  const jobId = (await own("POST", `/v1/collections/${closed}/reindex`)).body.id as string
  const uploadId = (await begun(tenant.full_key, closed)).body.id as string
  const keyId = (await own("POST", "/v1/keys", { description: secret, scope: "search", collections: [closed] })).body
    .id as string
  const webhookId = (
    await own("POST", "/v1/webhooks", { name: secret, url: `http://127.0.0.1:9/${secret}`, events: ["*"] })
  ).body.id as string
  const shop = { name: secret, collection: closed, provider: "generic", sync_mode: "push" }
  const connectorId = (await own("POST", "/v1/connectors", shop)).body.id as string
  const cms = { name: secret, provider: "p", environment: "staging", origin: "https://shop.example" }
  const installationId = (await own("POST", "/v1/cms/installations", cms)).body.id as string
  const deliveryId = (await own("POST", `/v1/webhooks/${webhookId}/test`)).body.id as string
  const suiteId = (await own("POST", "/v1/quality/suites", suiteOf(closed, secret))).body.id as string
  const ruleId = (await own("POST", "/v1/seo/rules", seoRuleOf(closed, secret))).body.id as string
  ownRule = (await own("POST", "/v1/seo/rules", seoRuleOf("apples"))).body.id
  await program.topUp(tenant.organization_id, 100)
  const [suggestionId] = await suggested(program, tenant, closed, new Map([[`brulaxo ${secret}`, "one"]]))
  ownSuggestion = (await suggested(program, tenant, "apples", new Map([["stiveko", "two"]])))[0]!
  await own("POST", `/v1/collections/${closed}/graph/communities/generate`)
  for (const id of [ruleId, ownRule]) await own("POST", `/v1/seo/rules/${id}/pages/generate`)
  const alertId = (await own("POST", "/v1/alerts", { ...alertOf(closed), name: secret, enabled: false })).body
    .id as string
  await own("POST", "/v1/alerts", { ...alertOf(closed), collection: null, name: secret })
  ownSuite = (await own("POST", "/v1/quality/suites", suiteOf("apples", "apple"))).body.id
  const experimentId = (await own("POST", "/v1/experiments", experimentOf(closed, secret))).body.id as string
  const recommendation = { ...recommendationOf(closed), name: secret }
  const modelId = (await own("POST", "/v1/recommendations/models", recommendation)).body.id as string
  ownModel = (await own("POST", "/v1/recommendations/models", recommendationOf("apples"))).body.id
  const mediaId = (await own("POST", "/v1/media", { filename: `${secret}.txt` })).body.id as string
  const thread = { subject: secret, text: secret, session_id: "ses-1" }
  const threadId = (await own("POST", "/v1/support/threads", thread)).body.id as string
  const kept = { name: secret, collections: [closed], instructions: secret }
  const assistantId = (await own("POST", "/v1/assistants", kept)).body.id as string
  ownAssistant = (
    await own("POST", "/v1/assistants", {
      name: "apples",
      collections: ["apples"],
      search_params: { query_by: "title" }
    })
  ).body.id
  const asking = { messages: [{ role: "user", content: secret }] }
  const conversationId = (await own("POST", `/v1/assistants/${assistantId}/chat/completions`, asking)).body
    .conversation_id as string
  ids = {
    assistantId,
    conversationId,
    jobId,
    uploadId,
    keyId,
    webhookId,
    connectorId,
    installationId,
    deliveryId,
    suiteId,
    ruleId,
    suggestionId: suggestionId!,
    alertId,
    experimentId,
    modelId,
    mediaId,
    threadId
  }
  const collections = ["apples", "apples_.*"]
  // Every operation is called several times within a minute.
  const fast = { rate_limit_per_minute: 10_000 }
  full = (await own("POST", "/v1/keys", { description: "narrow", scope: "full", collections, ...fast })).body.value
  search = (
    await own("POST", "/v1/keys", { description: "narrow", scope: "search", gateway: true, collections, ...fast })
  ).body.value
  connector = (await own("POST", "/v1/keys", { description: "narrow", scope: "connector_write", collections, ...fast }))
    .body.value
  const documents = await Promise.all(
    ["/v1/openapi.json", "/api/v1/openapi.json"].map(async (path) => (await program.request("GET", path)).body)
  )
  operations = documents
    .flatMap(({ paths }) => Object.entries<Record<string, Record<string, string>>>(paths))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, entry]) => ({
        id: entry.operationId!,
        method: method.toUpperCase(),
        path,
        scope: entry["x-scope"]!
      }))
    )
    .filter(({ scope }) => !["public", "operator", "console"].includes(scope))
    .sort((a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE"))
})
afterAll(() => program.stop())

const q = encodeURIComponent
interface Attempt {
  readonly collection?: string
  readonly query?: string
  readonly body?: unknown
  readonly names?: Readonly<Record<string, string>>
}
/** A PNG. */
const ONE_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
const ndjson = (...lines: ReadonlyArray<unknown>) => lines.map((line) => JSON.stringify(line)).join("\n")
/**
 * Beside the operation with the other's names in its path: values in the query or the body that name `x`, for an
 * operation on what the key reaches.
 */
const attemptsOf = (id: string, x: string): ReadonlyArray<Attempt> => {
  const inApples = (attempt: Attempt): Attempt => ({ collection: "apples", ...attempt })
  const joins = [
    `filter_by=${q(`$${x}(id:*)`)}`,
    `filter_by=${q(`title:x || !$ ${x} (title:a)`)}`,
    `filter_by=${q(`$${x}_live(id:*)`)}`,
    `include_fields=${q(`$${x}(*)`)}`,
    `exclude_fields=${q(`$${x}`)}`,
    `include_fields=${q(`*, $${x}(title, strategy: merge)`)}`
  ]
  const schema = (more: object) => ({ name: "apples_new", fields: [{ name: "title", type: "string" }], ...more })
  const rule = (collection: string, params: object) => ({
    name: "mine",
    type: "popular_queries",
    collection,
    event_type: "search",
    params
  })
  const table: Readonly<Record<string, ReadonlyArray<Attempt>>> = {
    createCollection: [
      { body: schema({ name: x }) },
      { body: schema({}), query: `?src_name=${x}&copy_documents=true` },
      { body: { name: "apples_new" }, query: `?src_name=${x}` },
      { body: schema({ fields: [{ name: "p", type: "string", reference: `${x}.title` }] }) },
      { body: schema({ synonym_sets: [x] }) },
      { body: schema({ curation_sets: [x] }) }
    ],
    updateCollection: [
      inApples({ body: { fields: [{ name: "p", type: "string", reference: `${x}.title`, optional: true }] } }),
      inApples({ body: { synonym_sets: [x] } }),
      inApples({ body: { curation_sets: [x] } })
    ],
    exportDocuments: joins.map((join) => inApples({ query: `?${join}` })),
    getDocument: joins.slice(3).map((join) => inApples({ query: `?${join}`, names: { documentId: "1" } })),
    updateDocuments: joins.slice(0, 3).map((join) => inApples({ query: `?${join}`, body: { title: "changed" } })),
    deleteDocuments: joins.slice(0, 3).map((join) => inApples({ query: `?${join}` })),
    searchCollection: [
      ...joins,
      `sort_by=${q(`$${x}(title:asc)`)}`,
      `facet_by=${q(`$${x}(title)`)}`,
      `sort_by=${q(`_eval($${x}(id:*)):desc`)}`
    ].map((join) => inApples({ query: `?q=*&${join}` })),
    multiSearch: [
      ...[false, true].flatMap((union): ReadonlyArray<Attempt> => [
        {
          body: {
            union,
            searches: [
              { collection: "apples", q: "*" },
              { collection: x, q: "*" }
            ]
          }
        },
        { body: { union, searches: [{ collection: "apples", q: "*", filter_by: `$${x}(id:*)` }] } },
        { body: { union, searches: [{ collection: "apples", q: "*", include_fields: `$${x}(*)` }] } },
        { body: { union, searches: [{ collection: `${x}_live`, q: "*" }] } }
      ]),
      { query: `?filter_by=${q(`$${x}(id:*)`)}`, body: { searches: [{ collection: "apples", q: "*" }] } },
      { query: `?collection=${x}`, body: { searches: [{ q: "*" }] } }
    ],
    upsertSearchRule: [
      inApples({ body: { exclusion_filter_by: `$${x}(id:*)` } }),
      inApples({ body: { boosts: [{ filter_by: `$${x}(title:a)`, weight: 1, name: "b" }] } }),
      inApples({
        body: {
          sponsored: [
            { query: "a", match: "any", filter_by: `$${x}_live(id:*)`, label: "l", campaign_id: "c", position: 1 }
          ]
        }
      })
    ],
    previewSearchRule: [
      inApples({ body: { search: { q: "*" }, rules: { exclusion_filter_by: `$${x}(id:*)` } } }),
      inApples({ body: { search: { q: "*", filter_by: `$${x}(id:*)` } } }),
      inApples({ body: { search: { q: "*", include_fields: `$${x}(*)` } } })
    ],
    createSearchProfile: [
      inApples({ body: { name: "mine", searchable_fields: ["title"], fixed_filter_by: `$${x}(id:*)` } }),
      inApples({
        body: { name: "mine", searchable_fields: ["title"], sorts: [{ id: "a", sort_by: `$${x}(title:asc)` }] }
      })
    ],
    replaceSearchProfile: [
      inApples({
        names: { profileName: "own" },
        body: { searchable_fields: ["title"], fixed_filter_by: `!$${x}_live(id:*)` }
      })
    ],
    upsertAlias: [
      { body: { collection_name: "apples" } },
      { names: { aliasName: "apples_mine" }, body: { collection_name: x } }
    ],
    ingestEvents: [
      { body: { events: [{ type: "search", q: "x", collection: x, session_id: "s" }] } },
      { body: { events: [{ type: "click", collection: x, document_id: "1", session_id: "s" }] } }
    ],
    listFailedEvents: [{}, { query: `?collection=${x}` }],
    retryFailedEvents: [{ body: {} }, { body: { collection: x, set: { type: "search" } } }],
    createAnalyticsRule: [
      { body: rule(x, { destination_collection: "apples_log", limit: 5 }) },
      { body: rule("apples", { destination_collection: x, limit: 5 }) },
      { body: [rule("apples", { destination_collection: x, limit: 5 })] }
    ],
    upsertAnalyticsRule: [
      { names: { ruleName: "mine" }, body: rule("apples", { destination_collection: x, limit: 5 }) },
      { names: { ruleName: "mine" }, body: rule(x, { destination_collection: "apples_log", limit: 5 }) }
    ],
    getAnalyticsEvents: [{ query: `?name=${x}&user_id=s` }],
    ...Object.fromEntries(
      ["Query", "ZeroResult", "Overview", "Product", "Filter"].map((name) => [
        `get${name}Metrics`,
        [{ query: `?from=${day}&to=${day}` }, { query: `?from=${day}&to=${day}&collection=${x}` }]
      ])
    ),
    createQualitySuite: [{ body: suiteOf(x, "a") }, { body: suiteOf("apples", "a", { filter_by: `$${x}(id:*)` }) }],
    replaceQualitySuite: [
      { names: { suiteId: ownSuite }, body: suiteOf(x, "a") },
      { names: { suiteId: ownSuite }, body: suiteOf("apples", "a", { filter_by: `$${x}(id:*)` }) }
    ],
    runQualitySuite: [{ names: { suiteId: ownSuite }, body: { params: { filter_by: `$${x}(id:*)` } } }],
    createSeoRule: [{ body: seoRuleOf(x) }],
    updateSeoRule: [{ body: seoRuleOf(x) }, { names: { ruleId: ownRule }, body: seoRuleOf(x) }],
    createIngestJob: [{ body: ingestOf(x) }, { body: { ...ingestOf(x), config: { create_collection: true } } }],
    uploadIngestFeed: [{ query: `?collection=${x}&format=csv`, body: "id,title\n1,x\n" }],
    createIngestUpload: [{ query: `?collection=${x}&format=csv` }],
    createAlert: [{ body: alertOf(x) }, { body: { ...alertOf(x), collection: null } }],
    replaceAlert: [{ body: alertOf(x) }],
    createExperiment: [{ body: experimentOf(x) }],
    updateExperiment: [{ body: experimentOf(x) }],
    promoteExperiment: [{ body: { variant_id: "b" } }],
    createRecommendationModel: [{ body: recommendationOf(x) }],
    replaceRecommendationModel: [{ body: recommendationOf(x) }],
    recommend: [{ body: { model_id: x === closed ? ids.modelId : nobodys.modelId } }],
    createKey: [
      { body: { description: "wide", scope: "search", collections: [x] } },
      { body: { description: "wide", scope: "full", collections: ["*"] } },
      { body: { description: "wide", scope: "search", collections: [".*"] } },
      { body: { description: "wide", scope: "search", collections: ["apples", `${x}.*`] } }
    ],
    createBrowserKey: [{ body: { collections: [x] } }, { body: { collections: ["*"] } }],
    importStemmingDictionary: [{ query: `?id=${x}`, body: `{"word":"a","root":"b"}` }],
    gatewayMultiSearch: [
      {
        body: {
          searches: [
            { index: "apples", q: "*" },
            { index: x, q: "*" }
          ]
        }
      },
      { body: { searches: [{ index: "apples", q: "*", filter_by: `$${x}(id:*)` }] } }
    ],
    gatewayFederatedSearch: [
      {
        body: {
          searches: [
            { index: "apples", q: "*" },
            { index: x, q: "*" }
          ]
        }
      },
      { body: { searches: [{ index: "apples", q: "*", include_fields: `$${x}(*)` }] } }
    ],
    gatewaySearch: [inApples({ body: { q: "*", filter_by: `$${x}(id:*)` } })],
    createScopedToken: [{ body: { index: x, scopedFilter: "title:=a", expiresInSeconds: 60 } }]
  }
  return [...(table[id] ?? []), {}]
}
const ingestOf = (collection: string) => ({
  collection,
  source: "inline",
  config: { documents: [{ id: "1", title: "apple 1", code: "1" }] }
})
/** The body that an operation accepts if it names nothing itself. */
const plainBodies: Readonly<Record<string, unknown>> = {
  createCollection: { name: "apples_made", fields },
  updateCollection: { metadata: { a: 1 } },
  indexDocument: { id: "4", title: "apple 4" },
  importDocuments: ndjson({ id: "5", title: "apple 5" }),
  updateDocument: { title: "apple" },
  updateDocuments: { n: 1 },
  multiSearch: { searches: [{ collection: "apples", q: "*" }] },
  createEmbeddings: { input: "an apple" },
  semanticSearch: { q: "an apple" },
  imageSearch: { image: ONE_PIXEL },
  transcribeVoice: { audio: QUIET },
  voiceSearch: { audio: QUIET },
  upsertAlias: { collection_name: "apples" },
  upsertPreset: { value: { q: "x" } },
  upsertSearchPolicy: { params: { num_typos: 0 } },
  createSearchProfile: { name: "made", searchable_fields: ["title"] },
  replaceSearchProfile: { searchable_fields: ["title"] },
  publishSearchProfile: { expected_revision: 1 },
  activateProfileRelease: { release_id: "rel_none", expected_revision: 1 },
  upsertSynonymSet: { items: [] },
  upsertSynonymItem: { synonyms: ["a", "b"] },
  upsertCurationSet: { items: [] },
  upsertCurationItem: { rule: { query: "x", match: "exact" }, excludes: [{ id: "x" }] },
  upsertStopwords: { stopwords: ["x"] },
  importStemmingDictionary: ndjson({ word: "a", root: "b" }),
  upsertSearchRule: { exclusion_filter_by: "title:x" },
  previewSearchRule: { search: { q: "*" } },
  createKey: { description: "own", scope: "search" },
  createBrowserKey: {},
  createQualitySuite: suiteOf("apples", "apple"),
  replaceQualitySuite: suiteOf("apples", "apple"),
  weighMeaning: { profile: "own" },
  judgeFromClicks: { from: day, to: day },
  createSeoRule: seoRuleOf("apples"),
  updateSeoRule: seoRuleOf("apples"),
  createIngestJob: ingestOf("apples"),
  uploadIngestFeed: "id,title,code\n1,apple 1,1\n",
  suggestSynonyms: {},
  acceptSynonymSuggestion: { synonym_set: "mine" },
  createMedia: { filename: "apple.txt" },
  putMediaContent: "apple",
  uploadImage: { image: ONE_PIXEL },
  createAlert: alertOf("apples"),
  replaceAlert: alertOf("apples"),
  createExperiment: experimentOf("apples"),
  updateExperiment: experimentOf("apples"),
  promoteExperiment: { variant_id: "b" },
  createRecommendationModel: recommendationOf("apples"),
  replaceRecommendationModel: recommendationOf("apples"),
  trainRerankModel: { name: "clicks", from: day, to: day },
  createWebhook: { name: "x", url: "https://x.example/", events: ["*"] },
  updateWebhook: { name: "x", url: "https://x.example/", events: ["*"] },
  recoverWebhook: { since: 0 },
  replayEvents: { from: day, to: day, target: "analytics" },
  ingestEvents: { events: [{ type: "search", q: "mine", collection: "apples", session_id: "s" }] },
  retryFailedEvents: { collection: "apples" },
  createAnalyticsRule: { name: "logs", type: "log", collection: "apples", event_type: "click", params: {} },
  upsertAnalyticsRule: { type: "log", collection: "apples", event_type: "click", params: {} },
  gatewaySearch: { q: "*" },
  gatewayGeoSearch: { field: "place", lat: 1, lng: 1, radius_km: 1 },
  gatewayMultiSearch: { searches: [{ index: "apples", q: "*" }] },
  gatewayFederatedSearch: { searches: [{ index: "apples", q: "*" }] },
  gatewayPutDocuments: { documents: [{ id: "6", title: "apple 6" }] },
  gatewayDeleteDocuments: { ids: ["6"] },
  createScopedToken: { index: "apples", scopedFilter: "title:=a", expiresInSeconds: 60 }
}
const plainQueries: Readonly<Record<string, string>> = {
  searchCollection: "?q=*",
  updateDocuments: "?filter_by=title:apple",
  deleteDocuments: "?filter_by=id:9",
  uploadIngestFeed: "?collection=apples&format=csv",
  createIngestUpload: "?collection=apples&format=csv",
  getAnalyticsEvents: "?name=logs&user_id=s",
  listFailedEvents: "?collection=apples",
  importStemmingDictionary: "?id=x",
  ...Object.fromEntries(
    ["Query", "ZeroResult", "Overview", "Product", "Filter"].map((name) => [
      `get${name}Metrics`,
      `?from=${day}&to=${day}&collection=apples`
    ])
  )
}
const keysOf = ({ id, scope }: Operation): ReadonlyArray<string> =>
  id === "createScopedToken"
    ? [search]
    : scope === "search"
      ? [full, search]
      : scope === "connector_write"
        ? [full, connector]
        : [full]

const asked = (
  { id, method, path }: Operation,
  key: string,
  { body, collection, names, query }: Attempt,
  others: Readonly<Record<string, string>>
): Promise<Answer> => {
  const address = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    q(names?.[name] ?? (name === "collectionName" ? collection : undefined) ?? others[name] ?? "x")
  )
  const payload = body ?? plainBodies[id] ?? (["POST", "PUT", "PATCH"].includes(method) ? {} : undefined)
  return send(key, method, address + (query ?? plainQueries[id] ?? ""), method === "GET" ? undefined : payload)
}
const namesOf = (x: string, own: Ids): Readonly<Record<string, string>> => ({
  collectionName: x,
  documentId: x === closed ? secret : "ghost",
  aliasName: `${x}_live`,
  presetId: x,
  setName: x,
  setId: x,
  itemId: "one",
  dictionaryId: x,
  ruleName: x,
  profileName: x,
  policyName: x,
  userId: secret,
  slug: x === closed ? `pear-${secret}` : "pear-ghost",
  ...own
})

const everything = async () => {
  const answers = []
  for (const path of [
    "/v1/collections",
    `/v1/collections/${closed}/documents/export`,
    "/v1/collections/apples/documents/export",
    `/v1/collections/${closed}/search_rules`,
    "/v1/aliases",
    "/v1/presets",
    "/v1/search_policies",
    `/v1/collections/${closed}/search-profiles`,
    `/v1/collections/${closed}/synonym_suggestions`,
    `/v1/collections/${closed}/graph/entities`,
    "/v1/synonym_sets",
    "/v1/curation_sets",
    "/v1/stopwords",
    "/v1/stemming/dictionaries",
    "/v1/analytics/rules",
    `/v1/keys/${ids.keyId}`,
    "/v1/webhooks",
    "/v1/connectors",
    "/v1/cms/installations",
    `/v1/quality/suites/${ids.suiteId}`,
    `/v1/seo/rules/${ids.ruleId}`,
    `/v1/alerts/${ids.alertId}`,
    `/v1/experiments/${ids.experimentId}`,
    `/v1/recommendations/models/${ids.modelId}`,
    `/v1/media/${ids.mediaId}`,
    "/v1/jobs",
    `/v1/analytics/metrics/overview?from=${day}&to=${day}&collection=${closed}`,
    `/v1/events/failed?collection=${closed}`,
    "/v1/events/failed?collection=apples"
  ])
    answers.push([path, (await send(tenant.full_key, "GET", path)).text])
  return answers
}
/** Without the parts that differ between two answers of the same kind. */
const alike = ({ status, text }: Answer, ...names: ReadonlyArray<string>): string =>
  `${status} ${names.reduce((rest, name) => rest.replaceAll(name, "…"), text).replace(/"(search_time_ms|query_id|expiresAt|expires_at|key|token|received_at|id)":("[^"]*"|[\d.]+)/g, '"$1":…')}`

describe("a key with a list of collections", () => {
  it("has a line in the table for every operation, and no line is left over", () => {
    expect([...reaches.keys()].filter((id) => !operations.some((operation) => operation.id === id))).toEqual([])
    expect(operations.filter(({ id }) => reaches.get(id) === undefined)).toEqual([])
    expect(operations.length).toBeGreaterThan(90)
  })
  it("learns nothing of the others and changes nothing of them, whatever it requests", async () => {
    await expect
      .poll(async () => (await send(tenant.full_key, "GET", `/v1/jobs/${ids.jobId}`)).body.status, { timeout: 60_000 })
      .toBe("ready")
    await expect
      .poll(
        async () => (await send(tenant.full_key, "GET", `/v1/analytics/metrics/queries?from=${day}&to=${day}`)).text,
        { timeout: 60_000 }
      )
      .toContain(secret)
    // One is searched above, eight with the suggestions; those before midnight belong to the day before.
    const overview = `/v1/analytics/metrics/overview?from=${yesterday}&to=${day}&collection=${closed}`
    await expect
      .poll(async () => (await send(tenant.full_key, "GET", overview)).body.totals.searches, { timeout: 60_000 })
      .toBe(9)
    const before = await everything()
    let tried = 0
    for (const operation of operations) {
      const there = attemptsOf(operation.id, closed),
        nowhere = attemptsOf(operation.id, absent)
      for (const [i, attempt] of there.entries())
        for (const key of keysOf(operation)) {
          // An operation with no names of its own, and none in its path, is called for what the key reaches.
          const isPlain = Object.keys(attempt).length === 0 && !operation.path.includes("{")
          const answer = await asked(operation, key, attempt, namesOf(closed, ids))
          const place = `${operation.id} ${JSON.stringify(attempt)} ${answer.status} ${answer.text.slice(0, 300)}`
          expect(answer.status, place).toBeLessThan(500)
          // These repeat the requested user.
          if (operation.id !== "eraseSubject" && operation.id !== "getPersonalizationProfile")
            expect(answer.text, place).not.toContain(secret)
          if (isPlain) {
            expect(answer.text, place).not.toContain(closed)
            continue
          }
          if (operation.id === "getPersonalizationProfile") {
            expect(answer.body, place).toMatchObject({ events: 0, affinities: [], recent: [] })
            continue
          }
          // Names of rules are unique in the organization: that one is taken has to be reported.
          if (operation.id === "upsertAnalyticsRule" && Object.keys(attempt).length === 0) {
            expect([answer.status, answer.body.data.issues], place).toEqual([
              400,
              [{ path: "name", message: "Rule already exists" }]
            ])
            continue
          }
          expect(alike(answer, closed, secret, ...Object.values(ids)), place).toBe(
            alike(
              await asked(operation, key, nowhere[i]!, namesOf(absent, nobodys)),
              absent,
              "ghost",
              ...Object.values(nobodys)
            )
          )
          const isEvents = operation.id === "ingestEvents"
          if (isEvents) expect(answer.body.accepted, place).toBe(0)
          else if (Object.keys(attempt).length > 0 || reaches.get(operation.id) !== "none")
            expect([400, 403, 404], place).toContain(answer.status)
          if (attempt.collection === "apples" || operation.path.includes("{collectionName}"))
            expect(answer.status, place).toBe(403)
          tried++
        }
    }
    expect(tried).toBeGreaterThan(150)
    // Entries refused to the key are kept among the failures, where the owner looks for them; its own jobs, rules and
    // collections are not the others'.
    const after = await everything()
    for (const [i, [path, text]] of before.entries()) {
      if (["/v1/collections", "/v1/keys", "/v1/aliases", "/v1/analytics/rules", "/v1/jobs"].includes(path!)) continue
      if (path!.startsWith("/v1/events/failed"))
        for (const { id } of JSON.parse(text!).data as ReadonlyArray<{ id: string }>) expect(after[i]![1]).toContain(id)
      else expect(after[i]).toEqual([path, text])
    }
    const rows = async (path: string, list: string) =>
      (await send(tenant.full_key, "GET", path)).body[list] as ReadonlyArray<object>
    expect(
      (await rows("/v1/aliases", "aliases")).filter((alias) => JSON.stringify(alias).includes(closed)).length
    ).toBe(1)
    expect(
      (await rows("/v1/keys", "keys")).filter(({ collections }: { collections?: ReadonlyArray<string> }) =>
        collections?.some((name) => name.includes(closed))
      ).length
    ).toBe(1)
  })
  it("has full use of its own collections", async () => {
    const does = async (
      operation: Operation,
      key: string,
      attempt: Attempt,
      others: Readonly<Record<string, string>>
    ) => {
      const answer = await asked(operation, key, attempt, others)
      return `${operation.id} ${answer.status} ${answer.status < 300 ? "" : answer.text}`.trim()
    }
    const jobId = (await made(full, "POST", "/v1/collections/apples/reindex")).body.id as string
    const keyId = (await made(full, "POST", "/v1/keys", { description: "own", scope: "search" })).body.id as string
    await made(tenant.full_key, "PATCH", "/v1/collections/apples", {
      fields: [{ name: "place", type: "geopoint", optional: true }]
    })
    const releaseId = (
      await made(full, "POST", "/v1/collections/apples/search-profiles/own/publish", { expected_revision: 1 })
    ).body.id as string
    const others = {
      profileName: "own",
      releaseId,
      collectionName: "apples",
      documentId: "2",
      aliasName: "apples_own",
      ruleName: "own_rule",
      jobId,
      uploadId: (await begun(full, "apples")).body.id as string,
      keyId,
      suiteId: ownSuite,
      ruleId: ownRule,
      suggestionId: ownSuggestion,
      slug: "apple-1",
      alertId: (await made(full, "POST", "/v1/alerts", alertOf("apples"))).body.id as string,
      experimentId: (await made(full, "POST", "/v1/experiments", experimentOf("apples"))).body.id as string,
      modelId: (await made(full, "POST", "/v1/recommendations/models", recommendationOf("apples"))).body.id as string,
      modelName: "clicks",
      mediaId: ids.mediaId,
      threadId: ids.threadId,
      assistantId: ownAssistant,
      conversationId: ids.conversationId
    }
    await storeModel(program, tenant.organization_id, "apples", "clicks")
    const differing: Array<string> = []
    // Search rules that are to be read, and a document that is to be deleted, exist by then.
    const order = [
      "createCollection",
      "indexDocument",
      "upsertSearchRule",
      "publishSearchProfile",
      "activateProfileRelease",
      "upsertAlias",
      "updateExperiment",
      "startExperiment",
      "upsertAnalyticsRule",
      "createAnalyticsRule",
      "gatewayPutDocuments"
    ]
    const rank = ({ id, method }: Operation) =>
      order.includes(id) ? 0 : id === "deleteCollection" ? 3 : method === "DELETE" ? 2 : 1
    for (const operation of [...operations].sort((a, b) => rank(a) - rank(b))) {
      // Only the key of an installation permits these.
      if (operation.scope === "installation") continue
      const reach = reaches.get(operation.id)!
      for (const key of operation.id === "createScopedToken"
        ? [search]
        : operation.scope === "connector_write"
          ? [connector]
          : [full]) {
        // The walk above created what the key may create, under those names.
        const fresh: Attempt =
          operation.id === "createCollection"
            ? { body: { name: "apples_again", fields } }
            : operation.id === "createAnalyticsRule"
              ? { body: { name: "again", type: "log", collection: "apples", event_type: "click", params: {} } }
              : operation.id === "createSearchProfile"
                ? { body: { name: "again", searchable_fields: ["title"] } }
                : operation.id === "activateProfileRelease"
                  ? { body: { release_id: releaseId, expected_revision: 1 } }
                  : operation.id === "chat"
                    ? { body: { messages: [{ role: "user", content: "apple" }] } }
                    : operation.id === "recommend"
                      ? { body: { model_id: ownModel } }
                      : {}
        const outcome = await does(operation, key, fresh, others)
        const isAllowed = reach !== "organization" && reach !== "session"
        // The job is over or cancelled by then; a reindex may still be running. An experiment over all searches of a
        // collection has no place that its parameters could be promoted to. If no model is installed, operations that
        // need one say so.
        const conflicting = [
          "reindexCollection",
          "promoteExperiment",
          "rollbackExperimentPromotion",
          "createEmbeddings",
          "semanticSearch",
          "transcribeVoice",
          "voiceSearch"
        ]
        const fits = isAllowed
          ? / 2\d\d$/.test(outcome) ||
            // Everything that is decided before the upgrade has passed.
            (operation.id === "voiceStream" && outcome.includes(" 426 ")) ||
            (conflicting.includes(operation.id) && outcome.includes(" 409 "))
          : outcome.includes(" 403 ")
        if (!fits) differing.push(outcome)
      }
    }
    expect(differing).toEqual([])
  })
  it("does not reach through references: writing neither reads the other collection nor deletes from it", async () => {
    const own = (method: string, path: string, body?: unknown) => made(tenant.full_key, method, path, body)
    const key = (await own("POST", "/v1/keys", { description: "k", scope: "full", collections: ["cores", "cores_.*"] }))
      .body.value as string
    const both = (
      await own("POST", "/v1/keys", { description: "k", scope: "full", collections: ["cores", "peels", "seeds"] })
    ).body.value as string
    const carrier = (
      await own("POST", "/v1/keys", { description: "k", scope: "connector_write", collections: ["cores"] })
    ).body.value as string
    await own("POST", "/v1/collections", { name: "peels", fields: [{ name: "code", type: "string" }] })
    await own("POST", "/v1/collections", {
      name: "cores",
      fields: [
        { name: "title", type: "string" },
        { name: "peel", type: "string", reference: "peels.code", optional: true }
      ]
    })
    await own("POST", "/v1/collections", {
      name: "seeds",
      fields: [{ name: "core", type: "string", reference: "cores.id" }]
    })
    await own("POST", "/v1/collections/peels/documents", { id: "1", code: secret })
    await own("POST", "/v1/collections/cores/documents", { id: "1", title: "core", peel: secret })
    await own("POST", "/v1/collections/seeds/documents", { id: "1", core: "1" })
    const refused: ReadonlyArray<readonly [key: string, method: string, path: string, body?: unknown]> = [
      ...[secret, "guess"].flatMap(
        (peel) =>
          [
            [key, "POST", "/v1/collections/cores/documents", { id: "2", title: "x", peel }],
            [key, "POST", "/v1/collections/cores/documents/import", ndjson({ id: "2", title: "x", peel })],
            [key, "PATCH", "/v1/collections/cores/documents/1", { peel }],
            [key, "PATCH", "/v1/collections/cores/documents?filter_by=id:1", { peel }],
            [carrier, "POST", "/api/v1/indexes/cores/documents", { documents: [{ id: "2", title: "x", peel }] }]
          ] as const
      ),
      [key, "POST", "/v1/collections?src_name=cores&copy_documents=true", { name: "cores_2" }],
      [key, "POST", "/v1/collections/cores/reindex"],
      [key, "DELETE", "/v1/collections/cores/documents/1"],
      [key, "DELETE", "/v1/collections/cores/documents?filter_by=id:1"],
      [key, "DELETE", "/v1/collections/cores/documents?truncate=true"],
      [carrier, "DELETE", "/api/v1/indexes/cores/documents", { ids: ["1"] }]
    ]
    for (const [by, method, path, body] of refused) {
      const answer = await send(by, method, path, body)
      expect([method, path, answer.status, answer.text.includes(secret), /peels|seeds/.test(answer.text)]).toEqual([
        method,
        path,
        403,
        false,
        false
      ])
    }
    expect((await send(tenant.full_key, "GET", "/v1/collections/seeds/documents/1")).status).toBe(200)
    expect((await send(both, "PATCH", "/v1/collections/cores/documents/1", { peel: secret })).status).toBe(200)
    expect((await send(both, "DELETE", "/v1/collections/cores/documents/1")).status).toBe(200)
    expect((await send(tenant.full_key, "GET", "/v1/collections/seeds/documents/1")).status).toBe(404)
  })
  it("moves no alias that points elsewhere, and an alias that its owner created is a name like any other", async () => {
    const own = (method: string, path: string, body?: unknown) => made(tenant.full_key, method, path, body)
    await own("POST", "/v1/collections", { name: "figs", fields: [{ name: "title", type: "string" }] })
    await own("PUT", "/v1/aliases/apples_by_hand", { collection_name: "figs" })
    expect((await send(full, "GET", "/v1/collections/apples_by_hand")).body.name).toBe("figs")
    expect((await send(full, "GET", "/v1/collections")).body.map(({ name }: { name: string }) => name)).toContain(
      "figs"
    )
    for (const [method, body] of [["GET"], ["PUT", { collection_name: "apples_log" }], ["DELETE"]] as const)
      expect((await send(full, method, "/v1/aliases/apples_by_hand", body)).status, method).toBe(403)
    expect((await send(full, "GET", "/v1/aliases")).text).not.toContain("figs")
    expect((await send(tenant.full_key, "GET", "/v1/aliases/apples_by_hand")).body.collection_name).toBe("figs")
  })
  it("is not refused for what the tenant's own curations join", async () => {
    const own = (method: string, path: string, body?: unknown) => made(tenant.full_key, method, path, body)
    await own("POST", "/v1/collections", { name: "limes", fields: [{ name: "code", type: "string" }] })
    await own("PUT", "/v1/curation_sets/joining", {
      items: [{ id: "one", rule: { query: "lemon", match: "contains" }, filter_by: "$limes(code:=a)" }]
    })
    await own("POST", "/v1/collections", {
      name: "lemons",
      curation_sets: ["joining"],
      fields: [
        { name: "title", type: "string" },
        { name: "lime", type: "string", reference: "limes.code", optional: true, async_reference: true }
      ]
    })
    await own("POST", "/v1/collections/lemons/documents", { id: "1", title: "lemon", lime: "a" })
    const key = (await own("POST", "/v1/keys", { description: "k", scope: "search", collections: ["lemons"] })).body
      .value as string
    const found = await send(key, "GET", "/v1/collections/lemons/documents/search?q=lemon&query_by=title")
    expect([found.status, found.body.found]).toEqual([200, 1])
    expect(
      (
        await send(
          key,
          "GET",
          `/v1/collections/lemons/documents/search?q=lemon&query_by=title&filter_by=${q("$limes(code:=a)")}`
        )
      ).status
    ).toBe(403)
    expect(
      (
        await send(
          key,
          "GET",
          `/v1/collections/lemons/documents/search?q=lemon&query_by=title&filter_by=${q("$nonesuch(code:=a)")}`
        )
      ).status
    ).toBe(403)
    // A key that reaches everything learns that there is none.
    expect(
      (
        await send(
          tenant.search_key,
          "GET",
          `/v1/collections/lemons/documents/search?q=lemon&query_by=title&filter_by=${q("$nonesuch(code:=a)")}`
        )
      ).status
    ).toBe(400)
  })
})
