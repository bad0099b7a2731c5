/** Assistants: what they answer and from which sources, who may use them, what is remembered, and what it costs. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { type GeneratorServer, startGeneratorServer } from "../support/generator-server.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually, type Receiver, startReceiver } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant, searchKey: string, server: GeneratorServer, receiver: Receiver
let assistant: string
interface Sending {
  readonly key?: string
  readonly headers?: Record<string, string>
}
const send = (method: string, path: string, body?: unknown, { headers = {}, key = tenant.full_key }: Sending = {}) =>
  program.request(method, `/v1${path}`, { key, headers, ...(body === undefined ? {} : { body }) })
const visiting = (session: string): Sending => ({ key: searchKey, headers: { "x-svc-session-id": session } })
const question = (content: string, more: object = {}) => ({ messages: [{ role: "user", content }], ...more })
const ask = async (content: string, more: object = {}, sending: Sending = {}, id = assistant) => {
  const answer = await send("POST", `/assistants/${id}/chat/completions`, question(content, more), sending)
  expect(answer.status, answer.text).toBe(200)
  return answer.body
}
const balance = async (of = tenant): Promise<number> =>
  (await send("GET", "/entitlement", undefined, { key: of.full_key })).body.credits.balance
const goods = [
  {
    id: "polar",
    title: "Polar 300 fridge",
    text: "The Polar 300 keeps food cold. Its noise level is 34 dB. It weighs 61 kg. The manual is at https://polar.example/manual for free.",
    brand: "Polar",
    price: 549,
    serial: 9007199254740993n
  },
  {
    id: "arctic",
    title: "Arctic fridge",
    text: "The Arctic is a big fridge for families. The warranty lasts five years.",
    brand: "Arctic",
    price: 899
  },
  {
    id: "lamp",
    title: "Reading lamp",
    text: "A lamp of brass. Its warranty lasts two years, and the bulb can be replaced.",
    brand: "Lumen",
    price: 39
  },
  { id: "secret", title: "Prototype", text: "The zircon toaster will cost 12 euros.", brand: "Lumen", price: 12 }
]
const line = (document: object): string =>
  JSON.stringify(document, (_, value) => (typeof value === "bigint" ? `${value}n` : value)).replace(/"(\d+)n"/g, "$1")
const fields = [
  { name: "title", type: "string" },
  { name: "text", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "price", type: "int32", facet: true },
  { name: "serial", type: "int64", optional: true }
]
const fill = async (key: string, documents: ReadonlyArray<object>) => {
  await send("POST", "/collections", { name: "goods", fields }, { key })
  const imported = await send("POST", "/collections/goods/documents/import", documents.map(line).join("\n"), { key })
  expect(imported.text).not.toContain("false")
}

beforeAll(async () => {
  server = await startGeneratorServer()
  receiver = await startReceiver()
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("shop")
  other = await program.tenant("other")
  await program.topUp(tenant.organization_id, 100)
  await program.topUp(other.organization_id, 100)
  await fill(tenant.full_key, goods)
  await fill(other.full_key, [
    { id: "theirs", title: "Noise", text: "Their noise level is 99 dB.", brand: "x", price: 1 }
  ])
  const made = await send("POST", "/keys", {
    description: "page",
    scope: "search",
    collections: ["goods"],
    filter_by: { goods: "price:>20" }
  })
  searchKey = made.body.value
  const created = await send("POST", "/assistants", { name: "Shop", collections: ["goods"] })
  expect(created.status, created.text).toBe(201)
  assistant = created.body.id
})
afterAll(async () => {
  await program.stop()
  await server.close()
  await receiver.stop()
})

it("answers with sentences as they are in documents, each cited", async () => {
  const answer = await ask("What is the noise level of the Polar?")
  expect(answer).toMatchObject({
    model: "dowser/extractive",
    refused: false,
    unsupported: [],
    message: { role: "assistant", content: "Its noise level is 34 dB. [1]" },
    citations: [{ start: 0, end: 25, source: 0 }],
    search_query: "What is the noise level of the Polar?"
  })
  expect(answer.id).toMatch(/^msg_/)
  expect(answer.conversation_id).toMatch(/^cnv_/)
  expect(answer.sources[0]).toMatchObject({ collection: "goods", document: { id: "polar" }, score: 1 })
  expect(answer.sources[0].snippet).toContain("34 dB")
  expect(answer.usage.output_tokens).toBeGreaterThan(0)
})
it("takes quotation marks and a minus as plain text", async () => {
  const answer = await ask('What is the "level of noise" of -Polar?')
  expect(answer.message.content).toBe("Its noise level is 34 dB. [1]")
})
it("keeps integers as they are", async () => {
  const answer = await send("POST", `/assistants/${assistant}/chat/completions`, question("noise level of the Polar"))
  expect(answer.text).toContain('"serial":9007199254740993')
})
it("says that it found nothing, with the three nearest documents", async () => {
  const answer = await ask("Who painted the ceiling of the chapel of zircon?")
  expect(answer).toMatchObject({ refused: true, citations: [], message: { content: expect.stringContaining("goods") } })
  expect(answer.sources.length).toBeLessThanOrEqual(3)
})
it("answers numeric questions with the documents that match, and the facts", async () => {
  const answer = await ask("fridges under 600 euros")
  expect(answer.refused).toBe(false)
  expect(answer.message.content).toContain("Polar 300 fridge (price: 549)")
  expect(answer.message.content).not.toContain("Arctic")
  for (const { end, source, start } of answer.citations)
    expect(answer.sources[source].document.title).toBe(answer.message.content.slice(start, end))
})
it("finds a document that the question names", async () => {
  const answer = await ask("Do you have an arctic fridge?")
  expect(answer.message.content).toContain("Arctic")
  expect(answer.citations.length).toBeGreaterThan(0)
})
it("shows no key what it may not see, and no tenant another's documents", async () => {
  const mine = await ask("What will the zircon toaster cost?")
  expect(mine.message.content).toContain("12 euros")
  const theirs = await ask("What will the zircon toaster cost?", {}, visiting("ses-1"))
  expect(theirs.refused).toBe(true)
  expect(JSON.stringify(theirs)).not.toContain("Prototype")
  const foreign = await send("POST", `/assistants/${assistant}/chat/completions`, question("noise"), {
    key: other.full_key
  })
  expect(foreign.status).toBe(404)
  expect(JSON.stringify(await ask("noise level dB"))).not.toContain("99 dB")
})
it("narrows by the caller's filter, and names an invalid one", async () => {
  const narrowed = await ask("How long is the warranty?", { filter_by: { goods: "brand:=Lumen" } })
  expect(narrowed.message.content).toContain("two years")
  expect(narrowed.message.content).not.toContain("five years")
  const wrong = await send(
    "POST",
    `/assistants/${assistant}/chat/completions`,
    question("warranty", { filter_by: { goods: "nothing:=1" } })
  )
  expect(wrong.status).toBe(400)
  expect(wrong.body.data.issues).toMatchObject([{ path: "filter_by.goods" }])
  const other = question("warranty", { filter_by: { makers: "id:=1" } })
  const elsewhere = await send("POST", `/assistants/${assistant}/chat/completions`, other)
  expect(elsewhere.body.data.issues).toMatchObject([{ path: "filter_by.makers" }])
})

it("continues a conversation, and knows what was said", async () => {
  const first = await ask("What is the noise level of the Polar fridge?", {}, visiting("ses-talk"))
  const { conversation_id } = first
  const second = await ask("And how much does it weigh?", { conversation_id }, visiting("ses-talk"))
  expect(second.conversation_id).toBe(conversation_id)
  expect(second.search_query).toMatch(/weigh\?.*Polar/)
  expect(second.message.content).toContain("61 kg")
  const shown = await send(
    "GET",
    `/assistants/${assistant}/conversations/${conversation_id}`,
    undefined,
    visiting("ses-talk")
  )
  expect(shown.body).toMatchObject({ turns: 2, title: "What is the noise level of the Polar fridge?" })
  expect(shown.body.messages.map(({ role }: { role: string }) => role)).toEqual([
    "user",
    "assistant",
    "user",
    "assistant"
  ])
  const list = await send("GET", `/assistants/${assistant}/conversations`, undefined, visiting("ses-talk"))
  expect(list.body.data).toMatchObject([{ id: conversation_id, assistant_id: assistant, turns: 2 }])
})
it("keeps a conversation from every other caller", async () => {
  const { conversation_id } = await ask("noise level", {}, visiting("ses-own"))
  const path = `/assistants/${assistant}/conversations/${conversation_id}`
  for (const method of ["GET", "DELETE"]) {
    expect((await send(method, path, undefined, visiting("ses-thief"))).status).toBe(403)
    expect((await send(method, path, undefined, { key: searchKey })).status).toBe(400)
    expect((await send(method, path, undefined, { key: other.full_key })).status).toBe(404)
  }
  const stolen = await send(
    "POST",
    `/assistants/${assistant}/chat/completions`,
    question("and then?", { conversation_id }),
    visiting("ses-thief")
  )
  expect(stolen.status).toBe(403)
  const unknown = await send("GET", `/assistants/${assistant}/conversations/cnv_none`, undefined, visiting("ses-own"))
  expect(unknown.status).toBe(404)
  expect(
    (await send("GET", `/assistants/${assistant}/conversations`, undefined, visiting("ses-thief"))).body.data
  ).toEqual([])
  expect((await send("GET", path)).status).toBe(200)
  expect((await send("DELETE", path, undefined, visiting("ses-own"))).status).toBe(200)
  expect((await send("GET", path)).status).toBe(404)
})
it("requires a session with a search key, before anything is read", async () => {
  const answer = await send("POST", `/assistants/${assistant}/chat/completions`, "{", { key: searchKey })
  expect(answer.status).toBe(400)
  expect(answer.text).toContain("X-SVC-SESSION-ID")
})
it("names every invalid field of a body", async () => {
  const chat = await send("POST", `/assistants/${assistant}/chat/completions`, {
    messages: [{ role: "robot", content: "x" }],
    conversation_id: "7",
    stream_format: "xml"
  })
  expect(chat.body.data.issues.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    "conversation_id",
    "messages[0].role",
    "stream_format"
  ])
  const made = await send("POST", "/assistants", {
    name: "x",
    collections: ["goods", "nowhere"],
    model: "gpt",
    search_params: { q: "x", api_key: "y" },
    document_template: { shop: "x" }
  })
  expect(made.body.data.issues.map(({ path }: { path: string }) => path).toSorted()).toEqual([
    "collections[1]",
    "document_template.shop",
    "model",
    "search_params.api_key",
    "search_params.q"
  ])
})

it("costs a tenth for an extract and for a refusal, and nothing without credits", async () => {
  const before = await balance()
  await ask("What is the noise level of the Polar?")
  await ask("Who was the first king of zircon mountain?")
  expect(await balance()).toBeCloseTo(before - 0.2, 6)
  const poor = await program.tenant("poor")
  await fill(poor.full_key, goods.slice(0, 1))
  const made = await send("POST", "/assistants", { name: "Shop", collections: ["goods"] }, { key: poor.full_key })
  const refused = await send("POST", `/assistants/${made.body.id}/chat/completions`, question("noise"), {
    key: poor.full_key
  })
  expect(refused.status).toBe(402)
})

/** Frames of a stream, in order of arrival. */
const streaming = async (content: string, more: object, sending: Sending = {}, id = assistant) => {
  const answer = await fetch(`${program.base}/v1/assistants/${id}/chat/completions`, {
    method: "POST",
    headers: {
      "x-svc-api-key": sending.key ?? tenant.full_key,
      "content-type": "application/json",
      ...sending.headers
    },
    body: JSON.stringify(question(content, { stream: true, ...more }))
  })
  const text = await answer.text()
  const frames = text
    .split("\n\n")
    .filter((frame) => frame.includes("data: "))
    .map((frame) => {
      const [, data] = /^data: (.*)$/m.exec(frame)!
      return { event: /^event: (.*)$/m.exec(frame)?.[1], data: data === "[DONE]" ? data : JSON.parse(data!) }
    })
  return { status: answer.status, headers: answer.headers, frames, text }
}
it("streams its own frames: sources first, the whole last", async () => {
  const { frames, headers } = await streaming("What is the noise level of the Polar?", {})
  expect(headers.get("content-type")).toContain("text/event-stream")
  expect(frames.map(({ event }) => event)).toEqual(["sources", "delta", "done"])
  expect(frames[0]!.data[0].document.id).toBe("polar")
  expect(frames[1]!.data.content).toBe(frames[2]!.data.message.content)
  expect(frames[2]!.data.conversation_id).toMatch(/^cnv_/)
})
it("streams as the OpenAI API does", async () => {
  const { frames } = await streaming("What is the noise level of the Polar?", {
    stream_format: "openai",
    stream_options: { include_usage: true }
  })
  const chunks = frames.slice(0, -1).map(({ data }) => data)
  expect(frames.at(-1)!.data).toBe("[DONE]")
  expect(chunks.every(({ object }) => object === "chat.completion.chunk")).toBe(true)
  expect(chunks[0].choices[0].delta).toEqual({ role: "assistant", content: "" })
  expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")).toContain("34 dB")
  expect(chunks.at(-2)).toMatchObject({
    choices: [{ finish_reason: "stop" }],
    conversation_id: expect.stringMatching(/^cnv_/)
  })
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: expect.any(Number) } })
})
it("streams as the AI SDK does", async () => {
  const { frames, headers } = await streaming("What is the noise level of the Polar?", { stream_format: "ai_sdk" })
  expect(headers.get("x-vercel-ai-ui-message-stream")).toBe("v1")
  const types = frames.slice(0, -1).map(({ data }) => data.type)
  expect(types[0]).toBe("start")
  expect(types).toContain("source-document")
  expect(types.slice(-6)).toEqual(["text-start", "text-delta", "text-end", "data-usage", "data-citations", "finish"])
  expect(frames.at(-1)!.data).toBe("[DONE]")
})
it("refuses a stream as it refuses any request", async () => {
  expect((await streaming("x", { filter_by: { goods: "nothing:=1" } })).status).toBe(400)
  expect((await streaming("x", {}, { key: searchKey })).status).toBe(400)
  expect((await streaming("x", {}, {}, "ast_none")).status).toBe(404)
})

