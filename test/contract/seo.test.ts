/**
 * Landing pages over HTTP: two organizations with the same values, values that change, and values designed to break out
 * of a page.
 */
import { SaxesParser } from "saxes"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"

let program: Program, tenant: Tenant, other: Tenant
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer.body
}
/** The result of a job when it is over. */
const done = async (path: string, key = tenant.full_key) => {
  const { id } = await made("POST", path, undefined, key)
  const job = await eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/v1/jobs/${id}`, undefined, key)
    return body.finished_at === undefined ? undefined : body
  })
  expect([job.status, job.error]).toEqual(["ready", undefined])
  return job.result
}
const rulePath = (id: string) => `/v1/seo/rules/${id}`
const generated = (id: string, key?: string) => done(`${rulePath(id)}/pages/generate`, key)
const listed = async (id: string, query = "", key = tenant.full_key) =>
  (await made("GET", `${rulePath(id)}/pages?limit=250${query}`, undefined, key)).data as ReadonlyArray<any>
/** As answered, without following redirects. */
const html = (id: string, slug: string) =>
  fetch(`${program.base}${rulePath(id)}/pages/${slug}.html`, {
    headers: { "x-svc-api-key": tenant.full_key },
    redirect: "manual"
  })

const fields = [
  { name: "title", type: "string" },
  { name: "brand", type: "string", facet: true },
  { name: "price", type: "float", facet: true },
  { name: "in_stock", type: "bool", facet: true }
]
const rule = {
  name: "Brands",
  collection: "goods",
  facet_field: "brand",
  url_template: "https://shop.example/brands/#SLUG#",
  site_name: "Shop"
}
const products = (brand: string, from: number, to: number, more: object = {}) =>
  Array.from({ length: to - from }, (_, i) => ({
    id: `p${from + i}`,
    title: `Thing ${from + i}`,
    brand,
    price: from + i + 0.5,
    currency: "EUR",
    url: `https://shop.example/p/${from + i}`,
    in_stock: true,
    ...more
  }))
const put = (documents: ReadonlyArray<object>, collection = "goods", key = tenant.full_key) =>
  made(
    "POST",
    `/v1/collections/${collection}/documents/import?action=upsert`,
    documents.map((document) => JSON.stringify(document)).join("\n"),
    key
  )

beforeAll(async () => {
  program = await startProgram({ demoProducts: 500 })
  tenant = await program.tenant("Pages")
  other = await program.tenant("Beside")
  for (const { full_key } of [tenant, other]) {
    await made("POST", "/v1/collections", { name: "goods", fields }, full_key)
    await put(products("Acme", 0, 5, full_key === other.full_key ? { title: "Theirs" } : {}), "goods", full_key)
  }
})
afterAll(() => program.stop())

describe("rules", () => {
  it("are created, shown, replaced as a whole and deleted; another organization has none of them", async () => {
    const created = await send("POST", "/v1/seo/rules", { ...rule, templates: { title: "#VALUE#!" } })
    expect([created.status, created.body]).toMatchObject([201, { ...rule, active: true, min_products: 3 }])
    const { id } = created.body
    expect(id).toMatch(/^seo_/)
    const replaced = await made("PUT", rulePath(id), { collection: "goods", name: "New", facet_field: "brand" })
    expect(replaced).toMatchObject({
      url_template: "/brand/#SLUG#",
      site_name: "",
      created_at: created.body.created_at
    })
    expect(replaced.templates.title).toBe("#VALUE# | #SITE_NAME#")
    expect((await send("GET", `${rulePath(id)}/sitemap.xml`)).status).toBe(409)
    for (const [method, path] of [
      ["GET", ""],
      ["PUT", ""],
      ["DELETE", ""],
      ["GET", "/pages"],
      ["GET", "/pages/acme"],
      ["GET", "/pages/acme.html"],
      ["GET", "/sitemap.xml"],
      ["POST", "/pages/generate"],
      ["POST", "/pages/audit"]
    ] as const) {
      const answer = await send(method, `${rulePath(id)}${path}`, method === "PUT" ? rule : undefined, other.full_key)
      expect([method, path, answer.status]).toEqual([method, path, 404])
    }
    expect((await send("GET", "/v1/seo/rules", undefined, other.full_key)).body).toEqual({ data: [] })
    expect(await made("DELETE", rulePath(id))).toEqual({ id })
    expect((await send("GET", rulePath(id))).status).toBe(404)
  })
  it("are refused by name if they are invalid or more than the plan allows", async () => {
    const issue = async (body: object) => (await send("POST", "/v1/seo/rules", body)).body.data.issues[0].path
    expect(await issue({ ...rule, url_template: "https://shop.example/" })).toBe("url_template")
    expect(await issue({ ...rule, templates: { h1: "#NOTHING#" } })).toBe("templates.h1")
    expect(await issue({ ...rule, collection: "nothing" })).toBe("collection")
    expect(await issue({ ...rule, facet_field: "title" })).toBe("facet_field")
    const planned = (plan: string) =>
      program.request("POST", `/console/v1/organizations/${tenant.organization_id}/plan`, {
        headers: { authorization: `Bearer ${program.operatorToken}` },
        body: { plan }
      })
    await planned("free")
    const rules = []
    for (let i = 0; i < 3; i++) rules.push((await made("POST", "/v1/seo/rules", rule)).id)
    expect((await send("POST", "/v1/seo/rules", rule)).status).toBe(403)
    for (const id of rules) await made("DELETE", rulePath(id))
    await planned("unlimited")
  })
})

