/**
 * Keys as they arrive: sent twice, in odd bytes, after addresses that a user typed, with names that every object has or
 * that only look alike; what browser keys and secured keys carry; and what may not be created at all.
 */
import { request as httpRequest } from "node:http"
import { connect } from "node:net"
import { Effect } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Access, NEVER_EXPIRES } from "../../src/access/access.ts"
import { Organizations } from "../../src/organizations/organizations.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { securedKey } from "../support/secured.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await startProgram({ serviceDomain: "dowser.example" })
  tenant = await program.tenant("Keys")
  other = await program.tenant("Others")
  for (const { full_key } of [tenant, other]) {
    await program.request("POST", "/v1/collections", {
      key: full_key,
      body: {
        name: "goods",
        fields: [
          { name: "title", type: "string", facet: true },
          { name: "shop", type: "string", facet: true },
          { name: "secret", type: "string", facet: true }
        ]
      }
    })
    await program.request("POST", "/v1/collections/goods/documents/import", {
      key: full_key,
      body: ["a", "b"]
        .map((shop, i) =>
          JSON.stringify({
            id: String(i + 1),
            title: `oak ${shop}`,
            shop,
            secret: `hush-${full_key === tenant.full_key ? "mine" : "theirs"}-${shop}`
          })
        )
        .join("\n")
    })
  }
})
afterAll(() => program.stop())

const makeKey = async (body: Record<string, unknown>, owner = tenant) =>
  await program.request("POST", "/v1/keys", {
    key: owner.full_key,
    body: { description: "t", scope: "search", ...body }
  })
const valueOf = async (body: Record<string, unknown>): Promise<string> => (await makeKey(body)).body.value
const mint = (body: unknown, owner = tenant) =>
  program.request("POST", "/v1/browser_keys", { key: owner.full_key, body })
const search = (key: string | undefined, query = "q=*", headers: Record<string, string> = {}) =>
  program.request("GET", `/v1/collections/goods/documents/search?${query}`, {
    ...(key === undefined ? {} : { key }),
    headers
  })
const ids = ({ body }: { body: any }) => body.hits?.map(({ document }: { document: { id: string } }) => document.id)

describe("a request has one key", () => {
  /** Header lines as written here, which `fetch` would not send. */
  const raw = (lines: ReadonlyArray<string>, path = "/v1/collections/goods/documents/search?q=*") =>
    new Promise<number>((resolve, reject) => {
      const { hostname, port } = new URL(program.base)
      const socket = connect(Number(port), hostname, () =>
        socket.write(
          `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`,
          "latin1"
        )
      )
      let text = ""
      socket
        .setEncoding("latin1")
        .on("data", (chunk) => {
          text += chunk
        })
        .on("end", () => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])))
        .on("error", reject)
    })
  it("and several different ones count as none", async () => {
    const { full_key, search_key } = tenant
    expect(await raw([`X-SVC-API-KEY: ${search_key}`])).toBe(200)
    expect(await raw([`X-SVC-API-KEY: ${search_key}`, `X-TYPESENSE-API-KEY: ${search_key}`])).toBe(200)
    for (const lines of [
      [search_key, full_key],
      [full_key, search_key],
      [search_key, search_key],
      ["", search_key],
      [search_key, other.search_key]
    ])
      expect(await raw(lines.map((key) => `X-SVC-API-KEY: ${key}`)), lines.join()).toBe(401)
    expect(await raw([`X-SVC-API-KEY: ${search_key}`, `X-TYPESENSE-API-KEY: ${full_key}`])).toBe(401)
    expect(
      await raw(
        [`X-SVC-API-KEY: ${search_key}`],
        `/v1/collections/goods/documents/search?q=*&x-typesense-api-key=${other.search_key}`
      )
    ).toBe(401)
    expect(await raw([], `/v1/collections/goods/documents/search?q=*&x-svc-api-key=${search_key}`)).toBe(200)
    expect(await raw([], `/v1/collections?x-svc-api-key=${full_key}`)).toBe(401)
  })
  it("in printable characters", async () => {
    for (const bytes of [
      "\x80\xff\xfe",
      `${tenant.search_key}\xa0`,
      `${tenant.search_key}\t x`,
      "é".repeat(40),
      "{}",
      "A".repeat(20_000)
    ])
      expect(await raw([`X-SVC-API-KEY: ${bytes}`]), bytes.slice(0, 20)).toBe(401)
    expect(await raw([`X-SVC-API-KEY: ${tenant.search_key}`])).toBe(200)
    for (const bytes of ["a\x00b", "a\rb"]) expect(await raw([`X-SVC-API-KEY: ${bytes}`])).toBe(400)
  })
  it("whose address is the connection's, whatever is forwarded without a trusted proxy", async () => {
    const inside = await valueOf({ cidrs: ["127.0.0.0/8"] }),
      outside = await valueOf({ cidrs: ["10.0.0.0/8", "2001:db8::/32"] })
    expect((await search(inside)).status).toBe(200)
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "true-client-ip"])
      expect(
        (await search(outside, "q=*", { [name]: name === "forwarded" ? "for=10.0.0.1" : "10.0.0.1" })).status
      ).toBe(403)
    expect((await search(inside, "q=*", { "x-forwarded-for": "10.0.0.1" })).status).toBe(200)
  })
  it("with an origin, or a referer if the browser sends none", async () => {
    const key = await valueOf({ origins: ["https://shop.example", "*.boutique.example"] })
    for (const headers of [
      { origin: "https://shop.example" },
      { origin: "https://www.boutique.example" },
      { referer: "https://shop.example/a?b" }
    ])
      expect(
        (await search(key, "q=*", headers as unknown as Record<string, string>)).status,
        JSON.stringify(headers)
      ).toBe(200)
    for (const headers of [
      {},
      { origin: "null" },
      { origin: "https://shop.example.evil" },
      { origin: "https://evil.example", referer: "https://shop.example/" },
      { referer: "https://evil.example/https://shop.example" }
    ])
      expect(
        (await search(key, "q=*", headers as unknown as Record<string, string>)).status,
        JSON.stringify(headers)
      ).toBe(403)
  })
})

