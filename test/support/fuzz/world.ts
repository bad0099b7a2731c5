/** Organizations for hostile requests: some that send them or are affected by them, and one that must not notice. */
import { RawConnection, type RawAnswer, requestBytes } from "../raw-http.ts"
import { talkFields } from "../talks.ts"

export interface Organization {
  readonly organization_id: string
  readonly full_key: string
  readonly search_key: string
  readonly installation_key: string
  /** Values of path parameters by name: what requests may act on. */ readonly ids: Readonly<
    Record<string, ReadonlyArray<string>>
  >
}
export interface World {
  /** A new organization with a catalogue, rules, a webhook, a member and keys without a rate limit. */
  readonly furnish: (name: string) => Promise<Organization>
  /**
   * The same organization emptied of everything that can be deleted and set up again: what requests can create is
   * bounded.
   */
  readonly refurnish: (name: string, organization: Organization) => Promise<Organization>
  /** Everything that can be read of the bystander, as text. */ readonly bystanderState: () => Promise<
    ReadonlyArray<readonly [string, string]>
  >
}

const goods = {
  name: "goods",
  enable_nested_fields: true,
  fields: [
    { name: "title", type: "string", facet: true, sort: true },
    { name: "stock", type: "int32", facet: true },
    { name: "price", type: "float", facet: true, optional: true },
    { name: "tags", type: "string[]", facet: true, optional: true },
    { name: "place", type: "geopoint", optional: true },
    { name: "is_new", type: "bool", facet: true, optional: true },
    { name: "maker", type: "string", optional: true, reference: "makers.code" },
    { name: "detail", type: "object", optional: true },
    { name: "vector", type: "float[]", num_dim: 4, optional: true }
  ]
}

