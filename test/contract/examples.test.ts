/**
 * The example of every operation is sent to the program, to an organization that has what examples name, and answered
 * as the operation declares. Tenant operations and the console's each have an organization of their own, so that a twin
 * finds what its original deleted.
 */
import { createHmac } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Operation } from "../../src/http/operation.ts"
import { sampleIds } from "../../src/api/sample-ids.ts"
import { allOperations } from "../support/operations.ts"
import { suggested } from "../support/synonym-suggestions.ts"
import { storeModel } from "../support/rerank-model.ts"
import { type EmbeddingServer, startEmbeddingServer } from "../support/embedding-server.ts"
import { startTranscriberServer, type TranscriberServer } from "../support/transcriber-server.ts"
import { type Program, startProgram } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { talkFields } from "../support/talks.ts"
import { openVoice } from "../support/voice-client.ts"

type Ids = Readonly<Record<keyof typeof sampleIds, string>>
interface Furnished {
  readonly ids: Ids
  readonly full: string
  readonly search: string
  readonly gateway: string
  readonly connector: string
  /** Of a CMS installation that has a configuration. */ readonly installation: string
  /** The secret with which a shop system signs. */ readonly signing: string
  readonly cookie: string
}

let program: Program
let models: EmbeddingServer
let transcriber: TranscriberServer
let operations: ReadonlyArray<Operation>
const operator = () => ({ authorization: `Bearer ${program.operatorToken}` })

const products = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => ({
  id: `p${n}`,
  title: n % 2 === 0 ? `Enamel mug ${n}` : `Oak board ${n}`,
  brand: n % 3 === 0 ? "Grain" : "Hearth",
  category: "Kitchen",
  price: n * 10,
  popularity: n,
  discontinued: n === 7,
  store: [52.5 + n / 100, 13.4]
}))
const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "category", type: "string", facet: true },
  { name: "price", type: "float" },
  { name: "popularity", type: "int32" },
  { name: "discontinued", type: "bool" },
  { name: "store", type: "geopoint", optional: true }
]
const curation = { rule: { query: "coat", match: "contains" }, includes: [{ id: "p1", position: 1 }] }
const webhook = { name: "Shop", url: "https://shop.example/hooks/search", events: ["*"] }
const recommendation = { name: "Also viewed", collection: "products", type: "also_viewed" }
const alert = { name: "Lag", metric: "events_lag_seconds", op: ">", threshold: 60, window_minutes: 5 }
const seoRule = {
  name: "Brands",
  collection: "products",
  facet_field: "brand",
  url_template: "https://shop.example/#SLUG#"
}
const connector = { name: "Shop", collection: "products", provider: "generic", sync_mode: "push" }
const cms = { name: "Shop", provider: "bitrix", environment: "production", origin: "https://shop.example" }
/** Nothing listens there: its jobs fail by themselves. */
const pulled = { ...connector, sync_mode: "pull", pull_url: "http://127.0.0.1:9/products" }
const suite = { name: "Mugs", collection: "products", judgments: [{ q: "mug", document_id: "p2", grade: 3 }] }

