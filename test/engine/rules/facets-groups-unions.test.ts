/**
 * Facets, groups and unions, as the reference engine's own tests assert them. The numbers in titles only count the
 * rules.
 */
import { expect, it } from "vitest"
import { createLab } from "../../support/engine-lab.ts"

const documents = async (fields: ReadonlyArray<object>, values: ReadonlyArray<object>, more: object = {}) => {
  const lab = createLab()
  await lab.collection(
    "c",
    fields,
    values.map((value, i) => ({ id: String(i), ...value })),
    more
  )
  return lab
}
const countsOf = (body: any, index = 0) => body.facet_counts[index].counts.map((each: any) => [each.value, each.count])

it("60: facet values are verbatim; equal counts order by length, then bytes descending", async () => {
  const lab = await documents(
    [{ name: "b", type: "string", facet: true }],
    [{ b: "BUQU" }, { b: "Buqu" }, { b: "bu-qu" }]
  )
  expect(countsOf((await lab.search("c", { q: "*", facet_by: "b" })).body)).toEqual([
    ["Buqu", 1],
    ["BUQU", 1],
    ["bu-qu", 1]
  ])
})
it("61: a facet query without per_page returns no hits; its text may hold colons", async () => {
  const lab = await documents([{ name: "tag", type: "string", facet: true }], [{ tag: "a:b" }, { tag: "c" }])
  const { body } = await lab.search("c", { q: "*", facet_by: "tag", facet_query: "tag: a:b" })
  expect([body.hits.length, countsOf(body)]).toEqual([0, [["a:b", 1]]])
})
it("62: a facet query does not change found", async () => {
  const lab = await documents([{ name: "tag", type: "string", facet: true }], [{ tag: "oak" }, { tag: "ash" }])
  expect((await lab.search("c", { q: "*", facet_by: "tag", facet_query: "tag:oak" })).body.found).toBe(2)
})
it("63: range facets are half open", async () => {
  const lab = await documents(
    [{ name: "price", type: "float", facet: true }],
    [{ price: 50 }, { price: 49.99 }, { price: -5 }, { price: 500 }]
  )
  const { body } = await lab.search("c", { q: "*", facet_by: "price(under:[-10,0], cheap:[0,50], mid:[50,100])" })
  expect(Object.fromEntries(countsOf(body))).toEqual({ under: 1, cheap: 1, mid: 1 })
})
const grouped = () =>
  documents(
    [
      { name: "brand", type: "string", facet: true, optional: true },
      { name: "color", type: "string", facet: true },
      { name: "n", type: "int32" },
      { name: "title", type: "string" }
    ],
    [
      { brand: "A", color: "red", n: 1, title: "oak" },
      { brand: "A", color: "red", n: 9, title: "oak" },
      { brand: "B", color: "red", n: 5, title: "oek" },
      { color: "blue", n: 3, title: "ash" },
      { color: "blue", n: 2, title: "ash" }
    ]
  )
it("64: with grouping, facets count groups", async () => {
  const { body } = await (
    await grouped()
  ).search("c", { q: "*", group_by: "brand", facet_by: "color", group_missing_values: false })
  expect(Object.fromEntries(countsOf(body))).toEqual({ red: 2, blue: 2 })
  expect([body.found, body.found_docs]).toEqual([4, 5])
})
it("65: a group stands where its best member does", async () => {
  const { body } = await (await grouped()).search("c", { q: "*", group_by: "brand", sort_by: "n:desc" })
  expect(body.grouped_hits.map((group: any) => group.group_key)).toEqual([["A"], ["B"], []])
})
it("66: the typo threshold counts groups", async () => {
  const { body } = await (
    await documents(
      [
        { name: "brand", type: "string", facet: true },
        { name: "title", type: "string" }
      ],
      [
        { brand: "A", title: "kettle" },
        { brand: "A", title: "kettle" },
        { brand: "B", title: "kettla" }
      ]
    )
  ).search("c", { q: "kettle", query_by: "title", group_by: "brand", typo_tokens_threshold: 2, prefix: false })
  expect(body.found).toBe(2)
})
it("67: a missing value groups as an empty key, or alone", async () => {
  const lab = await grouped()
  const together = (await lab.search("c", { q: "*", group_by: "brand" })).body.grouped_hits.filter(
    (group: any) => group.group_key.length === 0
  )
  expect([together.length, together[0].found]).toEqual([1, 2])
  expect(
    (await lab.search("c", { q: "*", group_by: "brand", group_missing_values: false })).body.grouped_hits.filter(
      (group: any) => group.group_key.length === 0
    ).length
  ).toBe(2)
})
it("68: facet_return_parent shows the object around a value without changing counts", async () => {
  const lab = await documents(
    [
      { name: "colors", type: "object[]" },
      { name: "colors.name", type: "string[]", facet: true }
    ],
    [
      {
        colors: [
          { name: "red", hex: "f00" },
          { name: "blue", hex: "00f" }
        ]
      },
      { colors: [{ name: "red", hex: "f00" }] }
    ],
    { enable_nested_fields: true }
  )
  const { body } = await lab.search("c", { q: "*", facet_by: "colors.name", facet_return_parent: "colors.name" })
  expect(countsOf(body)).toEqual([
    ["red", 2],
    ["blue", 1]
  ])
  expect(body.facet_counts[0].counts[0].parent).toEqual({ name: "red", hex: "f00" })
})
it("69: floats print short", async () => {
  const lab = await documents([{ name: "price", type: "float", facet: true }], [{ price: 5.55 }, { price: 300 }])
  expect(
    countsOf((await lab.search("c", { q: "*", facet_by: "price" })).body)
      .map(([value]: [string]) => value)
      .sort()
  ).toEqual(["300", "5.55"])
})
it("70: facet_by=* without facet fields is empty, a prefix without match is 404", async () => {
  const lab = await documents([{ name: "a", type: "string" }], [{ a: "x" }])
  expect((await lab.search("c", { q: "*", facet_by: "*" })).body.facet_counts).toEqual([])
  expect((await lab.search("c", { q: "*", facet_by: "foo*" })).status).toBe(404)
})

