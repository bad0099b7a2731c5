/**
 * Documents of other collections (`docs/contract/filters.md#joins`): which of them a hit shows and in which order, and
 * their effect on sorts and facets.
 */
import { expect, it } from "vitest"
import { introsort } from "../../engine-sdk/src/compat/introsort.ts"
import { createLab, type Lab } from "../support/engine-lab.ts"

const SHOPS = ["north", "south", "east", "west", "mid"]
/** Twenty notes, of which the i-th belongs to shop 3i mod 5. */
const notes = async (): Promise<Lab> => {
  const lab = createLab()
  await lab.collection(
    "shops",
    [
      { name: "code", type: "string" },
      { name: "name", type: "string", facet: true }
    ],
    SHOPS.map((name, i) => ({ id: String(i), code: `k${i}`, name }))
  )
  await lab.collection(
    "notes",
    [
      { name: "shop", type: "string", reference: "shops.code" },
      { name: "n", type: "int32", facet: true },
      { name: "kind", type: "string", facet: true }
    ],
    Array.from({ length: 20 }, (_note, i) => ({
      id: `n${i}`,
      shop: `k${(i * 3) % 5}`,
      n: i,
      kind: i % 2 === 0 ? "even" : "odd"
    }))
  )
  return lab
}
const shownBy = (hits: ReadonlyArray<any>, key = "notes"): Record<string, unknown> =>
  Object.fromEntries(
    hits.map(({ document }) => {
      const shown = document[key]
      return [document.id, Array.isArray(shown) ? shown.map(({ n }: any) => n) : shown?.n]
    })
  )
const shown = async (lab: Lab, parameters: Record<string, string>): Promise<Record<string, unknown>> =>
  shownBy((await lab.search("shops", { q: "*", include_fields: "id,$notes(n)", ...parameters })).body.hits)

it("lists documents that refer to a hit in the order of an unstable sort by their reference", async () => {
  const lab = await notes()
  expect(await shown(lab, { filter_by: "$notes(id:*)" })).toEqual({
    0: [0, 15, 5, 10],
    1: [2, 17, 7, 12],
    2: [19, 14, 9, 4],
    3: [11, 6, 16, 1],
    4: [8, 13, 3, 18]
  })
  // With fewer than seventeen documents, this is the insertion order.
  expect(await shown(lab, { filter_by: "$notes(n:<16)" })).toEqual({
    0: [0, 5, 10, 15],
    1: [2, 7, 12],
    2: [4, 9, 14],
    3: [1, 6, 11],
    4: [3, 8, 13]
  })
  // Other conditions on the shops do not change it, and neither does a page.
  expect(await shown(lab, { filter_by: "$notes(id:*) && name:[south,mid]", per_page: "1" })).toEqual({
    4: [8, 13, 3, 18]
  })
})
it("lists documents that refer to a hit in insertion order if the join passes more than 1,024", async () => {
  const lab = createLab()
  await lab.collection(
    "shops",
    [{ name: "code", type: "string" }],
    [
      { id: "0", code: "k0" },
      { id: "1", code: "k1" }
    ]
  )
  await lab.collection(
    "notes",
    [
      { name: "shop", type: "string", reference: "shops.code" },
      { name: "n", type: "int32" }
    ],
    Array.from({ length: 1_025 }, (_note, i) => ({ id: `n${i}`, shop: `k${i % 2}`, n: i }))
  )
  const ofOne = async (filter_by: string) =>
    (await shown(lab, { filter_by: `${filter_by} && id:1` }))[1] as ReadonlyArray<number>
  const odd = Array.from({ length: 512 }, (_n, i) => 2 * i + 1)
  expect(await ofOne("$notes(id:*)")).toEqual(odd)
  // With one document fewer, they are sorted.
  const sorted = await ofOne("$notes(n:>0)")
  expect(sorted).not.toEqual(odd)
  expect(sorted.toSorted((x, y) => x - y)).toEqual(odd)
})
it("orders documents that refer to a hit as the include says", async () => {
  const lab = await notes()
  expect(
    await shown(lab, { filter_by: "$notes(id:*) && id:0", include_fields: "id,$notes(n, sort_by: n:desc, limit: 2)" })
  ).toEqual({ 0: [15, 10] })
})
it("shows under `or` what the joins found, and a referenced document in any case", async () => {
  const lab = await notes()
  expect(await shown(lab, { filter_by: "$notes(n:>18) || name:north || $notes(n:=3)" })).toEqual({
    0: undefined,
    2: 19,
    4: 3
  })
  const { body } = await lab.search("notes", {
    q: "*",
    filter_by: "n:=[7,8] && ($shops(name:south) || n:=8)",
    include_fields: "id,$shops(name)"
  })
  expect(body.hits.map(({ document }: any) => document)).toEqual([
    { id: "n8", shops: { name: "mid" } },
    { id: "n7", shops: { name: "south" } }
  ])
})
it("sorts by the best value among the documents that the filter's join passes", async () => {
  const lab = await notes()
  const order = (more: Record<string, string>) => lab.ids("shops", { q: "*", ...more })
  expect(await order({ filter_by: "$notes(n:<16)", sort_by: "$notes(n:desc)" })).toEqual(["0", "2", "4", "1", "3"])
  expect(await order({ filter_by: "$notes(id:*)", sort_by: "$notes(n:desc)" })).toEqual(["2", "4", "1", "3", "0"])
})
it("counts a related document once in a facet, with the figures of numbers", async () => {
  const lab = await notes()
  const facet = async (filter_by: string, facet_by: string) =>
    (await lab.search("shops", { q: "*", filter_by, facet_by })).body.facet_counts[0]
  expect(
    (await facet("$notes(n:[2..5])", "$notes(kind)")).counts.map(({ value, count }: any) => [value, count])
  ).toEqual([
    ["odd", 2],
    ["even", 2]
  ])
  expect((await facet("$notes(n:[2..5])", "$notes(n)")).stats).toEqual({
    avg: 3.5,
    max: 5,
    min: 2,
    sum: 14,
    total_values: 4
  })
})