/** An organization with everything that examples name. */
const furnish = async (name: string): Promise<Furnished> => {
  const { full_key: full, organization_id: organization, search_key: search } = await program.tenant(name)
  const must = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await program.request(method, path, {
      ...(headers === undefined ? { key: full } : { headers }),
      body
    })
    if (answer.status >= 300 || answer.text.includes('"success":false'))
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer
  }
  const idOf = async (...asked: Parameters<typeof must>): Promise<string> => (await must(...asked)).body.id
  for (const collection of ["products", "old_products", "drafts"])
    await must("POST", "/v1/collections", { name: collection, fields })
  await must("PUT", "/v1/ai/providers/text_embedder", { kind: "openai", model: "words", url: models.url })
  await must("PUT", "/v1/ai/providers/transcriber", { kind: "openai", model: "words", url: transcriber.url })
  const model_config = { model_name: "openai/words", url: models.url }
  await must("POST", "/v1/collections", {
    name: "meanings",
    fields: [
      { name: "title", type: "string" },
      { name: "meaning", type: "float[]", embed: { from: ["title"], model_config } }
    ]
  })
  await must("POST", "/v1/collections/meanings/search-profiles", { name: "weighed", searchable_fields: ["title"] })
  await must("POST", "/v1/collections/meanings/documents", { id: "m1", title: "Reading lamp for the night" })
  await must("POST", "/v1/collections", {
    name: "pictures",
    fields: [
      { name: "picture", type: "image", store: false, optional: true },
      {
        name: "look",
        type: "float[]",
        optional: true,
        embed: { from: ["picture"], model_config: { model_name: "dowser/look-alike" } }
      }
    ]
  })
  await must("POST", "/v1/collections", { name: "conversations", fields: talkFields })
  await must("POST", "/v1/collections", { name: "brands", fields: [{ name: "name", type: "string" }] })
  await must("POST", "/v1/collections", {
    name: "popular_queries",
    fields: [
      { name: "q", type: "string" },
      { name: "count", type: "int32" }
    ]
  })
  await must(
    "POST",
    "/v1/collections/products/documents/import",
    products.map((product) => JSON.stringify(product)).join("\n")
  )
  await must("POST", "/v1/collections/brands/documents", { id: "b1", name: "Hearth" })
  for (const one of ["shop", "old_shop"]) await must("PUT", `/v1/aliases/${one}`, { collection_name: "products" })
  for (const one of ["listing", "old_listing"])
    await must("PUT", `/v1/presets/${one}`, { value: { query_by: "title" } })
  for (const one of ["clothing", "old_clothing"])
    await must("PUT", `/v1/synonym_sets/${one}`, {
      items: [
        { id: "coat", synonyms: ["coat", "parka"] },
        { id: "hat", synonyms: ["hat", "cap"] }
      ]
    })
  for (const one of ["campaigns", "old_campaigns"])
    await must("PUT", `/v1/curation_sets/${one}`, {
      items: [
        { id: "winter", ...curation },
        { id: "mugs", ...curation }
      ]
    })
  for (const one of ["english", "old_english"]) await must("PUT", `/v1/stopwords/${one}`, { stopwords: ["the"] })
  for (const one of ["plurals", "old_plurals"])
    await must("POST", `/v1/stemming/dictionaries/import?id=${one}`, '{"word":"mice","root":"mouse"}')
  for (const one of ["products", "drafts"])
    await must("PUT", `/v1/collections/${one}/search_rules`, { redirects: [{ query: "x", url: "/x" }] })
  for (const one of ["product_clicks", "old_rule"])
    await must("POST", "/v1/analytics/rules", {
      name: one,
      type: "counter",
      collection: "products",
      event_type: "click",
      params: { counter_field: "popularity", weight: 1 }
    })
  await must("POST", "/v1/analytics/rules", {
    name: "logged_clicks",
    type: "log",
    collection: "products",
    event_type: "click",
    params: {}
  })
  for (const one of ["forgiving", "old_policy"])
    await must("PUT", `/v1/search_policies/${one}`, { params: { num_typos: 2 } })
  const profiles = "/v1/collections/products/search-profiles"
  for (const one of ["listing", "old_listing"])
    await must("POST", profiles, { name: one, searchable_fields: ["title"] })
  const release = await idOf("POST", `${profiles}/listing/publish`, { expected_revision: 1 })
  for (const one of ["clicks", "old_clicks"]) await storeModel(program, organization, "products", one)
  const key = async (body: object) =>
    (await must("POST", "/v1/keys", { description: "k", rate_limit_per_minute: 0, ...body })).body as {
      readonly id: string
      readonly value: string
    }
  const webhookId = await idOf("POST", "/v1/webhooks", webhook)
  const shop = (await must("POST", "/v1/connectors", connector)).body as {
    readonly id: string
    readonly secret: string
  }
  const members = `/console/v1/organizations/${organization}/members`
  const signIn = {
    email: "owner@shop.example",
    password: "correct horse battery staple",
    ...(name === "First" ? {} : { email: "second@shop.example" })
  }
  await must("POST", members, { ...signIn, role: "owner" }, operator())
  const session = await program.request("POST", "/console/v1/sessions", { body: signIn })
  const upload = async (): Promise<string> =>
    (
      await program.request("POST", "/v1/ingest/uploads?collection=drafts&format=jsonl", {
        key: full,
        headers: { "tus-resumable": "1.0.0", "upload-length": "100" }
      })
    ).body.id
  const rule = await idOf("POST", "/v1/seo/rules", seoRule)
  const generation = await idOf("POST", `/v1/seo/rules/${rule}/pages/generate`)
  await eventually("pages of landing", async () =>
    (await must("GET", `/v1/jobs/${generation}`)).body.status === "ready" ? true : undefined
  )
  await program.topUp(organization, 100)
  const words = new Map([
    ["brulaxo", "enamel mug"],
    ["stiveko", "oak board"]
  ])
  const [synonymSuggestion, oldSynonymSuggestion] = await suggested(
    program,
    { organization_id: organization, full_key: full },
    "products",
    words
  )
  return {
    full,
    search,
    gateway: (await key({ scope: "search", gateway: true })).value,
    connector: (await key({ scope: "connector_write" })).value,
    installation: await furnishInstallation(must, shop.id),
    signing: shop.secret,
    cookie: (session.headers.get("set-cookie") ?? "").split(";")[0]!,
    ids: {
      organization,
      otherOrganization: (await program.tenant(`${name}, another`)).organization_id,
      key: (await key({ scope: "search" })).id,
      leakedKey: (await key({ scope: "search" })).id,
      webhook: webhookId,
      oldWebhook: await idOf("POST", "/v1/webhooks", webhook),
      suite: await idOf("POST", "/v1/quality/suites", suite),
      meaningSuite: await idOf("POST", "/v1/quality/suites", {
        name: "Meaning",
        collection: "meanings",
        judgments: Array.from({ length: 20 }, (_, n) => ({ q: `lamp ${n}`, document_id: "m1", grade: 1 }))
      }),
      oldSuite: await idOf("POST", "/v1/quality/suites", suite),
      seoRule: rule,
      synonymSuggestion: synonymSuggestion!,
      oldSynonymSuggestion: oldSynonymSuggestion!,
      oldSeoRule: await idOf("POST", "/v1/seo/rules", seoRule),
      alert: await idOf("POST", "/v1/alerts", alert),
      oldAlert: await idOf("POST", "/v1/alerts", alert),
      ...(await furnishExperiments(must)),
      recommendationModel: await idOf("POST", "/v1/recommendations/models", recommendation),
      oldRecommendationModel: await idOf("POST", "/v1/recommendations/models", recommendation),
      delivery: await idOf("POST", `/v1/webhooks/${webhookId}/test`),
      job: await idOf("POST", "/v1/collections/drafts/reindex"),
      upload: await upload(),
      oldUpload: await upload(),
      ...(await furnishMedia(full, must).then(async (media) => ({
        ...media,
        ...(await furnishSupport(must, media.media))
      }))),
      ...(await furnishAssistants(full, must)),
      connector: shop.id,
      oldConnector: await idOf("POST", "/v1/connectors", connector),
      cmsInstallation: await idOf("POST", "/v1/cms/installations", cms),
      oldCmsInstallation: await idOf("POST", "/v1/cms/installations", cms),
      pullConnector: await idOf("POST", "/v1/connectors", pulled),
      member: await idOf("POST", members, { email: `member-${name}@shop.example`, role: "member" }, operator()),
      formerMember: await idOf("POST", members, { email: `former-${name}@shop.example`, role: "member" }, operator()),
      release
    }
  }
}

