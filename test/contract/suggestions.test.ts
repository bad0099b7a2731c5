/**
 * Suggestions, prompts and refinements over HTTP: from real events to completions, and which searches must stay
 * private.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { securedKey } from "../support/secured.ts"

let program: Program
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Shop")
  other = await program.tenant("Other shop")
  for (const owner of [tenant, other]) await fill(owner, "products")
})
afterAll(() => program.stop())

const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, `/v1${path}`, { key, body })
const fill = async (owner: Tenant, name: string) => {
  const made = await send(
    "POST",
    "/collections",
    {
      name,
      fields: [
        { name: "title", type: "string" },
        { name: "brand", type: "string", facet: true },
        { name: "colour", type: "string[]", facet: true },
        { name: "shop", type: "string", facet: true },
        { name: "price", type: "float", facet: true }
      ]
    },
    owner.full_key
  )
  expect(made.status).toBe(201)
  const documents = [
    { id: "1", title: "iphone case", brand: "Apple", colour: ["red", "black"], shop: "north", price: 10 },
    { id: "2", title: "iphone cable", brand: "Anker", colour: ["white"], shop: "north", price: 12 },
    { id: "3", title: "iphone charger", brand: "Anker", colour: ["black"], shop: "north", price: 15 },
    { id: "4", title: "headphones", brand: "Sennheiser", colour: ["black"], shop: "south", price: 99 },
    { id: "5", title: "ice maker", brand: "It's `odd`", colour: ["steel"], shop: "south", price: 80 }
  ]
  const imported = await program.request("POST", `/v1/collections/${name}/documents/import`, {
    key: owner.full_key,
    body: documents.map((document) => JSON.stringify(document)).join("\n")
  })
  expect([imported.status, imported.text.split("\n").filter((line) => line !== '{"success":true}')]).toEqual([200, []])
}
interface Told {
  readonly q: string
  readonly user_id?: string
  readonly anonymous_id?: string
  readonly session_id?: string
  readonly results_found?: number
  readonly collection?: string
  readonly timestamp?: number
}
let told = 0
/** So far apart that one is not taken for a keystroke of the next. */
const APART_MS = 5_000
/** Answered searches, each from a network of its own, in this order; the last one now. */
const tell = (searches: ReadonlyArray<Told>, owner: Tenant = tenant) => {
  const now = Date.now()
  return program.answered(
    searches.map(({ collection = "products", q, results_found = 3, timestamp, ...who }, i) => {
      const n = ++told
      return {
        organization_id: owner.organization_id,
        query_id: `qry_0${String(n).padStart(26, "0")}`,
        collection,
        q,
        found: results_found,
        at: timestamp ?? now - APART_MS * (searches.length - 1 - i),
        isCounted: true,
        network: n,
        ...who
      }
    })
  )
}
const by = (visitors: ReadonlyArray<string>, q: string, over: Partial<Told> = {}) =>
  visitors.map((user_id) => ({ q, user_id, ...over }))
const ask = async (q: string, more = "", owner: Tenant = tenant) =>
  (
    await send(
      "GET",
      `/collections/products/suggestions?q=${encodeURIComponent(q)}${more}`,
      undefined,
      owner.search_key
    )
  ).body.data as ReadonlyArray<{ q: string; type: string; filter_by?: string; count?: number }>
const queries = async (q: string, owner: Tenant = tenant) =>
  (await ask(q, "&limit=20", owner)).filter(({ type }) => type === "query").map((suggestion) => suggestion.q)
const comes = (q: string, owner: Tenant = tenant) =>
  eventually(`the suggestion ${q}`, async () => (await queries(q, owner)).includes(q) || undefined)

