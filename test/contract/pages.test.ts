/** Pages of this program in a browser, and headers that are trusted only if a trusted proxy wrote them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram } from "../support/program.ts"

let plain: Program, proxied: Program
beforeAll(async () => {
  ;[plain, proxied] = await Promise.all([
    startProgram({ demoProducts: 20 }),
    startProgram({ trustedProxies: ["127.0.0.1/32"], countryHeader: "cf-ipcountry" })
  ])
})
afterAll(() => Promise.all([plain.stop(), proxied.stop()]))

describe("every page", () => {
  it("runs no inline script, cannot be framed and is not sniffed as another type", async () => {
    const { body: document } = await plain.request("GET", "/v1/openapi.json")
    const pages = Object.entries(
      document.paths as Record<
        string,
        Record<string, { responses: Record<string, { content?: Record<string, unknown> }> }>
      >
    )
      .filter(([, methods]) => methods.get?.responses["200"]?.content?.["text/html"] !== undefined)
      .map(([path]) => path)
    for (const path of new Set([
      "/",
      "/docs",
      "/docs/guide",
      "/docs/guide/api/keys",
      ...pages.filter((path) => !path.includes("{"))
    ])) {
      const { headers, text } = await plain.request("GET", path)
      const policy = headers.get("content-security-policy") ?? ""
      expect([headers.get("content-type")?.startsWith("text/html"), path]).toEqual([true, path])
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("frame-ancestors 'none'")
      expect(policy).toContain("base-uri 'none'")
      expect(policy).not.toMatch(/unsafe|\*|http/)
      expect([headers.get("x-content-type-options"), /<script(?![^>]*\bsrc=)|\son\w+=/i.test(text)]).toEqual([
        "nosniff",
        false
      ])
    }
  })
  it("and every other answer forbids sniffing its type, including refusals", async () => {
    for (const path of [
      "/v1/openapi.json",
      "/api/v1/health",
      "/v1/nothing",
      "/demo/page.js",
      "/demo/config.json",
      "/docs/page.js",
      "/docs/swagger-ui.js",
      "/docs/swagger-ui.css",
      "/docs/none.js",
      "/docs/guide/none",
      "/docs/guide/demo.png",
      "/docs/guide/architecture.svg",
      "/docs/guide/search.json?q=key"
    ])
      expect([(await plain.request("GET", path)).headers.get("x-content-type-options"), path]).toEqual([
        "nosniff",
        path
      ])
  })
})

it("the reference's files are served from here with their type, and not sent twice to the same client", async () => {
  for (const [file, type] of [
    ["page.js", "text/javascript"],
    ["swagger-ui.js", "text/javascript"],
    ["page.css", "text/css"],
    ["guide.css", "text/css"],
    ["guide.js", "text/javascript"],
    ["swagger-ui.css", "text/css"]
  ]) {
    const first = await plain.request("GET", `/docs/${file}`)
    expect([first.status, first.headers.get("content-type")]).toEqual([200, `${type}; charset=utf-8`])
    expect(
      (await plain.request("GET", `/docs/${file}`, { headers: { "if-none-match": first.headers.get("etag") ?? "" } }))
        .status
    ).toBe(304)
  }
  for (const file of ["none.js", "..%2Froutes.ts", "__proto__"])
    expect((await plain.request("GET", `/docs/${file}`)).status, file).toBe(404)
})

it("the demo's products have pictures, drawn once and not sent twice to a client that has them", async () => {
  const first = await fetch(`${plain.base}/demo/pictures/p1`)
  const bytes = Buffer.from(await first.arrayBuffer())
  expect([first.status, first.headers.get("content-type"), bytes.subarray(1, 4).toString()]).toEqual([
    200,
    "image/png",
    "PNG"
  ])
  const headers = { "if-none-match": first.headers.get("etag") ?? "" }
  expect((await plain.request("GET", "/demo/pictures/p1", { headers })).status).toBe(304)
  const other = await fetch(`${plain.base}/demo/pictures/p2`)
  expect(Buffer.from(await other.arrayBuffer()).equals(bytes)).toBe(false)
  for (const id of ["none", "__proto__", "..%2Fpage.js"])
    expect((await plain.request("GET", `/demo/pictures/${id}`)).status, id).toBe(404)
  expect((await proxied.request("GET", "/demo/pictures/p1")).status).toBe(404)
})

describe("what a proxy reports of a request", () => {
  const member = async (program: Program) => {
    const tenant = await program.tenant("Proxied")
    const at = `/console/v1/organizations/${tenant.organization_id}/members`
    expect(
      (
        await program.request("POST", at, {
          headers: { authorization: `Bearer ${program.operatorToken}` },
          body: { email: "owner@proxied.example", role: "owner", password: "correct horse battery" }
        })
      ).status
    ).toBe(201)
    const signIn = (headers: Record<string, string>) =>
      program.request("POST", "/console/v1/sessions", {
        headers,
        body: { email: "owner@proxied.example", password: "correct horse battery" }
      })
    return { tenant, signIn, at }
  }
  it("counts from a trusted proxy only", async () => {
    for (const [program, isBelieved] of [
      [plain, false],
      [proxied, true]
    ] as const) {
      const { signIn, tenant } = await member(program)
      expect(/; Secure/.test((await signIn({ "x-forwarded-proto": "https" })).headers.get("set-cookie") ?? "")).toBe(
        isBelieved
      )
      expect((await signIn({ origin: "https://console.example", "x-forwarded-host": "console.example" })).status).toBe(
        isBelieved ? 201 : 403
      )
      const bound = await program.request("POST", "/v1/keys", {
        key: tenant.full_key,
        body: { description: "k", scope: "search", cidrs: ["192.0.2.7/32"] }
      })
      expect(
        (
          await program.request("POST", "/v1/multi_search", {
            key: bound.body.value,
            headers: { "x-forwarded-for": "192.0.2.7" },
            body: { searches: [] }
          })
        ).status
      ).toBe(isBelieved ? 200 : 403)
    }
  })
  it("counts for the country, too", async () => {
    for (const [program, country] of [
      [plain, undefined],
      [proxied, "CH"]
    ] as const) {
      const tenant = await program.tenant("Country")
      await program.request("POST", "/v1/collections", {
        key: tenant.full_key,
        body: { name: "goods", fields: [{ name: "title", type: "string" }] }
      })
      const rules = await program.request("PUT", "/v1/collections/goods/search_rules", {
        key: tenant.full_key,
        body: { country: "CH", banners: [{ id: "b", query: "oak", match: "exact", content: {} }] }
      })
      expect(rules.status).toBe(200)
      const { body } = await program.request("GET", "/v1/collections/goods/documents/search?q=oak&query_by=title", {
        key: tenant.full_key,
        headers: { "cf-ipcountry": "ch" }
      })
      expect((body.banners ?? []).length).toBe(country === "CH" ? 1 : 0)
    }
  })
})

it("the documents of the API have the contract's version, not the program's", async () => {
  for (const path of ["/v1/openapi.json", "/api/v1/openapi.json"])
    expect((await plain.request("GET", path)).body.info.version).toBe("1.0.0")
})
