/** Filters, as the reference engine's own tests assert them. The numbers in titles only count the rules. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { createLab, type Lab } from "../../support/engine-lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = createLab()
  await lab.collection(
    "c",
    [
      { name: "name", type: "string" },
      { name: "url", type: "string", optional: true },
      { name: "t", type: "int32", optional: true },
      { name: "f", type: "string", optional: true, facet: true },
      { name: "items", type: "object[]", optional: true }
    ],
    [
      {
        id: "0",
        name: "Oak Table",
        t: -4,
        f: "x",
        items: [
          { s: "M", n: 0 },
          { s: "L", n: 4 }
        ]
      },
      { id: "1", name: "The Oak Table", t: 2, url: "https://shop.test/a" },
      { id: "2", name: "Oak Chair", t: 60, f: "y" },
      ...Array.from({ length: 9 }, (_, i) => ({ id: `t${i + 1}`, name: `t${i + 1}`, t: 100 + i }))
    ],
    { enable_nested_fields: true }
  )
})
afterAll(() => lab.close())
const found = async (filter_by: string, more: Record<string, string> = {}): Promise<string[]> =>
  (await lab.ids("c", { q: "*", filter_by, per_page: 50, ...more })).sort()

it("40: a colon is contains, colon equals is equals", async () => {
  expect(await found("name:oak")).toEqual(["0", "1", "2"])
  expect(await found("name:=oak")).toEqual([])
  expect(await found("name:=oak table")).toEqual(["0"])
  expect(await found("name:=OAK TABLE!")).toEqual(["0"])
})
it("41: unequal includes documents without the field", async () => {
  expect(await found("f:!=x && name:oak")).toEqual(["1", "2"])
  expect((await found("f:!=[]")).length).toBe(12)
})
it("42: prefix filters", async () => {
  expect(await found("name:=Oak T*")).toEqual(["0"])
  expect(await found("name:Oak T*")).toEqual(["0", "1"])
})
it("43: only four completions of a prefix are considered", async () => {
  await lab.collection(
    "few",
    [{ name: "name", type: "string" }],
    Array.from({ length: 9 }, (_, i) => ({ id: String(i), name: `t${i + 1}` }))
  )
  expect((await lab.ids("few", { q: "*", filter_by: "name:=t*" })).length).toBe(4)
  expect((await lab.ids("few", { q: "*", filter_by: "name:=t*", max_filter_by_candidates: 6 })).length).toBe(6)
})
it("44: equal precedence", async () => {
  expect(await found("t:=-4 || t:=2 && f:=x")).toEqual(await found("(t:=-4 || t:=2) && f:=x"))
})
it("45: negative numbers and ranges", async () => {
  expect(await found("t:[-5..-1]")).toEqual(["0"])
  expect(await found("t:<-3")).toEqual(["0"])
  expect(await found("t:[1..3, 60, >107]")).toEqual(["1", "2", "t9"])
})
it("46: id lists skip unknown ids", async () => {
  expect(await found("id:[0, nope, 2]")).toEqual(["0", "2"])
})
it("47: a very long value is cut like indexed text", async () => {
  await lab.collection("long", [{ name: "name", type: "string" }], [{ id: "0", name: "a".repeat(150) }])
  expect(await lab.ids("long", { q: "*", filter_by: `name:=${"a".repeat(150)}` })).toEqual(["0"])
})
it("48: only the first colon splits", async () => {
  expect(await found("url:=https://shop.test/a")).toEqual(["1"])
})
it("49: conditions on one element need braces", async () => {
  expect(await found("items.s:=M && items.n:>0")).toEqual(["0"])
  expect(await found("items.{s:=M && n:>0}")).toEqual([])
  expect(await found("items.{s:=L && n:>0}")).toEqual(["0"])
})
it("51: more than a hundred operations are refused", async () => {
  const { status, body } = await lab.call("POST", "/multi_search", {
    searches: [{ collection: "c", q: "*", filter_by: Array.from({ length: 51 }, (_, i) => `t:=${i}`).join(" || ") }]
  })
  expect(status).toBe(200)
  expect(body.results[0]).toMatchObject({ code: 400 })
})
