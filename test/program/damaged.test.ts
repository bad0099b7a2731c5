/**
 * Starts over a data folder in which the stored data of some organizations is damaged, in every way at once: only these
 * are refused, the others are served.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { open } from "lmdb"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { layerSql } from "../../src/runtime/embedded.ts"
import { startEmbeddedPostgres } from "../../src/runtime/embedded-postgres.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { talkFields } from "../support/talks.ts"

const titled = { fields: [{ name: "title", type: "string" }] }
const CASES = [
  "preset",
  "synonym_set",
  "stopwords",
  "dictionary",
  "alias",
  "too big",
  "signing key",
  "rules",
  "rules that are no object",
  "rerank model",
  "profile",
  "profile without its release",
  "policy",
  "experiment",
  "connector",
  "NL search model",
  "conversation model",
  "record",
  "document",
  "segment",
  "snapshot",
  "counters",
  "well"
] as const
type Case = (typeof CASES)[number]

const folder = mkdtempSync(join(tmpdir(), "dowser-damaged-"))
const dataFolder = join(folder, "data")
let program: Program
const tenants = new Map<Case, Tenant>()
const call = (tenant: Tenant, method: string, path: string, body?: unknown) =>
  program.request(method, `/v1/${path}`, { key: tenant.full_key, ...(body === undefined ? {} : { body }) })
const search = (tenant: Tenant, collection = "goods") =>
  call(tenant, "GET", `collections/${collection}/documents/search?q=kettle&query_by=title`)

const fill = async (tenant: Tenant) => {
  for (const name of ["goods", "others"]) {
    expect((await call(tenant, "POST", "collections", { name, ...titled })).status).toBe(201)
    expect(
      (
        await call(
          tenant,
          "POST",
          `collections/${name}/documents/import`,
          Array.from({ length: 50 }, (_, i) => JSON.stringify({ id: `d${i}`, title: `Kettle ${i}` })).join("\n")
        )
      ).text
        .split("\n")
        .every((line) => line === '{"success":true}')
    ).toBe(true)
  }
  expect((await call(tenant, "PUT", "presets/p", { value: { q: "*" } })).status).toBe(200)
  expect(
    (await call(tenant, "PUT", "synonym_sets/s", { items: [{ id: "i", synonyms: ["kettle", "boiler"] }] })).status
  ).toBe(200)
  expect((await call(tenant, "PUT", "stopwords/w", { stopwords: ["the"] })).status).toBe(200)
  expect((await call(tenant, "PUT", "aliases/a", { collection_name: "goods" })).status).toBe(200)
  expect(
    (await call(tenant, "POST", "stemming/dictionaries/import?id=d", JSON.stringify({ word: "mice", root: "mouse" })))
      .status
  ).toBe(200)
  expect(
    (
      await call(tenant, "PUT", "collections/goods/search_rules", {
        pins: [{ id: "p", query: { match: "exact", q: "nothing" }, document_id: "d1", position: 1 }]
      })
    ).status
  ).toBeLessThan(500)
  expect((await call(tenant, "PUT", "search_policies/o", { params: { num_typos: 1 } })).status).toBe(200)
  const profile = { name: "f", searchable_fields: ["title"], search_policy: "o" }
  expect((await call(tenant, "POST", "collections/goods/search-profiles", profile)).status).toBe(201)
  const variants = [{ id: "a" }, { id: "b", params: { num_typos: 1 } }]
  const experiment = { name: "e", collection: "goods", metric: "ctr", variants }
  const { id } = (await call(tenant, "POST", "experiments", experiment)).body
  expect((await call(tenant, "POST", `experiments/${id}/start`)).status).toBe(200)
  const connector = { name: "c", collection: "goods", provider: "generic", sync_mode: "push" }
  expect((await call(tenant, "POST", "connectors", connector)).status).toBe(201)
  expect((await call(tenant, "POST", "browser_keys", {})).status).toBe(201)
  const words = { id: "m", model_name: "dowser/rules", max_bytes: 1_000 }
  expect((await call(tenant, "POST", "nl_search_models", words)).status).toBe(201)
  expect((await call(tenant, "POST", "collections", { name: "talks", fields: talkFields })).status).toBe(201)
  const talks = { ...words, model_name: "dowser/extractive", history_collection: "talks" }
  expect((await call(tenant, "POST", "conversations/models", talks)).status).toBe(201)
}

const damageRows = async () => {
  const server = await startEmbeddedPostgres(join(dataFolder, "postgres"))
  const of = (name: Case) => tenants.get(name)!.organization_id
  await Effect.runPromise(
    Effect.provide(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const resource = (name: Case, kind: string, value: string) =>
          Effect.map(
            sql`UPDATE engine_resources SET value = ${value}::text::jsonb WHERE organization_id = ${of(name)} AND kind = ${kind} RETURNING name`,
            (rows) => expect(rows, name).toHaveLength(1)
          )
        yield* resource("preset", "preset", "[1]")
        yield* resource("synonym_set", "synonym_set", '{"name":"s","items":[{"id":7}]}')
        yield* resource("stopwords", "stopwords", '{"id":"w","stopwords":"the"}')
        yield* resource("dictionary", "stemming_dictionary", '{"id":"d","words":{"mice":"mouse"}}')
        yield* resource("alias", "alias", '"goods"')
        yield* sql`UPDATE engine_resources SET value = jsonb_build_object('name', 'p', 'value', jsonb_build_object('q', repeat('x', 17000000))) WHERE organization_id = ${of("too big")} AND kind = 'preset'`
        yield* sql`UPDATE organization_signing_keys SET sealed_key = 'AAAA' WHERE organization_id = ${of("signing key")}`
        yield* sql`INSERT INTO rerank_models (organization_id, collection, name, version, fields, weights, metrics, trained_from, trained_to, created_at)
          VALUES (${of("rerank model")}, 'goods', 'm', 1, '[]'::json, '{"rank":"high"}'::json, '{}'::json, 0, 0, 0)`
        yield* sql`UPDATE search_profiles SET manifest = '{"searchable_fields":[7]}' WHERE organization_id = ${of("profile")}`
        yield* sql`UPDATE search_profiles SET active_release_id = 'rel_none' WHERE organization_id = ${of("profile without its release")}`
        yield* sql`UPDATE experiments SET definition = '{"variants":[{"weight":1,"rules":null}]}' WHERE organization_id = ${of("experiment")}`
        yield* sql`UPDATE connectors SET secrets = '{"sealed":"AAAA"}' WHERE organization_id = ${of("connector")}`
        yield* sql`UPDATE nl_search_models SET sealed_api_key = 'AAAA' WHERE organization_id = ${of("NL search model")}`
        yield* sql`UPDATE conversation_models SET value = '{"model_name":7}' WHERE organization_id = ${of("conversation model")}`
        yield* sql`UPDATE search_policies SET params = '{"num_typos":[1]}' WHERE organization_id = ${of("policy")}`
        yield* sql`INSERT INTO search_rule_sets (organization_id, collection, collection_created_at, rule_set, updated_at) VALUES (${of("rules")}, 'goods', 0, '{"pins":"none"}'::json, 0), (${of("rules that are no object")}, 'goods', 0, '[]'::json, 0)
      ON CONFLICT (organization_id, collection) DO UPDATE SET rule_set = EXCLUDED.rule_set`
      }),
      layerSql(server)
    )
  )
  await server.stop()
}
const damageFiles = async () => {
  const engine = join(dataFolder, "engine")
  const environment = open<Buffer, Buffer>({
    path: join(engine, "documents.mdb"),
    maxDbs: 8,
    encoding: "binary",
    keyEncoding: "binary"
  })
  const records = environment.openDB<Buffer, Buffer>({ name: "records", encoding: "binary", keyEncoding: "binary" })
  const documents = environment.openDB<Buffer, Buffer>({ name: "documents", encoding: "binary", keyEncoding: "binary" })
  const keys = new Map<string, Buffer>()
  for (const { key, value } of records.getRange({ start: Buffer.from("c"), end: Buffer.from("d") })) {
    const { namespace, schema } = JSON.parse(value.toString()) as {
      readonly namespace: string
      readonly schema: { readonly name: string }
    }
    if (schema.name === "goods") keys.set(namespace, Buffer.from(key.subarray(1)))
  }
  const keyOf = (name: Case) => keys.get(tenants.get(name)!.organization_id)!
  const named = (kind: string, name: Case) => Buffer.concat([Buffer.from(kind), keyOf(name)])
  const recordText = records.get(named("c", "record"))!.toString()
  await records.put(named("c", "record"), Buffer.from(recordText.slice(0, -20)))
  for (const name of ["snapshot", "document"] as const)
    await records.put(named("s", name), Buffer.from('{"position":1,"segments":[{}'))
  await records.put(named("n", "counters"), Buffer.from('{"nextSeq":'))
  const first = [...documents.getKeys({ start: keyOf("document"), limit: 1 })][0]!
  await documents.put(Buffer.from(first), Buffer.from('{"id":"d0","title":'))
  await environment.close()
  // Files of the same length, with other bytes.
  const segments = join(engine, "segments")
  const own = readdirSync(segments).filter((file) => file.startsWith(`${keyOf("segment").readUInt32BE(0)}-`))
  expect(own.length).toBeGreaterThan(0)
  for (const file of own)
    writeFileSync(join(segments, file), Buffer.alloc(readFileSync(join(segments, file)).length, 0xff))
}

beforeAll(async () => {
  program = await startProgram({ dataFolder })
  for (const name of CASES) tenants.set(name, await program.tenant(name))
  for (const tenant of tenants.values()) await fill(tenant)
  await program.stop()
  await damageRows()
  await damageFiles()
  program = await startProgram({ dataFolder })
})
afterAll(async () => {
  await program.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe("a start over damage", () => {
  const refusals: ReadonlyArray<readonly [Case, RegExp]> = [
    ["preset", /stored preset `p` is not what/],
    ["synonym_set", /stored synonym set `s` is not what/],
    ["stopwords", /stored stopwords `w` is not/],
    ["dictionary", /stored stemming dictionary `d` is not/],
    ["alias", /stored alias `a` is not/],
    ["too big", /stored preset `p` is too big/],
    ["signing key", /signing key does not open/],
    ["rules", /stored search rules of `goods` are not/],
    ["rules that are no object", /stored search rules of `goods` are not/],
    ["profile", /stored search profile `goods\/f` is not what/],
    ["profile without its release", /stored search profile `goods\/f` is not what/],
    ["policy", /stored search policy `o` is not what/],
    ["connector", /stored connector `con_\w+` is not what/],
    ["NL search model", /stored NL search model `m` is not what/],
    ["conversation model", /stored conversation model `m` is not what/],
    ["experiment", /stored experiment `exp_\w+` is not what/],
    ["rerank model", /weights of the rerank model `m` of `goods` are none/],
    ["record", /record of collection \d+ cannot be read/]
  ]
  it.each(refusals)(
    "refuses every request of an organization with a damaged %s, with the reason",
    async (name, reason) => {
      const tenant = tenants.get(name)!
      for (const answer of [
        await search(tenant),
        await search(tenant, "others"),
        await call(tenant, "GET", "presets"),
        await call(tenant, "GET", "keys"),
        await call(tenant, "POST", "events", { events: [] })
      ]) {
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "60"])
        expect(answer.body.reason).toMatch(reason)
      }
      // A request without a valid key learns nothing about the damage.
      expect((await program.request("GET", "/v1/presets", { key: `${tenant.full_key}x` })).status).toBe(401)
    }
  )
  it("refuses a collection whose documents cannot be read, in reads and writes, and serves the organization's others", async () => {
    const tenant = tenants.get("document")!
    for (const answer of [
      await search(tenant),
      await call(tenant, "POST", "collections/goods/documents", { title: "x" }),
      await call(tenant, "GET", "collections/goods/documents/d1"),
      await call(tenant, "PATCH", "collections/goods", { fields: [{ name: "n", type: "int32", optional: true }] })
    ]) {
      expect([answer.status, answer.headers.get("retry-after"), answer.body.reason]).toEqual([
        503,
        "60",
        "The collection `goods` cannot be read from the disk."
      ])
    }
    expect((await search(tenant, "others")).body.found).toBe(50)
    // The collection can be dropped and created again.
    expect((await call(tenant, "DELETE", "collections/goods")).status).toBe(200)
    expect((await call(tenant, "POST", "collections", { name: "goods", ...titled })).status).toBe(201)
    expect((await call(tenant, "POST", "collections/goods/documents", { title: "Kettle" })).status).toBe(201)
    expect((await search(tenant)).body.found).toBe(1)
  })
  it.each(["segment", "snapshot", "counters"] as const)("rebuilds a damaged %s from the documents", async (name) => {
    const tenant = tenants.get(name)!
    expect((await search(tenant)).body.found).toBe(50)
    expect((await call(tenant, "POST", "collections/goods/documents", { id: "new", title: "Kettle" })).status).toBe(201)
    expect((await call(tenant, "DELETE", "collections/goods/documents/d0")).status).toBe(200)
    expect((await search(tenant)).body.found).toBe(50)
  })
  it("serves undamaged organizations completely", async () => {
    const tenant = tenants.get("well")!
    for (const name of ["goods", "others", "a"]) expect((await search(tenant, name)).body.found).toBe(50)
    expect(
      (await call(tenant, "GET", "collections/goods/documents/search?q=boiler&query_by=title&synonym_sets=s")).body
        .found
    ).toBe(50)
    expect((await call(tenant, "GET", "collections/goods/documents/search?preset=p&query_by=title")).body.found).toBe(
      50
    )
    expect((await call(tenant, "GET", "collections/goods/documents/search?q=kettle&profile=f")).body.found).toBe(50)
    expect((await call(tenant, "GET", "stemming/dictionaries/d")).body.words).toEqual([{ word: "mice", root: "mouse" }])
    expect((await call(tenant, "PUT", "presets/p", { value: { q: "x" } })).status).toBe(200)
    expect((await call(tenant, "POST", "collections/goods/documents", { id: "new", title: "Kettle" })).status).toBe(201)
    expect((await call(tenant, "POST", "browser_keys", {})).status).toBe(201)
    expect(
      (await call(tenant, "POST", "events", { events: [{ type: "view", collection: "goods", document_id: "d1" }] }))
        .body.accepted
    ).toBe(1)
  })
  it("shows the operator who is refused and why, and the probe that it is degraded", async () => {
    const status = async () =>
      (
        await program.request("GET", "/console/v1/status", {
          headers: { authorization: `Bearer ${program.operatorToken}` }
        })
      ).body as {
        readonly status: string
        readonly parts: ReadonlyArray<{ readonly name: string; readonly ok: boolean; readonly detail: string }>
      }
    const { parts, status: verdict } = await status()
    const part = parts.find(({ name }) => name === "organizations")!
    expect([verdict, part.ok]).toEqual(["degraded", false])
    expect(part.detail).toContain(`${refusals.length} cannot be read and are refused.`)
    expect(part.detail).toContain(`${tenants.get("signing key")!.organization_id}: Its signing key does not open`)
    expect((await program.request("GET", "/api/v1/health")).body).toMatchObject({ ok: true, status: "degraded" })
  })
})
