/** `diversity.min` on the requested page, and `infix=always` where there is no index for it. */
import { afterEach, describe, expect, it } from "vitest"
import { createSearch } from "../../engine-sdk/src/mod.ts"
import { createLab, type Lab } from "../support/engine-lab.ts"

const brands = ["a", "a", "a", "a", "a", "a", "b", "a", "c", "a", "d", "a"]
const shop = async () => {
  const search = createSearch({
    fields: { title: "string", brand: { type: "string", facet: true }, n: { type: "int32", sort: true } },
    rules: { diversity: [{ field: "brand", min: 2 }] }
  })
  await search.add(brands.map((brand, i) => ({ id: String(i), title: "lamp", brand, n: i })))
  return search
}
describe("a minimum number of values", () => {
  it("is on each page, as far as later hits have them, and no hit is on two pages", async () => {
    const search = await shop()
    const pages: Array<ReadonlyArray<string>> = []
    for (let page = 1; page <= 4; page++)
      pages.push(
        (await search.search("lamp", { perPage: 3, page, sort: "n:asc" })).hits.map(({ document }) => document.id)
      )
    const brandsOf = (page: ReadonlyArray<string>) => new Set(page.map((id) => brands[Number(id)])).size
    expect(pages.map(brandsOf)).toEqual([2, 2, 2, 1])
    expect(new Set(pages.flat()).size).toBe(brands.length)
    // The first page is the same as when it is requested alone.
    expect(pages[0]).toEqual(["0", "1", "6"])
    await search.close()
  })
})

describe("infix", () => {
  let lab: Lab
  afterEach(() => lab.close())
  it("always, on a field without an index for it, is refused in the engine's words; a fallback is not", async () => {
    lab = createLab()
    await lab.collection(
      "c",
      [
        { name: "title", type: "string" },
        { name: "code", type: "string", infix: true }
      ],
      [{ id: "1", title: "lighthouse", code: "abc123" }]
    )
    const message =
      "Could not find `title` in the infix index. Make sure to enable infix search by specifying `infix: true` in the schema."
    expect(await lab.search("c", { q: "house", query_by: "title", infix: "always" })).toEqual({
      status: 400,
      body: { message }
    })
    expect((await lab.search("c", { q: "house", query_by: "code,title", infix: "off,always" })).body).toEqual({
      message
    })
    expect((await lab.search("c", { q: "c12", query_by: "code,title", infix: "always,off" })).body.found).toBe(1)
    expect((await lab.search("c", { q: "house", query_by: "title", infix: "fallback" })).status).toBe(200)
  })
})