describe("secured keys", () => {
  it("enforce what is inside them, whatever the parameters are named", async () => {
    expect(
      ids(await search(securedKey(tenant.search_key, { filter_by: "shop:=a" }), "q=*&filter_by=shop:=b%20||%20id:*"))
    ).toEqual(["1"])
    const answered: Array<boolean> = []
    for (const text of [
      '{"filter_by":"shop:=b"}',
      '{"__proto__":{"filter_by":"shop:=a"},"filter_by":"shop:=b"}',
      '{"constructor":{"prototype":{"x":1}},"filter_by":"shop:=b"}',
      '{"__proto__":"x","filter_by":"shop:=b"}',
      '{"filter_by":"shop:=b","constructor":1}',
      '{"filter_by":"shop:=b","toString":"1"}'
    ]) {
      const answer = await search(securedKey(tenant.search_key, text))
      answered.push(answer.status === 200)
      if (answer.status === 200) expect(ids(answer), text).toEqual(["2"])
      else expect([text, answer.status]).toEqual([text, 400])
    }
    // Names that every object has are unknown parameters; an object as a parameter is refused.
    expect(answered).toEqual([true, false, false, true, true, true])
    expect(({} as Record<string, unknown>).filter_by).toBeUndefined()
    expect(({} as Record<string, unknown>).x).toBeUndefined()
  })
  it("of one tenant are invalid for another, and none can be made from keys that cannot sign", async () => {
    expect(
      ids(await search(securedKey(other.search_key, { filter_by: "shop:=a", include_fields: "id,secret" })))
    ).toEqual(["1"])
    const theirs = await search(securedKey(other.search_key, { include_fields: "secret" }))
    expect([theirs.status, theirs.text.includes("hush-theirs-a"), theirs.text.includes("mine")]).toEqual([
      200,
      true,
      false
    ])
    const browser = (await mint({})).body.key,
      gateway = await valueOf({ gateway: true }),
      short = await valueOf({ value: "short-but-allowed" })
    for (const parent of [tenant.full_key, browser, gateway, short]) {
      expect((await search(securedKey(parent, { filter_by: "id:*" }))).status).toBe(401)
      // Each of them can search by itself.
      expect((await search(parent)).status).toBe(200)
    }
    expect((await search(securedKey(await valueOf({}), { filter_by: "id:*" }))).status).toBe(200)
  })
  it("cannot name or join what their parent may not", async () => {
    const parent = await valueOf({ fields: ["id", "title"], filter_by: { goods: "shop:=a" } })
    expect(ids(await search(securedKey(parent, { filter_by: "id:*" })))).toEqual(["1"])
    expect((await search(securedKey(parent, { filter_by: "secret:hush*" }))).status).toBe(403)
    const wide = await search(securedKey(parent, { include_fields: "*", q: "*" }))
    expect(wide.body.hits[0].document).toEqual({ id: "1", title: "oak a" })
  })
})

