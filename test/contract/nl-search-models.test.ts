/**
 * NL search models of organizations (`docs/contract/models.md#nl-search-models`) against a server on loopback: stored,
 * changed, masked, used by searches; and whatever a server answers, a search is made, over what the key may see.
 */
import type { ServerResponse } from "node:http"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Layer, Logger, References } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type EmbeddingServer, startEmbeddingServer } from "../support/embedding-server.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const KEY = "sk-never-shown-anywhere-4711"
let program: Program
let server: EmbeddingServer, elsewhere: EmbeddingServer
let tenant: Tenant, other: Tenant
const send = (
  method: string,
  path: string,
  body?: unknown,
  key = tenant.full_key,
  headers: Record<string, string> = {}
) => program.request(method, path, { key, body, headers })
const base = "/v1/nl_search_models"
const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "secret", type: "string", facet: true },
  { name: "price", type: "float" }
]
const goods = [
  { id: "1", title: "quiet fridge", brand: "Norvik", secret: "alpha", price: 450 },
  { id: "2", title: "quiet fridge", brand: "Miele", secret: "beta", price: 800 }
]
const search = (query: Record<string, string>, key = tenant.full_key, headers: Record<string, string> = {}) =>
  program.request(
    "GET",
    `/v1/collections/goods/documents/search?${new URLSearchParams({ query_by: "title", nl_query: "true", ...query })}`,
    { key, headers }
  )
const idsOf = ({ body: { hits } }: { readonly body: any }): ReadonlyArray<string> =>
  (hits ?? []).map((hit: any) => hit.document.id)
const json = (response: ServerResponse, status: number, text: string): true => {
  response.writeHead(status, { "content-type": "application/json" })
  response.end(text)
  return true
}
/** Sets the answer of the server's model. */
const says = (content: unknown) => {
  server.misbehaves = (_asked, response) => json(response, 200, JSON.stringify({ choices: [{ message: { content } }] }))
}
const balanceOf = async (key: string): Promise<number> =>
  (await send("GET", "/v1/entitlement", undefined, key)).body.credits.balance as number
/** What the program logged, and the folder of its data. */
const logged: Array<string> = []
const folder = mkdtempSync(join(tmpdir(), "dowser-nl-"))

beforeAll(async () => {
  server = await startEmbeddingServer()
  elsewhere = await startEmbeddingServer()
  const logger = Logger.make(({ cause, message }) => void logged.push(JSON.stringify([message, String(cause)])))
  program = await startProgram({
    allowPrivateAddresses: true,
    dataFolder: join(folder, "data"),
    services: Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "All"))
  })
  tenant = await program.tenant("Models")
  other = await program.tenant("Others")
  await program.topUp(tenant.organization_id, 100)
  for (const { full_key } of [tenant, other]) {
    await send("POST", "/v1/collections", { name: "goods", fields }, full_key)
    const lines = goods.map((one) => JSON.stringify(one)).join("\n")
    await send("POST", "/v1/collections/goods/documents/import", lines, full_key)
  }
})
afterEach(() => {
  server.misbehaves = undefined
  server.asked.length = 0
})
afterAll(async () => {
  await program.stop()
  await server.close()
  await elsewhere.close()
  rmSync(folder, { recursive: true })
})

const model = (more: object = {}) => ({
  model_name: "vllm/any",
  max_bytes: 16_000,
  api_key: KEY,
  api_url: server.url,
  ...more
})

