/**
 * Profiles and releases as resources: every transition of their states, every refusal of a body, and what is deleted
 * with the collection.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

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
  program = await sharedProgram()
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
  it("is live as a draft, is published, edited without effect, published again, and rolled back", async () => {
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
    // Release mode: editing the draft does not affect searches; it may name what does not exist.
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

  it("of another tenant does not exist", async () => {
    expect((await send("GET", `${base}/listing`, undefined, other.full_key)).status).toBe(404)
    expect((await search({ profile: "listing" }, other.search_key)).status).toBe(404)
  })

  it("reports everything that is wrong with a body, each field by its path", async () => {
    const pathsOf = async (more: object, method = "POST", path = base) => {
      const answer = await send(method, path, { name: "wrong", ...body, ...more })
      expect(answer.status).toBe(400)
      return answer.body.data.issues.map((issue: { path: string }) => issue.path).sort()
    }
    expect(await pathsOf({ searchable_fields: [], per_page_max: 251, name: "Not A Name", colour: 1 })).toEqual([
      "colour",
      "name",
      "per_page_max",
      "searchable_fields"
    ])
    expect(
      await pathsOf({
        sorts: [
          { id: "a", sort_by: "price:asc" },
          { id: "a", sort_by: "price:desc" }
        ]
      })
    ).toEqual(["sorts"])
    expect(await pathsOf({ sorts: [{ id: "a", sort_by: "price:up" }], default_sort_id: "a" })).toEqual([
      "sorts[0].sort_by"
    ])
    expect(await pathsOf({ default_sort_id: "none" })).toEqual(["default_sort_id"])
    expect(await pathsOf({ fixed_filter_by: "status:=(public" })).toEqual(["fixed_filter_by"])
    // It would take effect at once: every field must exist, with the flags that it needs.
    expect(
      await pathsOf({
        searchable_fields: ["title", "price", "nothing"],
        facet_fields: [{ field: "status" }],
        filterable_fields: ["note", "gone"],
        sorts: [{ id: "cheap", sort_by: "status:asc" }],
        fixed_filter_by: "gone:=1",
        highlight_fields: ["gone"],
        search_policy: "none"
      })
    ).toEqual([
      "facet_fields[0].field",
      "filterable_fields[0]",
      "filterable_fields[1]",
      "fixed_filter_by",
      "highlight_fields[0]",
      "search_policy",
      "searchable_fields[1]",
      "searchable_fields[2]",
      "sorts[0].sort_by"
    ])
    await send("POST", base, { name: "named", ...body })
    expect(await pathsOf({ name: "another" }, "PUT", `${base}/named`)).toEqual(["name"])
    expect((await send("POST", base, { name: "named", ...body })).status).toBe(409)
    // Also after the first publication: a policy that does not exist, and an invalid expression.
    await send("POST", `${base}/named/publish`, { expected_revision: 1 })
    expect(await pathsOf({ name: "named", search_policy: "none" }, "PUT", `${base}/named`)).toEqual(["search_policy"])
    expect((await send("PUT", `${base}/named`, (await send("GET", `${base}/named`)).body)).status).toBe(200)
    for (const query of ["limit=0", "limit=101", "before_version=0"])
      expect((await send("GET", `${base}/named/releases?${query}`)).status).toBe(400)
  })

  it("shows a shop's pages what they need, with a search key, and no expression", async () => {
    const storefront = await send("GET", `${base}/listing/storefront`, undefined, tenant.search_key)
    expect(storefront).toMatchObject({ status: 200 })
    expect(storefront.body).toEqual({
      name: "listing",
      label: "Goods",
      sorts: [
        { id: "cheap", label: "Cheapest" },
        { id: "dear", label: "Dearest" }
      ],
      default_sort_id: "dear",
      facets: [{ field: "brand", label: "Brand" }],
      per_page_max: 2
    })
    expect((await send("GET", `${base}/listing`, undefined, tenant.search_key)).status).toBe(403)
  })

  it("can be a collection's default; making another the default replaces the first", async () => {
    await send("POST", base, { name: "one", searchable_fields: ["title"], is_default: true })
    await send("POST", base, { name: "two", searchable_fields: ["title"], is_default: true })
    const listed = (await send("GET", `${base}?limit=100`)).body.data
    expect(listed.filter((each: any) => each.is_default).map((each: any) => each.name)).toEqual(["two"])
    expect((await search({})).body.profile).toMatchObject({ name: "two" })
    expect((await search({ query_by: "title" })).body.profile).toBeUndefined()
    await send("DELETE", `${base}/one`)
    await send("DELETE", `${base}/two`)
    expect((await search({})).status).toBe(400)
  })

  it("beyond the plan is refused with feature, plan and limit; a returned place is free again", async () => {
    const small = await program.tenant("Small")
    await program.request("POST", `/console/v1/organizations/${small.organization_id}/plan`, {
      headers: { authorization: `Bearer ${program.operatorToken}` },
      body: { plan: "free" }
    })
    await send("POST", "/v1/collections", schemaOf("goods"), small.full_key)
    const make = (i: number) => send("POST", base, { name: `p${i}`, searchable_fields: ["title"] }, small.full_key)
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(make))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 403, 403, 403])
    expect(answers.find(({ status }) => status === 403)!.body).toMatchObject({
      code: "FORBIDDEN",
      data: { feature: "profiles_per_collection", plan: "free", limit: 3 }
    })
    const [first] = (await send("GET", base, undefined, small.full_key)).body.data
    expect((await send("DELETE", `${base}/${first.name}`, undefined, small.full_key)).status).toBe(200)
    expect((await make(9)).status).toBe(201)
  })

  it("is deleted with its collection, and does not belong to the next one of the name", async () => {
    await send("POST", "/v1/collections", schemaOf("brief"))
    const path = "/v1/collections/brief/search-profiles"
    await send("POST", path, { name: "listing", searchable_fields: ["title"] })
    await send("POST", `${path}/listing/publish`, { expected_revision: 1 })
    await send("DELETE", "/v1/collections/brief")
    expect((await send("GET", `${path}/listing`)).status).toBe(404)
    await send("POST", "/v1/collections", schemaOf("brief"))
    expect((await send("GET", path)).body.data).toEqual([])
    expect((await send("POST", path, { name: "listing", searchable_fields: ["title"] })).status).toBe(201)
  })
})

describe("a change of the schema", () => {
  it("that would break the active release is refused, can be forced, and is reported by the profile", async () => {
    await send("POST", "/v1/collections", schemaOf("bent"))
    await send("POST", "/v1/collections/bent/documents", { ...goods[0], id: "1" })
    const path = "/v1/collections/bent/search-profiles"
    await send("POST", path, { name: "listing", ...body, searchable_fields: ["title", "brand"] })
    const release = (await send("POST", `${path}/listing/publish`, { expected_revision: 1 })).body
    const drop = { fields: [{ name: "brand", drop: true }] }
    const refused = await send("PATCH", "/v1/collections/bent", drop)
    expect(refused).toMatchObject({
      status: 409,
      body: {
        message: expect.stringMatching(/listing.*searchable_fields\[1\]/),
        profiles: [
          {
            name: "listing",
            changes: [
              { path: "searchable_fields[1]", class: "COLD" },
              { path: "facet_fields[0].field", class: "COLD" },
              { path: "filterable_fields[0]", class: "COLD" }
            ]
          }
        ]
      }
    })
    const notFacet = { fields: [...drop.fields, { name: "brand", type: "string" }] }
    expect(await send("PATCH", "/v1/collections/bent", notFacet)).toMatchObject({
      status: 409,
      body: { profiles: [{ changes: [{ path: "facet_fields[0].field", class: "WARM" }] }] }
    })
    const other = { fields: [{ name: "note", drop: true }] }
    expect((await send("PATCH", "/v1/collections/bent", other)).status).toBe(200)
    expect((await send("PATCH", "/v1/collections/bent?force=true", drop)).status).toBe(200)
    const broken = await send("GET", `${path}/listing`)
    expect(broken.body).toMatchObject({ broken: true, active_release_id: release.id })
    expect(broken.body.changes).toHaveLength(3)
    const search = (query: string) =>
      send("GET", `/v1/collections/bent/documents/search?q=lamp&profile=listing&debug=true${query}`)
    const found = await search("")
    expect(found.body.found).toBe(1)
    expect(found.body.explain.profile).toMatchObject({ name: "listing", broken: true })
    expect(await send("POST", `${path}/listing/publish`, { expected_revision: 1 })).toMatchObject({ status: 409 })
    expect(
      await send("POST", `${path}/listing/activate`, { release_id: release.id, expected_revision: 1 })
    ).toMatchObject({ status: 409, body: { data: { changes: expect.anything() } } })
    // A mandatory filter is never dropped: without it nothing is answered.
    await send("PATCH", "/v1/collections/bent?force=true", { fields: [{ name: "status", drop: true }] })
    expect((await search("")).status).toBe(403)
    expect((await send("GET", `${path}/listing/releases/${release.id}`)).body).toEqual(release)
    await send("PATCH", "/v1/collections/bent", {
      fields: [
        { name: "status", type: "string", optional: true },
        { name: "brand", type: "string", facet: true, optional: true }
      ]
    })
    expect((await send("GET", `${path}/listing`)).body.broken).toBe(false)
  })
})

describe("a policy", () => {
  it("applies below a profile and below a request, live, and stays as long as a profile names it", async () => {
    const policy = "/v1/search_policies/short"
    const put = await send("PUT", policy, { params: { per_page: 1, sort_by: "price:desc" } })
    expect(put).toMatchObject({ status: 200, body: { name: "short", params: { per_page: 1, sort_by: "price:desc" } } })
    expect((await send("GET", policy)).body).toEqual(put.body)
    const asked = (more: Record<string, string>) => search({ query_by: "title", ...more })
    expect(idsOf(await asked({ search_policy: "short" }))).toEqual(["1"])
    expect(idsOf(await asked({ search_policy: "short", per_page: "3", sort_by: "price:asc" }))).toEqual(["2", "3", "1"])
    expect((await asked({ search_policy: "none" })).status).toBe(404)
    await send("POST", base, { name: "lean", searchable_fields: ["title"], search_policy: "short" })
    expect(idsOf(await search({ profile: "lean" }))).toEqual(["1"])
    await send("POST", `${base}/lean/publish`, { expected_revision: 1 })
    await send("PUT", policy, { params: { per_page: 2, sort_by: "price:asc" } })
    expect(idsOf(await search({ profile: "lean" }))).toEqual(["2", "3"])
    await send("PUT", `${base}/lean`, { searchable_fields: ["title"] })
    expect(await send("DELETE", policy)).toMatchObject({
      status: 409,
      body: { data: { profiles: [{ collection: "goods", name: "lean" }] } }
    })
    await send("POST", `${base}/lean/publish`, { expected_revision: 2 })
    expect((await send("DELETE", policy)).status).toBe(200)
    expect((await send("DELETE", policy)).status).toBe(404)
    // The release that named it cannot be restored without it.
    const releases = (await send("GET", `${base}/lean/releases`)).body.releases
    expect(
      await send("POST", `${base}/lean/activate`, { release_id: releases[1].id, expected_revision: 2 })
    ).toMatchObject({ status: 409, body: { data: { changes: [{ path: "search_policy" }] } } })
    const wrong = await send("PUT", policy, {
      params: { q: "x", profile: "p", preset: "p", colour: "red", per_page: [] }
    })
    expect(wrong.status).toBe(400)
    expect(wrong.body.data.issues.map((issue: any) => issue.path).sort()).toEqual([
      "params.colour",
      "params.per_page",
      "params.preset",
      "params.profile",
      "params.q"
    ])
    expect((await send("PUT", "/v1/search_policies/Big", { params: {} })).status).toBe(400)
  })
})