/** Assistants, and conversations of one. */
const furnishAssistants = async (
  key: string,
  must: (method: string, path: string, body?: unknown) => Promise<{ readonly body: any }>
) => {
  const made = async () =>
    (await must("POST", "/v1/assistants", { name: "Shop", collections: ["meanings"] })).body.id as string
  const [assistant, oldAssistant] = [await made(), await made()]
  const asked = async () => {
    const { body } = await program.request("POST", `/v1/assistants/${assistant}/chat/completions`, {
      key,
      headers: { "x-svc-session-id": "ses-1" },
      body: { messages: [{ role: "user", content: "Which lamp is it?" }] }
    })
    return body.conversation_id as string
  }
  return { assistant, oldAssistant, conversation: await asked(), oldConversation: await asked() }
}
/** A thread with an attachment, and one to delete. */
const furnishSupport = async (
  must: (method: string, path: string, body?: unknown) => Promise<{ readonly body: any }>,
  media: string
) => {
  const thread = { subject: "A question", text: "Where is it?", session_id: "ses-1" }
  const make = async (more: object) =>
    (await must("POST", "/v1/support/threads", { ...thread, ...more })).body.id as string
  return { supportThread: await make({ media_ids: [media] }), oldSupportThread: await make({}) }
}
/** Media with content, without any, and one to delete. */
const furnishMedia = async (
  key: string,
  must: (method: string, path: string, body?: unknown) => Promise<{ readonly body: any }>
) => {
  const make = async () => (await must("POST", "/v1/media", { filename: "notes.txt" })).body.id as string
  const media = await make()
  await program.request("PUT", `/v1/media/${media}/content`, { key, body: Buffer.from("notes") })
  return { media, emptyMedia: await make(), oldMedia: await make() }
}
/** The key of an installation with a source of the connector. */
const furnishInstallation = async (
  must: (method: string, path: string, body?: unknown) => Promise<{ readonly body: any }>,
  connector_id: string
) => {
  const { id, installation_key } = (await must("POST", "/v1/cms/installations", cms)).body
  const source = { local_id: "catalogue", collection: "products", connector_id }
  const config = { protocol_version: 1, stores: [{ local_id: "main", sources: [source] }] }
  await must("PUT", `/v1/cms/installations/${id}/config`, { expected_revision: 0, config })
  return installation_key as string
}
/** Experiments in every state that an example needs, each over a preset of its own. */
const furnishExperiments = async (
  must: (method: string, path: string, body?: unknown) => Promise<{ readonly body: any }>
) => {
  const states: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["experiment", []],
    ["oldExperiment", []],
    ["otherExperiment", []],
    ["runningExperiment", ["start"]],
    ["stoppedExperiment", ["start", "stop"]],
    ["promotedExperiment", ["start", "promote"]]
  ]
  const ids: Record<string, string> = {}
  for (const [name, acts] of states) {
    const preset = `tried_${name}`
    await must("PUT", `/v1/presets/${preset}`, { value: { query_by: "title" } })
    const experiment = {
      name,
      collection: "products",
      metric: "ctr",
      target: { preset },
      variants: [{ id: "as_is" }, { id: "better", params: { num_typos: 2 } }]
    }
    ids[name] = (await must("POST", "/v1/experiments", experiment)).body.id as string
    for (const act of acts)
      await must(
        "POST",
        `/v1/experiments/${ids[name]}/${act}`,
        act === "promote" ? { variant_id: "better" } : undefined
      )
  }
  return ids as Pick<
    Ids,
    | "experiment"
    | "oldExperiment"
    | "otherExperiment"
    | "runningExperiment"
    | "stoppedExperiment"
    | "promotedExperiment"
  >
}

