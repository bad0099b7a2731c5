/**
 * Every operation of the OpenAPI document with every kind of key, against one table; and every two causes of refusal
 * together, of which the earlier answers (`docs/contract/errors.md#order-of-refusals`). A new operation takes part as
 * soon as it is in the OpenAPI document.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Effect } from "effect"
import { Access, NEVER_EXPIRES } from "../../src/access/access.ts"
import { type Answer, type Program, startProgram, type Tenant } from "../support/program.ts"
import { securedKey } from "../support/secured.ts"

interface Place {
  readonly method: string
  readonly path: string
  readonly scope: string
  readonly plane: string
  readonly hasCollection: boolean
}
let program: Program
let tenant: Tenant
let pausedTenant: Tenant
let places: ReadonlyArray<Place>
const keys = new Map<string, string | undefined>()

const makeKey = async (
  body: Record<string, unknown>,
  owner = tenant
): Promise<{ readonly id: string; readonly value: string }> => {
  const made = await program.request("POST", "/v1/keys", {
    key: owner.full_key,
    body: { description: "t", scope: "search", rate_limit_per_minute: 0, ...body }
  })
  if (made.status !== 201) throw new Error(made.text)
  return made.body
}
/** The gateway's keys are in `Authorization`. */
const isBearer = (path: string): boolean => /^\/(?:api\/v1|v1\/cms\/runtime)\//.test(path)
/** Each request is from a network of its own: the limit of attempts with unknown keys has a test of its own. */
let asked = 0
const elsewhere = () => ({ "x-forwarded-for": `198.18.${(++asked >> 8) & 255}.${asked & 255}` })
const call = (
  { method, path }: Pick<Place, "method" | "path">,
  key: string | undefined,
  given: Record<string, string> = {}
) => {
  const headers = { ...elsewhere(), ...given }
  return program.request(method, path, {
    ...(key === undefined || isBearer(path) ? {} : { key }),
    headers: key !== undefined && isBearer(path) ? { ...headers, authorization: `Bearer ${key}` } : headers,
    ...(method === "GET" ? {} : { body: "not json" })
  })
}
/** The gateway's codes for what shapes A and B express in words. */
const gatewayWords: Readonly<Record<string, string>> = {
  address_not_allowed: "address",
  origin_not_allowed: "origin",
  scope_denied: "scope",
  tenant_mismatch: "collection"
}
/** The refusal by the ordered checks, or `passes`. */
const outcomeOf = ({ body, status, text }: Answer): string => {
  const message = String(gatewayWords[body?.error] ?? body?.message ?? text)
  if (status === 401 || status === 402 || status === 429) return String(status)
  return status === 403
    ? `403 ${["address", "origin", "scope", "collection"].find((word) => message.includes(word)) ?? message}`
    : "passes"
}