describe("suggestions", () => {
  it("are queries that three visitors made, completed, corrected, the most used first", async () => {
    await tell([
      ...by(["a", "b", "c"], "iPhone  Case"),
      ...by(["a", "b", "c", "d", "e"], "iphone"),
      ...by(["a", "b"], "iphone secret"),
      ...by(["a", "b", "c"], "café crème"),
      ...by(["a", "b", "c"], "iphone unfindable", { results_found: 0 })
    ])
    await comes("iphone case")
    expect(await queries("iph")).toEqual(["iphone", "iphone case"])
    expect(await queries("iphnoe")).toEqual(["iphone", "iphone case"])
    expect(await queries("case iph")).toEqual(["iphone case"])
    expect(await queries("cafe cr")).toEqual(["café crème"])
    expect(await queries("zebra")).toEqual([])
    expect((await ask("iphone case"))[0]).toEqual({ q: "iphone case", type: "query", count: 3 })
    // The third visitor of the other query arrives: now it is no longer private.
    await tell(by(["z"], "iphone secret"))
    await comes("iphone secret")
  })

  it("never show what one visitor made in many sessions, or two made", async () => {
    await tell([
      ...Array.from({ length: 9 }, (_, i) => ({ q: "my rash cream", user_id: "patient", session_id: `p${i}` })),
      ...Array.from({ length: 9 }, (_, i) => ({ q: "my rash doctor", anonymous_id: "patient", session_id: `p${i}` })),
      // The same person before, during and after being identified, in one session.
      { q: "my rash pills", session_id: "one" },
      { q: "my rash pills", session_id: "one", anonymous_id: "two" },
      { q: "my rash pills", session_id: "one", anonymous_id: "two", user_id: "three" },
      { q: "my rash pills", session_id: "one", user_id: "four" },
      // Anonymous searches may all be one person's.
      ...Array.from({ length: 9 }, () => ({ q: "my rash tea" })),
      ...by(["a", "b"], "my rash soap"),
      ...by(["a", "b"], "my rash soap", { session_id: "again" }),
      ...by(["a", "b", "c"], "my rash salve")
    ])
    await comes("my rash salve")
    expect(await queries("my rash")).toEqual(["my rash salve"])
    const searched = await send(
      "GET",
      "/collections/products/documents/search?q=my%20rash&query_by=title",
      undefined,
      tenant.search_key
    )
    expect(searched.body.refinements).toEqual([{ type: "query", label: "my rash salve", q: "my rash salve", count: 3 }])
    expect(
      (await send("GET", "/collections/products/prompts?limit=50", undefined, tenant.search_key)).text
    ).not.toMatch(/cream|doctor|pills|tea|soap/)
  })

  it("count only what was typed to the end", async () => {
    const now = Date.now() - 60_000
    await tell(
      ["k1", "k2", "k3"].flatMap((session_id) =>
        ["la", "lapt", "laptop"].map((q, i) => ({ q, session_id, timestamp: now + 500 * i }))
      )
    )
    await comes("laptop")
    expect(await queries("la")).toEqual(["laptop"])
  })

  it("belong to one tenant", async () => {
    await tell([...by(["a", "b", "c"], "iphone ours"), ...by(["a", "b"], "iphone")], other)
    await comes("iphone ours", other)
    expect(await queries("iph", other)).toEqual(["iphone ours"])
    expect(await queries("iphone o")).toEqual([])
  })

  it("appear under the collection that an alias names", async () => {
    expect((await send("PUT", "/aliases/shopfront", { collection_name: "products" })).status).toBe(200)
    await tell(by(["a", "b", "c"], "aliased thing", { collection: "shopfront" }))
    await comes("aliased thing")
    expect(
      (await send("GET", "/collections/shopfront/suggestions?q=alia", undefined, tenant.search_key)).body.data.map(
        ({ q }: { q: string }) => q
      )
    ).toEqual(["aliased thing"])
  })

  it("include facet values, with the filter that selects their documents", async () => {
    const found = await ask("an")
    expect(found).toContainEqual({ q: "Anker", type: "facet", filter_by: "brand:=`Anker`", count: 2 })
    const searched = await send(
      "GET",
      `/collections/products/documents/search?q=*&filter_by=${encodeURIComponent("brand:=`Anker`")}`,
      undefined,
      tenant.search_key
    )
    expect(searched.body.found).toBe(2)
    // A value that no filter can name is not offered.
    expect((await ask("it's")).filter(({ type }) => type === "facet")).toEqual([])
    const many = await ask("i", "&limit=2")
    expect(many).toHaveLength(2)
  })

  it("show a restricted key no facet value outside its filter", async () => {
    const { value } = (
      await send("POST", "/keys", {
        description: "south",
        scope: "search",
        collections: ["products"],
        filter_by: { products: "shop:=south" }
      })
    ).body
    const answer = await send("GET", "/collections/products/suggestions?q=a&limit=50", undefined, value)
    expect(answer.body.data.filter(({ type }: { type: string }) => type === "facet")).toEqual([])
    const south = (await send("GET", "/collections/products/suggestions?q=&limit=50", undefined, value)).body.data
      .filter(({ type }: { type: string }) => type === "facet")
      .map(({ count, q }: { q: string; count: number }) => [q, count])
    expect(south.sort()).toEqual([
      ["Sennheiser", 1],
      ["black", 1],
      ["south", 2],
      ["steel", 1]
    ])
    const { value: bad } = (
      await send("POST", "/keys", { description: "bad", scope: "search", filter_by: { products: "nothing:=1" } })
    ).body
    expect((await send("GET", "/collections/products/suggestions?q=a", undefined, bad)).status).toBe(403)
    const { value: elsewhere } = (
      await send("POST", "/keys", { description: "x", scope: "search", collections: ["others"] })
    ).body
    expect((await send("GET", "/collections/products/suggestions?q=a", undefined, elsewhere)).status).toBe(403)
  })

  it("refuse invalid parameters, and know which collections exist", async () => {
    for (const limit of ["0", "51", "x", "-1", "1.5"]) {
      for (const path of ["suggestions?q=a&", "prompts?"]) {
        const { body, status } = await send(
          "GET",
          `/collections/products/${path}limit=${limit}`,
          undefined,
          tenant.search_key
        )
        expect([status, body.code, body.data.issues[0].path]).toEqual([400, "BAD_REQUEST", "limit"])
      }
    }
    expect((await send("GET", "/collections/nothing/suggestions?q=a&limit=x")).body).toMatchObject({
      code: "NOT_FOUND"
    })
    expect((await send("GET", "/collections/nothing/prompts")).status).toBe(404)
    expect((await program.request("GET", "/v1/collections/products/suggestions?q=a")).status).toBe(401)
    expect(
      (await send("GET", `/collections/products/suggestions?q=${"x".repeat(5_000)}`, undefined, tenant.search_key))
        .status
    ).toBe(200)
  })
})