let tenant: Furnished, people: Furnished
beforeAll(async () => {
  models = await startEmbeddingServer()
  transcriber = await startTranscriberServer()
  program = await startProgram({ demoProducts: 20, allowPrivateAddresses: true })
  operations = await allOperations()
  tenant = await furnish("First")
  people = await furnish("Second")
})
afterAll(async () => {
  await program.stop()
  await models.close()
  await transcriber.close()
})

/** Rooms whose data belongs to a session. */
const sessions = new Set(["assistants", "support"])
/** The credential of the least privileged caller of the scope. */
const credential = (
  { group, plane, scope }: Operation,
  { connector, cookie, full, gateway, installation, search }: Furnished
): Record<string, string> => {
  if (scope === "public") return {}
  if (scope === "full") return { "x-svc-api-key": full }
  if (scope === "connector_write") return { authorization: `Bearer ${connector}` }
  if (scope === "search")
    return plane === "gateway"
      ? { authorization: `Bearer ${gateway}` }
      : { "x-svc-api-key": search, ...(sessions.has(group) ? { "x-svc-session-id": "ses-1" } : {}) }
  if (scope === "installation") return { authorization: `Bearer ${installation}` }
  return group === "console sessions" ? { cookie } : operator()
}

const signed = (text: string, secret: string): Record<string, string> => {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const signature = createHmac("sha256", secret).update(`${timestamp}.${text}`).digest("hex")
  return { "x-signature-timestamp": timestamp, "x-signature": signature }
}
/** The request of an example, with an organization's ids in place of the sample ones. */
const requestOf = (operation: Operation, furnished: Furnished) => {
  const named = (text: string): string =>
    Object.entries(sampleIds)
      .reduce((sum, [name, id]) => sum.replaceAll(id, furnished.ids[name as keyof Ids]), text)
      .replaceAll("https://models.example", models.url)
  const { body, headers, params = {}, query } = operation.example
  const path = operation.path.replace(/:([A-Za-z_]+)/g, (_, name: string) =>
    encodeURIComponent(named(params[name] ?? `no-${name}`))
  )
  const text = body === undefined ? undefined : named(typeof body === "string" ? body : JSON.stringify(body))
  return {
    url: `${program.base}${path}${query === undefined ? "" : `?${new URLSearchParams(query)}`}`,
    method: operation.method,
    headers: {
      ...credential(operation, furnished),
      ...(operation.id === "pushConnectorEvents" ? signed(text!, furnished.signing) : {}),
      ...headers,
      ...(text === undefined || typeof body === "string" ? {} : { "content-type": "application/json" })
    },
    body: text
  }
}