beforeAll(async () => {
  program = await startProgram({ trustedProxies: ["127.0.0.0/8"] })
  tenant = await program.tenant("Table")
  pausedTenant = await program.tenant("Paused")
  const documents = await Promise.all(
    ["/v1/openapi.json", "/api/v1/openapi.json"].map(async (path) => (await program.request("GET", path)).body)
  )
  places = documents
    .flatMap(({ paths }) => Object.entries<Record<string, Record<string, string>>>(paths))
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, entry]): Place => ({
        method: method.toUpperCase(),
        path: path.replace(/\{[^}]+\}/g, "nowhere"),
        scope: entry["x-scope"],
        plane: entry["x-plane"],
        hasCollection: path.includes("{collectionName}")
      }))
    )
  keys.set("none", undefined)
  keys.set("unknown", "x".repeat(76))
  keys.set("expired", (await makeKey({ expires_at: 1 })).value)
  const revoked = await makeKey({ scope: "full" })
  await program.request("DELETE", `/v1/keys/${revoked.id}`, { key: tenant.full_key })
  keys.set("revoked", revoked.value)
  keys.set("paused", pausedTenant.full_key)
  keys.set("wrong address", (await makeKey({ scope: "full", cidrs: ["10.0.0.0/8"] })).value)
  keys.set("wrong origin", (await makeKey({ scope: "full", origins: ["https://a.example"] })).value)
  keys.set("search", tenant.search_key)
  keys.set("gateway search", (await makeKey({ gateway: true })).value)
  keys.set("browser", (await program.request("POST", "/v1/browser_keys", { key: tenant.full_key, body: {} })).body.key)
  keys.set("secured", securedKey(tenant.search_key, { filter_by: "a:=1" }))
  keys.set("forged", `${securedKey(tenant.search_key, { filter_by: "a:=1" }).slice(0, -8)}AAAAAAAA`)
  keys.set("secured, expired", securedKey(tenant.search_key, { expires_at: 1 }))
  keys.set("connector", (await makeKey({ scope: "connector_write" })).value)
  const parent = (await program.request("GET", "/v1/keys", { key: tenant.full_key })).body.keys.find(
    ({ scope }: { scope: string }) => scope === "search"
  ).id as string
  const [installation, scoped] = await program.run(
    Effect.gen(function* () {
      const access = yield* Access
      const made = yield* access.createKey({
        organization_id: tenant.organization_id,
        scope: "installation",
        installation_id: "cms_1",
        description: "i",
        actions: [],
        collections: ["*"],
        isGateway: false,
        cidrs: [],
        origins: [],
        filter_by: {},
        rate_limit_per_minute: 0,
        expires_at: NEVER_EXPIRES
      })
      return [
        made.value,
        yield* access.mintScopedToken({
          organization_id: tenant.organization_id,
          key_id: parent,
          index: "nowhere",
          scopedFilter: "a:=1",
          expires_at: 9_999_999_999
        })
      ]
    })
  )
  keys.set("installation", installation)
  keys.set("scoped token", scoped)
  keys.set("full", tenant.full_key)
  keys.set("full, other collections", (await makeKey({ scope: "full", collections: ["others"] })).value)
  keys.set("search, other collections", (await makeKey({ collections: ["others"] })).value)
  await program.request("POST", `/console/v1/organizations/${pausedTenant.organization_id}/pause`, {
    body: { reason: "manual" },
    headers: { authorization: `Bearer ${program.operatorToken}` }
  })
})
afterAll(() => program.stop())

type Expected = (place: Place) => string
const always =
  (outcome: string): Expected =>
  () =>
    outcome
/** Without a collection they concern all, which a key of some may not; or they span all (`reach.ts`). */
const ofAllCollections =
  /^\/v1\/(?:analytics\/metrics\/.*|events\/(?:failed|replays|subjects\/.*)|aliases\/.*|audit|ai\/providers.*|media(?!\/images$).*|support\/.*|assistants(?!\/[^/]+\/chat).*|connectors.*|cms.*|webhooks.*|(?:presets|nl_search_models|conversations|search_policies|stopwords|stemming|synonym_sets|curation_sets).*)$/
const isGateway = ({ path }: Pick<Place, "path">): boolean => path.startsWith("/api/v1/")
/** The index of the walk does not exist, which the gateway reports like one of another tenant: after scope and rate. */
const afterCheck = (place: Place): string => (isGateway(place) && place.hasCollection ? "403 collection" : "passes")
const searchOnly: Expected = (place) => (place.scope === "search" ? afterCheck(place) : "403 scope")
const makesTokens = ({ path }: Place): boolean => path === "/api/v1/scoped-tokens"
const reachOfOthers: Expected = ({ hasCollection, path }) =>
  hasCollection || ofAllCollections.test(path) ? "403 collection" : "passes"
