/**
 * NL search models of Google Cloud (`docs/contract/models.md#nl-search-models`, provider `gcp`) against a server on
 * loopback that issues access tokens for refresh tokens and signed assertions, as its documentation describes, and
 * revokes them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { createVerify, generateKeyPairSync } from "node:crypto"
import { afterAll, afterEach, beforeAll, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

const { privateKey, publicKey } = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
  publicKeyEncoding: { type: "spki", format: "pem" }
})
const SECRET = "client-secret-never-shown-99"
let program: Program
let tenant: Tenant
let url: string
/** Requested paths, with their credential; forms of token requests. */
const asked: Array<string> = []
const forms: Array<URLSearchParams> = []
let good = "token-0"
let given = 0
let isTokenRefused = false

const take = async (request: IncomingMessage, response: ServerResponse) => {
  const pieces: Array<Buffer> = []
  for await (const piece of request) pieces.push(piece as Buffer)
  const body = Buffer.concat(pieces).toString("utf8")
  const answer = (status: number, value: unknown) => {
    response.writeHead(status, { "content-type": "application/json" })
    response.end(JSON.stringify(value))
  }
  if (request.url === "/token") {
    forms.push(new URLSearchParams(body))
    if (isTokenRefused) return answer(400, { error: "invalid_grant", error_description: body })
    given++
    good = `token-${given}`
    return answer(200, { access_token: good, expires_in: 3_599, token_type: "Bearer" })
  }
  asked.push(`${request.url} ${request.headers.authorization}`)
  if (request.headers.authorization !== `Bearer ${good}`) return answer(401, { error: { message: "no such token" } })
  const text = '{"q": "fridge", "filter_by": "price:<600"}'
  return answer(200, { candidates: [{ content: { role: "model", parts: [{ text }] } }] })
}
const server = createServer((request, response) => void take(request, response).catch(() => response.destroy()))

const send = (method: string, path: string, body?: unknown) =>
  program.request(method, path, { key: tenant.full_key, body })
const search = (nl_model_id: string) =>
  send(
    "GET",
    `/v1/collections/goods/documents/search?${new URLSearchParams({ q: "a cold box", query_by: "title", nl_query: "true", nl_model_id })}`
  )
const shared = () => ({ model_name: "gcp/gemini-any", max_bytes: 9_000, project_id: "shop-1", api_url: url })
const PLACE = "/v1/projects/shop-1/locations/us-central1/publishers/google/models/gemini-any:generateContent"

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  program = await startProgram({ allowPrivateAddresses: true })
  tenant = await program.tenant("Cloud")
  await program.topUp(tenant.organization_id, 10)
  const fields = [
    { name: "title", type: "string" },
    { name: "price", type: "float" }
  ]
  await send("POST", "/v1/collections", { name: "goods", fields })
  await send("POST", "/v1/collections/goods/documents", { id: "1", title: "fridge", price: 450 })
})
afterEach(() => {
  asked.length = 0
  forms.length = 0
  isTokenRefused = false
})
afterAll(async () => {
  await program.stop()
  server.closeAllConnections()
  server.close()
})

it("continues with a refresh token when its access token has expired", async () => {
  const tokens = {
    access_token: "token-old",
    refresh_token: "refresh-1",
    client_id: "client-1",
    client_secret: SECRET,
    token_uri: `${url}/token`
  }
  const made = await send("POST", "/v1/nl_search_models", { id: "refreshed", ...shared(), ...tokens })
  expect(made.status).toBe(201)
  expect(made.text).not.toMatch(/token-old|refresh-1|client-secret-never/)
  expect(made.body).toMatchObject({ id: "refreshed", client_id: "client-1", project_id: "shop-1" })
  expect(asked).toEqual([`${PLACE} Bearer token-old`, `${PLACE} Bearer ${good}`])
  expect(Object.fromEntries(forms[0]!)).toEqual({
    grant_type: "refresh_token",
    refresh_token: "refresh-1",
    client_id: "client-1",
    client_secret: SECRET
  })
  for (let i = 0; i < 3; i++) {
    const found = await search("refreshed")
    expect(found.body.parsed_nl_query.generated_params).toEqual({ q: "fridge", filter_by: "price:<600" })
  }
  // Once for what was stored, and not for each search.
  expect(forms.length).toBeLessThanOrEqual(2)
})
it("signs for a service account, whose key is masked and never returned", async () => {
  const service_account = { client_email: "shop@example.iam", private_key: privateKey, token_uri: `${url}/token` }
  const made = await send("POST", "/v1/nl_search_models", {
    id: "signed",
    ...shared(),
    region: "us-central1",
    service_account
  })
  expect(made.status).toBe(201)
  expect(made.body.service_account.client_email).toBe("shop@example.iam")
  expect(made.text).not.toContain(privateKey.split("\n")[2])
  const assertion = forms[0]!.get("assertion")!
  const [head, claims, signature] = assertion.split(".")
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString())
  expect(read(head!)).toEqual({ alg: "RS256", typ: "JWT" })
  const { exp, iat, ...own } = read(claims!)
  expect([exp - iat, own]).toEqual([
    3_600,
    {
      iss: "shop@example.iam",
      scope: "https://www.googleapis.com/auth/cloud-platform",
      aud: `${url}/token`
    }
  ])
  const verified = createVerify("RSA-SHA256").update(`${head}.${claims}`).verify(publicKey, signature!, "base64url")
  expect(verified).toBe(true)
  // The masked form may be sent back.
  const kept = await send("PUT", "/v1/nl_search_models/signed", {
    max_bytes: 8_000,
    service_account: made.body.service_account
  })
  expect([kept.status, kept.body.max_bytes]).toEqual([200, 8_000])
  expect((await search("signed")).body.parsed_nl_query.generated_params.q).toBe("fridge")
})
it("reports what is wrong, without its secrets", async () => {
  for (const [body, message] of [
    [{ project_id: undefined }, "Property `project_id` is missing or is not a non-empty string."],
    [{}, "Property `access_token` is missing or is not a non-empty string."],
    [
      { access_token: "a", refresh_token: "b", client_id: "c" },
      "Property `client_secret` is missing or is not a non-empty string."
    ],
    [
      { service_account: { client_email: "x" } },
      "Property `service_account` must be an object with `client_email` and `private_key`, both texts."
    ],
    [
      { service_account: { client_email: "x", private_key: "no key" } },
      "The server of the model `gcp/gemini-any` has a `private_key` that cannot be read."
    ]
  ] as const) {
    const refused = await send("POST", "/v1/nl_search_models", { ...shared(), ...body })
    expect([message, refused.status, refused.body.message]).toEqual([message, 400, message])
  }
  isTokenRefused = true
  const tokens = {
    access_token: "over",
    refresh_token: "r",
    client_id: "c",
    client_secret: SECRET,
    token_uri: `${url}/token`
  }
  const refused = await send("POST", "/v1/nl_search_models", { ...shared(), ...tokens })
  expect([refused.status, refused.body.message]).toEqual([
    400,
    "The server of the model `gcp/gemini-any` cannot get an access token (400)."
  ])
})