describe("filters of a key", () => {
  const at = (path: string) => `/v1/collections/${path}`
  it("reach the collections that they list and no others, which are answered like missing ones", async () => {
    const own = (method: string, path: string, body?: unknown) =>
      program.request(method, path, { key: tenant.full_key, body })
    const fields = [
      { name: "title", type: "string" },
      { name: "shop", type: "string", facet: true }
    ]
    for (const name of ["wares_1", "wares_2", "ledger"]) {
      await own("POST", "/v1/collections", { name, fields })
      for (const shop of ["a", "b"])
        await own("POST", at(`${name}/documents`), { id: `${name}-${shop}`, title: name, shop })
    }
    await own("PUT", "/v1/aliases/wares", { collection_name: "wares_1" })
    await own("PUT", "/v1/aliases/ledger_alias", { collection_name: "ledger" })
    const key = await valueOf({ filter_by: { wares: "shop:=a" } })
    const found = async (by: string, name: string) => {
      const { body, status } = await program.request("GET", at(`${name}/documents/search?q=*`), { key: by })
      return status === 200 ? body.hits.map(({ document }: { document: { id: string } }) => document.id).join() : status
    }
    expect([
      await found(key, "wares"),
      await found(key, "wares_1"),
      await found(key, "wares_2"),
      await found(key, "ledger"),
      await found(key, "ledger_alias"),
      await found(key, "absent")
    ]).toEqual(["wares_1-a", "wares_1-a", 403, 403, 403, 403])
    // Moved while the key is used: the filter applies to the collection it now points to.
    await own("PUT", "/v1/aliases/wares", { collection_name: "wares_2" })
    expect([await found(key, "wares"), await found(key, "wares_1"), await found(key, "wares_2")]).toEqual([
      "wares_2-a",
      403,
      "wares_2-a"
    ])
    for (const path of ["suggestions?q=a", "prompts"])
      for (const [name, status] of [
        ["wares", 200],
        ["ledger", 403]
      ] as const)
        expect([name, path, (await program.request("GET", at(`${name}/${path}`), { key })).status]).toEqual([
          name,
          path,
          status
        ])
    for (const union of [false, true])
      for (const [name, status] of [
        ["wares", 200],
        ["ledger", 403],
        ["absent", 403]
      ] as const)
        expect([
          name,
          (
            await program.request("POST", "/v1/multi_search", {
              key,
              body: {
                union,
                searches: [
                  { collection: "wares", q: "*" },
                  { collection: name, q: "*" }
                ]
              }
            })
          ).status
        ]).toEqual([name, status])
    expect(
      (
        await program.request("POST", "/v1/events", {
          key,
          body: {
            events: ["wares", "ledger"].map((collection) => ({ type: "search", q: "x", collection, session_id: "s" }))
          }
        })
      ).body
    ).toMatchObject({ accepted: 1, rejected: [{ index: 1 }] })
    // The rest is reported; and what concerns more than one entry is listed under all of them.
    const rest = await valueOf({ filter_by: { wares: "shop:=a", "*": "shop:=b" } })
    expect([await found(rest, "wares_2"), await found(rest, "ledger"), await found(rest, "absent")]).toEqual([
      "wares_2-a",
      "ledger-b",
      404
    ])
    const several = await valueOf({ filter_by: { "war.*": "shop:=b", wares: "shop:=a" } })
    expect([await found(several, "wares"), await found(several, "wares_1")]).toEqual(["", "wares_1-b"])
    const browser = (await mint({ filter_by: { wares: "shop:=a" } })).body.key
    expect([await found(browser, "wares"), await found(browser, "ledger")]).toEqual(["wares_2-a", 403])
    const gateway = await valueOf({ gateway: true, filter_by: { wares: "shop:=a" } })
    const through = async (index: string) =>
      (
        await program.request("POST", `/api/v1/indexes/${index}/search`, {
          headers: { authorization: `Bearer ${gateway}` },
          body: { q: "*" }
        })
      ).status
    expect([await through("wares"), await through("ledger"), await through("absent")]).toEqual([200, 403, 403])
  })
  it("leave a collection open to joins if they say so", async () => {
    const own = (method: string, path: string, body?: unknown) =>
      program.request(method, path, { key: tenant.full_key, body })
    await own("POST", "/v1/collections", { name: "authors", fields: [{ name: "name", type: "string" }] })
    await own("POST", "/v1/collections", {
      name: "books",
      fields: [
        { name: "title", type: "string" },
        { name: "author", type: "string", reference: "authors.id" }
      ]
    })
    await own("POST", at("authors/documents"), { id: "1", name: "Ann" })
    await own("POST", at("books/documents"), { id: "1", title: "Oak", author: "1" })
    const joined = async (filter_by: Record<string, string>) =>
      (
        await program.request(
          "GET",
          at(`books/documents/search?q=*&include_fields=${encodeURIComponent("$authors(name)")}`),
          { key: await valueOf({ filter_by }) }
        )
      ).status
    expect([
      await joined({ books: "title:oak" }),
      await joined({ books: "title:oak", authors: "id:*" }),
      await joined({ books: "title:oak", authors: "name:Ann" }),
      await joined({ books: "title:oak", "*": "id:*" })
    ]).toEqual([403, 200, 400, 200])
  })
})