describe("models", () => {
  it("are stored, listed, changed and deleted, with their credential masked", async () => {
    const made = await send("POST", base, model({ id: "mine", temperature: 0.2 }))
    expect([made.status, made.body.id, made.body.temperature]).toEqual([201, "mine", 0.2])
    expect(server.asked[0]).toMatchObject({
      path: "/v1/chat/completions",
      authorization: `Bearer ${KEY}`,
      body: { model: "any" }
    })
    expect(made.text).not.toContain(KEY)
    expect((await send("POST", base, model({ id: "mine" }))).body).toEqual({ message: "Model already exists" })
    expect((await send("GET", base)).body.map(({ id }: any) => id)).toEqual(["mine"])
    const changed = await send("PUT", `${base}/mine`, { temperature: 0.5, api_key: made.body.api_key })
    expect([changed.status, changed.body.temperature, changed.body.api_key]).toEqual([200, 0.5, made.body.api_key])
    expect(server.asked.at(-1)!.authorization).toBe(`Bearer ${KEY}`)
    const moved = await send("PUT", `${base}/mine`, { id: "yours" })
    expect([moved.body.id, (await send("GET", `${base}/mine`)).status]).toEqual(["yours", 404])
    expect((await send("DELETE", `${base}/yours`)).body).toMatchObject({ id: "yours", model_name: "vllm/any" })
    expect((await send("GET", `${base}/yours`)).body).toEqual({ message: "Model not found" })
    const unnamed = await send("POST", base, model())
    expect(unnamed.body.id).toMatch(/^nlm_/)
    await send("DELETE", `${base}/${unnamed.body.id}`)
  })
  it("report what is wrong with them", async () => {
    for (const [body, message] of [
      [{ max_bytes: 1 }, "Property `model_name` is not provided or not a string."],
      [{ model_name: "openai/a", max_bytes: -1 }, "Property `max_bytes` is not provided or not a positive integer."],
      [{ model_name: "nobody/a", max_bytes: 1 }, "Model namespace `nobody` is not supported."],
      [{ model_name: "openai/a", max_bytes: 1 }, "Property `api_key` is missing or is not a non-empty string."],
      [{ model_name: "vllm/a", max_bytes: 1 }, "Property `api_url` is missing or is not a non-empty string."],
      [
        { model_name: "cloudflare/a", max_bytes: 1, api_key: "k" },
        "Property `account_id` is missing or is not a non-empty string."
      ],
      [
        { model_name: "azure/a", max_bytes: 1, api_key: "k" },
        "Property `url` is missing or is not a non-empty string."
      ],
      [model({ temperature: 3 }), "Property `temperature` must be a number between 0 and 2."],
      [
        { model_name: "openai/o3", max_bytes: 1, api_key: "k", temperature: 1 },
        "Property `temperature` is not supported by this model."
      ],
      [
        { model_name: "google/a", max_bytes: 1, api_key: "k", top_p: 2 },
        "Property `top_p` must be a number between 0 and 1."
      ],
      [model({ api_key: "two words" }), "Property `api_key` must be printable ASCII without spaces."]
    ] as const)
      expect([
        message,
        await send("POST", base, body).then(({ body: { message: told }, status }) => [status, told])
      ]).toEqual([message, [400, message]])
    server.misbehaves = (_asked, response) => json(response, 401, `{"error": "no such key ${KEY}"}`)
    const refused = await send("POST", base, model())
    expect([refused.status, refused.body.message]).toEqual([
      400,
      "The server of the model `openai/any` refused the credential (401)."
    ])
    server.misbehaves = (_asked, response) => json(response, 500, `{"error": "broken with ${KEY}"}`)
    const broken = await send("POST", base, model())
    expect([broken.status, broken.body.message.includes("500"), broken.text.includes(KEY)]).toEqual([400, true, false])
    const short = "k-short"
    server.misbehaves = (_asked, response) => json(response, 500, `{"error": "broken with ${short}"}`)
    for (const own of [
      model({ api_key: short }),
      { model_name: "azure/a", max_bytes: 9, api_key: short, url: server.url }
    ])
      expect((await send("POST", base, own)).body.message).toMatch(/answered 500: \{"error": "broken with …"\}/)
    expect((await send("GET", base)).body).toEqual([])
  })
  it("of other interfaces are called in their own format", async () => {
    const shared = { max_bytes: 9_000, api_key: KEY }
    const said = '{"q": "fridge", "filter_by": "price:<600"}'
    server.misbehaves = ({ path }, response) =>
      json(
        response,
        200,
        JSON.stringify(
          path.includes(":generateContent")
            ? { candidates: [{ content: { parts: [{ text: said }] } }] }
            : { choices: [{ message: { content: said } }] }
        )
      )
    const own = [
      { id: "azure", model_name: "azure/any", url: `${server.url}/deployments/any?api-version=1`, ...shared },
      {
        id: "google",
        model_name: "google/gemini-any",
        api_url: server.url,
        top_k: 3,
        stop_sequences: ["x"],
        ...shared
      },
      { id: "openai", model_name: "openai/any", api_url: `${server.url}/v1`, ...shared }
    ]
    for (const one of own) {
      expect((await send("POST", base, one)).status).toBe(201)
      const found = await search({ q: "a cold box", nl_model_id: one.id })
      expect([one.id, found.body.parsed_nl_query.generated_params]).toEqual([
        one.id,
        { q: "fridge", filter_by: "price:<600" }
      ])
      expect((await send("DELETE", `${base}/${one.id}`)).status).toBe(200)
    }
    expect([...new Set(server.asked.map(({ path }) => path))]).toEqual([
      "/deployments/any?api-version=1",
      "/v1beta/models/gemini-any:generateContent",
      "/v1/chat/completions"
    ])
    expect(server.asked.at(-1)!.body.response_format).toEqual({ type: "json_object" })
  })
  it("send a credential only to the address it was given for", async () => {
    await send("POST", base, model({ id: "moving" }))
    const moved = await send("PUT", `${base}/moving`, { api_url: elsewhere.url })
    expect([moved.status, moved.body.message]).toEqual([
      400,
      "Property `api_key` must be given again when the address of the model changes."
    ])
    const shown = (await send("GET", `${base}/moving`)).body.api_key
    expect((await send("PUT", `${base}/moving`, { api_url: elsewhere.url, api_key: shown })).status).toBe(400)
    expect(elsewhere.asked).toEqual([])
    expect((await send("PUT", `${base}/moving`, { api_url: elsewhere.url, api_key: "another" })).status).toBe(200)
    expect(elsewhere.asked.map(({ authorization }) => authorization)).toEqual(["Bearer another"])
    await send("DELETE", `${base}/moving`)
  })
  it("belong to their organization, and require full keys", async () => {
    await send("POST", base, model({ id: "mine" }))
    for (const [method, path] of [
      ["GET", `${base}/mine`],
      ["DELETE", `${base}/mine`]
    ] as const)
      expect((await send(method, path, undefined, other.full_key)).status).toBe(404)
    expect((await send("GET", base, undefined, other.full_key)).body).toEqual([])
    expect((await send("GET", base, undefined, tenant.search_key)).status).toBe(403)
    const asked = server.asked.length
    const found = await search({ q: "fridge", nl_model_id: "mine" }, other.full_key)
    expect(found.body.parsed_nl_query.error).toBe("Error getting natural language search model: Model not found")
    expect(server.asked.length).toBe(asked)
    await send("DELETE", `${base}/mine`)
  })
  it("may be this program's own under any name", async () => {
    expect((await send("POST", base, { id: "plain", model_name: "dowser/rules", max_bytes: 1 })).status).toBe(201)
    const found = await search({ q: "fridge under 600", nl_model_id: "plain" })
    expect([found.body.parsed_nl_query.generated_params.filter_by, server.asked.length]).toEqual(["price:<600", 0])
    await send("DELETE", `${base}/plain`)
  })
})

