/** Pages of a pulled catalogue: their products, and the address of the next page. */
import { describe, expect, it } from "vitest"
import { PageUnfit, readPage } from "../../../src/connectors/pulling/page.ts"

const url = "https://shop.example/api/products?per_page=2"
const page = (body: unknown, headers: Record<string, string> = {}) =>
  readPage({ url, from: url, headers, body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)) })
const refusal = (body: unknown, headers: Record<string, string> = {}) => {
  try {
    return page(body, headers)
  } catch (error) {
    if (!(error instanceof PageUnfit)) throw error
    return error.message
  }
}

describe("a page", () => {
  it("is a list, or has one under `data`, `items` or `products`", () => {
    const items = [{ id: 1 }, { id: 2 }]
    for (const body of [items, { data: items }, { items }, { products: items, total: 2 }])
      expect(page(body)).toEqual({ items, unread: [], next: undefined })
    expect(refusal({ constructor: [] })).toContain("`products`")
    expect(refusal("[1")).toContain("does not parse")
    expect(refusal(`${"[".repeat(200)}${"]".repeat(200)}`)).toContain("nests deeper than 102 levels")
    expect(refusal(`[${"{},".repeat(250_000)}{}]`)).toContain("more than 200000 objects")
  })
  it("keeps digits beyond 2^53", () =>
    expect(page('[{"id":12345678901234567890}]').items).toEqual([{ id: 12345678901234567890n }]))
  it("may have a product on each line, and reports broken lines by number", () => {
    const read = page('{"id":1}\n\nnonsense\n{"id":2}', { "content-type": "application/x-ndjson; charset=utf-8" })
    expect(read.items).toEqual([{ id: 1 }, { id: 2 }])
    expect(read.unread.map(({ line }) => line)).toEqual([3])
  })
})
describe("the next page", () => {
  it.each([
    [{ data: [], next: "/api/products?page=2" }, {}, "https://shop.example/api/products?page=2"],
    [{ data: [], next: `${url}&page=2#top` }, {}, `${url}&page=2`],
    [{ data: [], next_cursor: "a b" }, {}, `${url}&cursor=a+b`],
    [{ data: [], next_cursor: 7, next: null }, {}, `${url}&cursor=7`],
    [[], { link: `<${url}&page=1>; rel="prev", <${url}&page=3>; title="x"; rel="next"` }, `${url}&page=3`],
    [[], { link: `<${url}&page=1>; rel=prev` }, undefined],
    [{ data: [], next: "" }, {}, undefined]
  ])("of %j", (body, headers, next) => expect(page(body, headers as Record<string, string>).next).toBe(next))
  it("must have the same origin, since the token is sent to it", () => {
    for (const next of [
      "https://evil.example/p",
      "http://shop.example/api",
      "//evil.example/p",
      "https://shop.example:8443/"
    ])
      expect(refusal({ data: [], next })).toContain("another origin")
    expect(refusal({ data: [], next: "https://u:p@shop.example/x" })).toContain("password")
    expect(refusal({ data: [], next: 5 })).toContain("address of the next page")
    expect(refusal({ data: [], next_cursor: {} })).toContain("`next_cursor`")
  })
  it("is found quickly in a hostile `Link` header", () => {
    const began = performance.now()
    expect(page([], { link: "<".repeat(100_000) }).next).toBeUndefined()
    expect(page([], { link: `<a>${"; rel=".repeat(50_000)}` }).next).toBeUndefined()
    expect(performance.now() - began).toBeLessThan(500)
  })
})