describe("fields of a key", () => {
  it("apply in searches, unions, suggestions and cached answers", async () => {
    const narrow = await valueOf({ fields: ["id", "title"] }),
      plain = tenant.search_key
    for (const path of [
      "/v1/collections/goods/documents/search?q=oak&query_by=title&use_cache=true",
      "/v1/collections/goods/suggestions?q=hush",
      "/v1/collections/goods/prompts?limit=20"
    ]) {
      // Twice, so that anything cached after the open key's answer would be available to the narrow one.
      for (const key of [plain, narrow, plain, narrow]) {
        const { status, text } = await program.request("GET", path, { key })
        expect([path, status, text.includes("hush")]).toEqual([path, 200, key === plain])
      }
    }
    for (const union of [false, true]) {
      const many = await program.request("POST", "/v1/multi_search", {
        key: narrow,
        body: {
          union,
          searches: [
            { collection: "goods", q: "oak", query_by: "title" },
            { collection: "goods", q: "oak", query_by: "*", highlight_fields: "*", facet_by: "*" }
          ]
        }
      })
      expect([many.status, many.text.includes("oak"), many.text.includes("hush")]).toEqual([200, true, false])
    }
    const refused = await search(narrow, "q=*&facet_by=secret")
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringMatching(/facet_by.*secret/)])
    expect((await search(narrow, "q=*&filter_by=secret:=x")).status).toBe(400)
    expect((await search(narrow, "q=*&filter_by=title:oak&facet_by=title")).body.found).toBe(2)
  })
  it("are shown with the key, and only search keys have them", async () => {
    const made = await makeKey({ fields: ["title"] })
    expect(made.body.fields).toEqual(["title"])
    expect((await program.request("GET", `/v1/keys/${made.body.id}`, { key: tenant.full_key })).body.fields).toEqual([
      "title"
    ])
    for (const [field, body] of [
      ["fields", { scope: "full", fields: ["title"] }],
      ["filter_by", { scope: "full", filter_by: { goods: "shop:=a" } }],
      ["fields", { scope: "connector_write", fields: ["title"] }],
      ["fields", { fields: [] }],
      ["fields[0]", { fields: ["ti*"] }],
      ["filter_by.goods", { filter_by: { goods: " " } }],
      ["filter_by", { filter_by: { "goods[": "a:=1" } }],
      ["origins[0]", { origins: ["https://a.example/path"] }],
      ["cidrs[0]", { cidrs: ["10.0.0.0/33"] }],
      ["value", { value: "brk_0123456789abcdef" }],
      ["value", { value: "with a space inside" }],
      ["scope", { scope: "installation" }]
    ] as const) {
      const { body: answer, status } = await makeKey(body)
      expect([field, status, answer.data?.issues?.[0]?.path]).toEqual([field, 400, field])
    }
  })
})