describe("searches", () => {
  beforeAll(() => send("POST", base, model({ id: "default" })))

  it("are read by the model named default, which gets the fields and samples, and cost half a credit", async () => {
    says('Here you are: ```json\n{"q": "fridge", "filter_by": "price:<600", "sort_by": "price:desc"}\n```')
    const before = await balanceOf(tenant.full_key)
    const found = await search({ q: "a cold box, not dear", nl_query_debug: "true" })
    expect(idsOf(found)).toEqual(["1"])
    expect(found.body.parsed_nl_query).toMatchObject({
      generated_params: { q: "fridge", filter_by: "price:<600", sort_by: "price:desc" },
      llm_response: expect.stringContaining("Here you are")
    })
    expect(found.body.request_params.q).toBe("a cold box, not dear")
    const [{ content: system }, { content: user }] = server.asked.at(-1)!.body.messages as Array<{ content: string }>
    expect([user, system.includes('"name":"price"'), system.includes("Norvik")]).toEqual([
      "a cold box, not dear",
      true,
      true
    ])
    const after = await balanceOf(tenant.full_key)
    expect(before - after).toBeCloseTo(0.5, 6)
  })
  it("run unchanged if the server fails, whatever it does, and cost nothing then", async () => {
    const before = await balanceOf(tenant.full_key)
    const wrongs: ReadonlyArray<readonly [string, NonNullable<EmbeddingServer["misbehaves"]>]> = [
      ["429", (_asked, response) => json(response, 429, "{}")],
      ["no JSON", (_asked, response) => json(response, 200, "<html>")],
      ["no text", (_asked, response) => json(response, 200, '{"choices": null}')],
      [
        "broken off",
        (_asked, response) => (
          response.writeHead(200, { "content-length": "900" }),
          response.write("{"),
          response.destroy(),
          true
        )
      ],
      [
        "never ends",
        (_asked, response) => {
          response.writeHead(200)
          const timer = setInterval(() => response.write(" ".repeat(60_000)), 5)
          response.on("close", () => clearInterval(timer))
          return true
        }
      ]
    ]
    for (const [name, misbehaves] of wrongs) {
      server.misbehaves = misbehaves
      const found = await search({ q: "fridge" })
      expect([name, found.status, idsOf(found).length]).toEqual([name, 200, 2])
      expect(found.body.parsed_nl_query.generated_params).toEqual({})
      expect(found.body.parsed_nl_query.error).toMatch(
        /^Error generating search parameters: The server of the model `openai\/any`/
      )
      expect(found.text).not.toContain(KEY)
    }
    expect(await balanceOf(tenant.full_key)).toBeCloseTo(before, 6)
  })
  it("take nothing from a hostile answer but words, filters and orders that can be searched", async () => {
    for (const content of [
      "no object here",
      "[1, 2]",
      '{"filter_by": "price:<600) || (price:>0"}',
      '{"filter_by": "nothing:=1"}',
      '{"filter_by": "price:<cheap"}',
      '{"sort_by": "title:up"}',
      `{"q": "${"x".repeat(5_000)}"}`
    ]) {
      says(content)
      const found = await search({ q: "fridge" })
      expect([content.slice(0, 40), found.status, idsOf(found).length]).toEqual([content.slice(0, 40), 200, 2])
      expect(found.body.parsed_nl_query.error).toMatch(/^Error generating search parameters: /)
      expect(found.body.parsed_nl_query.generated_params).toEqual({})
    }
    says(
      '{"q": "fridge", "per_page": 0, "preset": "x", "include_fields": "secret", "x_user_id": "v", "__proto__": {"q": "y"}, "filter_by": {"a": 1}}'
    )
    const found = await search({ q: "fridge", exclude_fields: "secret" })
    expect(found.body.parsed_nl_query.generated_params).toEqual({ q: "fridge" })
    expect([idsOf(found).length, found.text.includes("alpha")]).toEqual([2, false])
  })
  it("never see more than their key, whatever the model answers", async () => {
    const headers = { "x-svc-session-id": "s1" }
    const cheap = (
      await send("POST", "/v1/keys", { description: "k", scope: "search", filter_by: { goods: "price:<600" } })
    ).body.value
    says('{"q": "*", "filter_by": "price:>0 || price:<9999"}')
    expect(idsOf(await search({ q: "anything at all" }, cheap, headers))).toEqual(["1"])
    expect(idsOf(await search({ q: "anything at all", filter_by: "price:>600" }))).toEqual(["2"])
    const blind = (await send("POST", "/v1/keys", { description: "k", scope: "search", fields: ["title", "price"] }))
      .body.value
    says('{"q": "*", "filter_by": "secret:=alpha"}')
    const found = await search({ q: "fridge" }, blind, headers)
    expect([found.status, idsOf(found).length]).toEqual([200, 2])
    expect(found.body.parsed_nl_query.error).toMatch(/^Error generating search parameters: /)
    const told = JSON.stringify(server.asked.at(-1)!.body)
    expect([told.includes("secret"), told.includes("alpha")]).toEqual([false, false])
  })
  it("are refused without credits, and are free with this program's own model", async () => {
    await send("POST", base, model({ id: "default" }), other.full_key)
    const poor = await search({ q: "fridge under 600" }, other.full_key)
    expect(poor.status).toBe(402)
    expect(idsOf(await search({ q: "fridge under 600", nl_model_id: "dowser/rules" }, other.full_key))).toEqual(["1"])
    await send("DELETE", `${base}/default`, undefined, other.full_key)
  })
})

it("credentials are in no log and in no file of the program in plain text", () => {
  expect(logged.length).toBeGreaterThan(0)
  expect(logged.filter((line) => line.includes(KEY))).toEqual([])
  const walk = (folder: string): ReadonlyArray<string> =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? walk(join(folder, entry.name)) : entry.isFile() ? [join(folder, entry.name)] : []
    )
  const found = walk(folder).filter((file) => readFileSync(file).includes(KEY))
  expect(found).toEqual([])
})