export const makeWorld = async (port: number, operatorToken: string): Promise<World> => {
  const connection = new RawConnection(port)
  const raw = async (method: string, path: string, headers: ReadonlyArray<readonly [string, string]>, body?: unknown) =>
    (
      await connection.exchange(
        requestBytes(
          method,
          path,
          headers,
          body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body)
        )
      )
    )[0]!
  const send = (method: string, path: string, key: string, body?: unknown) =>
    raw(method, path, [["x-svc-api-key", key]], body)
  const must = async (answer: Promise<RawAnswer>): Promise<any> => {
    const { status, text } = await answer
    if (status >= 300 || text.includes('"success":false')) throw new Error(`${status} ${text}`)
    return text.includes("\n") || text === "" ? text : JSON.parse(text)
  }
  const operate = (method: string, path: string, body?: unknown) =>
    raw(method, `/console/v1/organizations${path}`, [["authorization", `Bearer ${operatorToken}`]], body)
  const make = async (name: string): Promise<Organization> => {
    const made = (await must(operate("POST", "", { name, plan: "unlimited" }))) as Organization
    return fill(name, made.organization_id)
  }
  /** Deletes everything in a list, by the name that it has there. */
  const empty = async (key: string, list: string) => {
    const listed = (await must(send("GET", list, key))) as unknown
    const things = Array.isArray(listed) ? listed : (Object.values(listed as object).find(Array.isArray) ?? [])
    for (const thing of things as ReadonlyArray<string | { readonly id?: string; readonly name?: string }>) {
      const named = typeof thing === "string" ? thing : (thing.id ?? thing.name ?? "")
      await send("DELETE", `${list}/${encodeURIComponent(named)}`, key)
    }
  }
  const refurnish = async (name: string, { organization_id }: Organization): Promise<Organization> => {
    await operate("POST", `/${organization_id}/resume`)
    await must(operate("POST", `/${organization_id}/plan`, { plan: "unlimited" }))
    const { value } = (await must(
      operate("POST", `/${organization_id}/keys`, { description: "again", scope: "full", rate_limit_per_minute: 0 })
    )) as { readonly value: string }
    const cms = (await must(send("GET", "/v1/cms/installations?limit=250", value))) as {
      readonly data: ReadonlyArray<{ readonly id: string }>
    }
    for (const { id } of cms.data) await send("DELETE", `/v1/cms/installations/${id}/key`, value)
    for (const list of [
      "/v1/analytics/rules",
      "/v1/webhooks",
      "/v1/connectors",
      "/v1/quality/suites",
      "/v1/seo/rules",
      "/v1/alerts",
      "/v1/media",
      "/v1/experiments",
      "/v1/recommendations/models",
      "/v1/aliases",
      "/v1/collections",
      "/v1/presets",
      "/v1/search_policies",
      "/v1/stopwords",
      "/v1/nl_search_models",
      "/v1/conversations/models",
      "/v1/synonym_sets",
      "/v1/curation_sets",
      "/v1/stemming/dictionaries",
      "/v1/keys"
    ])
      await empty(value, list)
    const organization = await fill(name, organization_id)
    // The new owner is added before the old one is removed: an organization always has one.
    const members = (await must(operate("GET", `/${organization_id}/members`))) as {
      readonly data: ReadonlyArray<{ readonly id: string }>
    }
    for (const { id } of members.data)
      if (!organization.ids.memberId!.includes(id)) await operate("DELETE", `/${organization_id}/members/${id}`)
    return organization
  }
  let filled = 0
  const fill = async (name: string, organizationId: string): Promise<Organization> => {
    const unlimited = async (scope: string) =>
      (await must(operate("POST", `/${organizationId}/keys`, { description: scope, scope, rate_limit_per_minute: 0 })))
        .value as string
    const organization = {
      ids: {} as Record<string, ReadonlyArray<string>>,
      organization_id: organizationId,
      full_key: await unlimited("full"),
      search_key: await unlimited("search"),
      installation_key: ""
    }
    const put = (method: string, path: string, body: unknown) => must(send(method, path, organization.full_key, body))
    await put("POST", "/v1/collections", {
      name: "makers",
      fields: [
        { name: "code", type: "string" },
        { name: "name", type: "string" }
      ]
    })
    await put(
      "POST",
      "/v1/collections/makers/documents/import",
      [1, 2, 3].map((n) => JSON.stringify({ id: `m${n}`, code: `m${n}`, name: `Maker ${n} of ${name}` })).join("\n")
    )
    for (const collection of ["goods", "spare"]) {
      await put("POST", "/v1/collections", { ...goods, name: collection })
      await put(
        "POST",
        `/v1/collections/${collection}/documents/import`,
        Array.from({ length: 60 }, (_, n) =>
          JSON.stringify({
            id: `d${n}`,
            title: `Title ${n % 7} of ${name}`,
            stock: n,
            price: n / 3,
            tags: [`t${n % 5}`, "all"],
            place: [n, n * 2],
            is_new: n % 2 === 0,
            maker: `m${(n % 3) + 1}`,
            detail: { size: n % 4, "a.b": "c" },
            vector: [n, 1, 0, 2]
          })
        ).join("\n")
      )
    }
    await put("PUT", "/v1/aliases/shop", { collection_name: "goods" })
    await put("PUT", "/v1/presets/one", { value: { q: "title" } })
    await put("PUT", "/v1/stopwords/one", { stopwords: ["of"] })
    await put("PUT", "/v1/synonym_sets/one", { items: [{ id: "one", synonyms: ["title", "name"] }] })
    await put("PUT", "/v1/curation_sets/one", {
      items: [{ id: "one", rule: { query: "title", match: "exact" }, includes: [{ id: "d1", position: 1 }] }]
    })
    await put("PUT", "/v1/collections/goods/search_rules", {
      pins: [{ doc_id: "d5", position: 1 }],
      banners: [{ id: "b", content: { text: name } }]
    })
    await put("PUT", "/v1/search_policies/one", { params: { num_typos: 1 } })
    for (const profile of ["one", "spare"])
      await put("POST", "/v1/collections/goods/search-profiles", {
        name: profile,
        searchable_fields: ["title"],
        fixed_filter_by: "stock:>=0"
      })
    const releaseId = (await put("POST", "/v1/collections/goods/search-profiles/one/publish", { expected_revision: 1 }))
      .id as string
    await put("POST", "/v1/analytics/rules", {
      name: "one",
      type: "counter",
      collection: "goods",
      event_type: "click",
      params: { counter_field: "stock", weight: 1 }
    })
    const webhookId = (
      await put("POST", "/v1/webhooks", { name: "one", url: "https://hooks.example/hook", events: ["*"] })
    ).id as string
    const connectorId = (
      await put("POST", "/v1/connectors", { name: "one", collection: "goods", provider: "generic", sync_mode: "push" })
    ).id as string
    const pullId = (
      await put("POST", "/v1/connectors", {
        name: "two",
        collection: "goods",
        provider: "generic",
        sync_mode: "pull",
        pull_url: "https://shop.example/goods"
      })
    ).id as string
    const { id: installationId, installation_key } = (await put("POST", "/v1/cms/installations", {
      name: "one",
      provider: "bitrix",
      environment: "staging",
      origin: "https://shop.example"
    })) as { readonly id: string; readonly installation_key: string }
    const source = { local_id: "catalogue", collection: "goods", connector_id: connectorId }
    await put("PUT", `/v1/cms/installations/${installationId}/config`, {
      expected_revision: 0,
      config: { protocol_version: 1, stores: [{ local_id: "main", sources: [source] }] }
    })
    organization.installation_key = installation_key
    const deliveryId = (await put("POST", `/v1/webhooks/${webhookId}/test`, {})).id as string
    const suiteId = (
      await put("POST", "/v1/quality/suites", {
        name: "one",
        collection: "goods",
        params: { query_by: "title" },
        // As many as choosing a weight for vectors requires.
        judgments: Array.from({ length: 20 }, (_, n) => ({ q: `title ${n}`, document_id: "d1", grade: 3 }))
      })
    ).id as string
    const ruleId = (
      await put("POST", "/v1/seo/rules", {
        name: "one",
        collection: "goods",
        facet_field: "tags",
        url_template: "https://shop.example/#SLUG#"
      })
    ).id as string
    await put("POST", `/v1/seo/rules/${ruleId}/pages/generate`, undefined)
    await must(operate("POST", `/${organizationId}/top-up`, { credits: 1_000_000 }))
    await put("POST", "/v1/collections/goods/graph/communities/generate", undefined)
    const alertId = (
      await put("POST", "/v1/alerts", { name: "one", metric: "searches", op: ">", threshold: 9, window_minutes: 5 })
    ).id as string
    const modelId = (
      await put("POST", "/v1/recommendations/models", { name: "one", collection: "goods", type: "popular" })
    ).id as string
    // With the same id: a path of a model then names one of each kind.
    await put("POST", "/v1/nl_search_models", { id: modelId, model_name: "dowser/rules", max_bytes: 1_000 })
    await put("POST", "/v1/collections", { name: "talks", fields: talkFields })
    await put("POST", "/v1/conversations/models", {
      id: modelId,
      model_name: "dowser/extractive",
      max_bytes: 1_000,
      history_collection: "talks"
    })
    const mediaIds: Array<string> = []
    for (const content of [undefined, "bytes of one"]) {
      const id = (await put("POST", "/v1/media", { filename: "one.txt" })).id as string
      if (content !== undefined) await put("PUT", `/v1/media/${id}/content`, content)
      mediaIds.push(id)
    }
    const threadIds: Array<string> = []
    for (let i = 0; i < 3; i++) {
      const thread = { subject: "one", text: "two", session_id: "s", media_ids: mediaIds.slice(1) }
      threadIds.push((await put("POST", "/v1/support/threads", thread)).id as string)
    }
    const assistantIds: Array<string> = [],
      conversationIds: Array<string> = []
    for (let i = 0; i < 2; i++) {
      const assistant = (await put("POST", "/v1/assistants", { name: "one", collections: ["goods"] })).id as string
      const asking = { messages: [{ role: "user", content: "title" }] }
      const { conversation_id } = await put("POST", `/v1/assistants/${assistant}/chat/completions`, asking)
      assistantIds.push(assistant)
      conversationIds.push(conversation_id as string)
    }
    await put("PUT", "/v1/presets/tried", { value: { query_by: "title" } })
    // One draft, one that may be promoted, and one that was promoted.
    const experiments: Array<string> = []
    for (const acts of [[], ["start", "stop"], ["start", "promote"]]) {
      const experiment = {
        name: "one",
        collection: "goods",
        metric: "ctr",
        target: { preset: "tried" },
        variants: [{ id: "a" }, { id: "variant_1", params: { num_typos: 2 } }]
      }
      const id = (await put("POST", "/v1/experiments", experiment)).id as string
      for (const act of acts) await put("POST", `/v1/experiments/${id}/${act}`, { variant_id: "variant_1" })
      experiments.push(id)
    }
    const jobId = (await put("POST", "/v1/collections/spare/reindex", {})).id as string
    const keyId = (await put("POST", "/v1/keys", { description: "spare", scope: "search" })).id as string
    const member = (await must(
      operate("POST", `/${organizationId}/members`, {
        email: `${name.toLowerCase().replaceAll(" ", "-")}-${filled++}@shop.example`,
        role: "owner"
      })
    )) as { id?: string; member?: { id: string } }
    await put("POST", "/v1/events", {
      events: [{ type: "search", q: "title", collection: "goods", event_id: "e1", session_id: "s", results_found: 1 }]
    })
    Object.assign(organization.ids, {
      webhookId: [webhookId],
      connectorId: [connectorId, pullId],
      installationId: [installationId],
      deliveryId: [deliveryId],
      jobId: [jobId],
      keyId: [keyId],
      memberId: [member.id ?? member.member?.id ?? ""],
      ruleName: ["one"],
      profileName: ["one", "spare"],
      policyName: ["one"],
      releaseId: [releaseId],
      suiteId: [suiteId],
      ruleId: [ruleId],
      slug: ["a", "a.html"],
      alertId: [alertId],
      experimentId: experiments,
      modelId: [modelId],
      model_id: [modelId],
      mediaId: mediaIds,
      threadId: threadIds,
      assistantId: assistantIds,
      conversationId: conversationIds,
      conversation_id: conversationIds,
      media_id: mediaIds,
      fallback_model_id: [modelId],
      port: ["text_embedder", "generator", "reranker"],
      userId: ["u", "s"]
    })
    return organization
  }
  const bystander = await make("Bystander")
  const day = new Date().toISOString().slice(0, 10)
  const reads = [
    "/v1/collections",
    "/v1/collections/goods/documents/export",
    "/v1/collections/makers/documents/export",
    "/v1/collections/goods/search_rules",
    "/v1/collections/goods/search-profiles",
    "/v1/search_policies",
    "/v1/quality/suites",
    "/v1/experiments",
    "/v1/recommendations/models",
    "/v1/collections/goods/graph/entities",
    "/v1/collections/goods/graph/communities",
    "/v1/collections/goods/synonym_suggestions",
    "/v1/aliases",
    "/v1/presets",
    "/v1/synonym_sets",
    "/v1/curation_sets",
    "/v1/stopwords",
    "/v1/nl_search_models",
    "/v1/conversations/models",
    "/v1/stemming/dictionaries",
    "/v1/keys",
    "/v1/webhooks",
    "/v1/connectors",
    "/v1/cms/installations",
    "/v1/media",
    "/v1/jobs",
    "/v1/ingest/jobs",
    "/v1/audit",
    "/v1/events/failed",
    "/v1/analytics/rules",
    `/v1/analytics/metrics/queries?from=${day}&to=${day}`,
    `/v1/analytics/metrics/overview?from=${day}&to=${day}`,
    `/v1/analytics/metrics/products?from=${day}&to=${day}`,
    "/v1/collections/goods/documents/search?q=title&query_by=title&facet_by=tags,stock&include_fields=*,$makers(*)&enable_analytics=false",
    "/v1/collections/shop/documents/search?q=*&sort_by=stock:desc&filter_by=$makers(code:m1)&enable_analytics=false"
  ]
  return {
    furnish: make,
    refurnish,
    bystanderState: async () => {
      const state: Array<readonly [string, string]> = []
      for (const path of reads) {
        const { status, text } = await send("GET", path, bystander.full_key)
        // Times and ids that differ with each search.
        state.push([
          path,
          `${status} ${text.replaceAll(/"search_time_ms":\d+|"query_id":"[^"]*"|"last_used_at":\d+/g, "")}`
        ])
      }
      return state
    }
  }
}