describe("prompts", () => {
  it("are popular queries and facet values; facet values alone if there were no searches yet", async () => {
    const prompts = (await send("GET", "/collections/products/prompts", undefined, tenant.search_key)).body.data
    expect(prompts[0]).toEqual({ q: "iphone", type: "query", count: 5 })
    expect(prompts).toHaveLength(10)
    expect(prompts.filter(({ type }: { type: string }) => type === "facet").map(({ q }: { q: string }) => q)).toEqual([
      "black",
      "north",
      "Anker"
    ])
    await fill(other, "fresh")
    const fresh = (await send("GET", "/collections/fresh/prompts?limit=3", undefined, other.search_key)).body.data
    expect(fresh.map(({ count, q, type }: any) => [q, type, count])).toEqual([
      ["black", "facet", 3],
      ["north", "facet", 3],
      ["Anker", "facet", 2]
    ])
  })
})

describe("refinements", () => {
  const search = async (parameters: string) =>
    (
      await send(
        "GET",
        `/collections/products/documents/search?query_by=title&${parameters}`,
        undefined,
        tenant.search_key
      )
    ).body
  it("are longer queries and the facet values that split the answer", async () => {
    const { refinements } = await search("q=iphone&facet_by=brand,colour,price")
    expect(
      refinements
        .filter(({ type }: any) => type === "query")
        .map(({ q }: any) => q)
        .sort()
    ).toEqual(["iphone case", "iphone secret"])
    expect(refinements.filter(({ type }: any) => type === "facet")).toEqual(
      expect.arrayContaining([
        { type: "facet", label: "Anker", filter_by: "brand:=`Anker`", count: 2 },
        { type: "facet", label: "black", filter_by: "colour:=`black`", count: 2 }
      ])
    )
    for (const { count, filter_by } of refinements.filter(({ type }: any) => type === "facet"))
      expect((await search(`q=iphone&filter_by=${encodeURIComponent(filter_by)}`)).found).toBe(count)
  })
  it("are an empty array where there is nothing, absent when switched off, and in multi-search too", async () => {
    expect((await search("q=headphones")).refinements).toEqual([])
    expect(await search("q=iphone&refinements=off")).not.toHaveProperty("refinements")
    const many = await send(
      "POST",
      "/multi_search",
      { searches: [{ collection: "products", q: "iphone", query_by: "title" }] },
      tenant.search_key
    )
    expect(many.body.results[0].refinements.map(({ q }: any) => q).sort()).toEqual(["iphone case", "iphone secret"])
  })
})

