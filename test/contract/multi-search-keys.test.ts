/**
 * A multi-search whose entries carry keys of their own: each is decided by its own key, and it gets around no limit of
 * a key.
 */
import { createHmac } from "node:crypto"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Program, startProgram, type Tenant } from "../support/program.ts"

let program: Program
let tenant: Tenant
beforeAll(async () => {
  program = await startProgram()
  tenant = await program.tenant("Entries")
  await program.request("POST", "/v1/collections", {
    key: tenant.full_key,
    body: {
      name: "goods",
      fields: [
        { name: "title", type: "string" },
        { name: "shop", type: "string" }
      ]
    }
  })
  await program.request("POST", "/v1/collections/goods/documents/import", {
    key: tenant.full_key,
    body: `{"id":"1","title":"oak","shop":"a"}\n{"id":"2","title":"oak","shop":"b"}`
  })
})
afterAll(() => program.stop())

/** A key signed offline over the tenant's search key. */
const signed = (parameters: Record<string, unknown>) => {
  const text = JSON.stringify(parameters)
  return Buffer.from(
    createHmac("sha256", tenant.search_key).update(text).digest("base64") + tenant.search_key.slice(0, 4) + text
  ).toString("base64")
}
const entry = (key?: string) => ({
  collection: "goods",
  q: "*",
  ...(key === undefined ? {} : { "x-typesense-api-key": key })
})
const send = (searches: ReadonlyArray<unknown>, query = "", key = tenant.search_key) =>
  program.request("POST", `/v1/multi_search${query}`, { key, body: { searches } })
const refusal = { message: "Number of multi searches exceeds `limit_multi_searches` parameter." }

describe("keys of entries", () => {
  it("apply to their entry alone", async () => {
    const answer = await send([
      entry(signed({ filter_by: "shop:=a" })),
      entry(),
      entry(signed({ filter_by: "shop:=b" }))
    ])
    expect(
      answer.body.results.map((result: { hits: Array<{ document: { id: string } }> }) =>
        result.hits.map(({ document }) => document.id).sort()
      )
    ).toEqual([["1"], ["1", "2"], ["2"]])
  })
  it("refuse the whole request when one of them is refused", async () => {
    expect((await send([entry(), entry("nobody's key")])).status).toBe(401)
    expect((await send([entry(), entry(signed({ expires_at: 1 }))])).status).toBe(401)
  })
})

describe("limit_multi_searches of an entry's key", () => {
  it("counts every entry of the request, whichever key it has", async () => {
    const two = signed({ limit_multi_searches: 2 })
    expect((await send([entry(two), entry()])).status).toBe(200)
    for (const searches of [
      [entry(two), entry(), entry()],
      [entry(), entry(), entry(two)],
      [entry(two), entry(two), entry(two)]
    ]) {
      const { body, status } = await send(searches)
      expect([status, body]).toEqual([400, refusal])
    }
    // The strictest of several keys decides.
    expect(
      (await send([entry(signed({ limit_multi_searches: 9 })), entry(signed({ limit_multi_searches: 1 }))])).status
    ).toBe(400)
  })
  it("is not lifted by the request, which may only lower it", async () => {
    const two = signed({ limit_multi_searches: 2 })
    expect((await send([entry(two), entry(), entry()], "?limit_multi_searches=100")).status).toBe(400)
    expect((await send([entry(signed({ filter_by: "shop:=a" })), entry()], "?limit_multi_searches=1")).body).toEqual(
      refusal
    )
    const mixed = Array.from({ length: 51 }, (_, i) => entry(i === 0 ? signed({ filter_by: "shop:=a" }) : undefined))
    for (const query of ["", "?limit_multi_searches=51", "?limit_multi_searches=1000"])
      expect((await send(mixed, query)).body).toEqual(refusal)
    const alone = Array.from({ length: 51 }, () => entry())
    expect((await send(alone, "?limit_multi_searches=1000")).body).toEqual(refusal)
    expect((await send(alone.slice(0, 5), "?limit_multi_searches=4")).body).toEqual(refusal)
    // A key raises it, up to a thousand.
    expect((await send(alone, "", signed({ limit_multi_searches: 51 }))).body.results).toHaveLength(51)
    expect(
      (
        await send(
          Array.from({ length: 1_001 }, () => entry()),
          "",
          signed({ limit_multi_searches: 5_000 })
        )
      ).body
    ).toEqual(refusal)
  })
  it("is refused with 400 if it is not a number, instead of meaning no limit", async () => {
    const { body, status } = await send([
      entry(signed({ limit_multi_searches: "many" })),
      ...Array.from({ length: 40 }, () => entry())
    ])
    expect([status, body]).toEqual([400, { message: "Parameter `limit_multi_searches` must be an unsigned integer." }])
  })
})

describe("the rate of a key", () => {
  const limited = async (limit: number) => {
    const made = await program.request("POST", "/v1/keys", {
      key: tenant.full_key,
      body: { description: "k", scope: "search", rate_limit_per_minute: limit }
    })
    return made.body.value as string
  }
  it("loses one token for each entry, and its headers show it", async () => {
    const key = await limited(20)
    // Within one minute of the clock.
    while (new Date().getSeconds() > 50) await new Promise((settle) => setTimeout(settle, 500))
    const first = await send(
      Array.from({ length: 15 }, () => entry()),
      "",
      key
    )
    expect([first.status, first.headers.get("x-ratelimit-remaining")]).toEqual([200, "5"])
    const second = await send(
      Array.from({ length: 7 }, () => entry()),
      "",
      key
    )
    expect([second.status, second.headers.get("retry-after") !== null, second.body.results]).toEqual([
      429,
      true,
      undefined
    ])
    const third = await send(
      Array.from({ length: 4 }, () => entry()),
      "",
      key
    )
    expect([third.status, third.headers.get("x-ratelimit-remaining")]).toEqual([200, "0"])
    // Entries with a key of their own are charged to that key.
    const [own, other] = [await limited(10), await limited(10)]
    const mixed = await send([entry(other), entry(other), entry(other), entry()], "", own)
    expect([mixed.status, mixed.headers.get("x-ratelimit-remaining")]).toEqual([200, "9"])
    const left = await program.request("GET", "/v1/collections/goods/documents/search?q=*", { key: other })
    expect(left.headers.get("x-ratelimit-remaining")).toBe("6")
  })
})
