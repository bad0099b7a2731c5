/**
 * Profiles and releases as resources: every row of the specification's state table that names them, every refusal of a
 * body, and what goes with the collection.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, body })
const base = "/v1/collections/goods/search-profiles"
const schemaOf = (name: string) => ({
  name,
  fields: [
    { name: "title", type: "string" },
    { name: "brand", type: "string", facet: true },
    { name: "price", type: "int32" },
    { name: "status", type: "string" },
    { name: "note", type: "string", optional: true, index: false }
  ]
})
const goods = [
  { id: "1", title: "red lamp", brand: "acme", price: 30, status: "public" },
  { id: "2", title: "blue lamp", brand: "acme", price: 10, status: "public" },
  { id: "3", title: "green lamp", brand: "zoom", price: 20, status: "secret" }
]
const body = {
  label: "Goods",
  searchable_fields: ["title"],
  facet_fields: [{ field: "brand", label: "Brand" }],
  filterable_fields: ["brand", "price"],
  sorts: [
    { id: "cheap", label: "Cheapest", sort_by: "price:asc" },
    { id: "dear", label: "Dearest", sort_by: "price:desc" }
  ],
  default_sort_id: "cheap",
  fixed_filter_by: "status:=public",
  highlight_fields: ["title"],
  per_page_max: 2
}
const search = async (query: Record<string, string>, key = tenant.search_key) =>
  program.request("GET", `/v1/collections/goods/documents/search?${new URLSearchParams({ q: "lamp", ...query })}`, {
    key
  })
const idsOf = (answer: { readonly body: any }): ReadonlyArray<string> =>
  answer.body.hits.map((hit: any) => hit.document.id)

beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Profiles")
  other = await program.tenant("Others")
  for (const { full_key } of [tenant, other]) {
    expect((await send("POST", "/v1/collections", schemaOf("goods"), full_key)).status).toBe(201)
    await send(
      "POST",
      "/v1/collections/goods/documents/import",
      goods.map((one) => JSON.stringify(one)).join("\n"),
      full_key
    )
  }
})
afterAll(() => program.stop())

describe("a profile", () => {
  it("acts at once as a draft, is published, edited without effect, published again, and rolled back", async () => {
    const made = await send("POST", base, { name: "listing", ...body })
    expect(made).toMatchObject({
      status: 201,
      body: {
        name: "listing",
        collection: "goods",
        ...body,
        is_default: false,
        search_policy: "",
        revision: 1,
        active_release_id: null,
        broken: false
      }
    })
    const drafted = await search({ profile: "listing" })
    expect(drafted.body.profile).toEqual({ name: "listing", release_id: null, version: null })
    expect(idsOf(drafted)).toEqual(["2", "1"])
    expect(drafted.body.facet_counts[0]).toMatchObject({ field_name: "brand", counts: [{ value: "acme", count: 2 }] })
    // Draft only: a replacement takes effect on the next search.
    const dear = { ...body, default_sort_id: "dear" }
    expect(await send("PUT", `${base}/listing`, dear)).toMatchObject({ status: 200, body: { revision: 2 } })
    expect(idsOf(await search({ profile: "listing" }))).toEqual(["1", "2"])

    expect(await send("POST", `${base}/listing/publish`, { expected_revision: 1 })).toMatchObject({
      status: 409,
      body: { code: "CONFLICT", data: { current_revision: 2 } }
    })
    const first = await send("POST", `${base}/listing/publish`, { expected_revision: 2, note: "first" })
    expect(first).toMatchObject({
      status: 200,
      body: { id: expect.stringMatching(/^rel_/), version: 1, change_class: "HOT", note: "first", manifest: dear }
    })
    expect(first.body.created_by).toMatch(/^key_/)
    expect((await send("GET", `${base}/listing`)).body).toMatchObject({ active_release_id: first.body.id, revision: 2 })
    // Nothing changed: the same release.
    expect((await send("POST", `${base}/listing/publish`, { expected_revision: 2, note: "again" })).body).toEqual(
      first.body
    )
    // Release mode: the draft is edited, searches stay; it may name what is not there.
    const draft = {
      ...body,
      searchable_fields: ["title", "subtitle"],
      facet_fields: [{ field: "status" }, { field: "note" }]
    }
    expect(await send("PUT", `${base}/listing`, draft)).toMatchObject({
      status: 200,
      body: {
        revision: 3,
        facet_fields: [
          { field: "status", label: "status" },
          { field: "note", label: "note" }
        ]
      }
    })
    const unmoved = await search({ profile: "listing" })
    expect(idsOf(unmoved)).toEqual(["1", "2"])
    expect(unmoved.body.profile).toEqual({ name: "listing", release_id: first.body.id, version: 1 })
    expect(await send("POST", `${base}/listing/publish`, { expected_revision: 3 })).toMatchObject({
      status: 409,
      body: {
        data: {
          changes: [
            { path: "searchable_fields[1]", class: "COLD" },
            { path: "facet_fields[0].field", class: "WARM" },
            { path: "facet_fields[1].field", class: "WARM" }
          ]
        }
      }
    })
    await send("PUT", `${base}/listing`, body)
    const diff = await send("GET", `${base}/listing/diff`)
    expect(diff.body).toEqual({
      changes: [{ path: "default_sort_id", before: "dear", after: "cheap", class: "HOT" }]
    })
    const second = await send("POST", `${base}/listing/publish`, { expected_revision: 4 })
    expect(second.body).toMatchObject({ version: 2, note: "" })
    expect(idsOf(await search({ profile: "listing" }))).toEqual(["2", "1"])

    const back = { release_id: first.body.id, expected_revision: 4 }
    expect(await send("POST", `${base}/listing/activate`, { ...back, expected_revision: 3 })).toMatchObject({
      status: 409,
      body: { data: { current_revision: 4 } }
    })
    expect(await send("POST", `${base}/listing/activate`, { ...back, release_id: "rel_none" })).toMatchObject({
      status: 404
    })
    expect(await send("POST", `${base}/listing/activate`, back)).toMatchObject({
      status: 200,
      body: { active_release_id: first.body.id, revision: 4, default_sort_id: "cheap" }
    })
    expect(idsOf(await search({ profile: "listing" }))).toEqual(["1", "2"])
    expect((await send("GET", `${base}/listing/releases?limit=1`)).body).toMatchObject({
      releases: [{ version: 2 }],
      active_release_id: first.body.id,
      next_before_version: 2
    })
    expect((await send("GET", `${base}/listing/releases?before_version=2`)).body).toEqual({
      releases: [first.body],
      active_release_id: first.body.id,
      next_before_version: null
    })
    expect((await send("GET", `${base}/listing/releases/${first.body.id}`)).body).toEqual(first.body)
    expect((await send("GET", `${base}/listing/diff?from=2&to=1`)).body.changes).toEqual([
      { path: "default_sort_id", before: "cheap", after: "dear", class: "HOT" }
    ])
    expect((await send("GET", `${base}/listing/diff?from=9`)).status).toBe(404)
  })

  it("of another tenant is not there", async () => {
    expect((await send("GET", `${base}/listing`, undefined, other.full_key)).status).toBe(404)
    expect((await search({ profile: "listing" }, other.search_key)).status).toBe(404)
  })
})