describe("what others searched", () => {
  it("is hidden from keys restricted by filter, fields or signature, and outside a key's collections", async () => {
    await tell([
      ...by(["a", "b", "c"], "iphone of north"),
      ...by(["a", "b", "c"], "iphone back door", { collection: "products_back" })
    ])
    await send("PUT", "/aliases/products_back", { collection_name: "products" })
    await comes("iphone of north")
    await comes("iphone back door")
    const make = async (more: object) =>
      (await send("POST", "/keys", { description: "r", scope: "search", ...more })).body.value as string
    const seen = async (key: string) => {
      const answers = [
        await send("GET", "/collections/products/suggestions?q=iphone&limit=50", undefined, key),
        await send("GET", "/collections/products/prompts?limit=50", undefined, key),
        await send("GET", "/collections/products/documents/search?q=iphone&query_by=title&per_page=0", undefined, key)
      ]
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      return [
        ...new Set(answers.flatMap(({ text }) => [...text.matchAll(/iphone (?:of north|back door)/g)].map(([q]) => q)))
      ].sort()
    }
    expect(await seen(tenant.search_key)).toEqual(["iphone back door", "iphone of north"])
    expect(await seen(await make({ collections: ["products"] }))).toEqual(["iphone of north"])
    const signed = (parameters: Record<string, unknown>) => securedKey(tenant.search_key, parameters)
    for (const key of [
      await make({ filter_by: { products: "shop:=south" } }),
      await make({ fields: ["title", "brand"] }),
      signed({ filter_by: "shop:=south" }),
      signed({ include_fields: "title" }),
      signed({ exclude_fields: "shop" })
    ])
      expect(await seen(key)).toEqual([])
  })
  it("contains no links and nothing that identifies a person", async () => {
    const bad = [
      "<b>iphone</b>",
      "iphone visit evil.example/x",
      "iphone www.evil",
      "iphone https://x",
      "iphone javascript:alert(1)",
      "iphone shop.com",
      "iphone a@b",
      "iphone +49 170 123 45 67",
      "iphone 0170-1234567",
      "iphone\u202egpj",
      "iphone\u0007"
    ]
    const good = ["iphone 15 pro 256", "iphone 4.7 inch", "iphone dr. case", "iphone & co", "iphone \u200cfa"]
    await tell([...bad, ...good].flatMap((q) => by(["a", "b", "c"], q)))
    for (const q of good) await comes(q)
    const shown = await queries("iphone")
    expect(shown).toEqual(expect.arrayContaining(good))
    expect(shown.filter((q) => /evil|http|javascript|shop|@|49|0170|gpj|<|\u0007/.test(q))).toEqual([])
  })
  it("cannot be planted by inventing visitors", async () => {
    const planted = async (user_id: string, key: string, q: string) =>
      send(
        "GET",
        `/collections/products/documents/search?q=${encodeURIComponent(q)}&query_by=title&x_user_id=${user_id}`,
        undefined,
        key
      )
    for (const user_id of ["i1", "i2", "i3", "i4"]) {
      expect((await planted(user_id, tenant.search_key, "iphone searched by one")).status).toBe(200)
      expect(
        (
          await send(
            "POST",
            "/events",
            {
              events: [{ type: "search", collection: "products", q: "iphone told by one", user_id, results_found: 9 }]
            },
            tenant.search_key
          )
        ).body.accepted
      ).toBe(1)
    }
    await tell(by(["a", "b", "c"], "iphone behind it"))
    await comes("iphone behind it")
    expect((await queries("iphone")).filter((q) => q.includes("by one"))).toEqual([])
  })
})