describe("browser keys", () => {
  it("search until they expire, with the requested restrictions, and are stored nowhere", async () => {
    const now_s = Math.floor(Date.now() / 1000)
    const made = await mint({
      ttl_seconds: 60,
      collections: ["goods"],
      filter_by: { goods: "shop:=a" },
      origins: ["https://shop.example"]
    })
    expect([made.status, Object.keys(made.body).sort()]).toEqual([201, ["expires_at", "key"]])
    expect(made.body.expires_at - now_s).toBeGreaterThanOrEqual(60)
    expect(made.body.expires_at - now_s).toBeLessThanOrEqual(62)
    const near = { origin: "https://shop.example" }
    expect(ids(await search(made.body.key, "q=*&filter_by=shop:=b%20||%20id:*", near))).toEqual(["1"])
    expect((await search(made.body.key)).status).toBe(403)
    expect(
      (
        await program.request("GET", "/v1/collections/others/documents/search?q=*", {
          key: made.body.key,
          headers: near
        })
      ).body.message
    ).toContain("collection")
    expect(
      (await program.request("GET", "/v1/collections/goods", { key: made.body.key, headers: near })).body.message
    ).toContain("scope")
    const listed = await program.request("GET", "/v1/keys", { key: tenant.full_key })
    expect([listed.status, listed.body.keys.length > 0, listed.text.includes("Browser key")]).toEqual([
      200,
      true,
      false
    ])
    const defaulted = await mint({})
    expect(defaulted.body.expires_at - now_s).toBeGreaterThanOrEqual(3_600)
  })
  it("become invalid with the full key that created them, and belong to their tenant", async () => {
    const minter = await makeKey({ scope: "full" })
    const { key } = (await program.request("POST", "/v1/browser_keys", { key: minter.body.value, body: {} })).body
    expect((await search(key)).text).toContain("mine")
    const theirs = (await search((await mint({}, other)).body.key)).text
    expect([theirs.includes("theirs"), theirs.includes("mine")]).toEqual([true, false])
    await program.request("DELETE", `/v1/keys/${minter.body.id}`, { key: tenant.full_key })
    expect((await search(key)).status).toBe(401)
  })
  it("expire no later than the key that created them, and reach no more", async () => {
    const expires_at = Math.floor(Date.now() / 1000) + 600
    const minter = (await makeKey({ scope: "full", expires_at, collections: ["goods", "shop_.*"] })).body.value
    const by = (body: unknown) => program.request("POST", "/v1/browser_keys", { key: minter, body })
    expect((await by({ ttl_seconds: 3_600 })).body.expires_at).toBe(expires_at)
    for (const collections of [["goods"], ["shop_.*"], ["shop_1", "goods"]])
      expect((await by({ collections })).status, collections.join()).toBe(201)
    for (const collections of [["*"], [".*"], ["other"], ["goods", "shop.*"]])
      expect((await by({ collections })).status, collections.join()).toBe(403)
    expect(
      (await program.request("GET", "/v1/collections/other/documents/search?q=*", { key: (await by({})).body.key }))
        .status
    ).toBe(403)
    expect(
      (
        await program.request("POST", "/v1/keys", {
          key: minter,
          body: { description: "t", scope: "search", collections: ["*"] }
        })
      ).status
    ).toBe(403)
    expect(
      (await program.request("PUT", "/v1/aliases/shop_9", { key: minter, body: { collection_name: "hidden" } })).status
    ).toBe(403)
    expect(
      (await program.request("PUT", "/v1/aliases/shop_9", { key: minter, body: { collection_name: "goods" } })).status
    ).toBe(200)
  })
  it("that cannot be are refused by name", async () => {
    for (const [field, body] of [
      ["ttl_seconds", { ttl_seconds: 59 }],
      ["ttl_seconds", { ttl_seconds: 86_401 }],
      ["ttl_seconds", { ttl_seconds: "60" }],
      ["filter_by.goods", { filter_by: { goods: "" } }],
      ["collections", { collections: [] }],
      ["fields", { fields: ["title"] }],
      [
        "filter_by",
        { filter_by: Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`c${i}`, `title:${"x".repeat(3_000)}`])) }
      ]
    ] as const) {
      const { body: answer, status } = await mint(body)
      expect([field, status, answer.data?.issues?.[0]?.path]).toEqual([field, 400, field])
    }
    for (const ttl_seconds of [60, 86_400]) expect((await mint({ ttl_seconds })).status).toBe(201)
    expect((await mint({ profile: "none" })).status).toBe(404)
    expect((await program.request("POST", "/v1/browser_keys", { key: tenant.search_key, body: {} })).status).toBe(403)
    expect(
      (await program.request("POST", "/v1/browser_keys", { key: (await mint({})).body.key, body: {} })).status
    ).toBe(403)
  })
})

describe("a key creates only keys that are no wider than itself", () => {
  const now_s = Math.floor(Date.now() / 1000)
  const narrow = {
    scope: "full",
    expires_at: now_s + 600,
    cidrs: ["127.0.0.0/8"],
    origins: ["https://*.shop.example"],
    rate_limit_per_minute: 50,
    collections: ["goods"]
  }
  const headers = { origin: "https://www.shop.example" }
  const by = (key: string, path: string, body: unknown) => program.request("POST", path, { key, headers, body })
  it("which inherit what the request leaves out", async () => {
    const maker = await valueOf(narrow)
    const made = await by(maker, "/v1/keys", { description: "d", scope: "search" })
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({
        expires_at: narrow.expires_at,
        cidrs: narrow.cidrs,
        origins: narrow.origins,
        rate_limit_per_minute: 50,
        collections: ["goods"]
      })
    ])
    // The rate of keys is 600 unless another is given, also for a key created by one without a limit.
    expect(
      (
        await by(await valueOf({ scope: "full", rate_limit_per_minute: 0 }), "/v1/keys", {
          description: "d",
          scope: "search"
        })
      ).body.rate_limit_per_minute
    ).toBe(600)
    const browser = (await by(maker, "/v1/browser_keys", {})).body.key
    expect((await search(browser)).status).toBe(403)
    const answer = await search(browser, "q=*", headers)
    expect([answer.status, answer.headers.get("x-ratelimit-limit")]).toEqual([200, "50"])
    // Created for browsers, by a key for internal addresses: just as narrow.
    const inside = await valueOf({ scope: "full", cidrs: ["127.0.0.1/32"] })
    const inner = (await program.request("POST", "/v1/browser_keys", { key: inside, body: {} })).body.key
    expect((await search(inner)).status).toBe(200)
  })
  it("and wider ones are refused, with all reasons at once", async () => {
    const maker = await valueOf(narrow)
    const wide = await by(maker, "/v1/keys", {
      description: "d",
      scope: "full",
      expires_at: now_s + 6_000,
      cidrs: ["0.0.0.0/0"],
      origins: ["https://evil.example"],
      rate_limit_per_minute: 0,
      collections: ["*"]
    })
    expect([wide.status, wide.body.fields]).toEqual([
      403,
      ["collections", "cidrs", "origins", "rate_limit_per_minute", "expires_at"]
    ])
    const listed = await program.request("GET", "/v1/keys", { key: tenant.full_key })
    expect([
      listed.status,
      listed.text.includes("https://*.shop.example"),
      listed.text.includes("evil.example")
    ]).toEqual([200, true, false])
    for (const [field, body] of [
      ["cidrs", { cidrs: [] }],
      ["origins", { origins: [] }],
      ["origins", { origins: ["shop.example"] }],
      ["rate_limit_per_minute", { rate_limit_per_minute: 51 }],
      ["expires_at", { expires_at: narrow.expires_at + 1 }],
      ["collections", { collections: ["goods", "other"] }]
    ] as const) {
      const answer = await by(maker, "/v1/keys", { description: "d", scope: "search", ...body })
      expect([field, answer.status, answer.body.fields]).toEqual([field, 403, [field]])
    }
    const minted = await by(maker, "/v1/browser_keys", {
      origins: ["https://evil.example"],
      collections: ["goods", "other"]
    })
    expect([minted.status, minted.body.fields]).toEqual([403, ["collections", "origins"]])
    expect(
      (
        await by(maker, "/v1/keys", {
          description: "d",
          scope: "search",
          expires_at: now_s + 60,
          cidrs: ["127.0.0.1"],
          origins: ["https://www.shop.example"],
          rate_limit_per_minute: 5
        })
      ).status
    ).toBe(201)
  })
})

