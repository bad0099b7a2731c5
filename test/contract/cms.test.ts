/**
 * CMS installations over HTTP: their configuration and its revisions, and what their modules read, report and push with
 * the installation's key, which permits nothing else; two organizations side by side.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await sharedProgram()
  tenant = await program.tenant("Shop")
  other = await program.tenant("Other shop")
  for (const owner of [tenant, other])
    await send("POST", "/collections", { name: "products", fields: [{ name: "title", type: "string" }] }, owner)
})
afterAll(() => program.stop())

const send = (method: string, path: string, body?: unknown, owner: Tenant = tenant) =>
  program.request(method, `/v1${path}`, { key: owner.full_key, body })
interface Installed {
  readonly id: string
  readonly key: string
}
const fields = { name: "Main", provider: "bitrix", environment: "staging", origin: "https://shop.example" }
const installed = async (owner: Tenant = tenant): Promise<Installed> => {
  const made = await send("POST", "/cms/installations", fields, owner)
  expect(made.status, made.text).toBe(201)
  return { id: made.body.id as string, key: made.body.installation_key as string }
}
const call = ({ key }: Installed, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  program.request(method, `/v1/cms/runtime${path}`, { body, headers: { authorization: `Bearer ${key}`, ...headers } })
const connector = async (owner: Tenant = tenant) =>
  (
    await send(
      "POST",
      "/connectors",
      { name: "Shop", collection: "products", provider: "generic", sync_mode: "push" },
      owner
    )
  ).body as { readonly id: string; readonly secret: string }
const configOf = (...sources: ReadonlyArray<Record<string, unknown>>) => ({
  protocol_version: 1,
  stores: [{ local_id: "main", locale: "en", currency: "EUR", native_search: true, sources }]
})
const publish = ({ id }: Installed, expected_revision: number, config: unknown, owner: Tenant = tenant) =>
  send("PUT", `/cms/installations/${id}/config`, { expected_revision, config }, owner)
const source = { local_id: "goods", collection: "products" }

describe("a configuration", () => {
  it("has a revision that is raised by one, and answers 409 with the current one to a stale write", async () => {
    const own = await installed()
    expect((await send("GET", `/cms/installations/${own.id}`)).body).toMatchObject({
      desired_revision: 0,
      applied_revision: 0,
      in_sync: true,
      config: { protocol_version: 1, stores: [] }
    })
    const both = await Promise.all([publish(own, 0, configOf(source)), publish(own, 0, configOf())])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
    const late = both.find(({ status }) => status === 409)!
    expect(late.body.data.current_revision).toBe(1)
    const next = await publish(own, 1, configOf(source))
    expect(next.body).toMatchObject({ desired_revision: 2, in_sync: false })
    expect((await publish(own, 2, configOf(), other)).status).toBe(404)
  })
  it("names only existing resources, and reports all errors at once", async () => {
    const own = await installed()
    const foreign = await connector(other)
    const { body, status } = await publish(own, 0, {
      protocol_version: 1,
      stores: [
        {
          local_id: "a",
          sources: [
            { local_id: "x", collection: "nowhere", search_preset: "none", recommendation_model: "rec_none" },
            { local_id: "x", collection: "products", connector_id: foreign.id }
          ]
        },
        { local_id: "a", sources: [] }
      ]
    })
    expect([status, body.data.issues.map(({ path }: any) => path).sort()]).toEqual([
      400,
      [
        "config.stores[0].sources[0].collection",
        "config.stores[0].sources[0].recommendation_model",
        "config.stores[0].sources[0].search_preset",
        "config.stores[0].sources[1].connector_id",
        "config.stores[0].sources[1].local_id",
        "config.stores[1].local_id"
      ]
    ])
    for (const [config, path] of [
      [{ protocol_version: 2, stores: [] }, "config.protocol_version"],
      [{ ...configOf(), more: 1 }, "config.more"],
      [configOf({ ...source, local_id: "x".repeat(121) }), "config.stores[0].sources[0].local_id"]
    ] as const) {
      const refused = await publish(own, 0, config)
      expect([refused.status, refused.body.data.issues[0].path]).toEqual([400, path])
    }
    await send("POST", "/collections", { name: "others", fields: [{ name: "title", type: "string" }] })
    const mine = await connector()
    const elsewhere = await publish(own, 0, configOf({ ...source, collection: "others", connector_id: mine.id }))
    expect(elsewhere.body.data.issues[0].message).toContain("writes to `products`")
  })
  it("belongs to an origin", async () => {
    for (const origin of ["shop.example", "https://shop.example/path", "ftp://shop.example", "https://a@shop.example"])
      expect((await send("POST", "/cms/installations", { ...fields, origin })).status).toBe(400)
  })
})

describe("the key of an installation", () => {
  it("reads its own configuration, where its events are sent and what signs them; 304 until that changes", async () => {
    const own = await installed()
    const mine = await connector()
    await publish(own, 0, configOf({ ...source, connector_id: mine.id }))
    const first = await call(own, "GET", "/config")
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"1"'])
    expect(first.body).toMatchObject({
      installation_id: own.id,
      desired_revision: 1,
      connectors: [
        { store: "main", local_id: "goods", webhook_path: `/v1/connectors/${mine.id}/webhook`, secret: mine.secret }
      ]
    })
    const again = () => call(own, "GET", "/config", undefined, { "if-none-match": '"1"' })
    expect([(await again()).status, (await again()).status]).toEqual([304, 304])
    const { secret } = (await send("POST", `/connectors/${mine.id}/secret`)).body
    const rotated = await again()
    expect([rotated.status, rotated.body.connectors[0].secret]).toEqual([200, secret])
    expect((await again()).status).toBe(304)
    expect((await send("GET", `/cms/installations/${own.id}`)).body.last_seen_at).toBeGreaterThan(0)
    const theirs = await installed(other)
    expect((await call(theirs, "GET", "/config")).body).toMatchObject({ installation_id: theirs.id, connectors: [] })
  })
  it("answers 401 in the tenant API, as a tenant's key does at run time, and after it is revoked", async () => {
    const own = await installed()
    for (const [method, path] of [
      ["GET", "/collections"],
      ["GET", "/cms/installations"],
      ["GET", `/cms/installations/${own.id}`],
      ["GET", "/collections/products/documents/search?q=*"],
      ["POST", "/events"]
    ] as const)
      for (const headers of [{ authorization: `Bearer ${own.key}` }, { "x-svc-api-key": own.key }] as ReadonlyArray<
        Record<string, string>
      >)
        expect((await program.request(method, `/v1${path}`, { headers })).status, path).toBe(401)
    for (const key of [tenant.full_key, tenant.search_key])
      expect((await call({ id: "", key }, "GET", "/config")).status).toBe(401)
    expect((await call(own, "POST", "/report", { applied_revision: 0, last_error: "x" })).status).toBe(200)
    const revoked = await send("DELETE", `/cms/installations/${own.id}/key`)
    expect(revoked.body).toMatchObject({ last_error: "x", revoked_at: expect.any(Number) })
    expect((await send("DELETE", `/cms/installations/${own.id}/key`)).body).toEqual(revoked.body)
    for (const [method, path] of [
      ["GET", "/config"],
      ["POST", "/report"],
      ["POST", "/events"]
    ] as const)
      expect((await call(own, method, path, method === "GET" ? undefined : {})).status).toBe(401)
    expect((await publish(own, 0, configOf())).status).toBe(409)
    expect((await send("GET", "/cms/installations?limit=250")).body.data.some(({ id }: any) => id === own.id)).toBe(
      true
    )
    expect((await send("DELETE", `/cms/installations/${own.id}/key`, undefined, other)).status).toBe(404)
  })
})

describe("a report", () => {
  it("is stored, new values over earlier ones, and shows whether the installation is in sync", async () => {
    const own = await installed()
    await publish(own, 0, configOf(source))
    const discovery = {
      module_version: "2.1",
      cms_version: "25.1",
      capabilities: ["native_search"],
      stores: [{ local_id: "main", name: "Main", source_ids: ["goods"], theme: "dark" }],
      php: "8.4"
    }
    const health = { pending: 3, throughput_per_min: 120, catalog_size: "empty", reindex_active: false, queue: "redis" }
    const first = await call(own, "POST", "/report", { discovery, sync_health: health, mood: "good" })
    expect([first.status, first.body]).toEqual([200, { desired_revision: 1 }])
    await call(own, "POST", "/report", { applied_revision: 1, last_error: "The index is slow." })
    const shown = (await send("GET", `/cms/installations/${own.id}`)).body
    const { theme, ...store } = discovery.stores[0]!
    expect(shown).toMatchObject({
      applied_revision: 1,
      in_sync: true,
      last_error: "The index is slow.",
      unknown_fields: 4,
      discovery: {
        module_version: "2.1",
        capabilities: ["native_search"],
        stores: [{ ...store, metadata: { theme } }],
        metadata: { php: "8.4" }
      },
      sync_health: { pending: 3, catalog_size: "empty", metadata: { queue: "redis" } }
    })
    await call(own, "POST", "/report", { last_error: null })
    expect((await send("GET", `/cms/installations/${own.id}`)).body.last_error).toBeUndefined()
    await publish(own, 1, configOf())
    expect((await send("GET", `/cms/installations/${own.id}`)).body.in_sync).toBe(false)
  })
  it("answers 409 for an unpublished revision, and 400 for an invalid field, which changes nothing", async () => {
    const own = await installed()
    const beyond = await call(own, "POST", "/report", { applied_revision: 1, last_error: "kept?" })
    expect([beyond.status, beyond.body.data.current_revision]).toEqual([409, 0])
    const wrong = await call(own, "POST", "/report", { sync_health: { pending: "3" }, discovery: { stores: "main" } })
    expect([wrong.status, wrong.body.data.issues.map(({ path }: any) => path).sort()]).toEqual([
      400,
      ["discovery.stores", "sync_health.pending"]
    ])
    expect((await call(own, "POST", "/report", { discovery: { note: "x".repeat(300_000) } })).status).toBe(400)
    expect((await call(own, "POST", "/report", [])).status).toBe(400)
    const nul = await call(own, "POST", "/report", { last_error: "a\u0000b" })
    expect([nul.status, nul.body.data?.issues?.[0]?.path]).toEqual([400, "last_error"])
    expect((await send("GET", `/cms/installations/${own.id}`)).body.last_error).toBeUndefined()
  })
})

describe("events of a source", () => {
  it("are accepted like its connector's signed pushes, and only from sources of the configuration", async () => {
    const own = await installed()
    const mine = await connector()
    await publish(own, 0, configOf({ ...source, connector_id: mine.id }, { local_id: "news", collection: "products" }))
    const push = (store: string, name: string, events: ReadonlyArray<unknown>) =>
      call(own, "POST", "/events", { store, source: name, events })
    const taken = await push("main", "goods", [
      { external_id: "lamp", version: 2, title: "Lamp" },
      { event: "delete", external_id: "mug", version: 1 },
      { title: "Nobody" }
    ])
    expect([taken.status, taken.body]).toMatchObject([202, { received: 3, upserts: 1, deletes: 1 }])
    expect(taken.body.rejected.map(({ index }: any) => index)).toEqual([2])
    await eventually("they are applied", async () => {
      const { body } = await send("GET", `/jobs/${taken.body.job_id}`)
      return body.status === "ready" ? true : undefined
    })
    expect((await send("GET", "/collections/products/documents/lamp")).body).toEqual({ id: "lamp", title: "Lamp" })
    expect((await send("GET", "/collections/products/documents/lamp", undefined, other)).status).toBe(404)
    for (const [store, name] of [
      ["main", "nothing"],
      ["other", "goods"],
      ["main", "news"]
    ] as const)
      expect((await push(store, name, [{ id: "1" }])).body.data.issues[0].path).toBe("source")
    expect((await push("main", "goods", [])).status).toBe(400)
    expect(
      (
        await push(
          "main",
          "goods",
          Array.from({ length: 501 }, (_, i) => ({ id: `${i}` }))
        )
      ).status
    ).toBe(400)
    await send("PUT", `/connectors/${mine.id}`, { enabled: false })
    expect((await push("main", "goods", [{ id: "1" }])).status).toBe(409)
  })
})