it("counts the whole other collection if there is no condition on it", async () => {
  const lab = await notes()
  await lab.call("POST", "/collections/shops/documents", { id: "5", code: "k5", name: "north" })
  const counts = async (more: Record<string, string>) =>
    Object.fromEntries(
      (await lab.search("notes", { q: "*", facet_by: "$shops(name)", ...more })).body.facet_counts[0].counts.map(
        ({ value, count }: any) => [value, count]
      )
    )
  expect(await counts({})).toEqual({ north: 2, south: 1, east: 1, west: 1, mid: 1 })
  expect(await counts({ filter_by: "n:>=0" })).toEqual({ north: 1, south: 1, east: 1, west: 1, mid: 1 })
  expect(await counts({ filter_by: "n:<2" })).toEqual({ north: 1, west: 1 })
})

it("sorts like the C++ library, which switches to a heap sort after too many divisions", () => {
  const keys = KILLER.map((key) => Math.trunc(key / 4))
  const places = keys.map((_key, place) => place)
  expect(introsort(places, (a, b) => keys[a] < keys[b])).toEqual(SORTED)
  let compared = 0
  const many = killerOf(20_000)
  introsort([...many], (a, b) => {
    compared++
    return a < b
  })
  expect(compared).toBeLessThan(20_000 * 60)
})
/** Keys for which medians of three give the worst possible divisions. */
const killerOf = (length: number): number[] => {
  const half = length / 2
  const keys = new Array<number>(length).fill(0)
  for (let i = 1; i <= half; i++) {
    if (i % 2 === 1) {
      keys[i - 1] = i
      if (i < half) keys[i] = half + i
    }
    keys[half + i - 1] = 2 * i
  }
  return keys
}
const KILLER = killerOf(64)
const SORTED = [
  0, 2, 32, 33, 34, 6, 4, 35, 36, 10, 8, 12, 14, 38, 37, 16, 18, 40, 39, 42, 41, 20, 22, 44, 26, 24, 43, 30, 46, 28, 45,
  47, 48, 1, 3, 50, 49, 7, 5, 52, 51, 11, 9, 54, 53, 15, 13, 56, 55, 17, 19, 21, 23, 57, 58, 59, 60, 25, 27, 62, 29, 61,
  31, 63
]