describe("origins of the free plan", () => {
  it("are the service's own subdomains, for keys and for browser keys", async () => {
    const free = await program.tenant("Free")
    await program.run(
      Effect.gen(function* () {
        yield* (yield* Organizations).set(free.organization_id, { plan: "free" })
      })
    )
    expect((await makeKey({ origins: ["https://my.dowser.example"] }, free)).status).toBe(201)
    for (const made of [
      await makeKey({ origins: ["https://my.dowser.example", "https://shop.example"] }, free),
      await mint({ origins: ["https://shop.example"] }, free)
    ]) {
      expect([made.status, made.body.feature, made.body.plan]).toEqual([403, "allowed_origins", "free"])
    }
    expect((await makeKey({ origins: [] }, free)).status).toBe(201)
  })
  it("set earlier no longer count when a plan becomes smaller", async () => {
    const shrinking = await program.tenant("Shrinking")
    const key = (await makeKey({ origins: ["https://shop.example", "https://my.dowser.example"] }, shrinking)).body
      .value
    const from = async (origin: string) => (await search(key, "q=*", { origin })).status
    expect([await from("https://shop.example"), await from("https://my.dowser.example")]).toEqual([404, 404])
    await program.run(
      Effect.gen(function* () {
        yield* (yield* Organizations).set(shrinking.organization_id, { plan: "free" })
      })
    )
    expect([await from("https://shop.example"), await from("https://my.dowser.example")]).toEqual([403, 404])
  })
})

describe("sessions", () => {
  it("are required if a search is an AI operation, after the collection and before the parameters", async () => {
    await program.request("PUT", "/v1/presets/asking", { key: tenant.full_key, body: { value: { nl_query: true } } })
    for (const query of [
      "q=*&nl_query=true",
      "q=*&conversation=true&conversation_model_id=dowser/extractive",
      "q=*&voice_query=abc",
      "q=*&preset=asking",
      "q=*&nl_query=true&per_page=many"
    ]) {
      expect([query, (await search(tenant.search_key, query)).body]).toEqual([
        query,
        { message: "Header `X-SVC-SESSION-ID` is required." }
      ])
      expect((await search(tenant.search_key, query, { "x-svc-session-id": " " })).body.message).toContain(
        "X-SVC-SESSION-ID"
      )
      for (const answer of [
        await search(tenant.search_key, query, { "x-svc-session-id": "s1" }),
        await search(tenant.full_key, query)
      ]) {
        expect([query, answer.status]).toEqual([query, /voice|many/.test(query) ? 400 : 200])
        if (answer.status === 400)
          expect(answer.body.message).toMatch(/^(Voice query is not enabled|Parameter `per_page`)/)
        else expect(answer.body.found).toBe(2)
      }
    }
    expect((await search(tenant.search_key, "q=*&nl_query=false")).status).toBe(200)
    expect(
      (
        await program.request("GET", "/v1/collections/nowhere/documents/search?q=*&nl_query=true", {
          key: tenant.search_key
        })
      ).status
    ).toBe(404)
    const many = await program.request("POST", "/v1/multi_search", {
      key: tenant.search_key,
      body: {
        searches: [
          { collection: "goods", q: "*" },
          { collection: "goods", q: "*", conversation: true }
        ]
      }
    })
    expect([many.status, many.body.message]).toEqual([400, expect.stringContaining("X-SVC-SESSION-ID")])
    // What is cached for a session is not served to callers without one.
    expect(
      (await search(tenant.search_key, "q=*&nl_query=true&use_cache=true", { "x-svc-session-id": "s1" })).status
    ).toBe(200)
    expect((await search(tenant.search_key, "q=*&nl_query=true&use_cache=true")).status).toBe(400)
  })
})