const table: Readonly<Record<string, Expected>> = {
  none: always("401"),
  unknown: always("401"),
  expired: always("401"),
  revoked: always("401"),
  forged: always("401"),
  "secured, expired": always("401"),
  installation: always("401"),
  "scoped token": (place) => (!isGateway(place) ? "401" : makesTokens(place) ? "403 scope" : searchOnly(place)),
  paused: always("402"),
  "wrong address": always("403 address"),
  "wrong origin": always("403 origin"),
  search: searchOnly,
  "gateway search": searchOnly,
  browser: (place) => (isGateway(place) ? "401" : searchOnly(place)),
  secured: (place) => (makesTokens(place) ? "403 scope" : searchOnly(place)),
  connector: (place) => (place.scope === "connector_write" ? afterCheck(place) : "403 scope"),
  full: (place) => (makesTokens(place) ? "403 scope" : afterCheck(place)),
  "full, other collections": (place) => (makesTokens(place) ? "403 scope" : reachOfOthers(place)),
  "search, other collections": (place) =>
    place.scope === "search" && place.hasCollection ? "403 collection" : searchOnly(place)
}
const expectedOf = (kind: string, place: Place): string =>
  place.scope === "public"
    ? "passes"
    : place.scope === "operator" || place.scope === "console"
      ? "401"
      : place.scope === "installation"
        ? kind === "installation"
          ? "passes"
          : "401"
        : table[kind](place)

describe("every operation with every kind of key", () => {
  it("has a row for every kind, and operations of every scope", () => {
    expect([...keys.keys()].sort()).toEqual(Object.keys(table).sort())
    expect(new Set(places.map(({ scope }) => scope))).toEqual(
      new Set(["public", "search", "connector_write", "installation", "full", "operator", "console"])
    )
    expect(places.length).toBeGreaterThan(70)
  })
  it.each(Object.keys(table))("%s", async (kind) => {
    const differing: Array<string> = []
    for (const place of places) {
      // The right key would execute every operation.
      if (place.scope === "public" && place.method !== "GET") continue
      const answer = await call(place, keys.get(kind))
      const outcome = outcomeOf(answer)
      if (outcome !== expectedOf(kind, place))
        differing.push(
          `${place.method} ${place.path}: ${outcome} for ${expectedOf(kind, place)} (${answer.status} ${answer.text.slice(0, 200)})`
        )
    }
    expect(differing).toEqual([])
  })
  it("marks exactly the search operations that exist", () => {
    expect(
      places
        .filter(({ scope }) => scope === "search")
        .map(({ method, path }) => `${method} ${path}`)
        .sort()
    ).toEqual([
      "DELETE /v1/assistants/nowhere/conversations/nowhere",
      "GET /api/v1/indexes/nowhere/suggest",
      "GET /v1/assistants/nowhere/conversations",
      "GET /v1/assistants/nowhere/conversations/nowhere",
      "GET /v1/collections/nowhere/documents/search",
      "GET /v1/collections/nowhere/documents/search/voice_stream",
      "GET /v1/collections/nowhere/graph/entities",
      "GET /v1/collections/nowhere/prompts",
      "GET /v1/collections/nowhere/search-profiles/nowhere/storefront",
      "GET /v1/collections/nowhere/suggestions",
      "GET /v1/support/threads",
      "GET /v1/support/threads/nowhere",
      "GET /v1/support/threads/nowhere/media/nowhere",
      "GET /v1/support/threads/nowhere/messages",
      "GET /v1/support/threads/nowhere/stream",
      "PATCH /v1/support/threads/nowhere",
      "POST /api/v1/federated-search",
      "POST /api/v1/indexes/nowhere/geo-search",
      "POST /api/v1/indexes/nowhere/search",
      "POST /api/v1/multi-search",
      "POST /api/v1/scoped-tokens",
      "POST /v1/assistants/nowhere/chat/completions",
      "POST /v1/collections/nowhere/documents/image_search",
      "POST /v1/collections/nowhere/documents/semantic_search",
      "POST /v1/collections/nowhere/documents/voice_search",
      "POST /v1/events",
      "POST /v1/media/images",
      "POST /v1/multi_search",
      "POST /v1/recommendations",
      "POST /v1/support/threads",
      "POST /v1/support/threads/nowhere/messages",
      "POST /v1/voice/transcriptions"
    ])
  })
})

