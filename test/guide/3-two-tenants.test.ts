/**
 * How to test, part three of five: what is visible from outside.
 *
 * A contract is tested over HTTP, against the same program that `npm start` runs, with two tenants side by side that
 * use the same names: neither may notice what the other does. `sharedProgram` gives one program to all files that need
 * none of their own. Each test creates its own tenants in it, so nothing needs cleaning up.
 *
 * The resource here is an alias: a second name of a collection.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Program, Tenant } from "../support/program.ts"
import { sharedProgram } from "../support/shared-program.ts"

let program: Program
let left: Tenant
let right: Tenant
beforeAll(async () => {
  program = await sharedProgram()
  left = await program.tenant("Left")
  right = await program.tenant("Right")
  for (const { full_key: key } of [left, right])
    await program.request("POST", "/v1/collections", {
      key,
      body: { name: "products", fields: [{ name: "title", type: "string" }] }
    })
})
afterAll(() => program.stop())

const send = (tenant: Tenant, method: string, path: string, body?: unknown) =>
  program.request(method, path, { key: tenant.full_key, ...(body === undefined ? {} : { body }) })

describe("an alias", () => {
  it("is its tenant's own, though the other has one of the same name", async () => {
    expect((await send(left, "PUT", "/v1/aliases/shop", { collection_name: "products" })).status).toBe(200)

    // Status and body are compared together, so that a failure shows what was answered instead.
    const unseen = await send(right, "GET", "/v1/aliases/shop")
    expect([unseen.status, typeof unseen.body.message]).toEqual([404, "string"])
    expect((await send(right, "GET", "/v1/aliases")).body).toEqual({ aliases: [] })

    await send(right, "PUT", "/v1/aliases/shop", { collection_name: "products" })
    expect((await send(right, "DELETE", "/v1/aliases/shop")).status).toBe(200)
    // The other tenant's deletion removed nothing here.
    const kept = await send(left, "GET", "/v1/aliases/shop")
    expect([kept.status, kept.body]).toEqual([200, { name: "shop", collection_name: "products" }])
  })

  it("refuses in the order that every operation keeps: key, scope, resource, body", async () => {
    const wrong = { collection_name: 7 }
    const put = (key: string | undefined) =>
      program.request("PUT", "/v1/aliases/shop", { ...(key === undefined ? {} : { key }), body: wrong })
    expect((await put(undefined)).status).toBe(401)
    expect((await put(left.search_key)).status).toBe(403)
    expect((await put(left.full_key)).status).toBe(400)
  })

  it("can be searched, which is its purpose", async () => {
    // The test checks the whole purpose: a document stored under one name is found under the other.
    await send(left, "PUT", "/v1/aliases/front", { collection_name: "products" })
    await send(left, "POST", "/v1/collections/products/documents", { id: "1", title: "Trail running shoe" })
    const { body } = await send(left, "GET", "/v1/collections/front/documents/search?q=runing&query_by=title")
    expect(body.hits.map(({ document }: { document: { id: string } }) => document.id)).toEqual(["1"])
  })
})
