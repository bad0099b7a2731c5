/** Text processing, as the reference engine's own tests assert it. The numbers in titles only count the rules. */
import { afterEach, beforeEach, expect, it } from "vitest"
import { createLab, type Lab } from "../../support/engine-lab.ts"

let lab: Lab
beforeEach(() => {
  lab = createLab()
})
afterEach(() => lab.close())
const titles = (...list: string[]): object[] => list.map((title, i) => ({ id: String(i), title }))

it("34: separators act on both sides", async () => {
  await lab.collection("c", [{ name: "title", type: "string" }], titles("berg*dal station", "just...grilled corn"), {
    token_separators: ["*", "&", ".", "-"]
  })
  for (const q of ["berg*dal", "berg * dal", "berg dal"])
    expect(await lab.ids("c", { q, query_by: "title" })).toEqual(["0"])
  const { body } = await lab.search("c", { q: "just...grilled", query_by: "title" })
  expect(body.hits[0].highlight.title.snippet).toBe("<mark>just</mark>...<mark>grilled</mark> corn")
})
it("35: indexed symbols belong to the token", async () => {
  await lab.collection("c", [{ name: "title", type: "string" }], titles("Ja, C++ ok", "C ok"), {
    symbols_to_index: ["+"]
  })
  const { body } = await lab.search("c", { q: "c++", query_by: "title" })
  expect(body.hits.map((hit: any) => hit.document.id)).toEqual(["0"])
  expect(body.hits[0].highlight.title.snippet).toBe("Ja, <mark>C++</mark> ok")
})
it("36: a hyphen as an indexed symbol switches exclusion off", async () => {
  await lab.collection("c", [{ name: "title", type: "string" }], titles("minus -x", "plus y"), {
    symbols_to_index: ["-"]
  })
  expect(await lab.ids("c", { q: "-x", query_by: "title" })).toEqual(["0"])
})
it("37: empty strings are stored, never found, and sort like missing values", async () => {
  await lab.collection("c", [{ name: "title", type: "string", sort: true }], titles("", "b", "a"))
  expect((await lab.call("GET", "/collections/c/documents/0")).body.title).toBe("")
  expect(await lab.ids("c", { q: "*", sort_by: "title:asc" })).toEqual(["2", "1", "0"])
  expect(await lab.ids("c", { q: "*", sort_by: "title:desc" })).toEqual(["0", "1", "2"])
})
it("38: stemmed fields match by root, phrases do not", async () => {
  await lab.collection("c", [{ name: "title", type: "string", stem: true }], titles("cooking pots", "reading lamp"))
  const { body } = await lab.search("c", { q: "cooked", query_by: "title" })
  expect(body.hits[0].highlight.title.snippet).toBe("<mark>cooking</mark> pots")
  expect(await lab.ids("c", { q: '"cook pots"', query_by: "title" })).toEqual([])
})
it("39: a field's separators override the collection's, for filter values too", async () => {
  await lab.collection("c", [{ name: "title", type: "string", token_separators: ["_"] }], titles("wi-fi a_b"), {
    token_separators: ["-"]
  })
  expect(await lab.ids("c", { q: "*", filter_by: "title:=wifi a b" })).toEqual(["0"])
  expect(await lab.ids("c", { q: "*", filter_by: "title:=`wi-fi a_b`" })).toEqual(["0"])
})