it("notifies webhook endpoints of each answer", async () => {
  await send("POST", "/webhooks", { name: "w", url: receiver.url, events: ["conversation.completed"] })
  const { conversation_id, id } = await ask("What is the noise level of the Polar?")
  const told = await eventually("the answer is told of", () =>
    receiver.received.find(({ body }) => String(body).includes(id))
  )
  expect(JSON.parse(told.body).data).toMatchObject({
    assistant_id: assistant,
    conversation_id,
    message_id: id,
    refused: false,
    usage: { input_tokens: expect.any(Number) }
  })
})
it("is evaluated by test cases, as a job", async () => {
  const started = await send("POST", `/assistants/${assistant}/evaluations`, {
    cases: [
      { question: "What is the noise level of the Polar?", must_contain: ["34 DB"], must_cite: ["polar"] },
      { question: "How long is the warranty of the lamp?", must_contain: ["three years"], must_cite: ["lamp"] },
      { question: "Who was the first king of zircon mountain?", must_refuse: true }
    ]
  })
  expect(started.status, started.text).toBe(202)
  const job = await eventually("the job is done", async () => {
    const { body } = await send("GET", `/jobs/${started.body.id}`)
    return body.finished_at === undefined ? undefined : body
  })
  expect(job).toMatchObject({
    status: "ready",
    result: {
      cases: 3,
      passed: 2,
      recall_at_3: 1,
      containment: 0.5,
      citation_recall: 1,
      refusal_precision: 1,
      refusal_recall: 1,
      results: [{ passed: true, cited: ["polar"] }, { passed: false, missing: ["three years"] }, { refused: true }]
    }
  })
})
it("is replaced as a whole, listed, and deleted with its conversations", async () => {
  const made = (await send("POST", "/assistants", { name: "Old", collections: ["goods"], instructions: "x" })).body
  const { conversation_id } = await ask("noise level of the Polar", {}, {}, made.id)
  const put = await send("PUT", `/assistants/${made.id}`, { name: "New", collections: ["goods"], refusal_threshold: 0 })
  expect(put.body).toMatchObject({ id: made.id, name: "New", refusal_threshold: 0, created_at: made.created_at })
  expect(put.body.instructions).toBeUndefined()
  const list = (await send("GET", "/assistants?limit=1")).body
  expect(list.data).toHaveLength(1)
  expect((await send("GET", `/assistants?cursor=${list.next_cursor}`)).body.data.at(-1).id).toBe(made.id)
  expect((await send("DELETE", `/assistants/${made.id}`)).status).toBe(200)
  expect((await send("GET", `/assistants/${made.id}`)).status).toBe(404)
  expect((await send("GET", `/assistants/${made.id}/conversations/${conversation_id}`)).status).toBe(404)
})