describe("names", () => {
  it("that normalize alike are different collections", async () => {
    const composed = "caf\u00e9",
      decomposed = "cafe\u0301"
    for (const name of [composed, decomposed, "goods\u200b", "ｇoods"])
      expect(
        (
          await program.request("POST", "/v1/collections", {
            key: tenant.full_key,
            body: { name, fields: [{ name: "title", type: "string" }] }
          })
        ).status
      ).toBe(201)
    const key = await valueOf({ collections: [composed, "goods"] })
    const status = async (name: string) =>
      (await program.request("GET", `/v1/collections/${encodeURIComponent(name)}/documents/search?q=*`, { key })).status
    expect([
      await status(composed),
      await status(decomposed),
      await status("goods\u200b"),
      await status("ｇoods"),
      await status("GOODS"),
      await status(" goods")
    ]).toEqual([200, 403, 403, 403, 403, 403])
    const many = await program.request("POST", "/v1/multi_search", {
      key,
      body: { searches: [{ collection: decomposed, q: "*" }] }
    })
    expect(many.status).toBe(403)
  })
  it("that every object has are names like others, in bodies and in paths", async () => {
    for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      for (const path of [
        `/v1/collections/${name}`,
        `/v1/collections/goods/documents/${name}`,
        `/v1/keys/${name}`,
        `/v1/presets/${name}`,
        `/v1/aliases/${name}`,
        `/v1/synonym_sets/${name}`,
        `/v1/collections/${name}/search_rules`
      ])
        expect([path, (await program.request("GET", path, { key: tenant.full_key })).status]).toEqual([path, 404])
      expect((await search(tenant.search_key, `q=*&preset=${name}`)).status).toBe(200)
      expect((await search(tenant.search_key, `q=*&${name}=x`)).status).toBe(200)
    }
    const polluted = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: '{"description":"p","scope":"search","__proto__":{"scope":"full","collections":["*"]},"filter_by":{"__proto__":"shop:=a"}}'
    })
    expect([polluted.status, polluted.body.data.issues[0].path]).toEqual([400, "__proto__"])
    const plain = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: '{"description":"p","scope":"search","filter_by":{"__proto__":"shop:=a"}}'
    })
    expect([plain.status, plain.body.scope]).toEqual([201, "search"])
    const written = await program.request("POST", "/v1/collections/goods/documents", {
      key: tenant.full_key,
      body: '{"id":"__proto__","title":"oak","shop":"a","secret":"x","constructor":{"prototype":{"polluted":1}},"__proto__":{"polluted":1}}'
    })
    expect([written.status, written.body.id]).toEqual([201, "__proto__"])
    await program.request("DELETE", "/v1/collections/goods/documents/__proto__", { key: tenant.full_key })
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })
  it("in paths stay inside their segment", async () => {
    const key = await valueOf({ scope: "full", collections: ["goods"] })
    /** As written: `fetch` would normalize it. */
    const status = (path: string) =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(program.base)
        httpRequest({ hostname, port, path, headers: { "x-svc-api-key": key } }, (response) => {
          response.resume().on("end", () => resolve(response.statusCode ?? 0))
        })
          .on("error", reject)
          .end()
      })
    for (const path of [
      "/v1/collections/goods/documents/..%2f..%2fhidden",
      "/v1/collections/goods/documents/%2e%2e%2f1",
      "/v1/collections/goods/documents/1%2f2",
      "/v1/collections/goods/documents/%00",
      `/v1/collections/goods/documents/${"x".repeat(4_000)}`
    ])
      expect([404, 400], path).toContain(await status(path))
    for (const path of [
      "/v1/collections/goods%2f..%2fhidden/documents/1",
      "/v1/collections/..%2fgoods/documents/1",
      "/v1/collections/%67oods%20/documents/1",
      "/v1/collections/hidden"
    ])
      expect([403, 404], path).toContain(await status(path))
    expect([404, 400, 403]).toContain(await status("/v1/collections/goods/../hidden"))
    expect([404, 400, 403]).toContain(await status("/v1/collections//documents/1"))
    expect([400, 404]).toContain(await status("/v1/collections/%ff/documents/1"))
    expect(await status("/v1/collections/%67oods/documents/1")).toBe(200)
  })
})

