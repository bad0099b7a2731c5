/** Sorting, as the reference engine's own tests assert it. The numbers in titles only count the rules. */
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

it("52: strings sort without case and punctuation; missing ones as the table says", async () => {
  const lab = await documents(
    [{ name: "s", type: "string", sort: true, optional: true }],
    [{ s: "b-eta" }, { s: "Alpha" }, {}, { s: "" }, { s: "!!!" }, { s: "beta2" }]
  )
  const ids = (order: string) => lab.ids("c", { q: "*", sort_by: order })
  expect((await ids("s:asc")).slice(0, 3)).toEqual(["1", "0", "5"])
  expect((await ids("s:desc")).slice(3)).toEqual(["5", "0", "1"])
  expect((await ids("s(missing_values: first):asc")).slice(3)).toEqual(["1", "0", "5"])
  expect((await ids("s(missing_values: last):desc")).slice(0, 3)).toEqual(["5", "0", "1"])
})
it("53: text match buckets let the next key order their hits", async () => {
  const lab = await documents(
    [
      { name: "a", type: "string" },
      { name: "n", type: "int32" }
    ],
    [
      { a: "oak", n: 1 },
      { a: "oak table", n: 5 },
      { a: "oak table set", n: 9 },
      { a: "big oak table set", n: 3 }
    ]
  )
  expect(await lab.ids("c", { q: "oak", query_by: "a", sort_by: "_text_match(buckets: 1):desc,n:desc" })).toEqual([
    "2",
    "1",
    "3",
    "0"
  ])
  expect((await lab.ids("c", { q: "oak", query_by: "a", sort_by: "_text_match(buckets: 9):desc,n:desc" }))[0]).toBe("0")
})
it("54: the first matching expression of an _eval counts", async () => {
  const lab = await documents(
    [
      { name: "stock", type: "int32" },
      { name: "brand", type: "string" }
    ],
    [
      { stock: 0, brand: "Berg" },
      { stock: 1, brand: "Berg" },
      { stock: 1, brand: "x" }
    ]
  )
  expect(await lab.ids("c", { q: "*", sort_by: "_eval([(stock:=0):1, (brand:=Berg):5]):desc" })).toEqual([
    "1",
    "0",
    "2"
  ])
})
const places = [
  { name: "near", loc: [48.85, 2.35], n: 1 },
  { name: "nearer", loc: [48.852, 2.35], n: 9 },
  { name: "far", loc: [48.95, 2.35], n: 5 }
]
const geo = () =>
  documents(
    [
      { name: "name", type: "string" },
      { name: "loc", type: "geopoint" },
      { name: "n", type: "int32" }
    ],
    places
  )
it("55: precision groups near hits so that the next key decides", async () => {
  const lab = await geo()
  expect(await lab.ids("c", { q: "*", sort_by: "loc(48.8563, 2.35):asc,n:asc" })).toEqual(["1", "0", "2"])
  expect(await lab.ids("c", { q: "*", sort_by: "loc(48.8563, 2.35, precision: 0.9 km):asc,n:asc" })).toEqual([
    "0",
    "1",
    "2"
  ])
})
it("56: everything inside exclude_radius ties and is shown as 0 (the recordings, against the text of the rule)", async () => {
  const lab = await geo()
  const { body } = await lab.search("c", { q: "*", sort_by: "loc(48.8563, 2.35, exclude_radius: 2 km):asc,n:desc" })
  expect(body.hits.map((hit: any) => hit.document.name)).toEqual(["nearer", "near", "far"])
  expect(body.hits.map((hit: any) => hit.geo_distance_meters.loc > 0)).toEqual([false, false, true])
})
it("57: a string without sort is a 404", async () => {
  const lab = await documents([{ name: "s", type: "string" }], [{ s: "x" }])
  expect(await lab.search("c", { q: "*", sort_by: "s:asc" })).toMatchObject({
    status: 404,
    body: { message: "Could not find a field named `s` in the schema for sorting." }
  })
})
it("58: without _text_match among three keys hits carry none", async () => {
  const lab = await documents(
    [
      { name: "a", type: "string" },
      { name: "x", type: "int32" },
      { name: "y", type: "int32" },
      { name: "z", type: "int32" }
    ],
    [{ a: "oak", x: 1, y: 1, z: 1 }]
  )
  expect(
    (await lab.search("c", { q: "oak", query_by: "a", sort_by: "x:asc,y:asc,z:asc" })).body.hits[0].text_match
  ).toBeUndefined()
  expect(
    (await lab.search("c", { q: "oak", query_by: "a", sort_by: "x:asc,y:asc" })).body.hits[0].text_match
  ).toBeDefined()
})
it("59: a seed repeats its order across pages, another seed has another", async () => {
  const lab = await documents(
    [{ name: "n", type: "int32" }],
    Array.from({ length: 40 }, (_, n) => ({ n }))
  )
  const page = (seed: number, number: number) =>
    lab.ids("c", { q: "*", sort_by: `_rand(${seed}):asc`, per_page: 20, page: number })
  const first = [...(await page(7, 1)), ...(await page(7, 2))]
  expect(new Set(first).size).toBe(40)
  expect([...(await page(7, 1)), ...(await page(7, 2))]).toEqual(first)
  expect([...(await page(8, 1)), ...(await page(8, 2))]).not.toEqual(first)
})