describe("pages", () => {
  it("exist beside another organization's with the same values, and show nothing of them", async () => {
    const [own, theirs] = await Promise.all(
      [tenant, other].map(async ({ full_key }) => (await made("POST", "/v1/seo/rules", rule, full_key)).id as string)
    )
    expect(await generated(own!)).toMatchObject({ pages: 1, index: 1, left_out: 0 })
    expect(await generated(theirs!, other.full_key)).toMatchObject({ pages: 1, index: 1 })
    const [page] = await listed(own!)
    expect(page).toMatchObject({
      value: "Acme",
      slug: "acme",
      url: "https://shop.example/brands/acme",
      status: "index",
      title: "Acme | Shop",
      count: 5
    })
    expect(page.text).toBe(
      "There are 5 products of Acme. They cost from 0.50 to 4.50 EUR. Among them: Thing 4, Thing 3, Thing 2."
    )
    expect((await listed(theirs!, "", other.full_key))[0].text).toContain("Theirs")
    const text = await (await html(own!, "acme")).text()
    expect(text).toContain("Thing 4")
    expect(text).not.toContain("Theirs")
    await made("DELETE", rulePath(own!))
    await made("DELETE", rulePath(theirs!), undefined, other.full_key)
  })
  it("change with their documents: lastmod, renamed, emptied, hidden", async () => {
    await put([...products("Bolt", 20, 25), ...products("Hidden", 40, 44)])
    await made("PUT", "/v1/collections/goods/search_rules", { exclusion_filter_by: "brand:=Hidden" })
    const { id } = await made("POST", "/v1/seo/rules", rule)
    await generated(id)
    expect((await listed(id)).map(({ slug }) => slug)).toEqual(["acme", "bolt"])
    const before = await listed(id)
    await generated(id)
    expect((await listed(id)).map(({ changed_at, hash }) => [changed_at, hash])).toEqual(
      before.map(({ changed_at, hash }) => [changed_at, hash])
    )
    // One is renamed, the other is left without a document.
    await put(products("Nut", 20, 25))
    await made("DELETE", "/v1/collections/goods/documents?filter_by=brand:=Acme")
    expect(await generated(id)).toMatchObject({ pages: 1, moved: 1, empty: 1, gone: 0 })
    const moved = await html(id, "bolt")
    expect([moved.status, moved.headers.get("location")]).toEqual([301, "https://shop.example/brands/nut"])
    const empty = await html(id, "acme")
    expect([empty.status, await empty.json()]).toMatchObject([
      404,
      { message: expect.any(String), data: { links: [] } }
    ])
    expect((await html(id, "nothing")).status).toBe(404)
    expect((await listed(id, "&status=gone")).map(({ canonical_url, slug }) => [slug, canonical_url])).toEqual([
      ["bolt", "https://shop.example/brands/nut"]
    ])
    const audit = await done(`${rulePath(id)}/pages/audit`)
    expect(audit.findings.map(({ code, page }: any) => `${code} ${page}`)).toEqual(["empty acme", "slug_changed bolt"])
    // It exists again: the same address.
    await put(products("Acme", 60, 66))
    expect(await generated(id)).toMatchObject({ pages: 2, index: 2 })
    expect((await html(id, "acme")).status).toBe(200)
    const after = (await listed(id)).find(({ slug }) => slug === "acme")
    expect(after.changed_at).toBeGreaterThan(before.find(({ slug }) => slug === "acme").changed_at)
    await made("DELETE", rulePath(id))
  })
  it("of hostile values are plain text, and a name of ten thousand letters has none", async () => {
    const values = [
      "<script>alert(1)</script>",
      `a" onmouseover='alert(1)`,
      "]]><!-- </script>",
      "\u202Eright \u05D0\u05D1\u05D2",
      "x".repeat(10_000),
      "back`tick",
      "a\u0000b"
    ]
    await made("POST", "/v1/collections", { name: "hostile", fields })
    await put(
      values.flatMap((brand, at) => products(brand, 100 * at, 100 * at + 4, { title: brand.slice(0, 50) })),
      "hostile"
    )
    const { id } = await made("POST", "/v1/seo/rules", { ...rule, collection: "hostile" })
    const result = await generated(id)
    const pages = await listed(id)
    expect(result.pages).toBe(pages.length)
    expect(pages.length).toBeGreaterThanOrEqual(4)
    for (const { description, slug, text, title, value } of pages) {
      expect(slug).toMatch(/^[a-z0-9-]{1,80}$/)
      expect(value.length).toBeLessThanOrEqual(512)
      expect(`${title}${description}${text}`).not.toMatch(/[<>"']/)
      const page = await (await html(id, slug)).text()
      expect(page.match(/<script/g)).toHaveLength(1)
      expect(page.replace(/<script[\s\S]*<\/script>/, "")).not.toMatch(/onmouseover=["']/)
      const data = JSON.parse(/<script type="application\/ld\+json">([\s\S]*?)<\/script>/.exec(page)![1]!)
      expect(data["@graph"].map((each: any) => each["@type"])).toEqual(["CollectionPage", "BreadcrumbList"])
    }
    await made("DELETE", "/v1/collections/hostile")
    expect((await send("GET", rulePath(id))).status).toBe(404)
  })
  it("of the demo catalogue are in a sitemap, which is not sent again to a crawler that has it", async () => {
    const shop = program.demo!.full_key
    const collection = (await made("GET", "/v1/collections", undefined, shop))[0].name
    const { id } = await made("POST", "/v1/seo/rules", { ...rule, collection }, shop)
    const { index } = await generated(id, shop)
    expect(index).toBeGreaterThan(3)
    const sitemap = await send("GET", `${rulePath(id)}/sitemap.xml`, undefined, shop)
    const locations: Array<string> = []
    const parser = new SaxesParser({ xmlns: true })
    parser.on("error", (error) => {
      throw error
    })
    parser.on("text", (text) => {
      if (text.startsWith("https:")) locations.push(text)
    })
    parser.write(sitemap.text).close()
    const pages = await listed(id, "&status=index", shop)
    expect(locations).toEqual(pages.map(({ url }) => url))
    expect(locations).toHaveLength(index)
    const again = await program.request("GET", `${rulePath(id)}/sitemap.xml`, {
      key: shop,
      headers: { "if-none-match": sitemap.headers.get("etag")! }
    })
    expect(again.status).toBe(304)
    expect((await send("GET", `${rulePath(id)}/sitemap.xml?part=2`, undefined, shop)).status).toBe(404)
    await made("PUT", rulePath(id), { ...rule, collection, active: false }, shop)
    expect((await send("GET", `${rulePath(id)}/sitemap.xml`, undefined, shop)).text).not.toContain("<url>")
    expect((await send("POST", `${rulePath(id)}/pages/generate`, undefined, shop)).status).toBe(409)
    await made("DELETE", rulePath(id), undefined, shop)
  })
})