describe("of two causes the earlier answers", () => {
  const far = { "x-forwarded-for": "10.1.2.3" }
  const near = { origin: "https://a.example" }
  const search = { method: "GET", path: "/v1/collections/nowhere/documents/search?q=*" }
  const write = { method: "PATCH", path: "/v1/collections/nowhere/documents/1" }
  /** In the order of refusals: the cause of each in a key or a request, and the response. */
  const causes = [
    { name: "expired", outcome: "401", body: { expires_at: 1 } },
    { name: "revoked", outcome: "401", body: {} },
    { name: "paused", outcome: "402", body: {} },
    { name: "address", outcome: "403 address", body: { cidrs: ["10.0.0.0/8"] } },
    { name: "origin", outcome: "403 origin", body: { origins: ["https://a.example"] } },
    { name: "scope", outcome: "403 scope", body: {} },
    { name: "rate", outcome: "429", body: { rate_limit_per_minute: 1 } },
    { name: "collection", outcome: "403 collection", body: { collections: ["others"] } }
  ]
  const pairs = causes
    .flatMap((first, i) => [...causes.slice(i + 1), undefined].map((second) => [first, second] as const))
    .filter(([first, second]) => second === undefined || first.outcome !== second.outcome)
  it.each(
    pairs.map(([first, second]) => [`${first.name} and ${second?.name ?? "nothing else"}`, first, second] as const)
  )("%s", async (_name, first, second) => {
    const both = new Set([first.name, second?.name])
    const owner = both.has("paused") ? pausedTenant : tenant
    const operator = { authorization: `Bearer ${program.operatorToken}` }
    if (owner === pausedTenant)
      await program.request("POST", `/console/v1/organizations/${owner.organization_id}/resume`, { headers: operator })
    const { id, value } = await makeKey({ ...first.body, ...second?.body }, owner)
    // The minute's only token is taken by a request that earns no earlier refusal.
    if (both.has("rate"))
      for (let tries = 0; tries < 5 && outcomeOf(await call(search, value, { ...far, ...near })) !== "429"; tries++);
    if (both.has("revoked")) await program.request("DELETE", `/v1/keys/${id}`, { key: owner.full_key })
    if (owner === pausedTenant)
      await program.request("POST", `/console/v1/organizations/${owner.organization_id}/pause`, {
        body: { reason: "payment" },
        headers: operator
      })
    const headers = { ...(both.has("address") ? {} : far), ...(both.has("origin") ? {} : near) }
    expect(outcomeOf(await call(both.has("scope") ? write : search, value, headers))).toBe(first.outcome)
  })
  it("checks the resource before the body, and the row restriction last", async () => {
    expect((await call(write, tenant.full_key)).status).toBe(404)
    const { value } = await makeKey({ filter_by: { shelf: "gone:=1" } })
    expect((await program.request("GET", "/v1/collections/shelf/documents/search?q=*", { key: value })).status).toBe(
      404
    )
    await program.request("POST", "/v1/collections", {
      key: tenant.full_key,
      body: { name: "shelf", fields: [{ name: "title", type: "string" }] }
    })
    expect((await program.request("GET", "/v1/collections/shelf/documents/search?q=*", { key: value })).status).toBe(
      403
    )
    for (const query of [
      "",
      "?q=*&sort_by=nothing:asc",
      "?q=*&per_page=many",
      "?q=*&filter_by=(",
      "?q=*&pinned_hits=x"
    ])
      expect([
        query,
        (await program.request("GET", `/v1/collections/shelf/documents/search${query}`, { key: value })).status
      ]).toEqual([query, query.includes("sort_by") ? 404 : 400])
  })
})