const union = async () => {
  const lab = createLab()
  await lab.collection(
    "one",
    [
      { name: "title", type: "string" },
      { name: "n", type: "int32" }
    ],
    [
      { id: "a", title: "oak", n: 1 },
      { id: "b", title: "oak table", n: 2 }
    ]
  )
  await lab.collection(
    "two",
    [
      { name: "title", type: "string" },
      { name: "n", type: "int32" }
    ],
    [{ id: "c", title: "oak", n: 3 }]
  )
  return {
    lab,
    ask: (searches: ReadonlyArray<object>, query = "") =>
      lab.call("POST", `/multi_search${query}`, { union: true, searches })
  }
}
it("109: paging of entries is ignored, the query string's counts", async () => {
  const { ask } = await union()
  const searches = [
    { collection: "one", q: "oak", query_by: "title", per_page: 1, page: 2 },
    { collection: "two", q: "oak", query_by: "title" }
  ]
  expect((await ask(searches)).body.hits).toHaveLength(3)
  expect((await ask(searches, "?per_page=2&page=2")).body.hits).toHaveLength(1)
})
it("110: sort keys must be alike in number and kind", async () => {
  const { ask } = await union()
  expect(
    (
      await ask([
        { collection: "one", q: "*" },
        { collection: "two", q: "oak", query_by: "title" }
      ])
    ).body.code
  ).toBe(400)
  expect(
    (
      await ask([
        { collection: "one", q: "*", sort_by: "n:asc" },
        { collection: "two", q: "*", sort_by: "n:desc" }
      ])
    ).body.error
  ).toContain("Expected order of")
})
it("111: default sorting fields of different types are refused", async () => {
  const { ask, lab } = await union()
  await lab.collection(
    "three",
    [
      { name: "title", type: "string" },
      { name: "f", type: "float" }
    ],
    [],
    { default_sorting_field: "f" }
  )
  await lab.collection(
    "four",
    [
      { name: "title", type: "string" },
      { name: "i", type: "int32" }
    ],
    [],
    { default_sorting_field: "i" }
  )
  expect(
    (
      await ask([
        { collection: "three", q: "*" },
        { collection: "four", q: "*" }
      ])
    ).body.code
  ).toBe(400)
})
it("112: ties order by entry, then newest first", async () => {
  const { ask } = await union()
  const { body } = await ask([
    { collection: "one", q: "*" },
    { collection: "two", q: "*" }
  ])
  expect(body.hits.map((hit: any) => hit.document.id)).toEqual(["b", "a", "c"])
})
it("64: `found_docs` does not count pinned documents", async () => {
  const lab = createLab()
  await lab.collection(
    "c",
    [
      { name: "t", type: "string" },
      { name: "g", type: "string", facet: true }
    ],
    ["a", "a", "b", "b"].map((g, i) => ({ id: String(i), t: i === 3 ? "ash" : "oak", g }))
  )
  const found = async (parameters: Record<string, string>) => {
    const { body } = await lab.search("c", { q: "oak", query_by: "t", group_by: "g", ...parameters })
    return [body.found, body.found_docs]
  }
  expect(await found({})).toEqual([2, 3])
  expect(await found({ pinned_hits: "0:1" })).toEqual([2, 2])
  // A pinned document that does not match is not counted anywhere else; a document that does not exist is not pinned.
  expect(await found({ pinned_hits: "3:1,nope:2" })).toEqual([2, 3])
  expect(await found({ pinned_hits: "0:1", hidden_hits: "1" })).toEqual([2, 1])
})