/** The beginning of a stream that does not end. */
const beginningOf = async (answer: Response): Promise<string> => {
  const reader = answer.body!.getReader()
  const { value } = await reader.read()
  await reader.cancel()
  return new TextDecoder().decode(value)
}

describe("examples", () => {
  it("of every operation are sent and answered as the operation declares", async () => {
    const refused: Array<string> = []
    let cookie: string | undefined
    // Deletions are sent last, so that all others find what they name.
    for (const operation of [...operations].sort(
      (a, b) => Number(a.method === "DELETE") - Number(b.method === "DELETE")
    )) {
      const furnished = operation.scope === "console" && operation.group !== "console sessions" ? people : tenant
      const { url, ...request } = requestOf(operation, cookie === undefined ? furnished : { ...furnished, cookie })
      if (operation.success.type === "web_socket") {
        const opened = await openVoice(url, "", request.headers)
        if ("status" in opened) refused.push(`${operation.id}: ${opened.status}`)
        else opened.socket.terminate()
        continue
      }
      const answer = await fetch(url, { ...request, redirect: "manual" })
      const text = operation.success.type === "event_stream" ? await beginningOf(answer) : await answer.text()
      // A new password ends the session in which it was set; the answer carries another.
      if (operation.group === "console sessions") cookie = answer.headers.get("set-cookie")?.split(";")[0] ?? cookie
      const { created, status } = operation.success
      if (answer.status !== status && answer.status !== created)
        refused.push(`${operation.id}: ${answer.status} in place of ${status}: ${text.slice(0, 300)}`)
      else if (text.includes('"success":false') || text.includes('"ok":false'))
        refused.push(`${operation.id}: refused a part: ${text.slice(0, 300)}`)
      else if (
        !operation.success.media.includes((answer.headers.get("content-type") ?? "").split(";")[0]!) &&
        operation.success.type !== "text"
      )
        refused.push(`${operation.id}: its type is ${answer.headers.get("content-type")}`)
    }
    expect(refused).toEqual([])
    console.log(`${operations.length} examples were sent`)
  })

  it("and descriptions are in the documents, for every operation of theirs", async () => {
    const documents = await Promise.all(
      ["/v1/openapi.json", "/api/v1/openapi.json"].map(async (path) => (await program.request("GET", path)).body)
    )
    const entries = documents
      .flatMap(({ paths }) => Object.values(paths as Record<string, Record<string, any>>))
      .flatMap((methods) => Object.values(methods))
    const known = new Map(operations.map((operation) => [operation.id, operation]))
    expect(entries.length).toBeGreaterThan(100)
    expect(
      entries.map(({ operationId }) => operationId).filter((id) => !known.has(id)),
      "in a document, but in no contract"
    ).toEqual([])
    const wrong = entries.filter(({ description, operationId, parameters = [], requestBody, tags }) => {
      const { example, group } = known.get(operationId)!
      // A twin has one more, which says whose it is.
      const sentencesMax = group.startsWith("console: ") ? 6 : 5
      const sentences = String(description).match(/[.!?](?=\s|$)/g)?.length ?? 0
      return (
        sentences < 2 ||
        sentences > sentencesMax ||
        tags.length !== 1 ||
        parameters.some(
          (parameter: any) => parameter.in === "path" && parameter.example !== example.params?.[parameter.name]
        ) ||
        parameters.some(
          (parameter: any) => parameter.in === "query" && parameter.example !== example.query?.[parameter.name]
        ) ||
        (requestBody !== undefined && example.body === undefined) ||
        (requestBody !== undefined &&
          Object.values(requestBody.content as Record<string, any>).every((content) => content.example === undefined))
      )
    })
    expect(wrong.map(({ operationId }) => operationId)).toEqual([])
    const said = entries.map(({ description }) => description as string)
    expect(
      said.filter((description, i) => said.indexOf(description) !== i),
      "said of two operations"
    ).toEqual([])
  })
})
