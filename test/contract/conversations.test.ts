/**
 * Searches that are answered in words (`conversation=true`, `docs/contract/models.md#conversations`) by this program's
 * own model: no credential, no server. What was said is remembered, belongs to its session, and is read only from its
 * collection.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { startProgram } from "../support/program.ts"
import { talkFields } from "../support/talks.ts"

let program: Program
let tenant: Tenant, other: Tenant
const goods = [
  {
    id: "1",
    title: "Polar 300",
    description: "A quiet fridge for small kitchens. Its noise level is 34 dB. It weighs 61 kg.",
    price: 450,
    vector: Array.from({ length: 16 }, () => 0.25)
  },
  {
    id: "2",
    title: "Kestrel lamp",
    description: "A desk lamp of oak. The bulb is included. It weighs 2 kg.",
    price: 40
  },
  { id: "3", title: "Secret lamp", description: "A lamp for staff. Its code is 4711.", price: 9 }
]
const fields = [
  { name: "title", type: "string" },
  { name: "description", type: "string" },
  { name: "price", type: "float" }
]
const send = (
  method: string,
  path: string,
  body?: unknown,
  key = tenant.full_key,
  headers: Record<string, string> = {}
) => program.request(method, path, { key, body, headers })
const ask = (query: Record<string, string>, key = tenant.full_key, headers: Record<string, string> = {}) =>
  send(
    "GET",
    `/v1/collections/goods/documents/search?${new URLSearchParams({ query_by: "title,description", conversation: "true", conversation_model_id: "mine", ...query })}`,
    undefined,
    key,
    headers
  )
const session = { "x-svc-session-id": "s1" }
const balanceOf = async (key: string): Promise<number> =>
  (await send("GET", "/v1/entitlement", undefined, key)).body.credits.balance as number
const said = async (id: string) =>
  (
    await send(
      "GET",
      `/v1/collections/talks/documents/search?${new URLSearchParams({ q: "*", filter_by: `conversation_id:=${id}`, sort_by: "timestamp:asc" })}`
    )
  ).body.hits
    .map(({ document }: any) => document)
    .toSorted((a: any, b: any) => (a.id < b.id ? -1 : 1))

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Talks")
  other = await program.tenant("Other talks")
  for (const { full_key, organization_id } of [tenant, other]) {
    await program.topUp(organization_id, 10)
    await send("POST", "/v1/collections", { name: "goods", fields }, full_key)
    await send("POST", "/v1/collections", { name: "talks", fields: talkFields }, full_key)
    const lines = goods.map((one) => JSON.stringify(one)).join("\n")
    await send("POST", "/v1/collections/goods/documents/import", lines, full_key)
    const model = { id: "mine", model_name: "dowser/extractive", max_bytes: 16_000, history_collection: "talks" }
    const made = await send("POST", "/v1/conversations/models", model, full_key)
    expect([made.status, made.body]).toEqual([201, { ...model, ttl: 86_400 }])
  }
})
afterAll(() => program.stop())

describe("a question", () => {
  it("is answered with sentences of documents, and both are in the history", async () => {
    const found = await ask({ q: "What noise level has the Polar 300?" })
    expect(found.status).toBe(200)
    const { conversation } = found.body
    expect(conversation).toEqual({
      answer: "Polar 300: Its noise level is 34 dB.",
      query: "What noise level has the Polar 300?",
      conversation_id: expect.stringMatching(/^cnv_[0-9A-Z]{26}$/),
      conversation_history: {
        conversation: [
          { user: "What noise level has the Polar 300?" },
          { assistant: "Polar 300: Its noise level is 34 dB." }
        ],
        id: conversation.conversation_id,
        last_updated: expect.any(Number),
        ttl: 86_400
      }
    })
    expect(found.body.request_params).toMatchObject({ q: "What noise level has the Polar 300?" })
    expect(found.body.query_understanding.original).toBe("What noise level has the Polar 300?")
    expect(found.body.hits[0].document.id).toBe("1")
    expect(await said(conversation.conversation_id)).toEqual([
      {
        id: expect.any(String),
        conversation_id: conversation.conversation_id,
        role: "user",
        message: "What noise level has the Polar 300?",
        timestamp: expect.any(Number),
        model_id: "mine"
      },
      expect.objectContaining({ role: "assistant", message: "Polar 300: Its noise level is 34 dB." })
    ])
  })
  it("continues with what was said before", async () => {
    const first = await ask({ q: "Is the Kestrel lamp made of oak?", exclude_fields: "conversation_history" })
    expect(first.body.conversation.conversation_history).toBeUndefined()
    const { conversation_id } = first.body.conversation
    const next = await ask({ q: "And how much does it weigh?", conversation_id })
    expect(next.body.conversation.answer).toContain("It weighs 2 kg.")
    expect(next.body.conversation.conversation_id).toBe(conversation_id)
    expect(next.body.conversation.conversation_history.conversation).toHaveLength(4)
    expect(next.body.request_params.q).toBe("And how much does it weigh?")
  })
  it("is answered, if no document does, by saying so in its language", async () => {
    const found = await ask({ q: "Wie lange ist die Garantie der Lampe?" })
    expect(found.body.conversation.answer).toBe("Dazu habe ich in den Dokumenten nichts gefunden.")
  })
  it("needs no stored model, and is then not remembered", async () => {
    const found = await ask({ q: "What noise level has the Polar 300?", conversation_model_id: "dowser/extractive" })
    expect(found.body.conversation).toMatchObject({
      answer: "Polar 300: Its noise level is 34 dB.",
      conversation_id: ""
    })
  })
  it("costs a tenth of a credit, and is refused without credits", async () => {
    const before = await balanceOf(tenant.full_key)
    await ask({ q: "What noise level has the Polar 300?" })
    expect(before - (await balanceOf(tenant.full_key))).toBeCloseTo(0.1, 6)
    const poor = await program.tenant("Poor talks")
    await send("POST", "/v1/collections", { name: "goods", fields }, poor.full_key)
    const refused = await ask({ q: "Anything?", conversation_model_id: "dowser/extractive" }, poor.full_key)
    expect([refused.status, refused.body.requested]).toEqual([402, 0.1])
  })
  it("is answered from what its key may see", async () => {
    const narrow = (
      await send("POST", "/v1/keys", { description: "k", scope: "search", filter_by: { goods: "price:>10" } })
    ).body.value
    const blind = (await send("POST", "/v1/keys", { description: "k", scope: "search", fields: ["title", "price"] }))
      .body.value
    const q = "What code has the Secret lamp?"
    expect((await ask({ q })).body.conversation.answer).toContain("4711")
    for (const key of [narrow, blind]) {
      const found = await ask({ q, query_by: "title" }, key, session)
      expect([found.status, found.text.includes("4711")]).toEqual([200, false])
    }
  })
})

describe("several searches", () => {
  const many = (query: Record<string, string>, body: unknown, key = tenant.full_key) =>
    send("POST", `/v1/multi_search?${new URLSearchParams(query)}`, body, key)
  const talk = { conversation: "true", conversation_model_id: "mine", query_by: "title,description" }
  const searches = [
    { collection: "goods", filter_by: "price:<100" },
    { collection: "goods", filter_by: "price:>100" }
  ]
  it("share one question and one answer", async () => {
    const found = await many({ ...talk, q: "What noise level has the Polar 300?" }, { searches })
    expect(found.status).toBe(200)
    expect(found.body.results).toHaveLength(2)
    expect(found.body.conversation.answer).toBe("Polar 300: Its noise level is 34 dB.")
    for (const result of found.body.results) expect(result.request_params.q).toBe("What noise level has the Polar 300?")
  })
  it("report which parameters must be in the query string", async () => {
    for (const [entry, message] of [
      [{ q: "x" }, "`q` parameter cannot be used in POST body if `conversation` is enabled. Please set `q`"],
      [{ conversation: true }, "`conversation` cannot be used in POST body. Please set `conversation`"],
      [{ conversation_id: "x" }, "`conversation_id` cannot be used in POST body. Please set `conversation_id`"],
      [{ conversation_model_id: "x" }, "`conversation_model_id` cannot be used in POST body."]
    ] as const) {
      const refused = await many({ ...talk, q: "What?" }, { searches: [{ collection: "goods", ...entry }] })
      expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining(message)])
    }
    expect((await many({}, { searches: [{ collection: "goods", q: "*", conversation: true }] })).status).toBe(400)
    const union = await many({ ...talk, q: "What?" }, { searches, union: true })
    expect([union.status, union.body.message]).toEqual([400, "Conversation is not available for a union of searches."])
  })
})

describe("a conversation", () => {
  it("belongs to the session that began it, and to full keys", async () => {
    const q = "What noise level has the Polar 300?"
    const begun = await ask({ q }, tenant.search_key, session)
    const { conversation_id } = begun.body.conversation
    const next = { q: "And its weight?", conversation_id }
    expect((await ask(next, tenant.search_key, session)).status).toBe(200)
    const stranger = await ask(next, tenant.search_key, { "x-svc-session-id": "s2" })
    expect([stranger.status, stranger.body]).toEqual([403, { message: "The conversation belongs to another session." }])
    expect((await ask(next)).status).toBe(200)
    expect((await ask({ q }, tenant.search_key)).body.message).toContain("X-SVC-SESSION-ID")
    const forged = await ask(
      { q, conversation_id: conversation_id.slice(0, -8) + "00000000" },
      tenant.search_key,
      session
    )
    expect(forged.status).toBe(403)
    const own = (await ask({ q })).body.conversation.conversation_id
    expect((await ask({ q, conversation_id: own }, tenant.search_key, session)).status).toBe(403)
  })
  it("belongs to its organization", async () => {
    const { conversation_id } = (await ask({ q: "What noise level has the Polar 300?" })).body.conversation
    const foreign = await ask({ q: "And its weight?", conversation_id }, other.full_key)
    expect([foreign.status, foreign.body]).toEqual([400, { message: "`conversation_id` is invalid." }])
    expect((await ask({ q: "And its weight?", conversation_id }, other.search_key, session)).status).toBe(403)
  })
  it("reports what is wrong with it", async () => {
    for (const [query, message] of [
      [{ conversation_model_id: "" }, "Conversation is enabled but no conversation model ID is provided."],
      [{ conversation_model_id: "nobody" }, "`conversation_model_id` is invalid."],
      [{ conversation_id: "nowhere" }, "`conversation_id` is invalid."],
      [{ conversation_id: "a` || x" }, "`conversation_id` is invalid."],
      [
        { conversation: "false", conversation_id: "x" },
        "Conversation ID provided but conversation is not enabled for this collection."
      ]
    ] as ReadonlyArray<readonly [Record<string, string>, string]>) {
      const refused = await ask({ q: "What?", ...query })
      expect([refused.status, refused.body]).toEqual([400, { message }])
    }
    expect((await ask({ q: "*" })).body.conversation).toBeUndefined()
    const missing = await send("GET", "/v1/collections/nowhere/documents/search?q=x&conversation=true")
    expect(missing.status).toBe(404)
  })
  it("reports that it cannot be remembered, and the search is answered", async () => {
    await send("DELETE", "/v1/collections/talks", undefined, other.full_key)
    const found = await ask({ q: "What noise level has the Polar 300?" }, other.full_key)
    expect(found.status).toBe(200)
    expect(found.body.conversation).toMatchObject({
      answer: "Polar 300: Its noise level is 34 dB.",
      conversation_id: "",
      error: "The history cannot be reached: Collection not found"
    })
  })
})