describe("what is stored", () => {
  it("is a hash, kept for audit after the key was revoked or has expired", async () => {
    const gone = await makeKey({ autodelete: true, expires_at: 1 }),
      kept = await makeKey({ expires_at: 1 }),
      live = await makeKey({ autodelete: true })
    const listed = async () =>
      (await program.request("GET", "/v1/keys", { key: tenant.full_key })).body.keys.map(
        ({ id }: { id: string }) => id
      ) as ReadonlyArray<string>
    expect(await listed()).toEqual(expect.arrayContaining([gone.body.id, kept.body.id, live.body.id]))
    expect(gone.body.autodelete).toBe(true)
    expect(
      await program.run(
        Effect.gen(function* () {
          return yield* (yield* Access).deleteExpired
        })
      )
    ).toBe(1)
    expect(
      await program.run(
        Effect.gen(function* () {
          return yield* (yield* Access).deleteExpired
        })
      )
    ).toBe(0)
    expect((await listed()).filter((id) => [gone, kept, live].some(({ body }) => body.id === id)).sort()).toEqual(
      [kept.body.id, live.body.id].sort()
    )
    // The value stays taken: its hash is stored.
    const value = "a-chosen-value-of-a-key"
    const chosen = await makeKey({ value })
    await program.request("DELETE", `/v1/keys/${chosen.body.id}`, { key: tenant.full_key })
    expect((await makeKey({ value })).status).toBe(409)
  })
  it("is separate for an installation, unknown to the tenant API and to lists", async () => {
    const made = await program.run(
      Effect.gen(function* () {
        const access = yield* Access
        return yield* access.createKey({
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
      })
    )
    expect(made.value).toMatch(/^cmsk_/)
    for (const headers of [{ "x-svc-api-key": made.value }, { authorization: `Bearer ${made.value}` }])
      expect((await search(undefined, "q=*", headers as unknown as Record<string, string>)).status).toBe(401)
    const own = await makeKey({}),
      listed = (await program.request("GET", "/v1/keys", { key: tenant.full_key })).text
    expect([listed.includes(own.body.id), listed.includes(made.key.id)]).toEqual([true, false])
    expect((await program.request("DELETE", `/v1/keys/${made.key.id}`, { key: tenant.full_key })).status).toBe(404)
    const presented = {
      address: "127.0.0.1",
      origin: undefined,
      collection: undefined,
      sessionId: undefined,
      isRateFree: false,
      isGateway: false,
      scope: "installation"
    } as const
    const check = (key: string) =>
      program.run(
        Effect.gen(function* () {
          return yield* Effect.matchEffect((yield* Access).check({ ...presented, key }), {
            onFailure: (error) => Effect.succeed(error._tag),
            onSuccess: (caller) => Effect.succeed(caller.key.installation_id)
          })
        })
      )
    expect(await check(made.value)).toBe("cms_1")
    for (const key of [tenant.full_key, tenant.search_key, (await mint({})).body.key])
      expect(await check(key)).toBe("Unauthorized")
    const revoked = await program.run(
      Effect.gen(function* () {
        return yield* (yield* Access).revokeInstallationKey(tenant.organization_id, "cms_1")
      })
    )
    expect([revoked.id, await check(made.value)]).toEqual([made.key.id, "Unauthorized"])
  })
})

describe("messages", () => {
  it("truncate a caller's own text at 200 characters, on every plane and within answers of 200", async () => {
    const long = "y".repeat(3_000),
      key = tenant.full_key
    const answers = await Promise.all([
      program.request("GET", `/v1/collections/goods/documents/${long}`, { key }),
      search(tenant.search_key, `q=*&filter_by=${long}:=1`),
      search(tenant.search_key, `q=*&sort_by=${long}:asc`),
      program.request("POST", "/v1/keys", { key, body: { [long]: 1, description: "x" } }),
      ...[false, true].map((union) =>
        program.request("POST", "/v1/multi_search", {
          key,
          body: {
            union,
            searches: [
              { collection: "goods", q: "*", filter_by: `${long}:=1` },
              { collection: "goods", q: "x", query_by: long }
            ]
          }
        })
      ),
      program.request("POST", "/v1/collections/goods/documents/import", {
        key,
        body: `{"id":"1","title":["${long}"],"${long}":1}\n{"title":"${long}`
      }),
      program.request("POST", "/api/v1/indexes/goods/documents", {
        headers: { authorization: `Bearer ${key}` },
        body: { documents: [{ id: long, title: 1 }], [long]: 1 }
      }),
      program.request("GET", `/v1/jobs/${long}`, { key }),
      program.request("GET", `/v1/analytics/rules/${long}`, { key })
    ])
    for (const { status, text } of answers)
      expect([status, text.length < 2_000, /y{201}/.test(text)], text.slice(0, 300)).toEqual([status, true, false])
    expect(answers.filter(({ status }) => status >= 400).length).toBeGreaterThan(5)
    // Multi-search and import report failures within an answer, and none because the key is refused.
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(2)
    expect(answers.filter(({ status }) => status === 401 || status === 403)).toEqual([])
  })
})
