/** Completion, compared with the plainest implementation, over random texts; order, corrections, changes of score. */
import { describe, expect, it } from "vitest"
import { weightOf } from "../../../streams/figures/recency.ts"
import { facetRefinements } from "../../../src/suggestions/refinements.ts"
import { valueFilter } from "../../../src/suggestions/filter-text.ts"
import { facetRoom } from "../../../src/suggestions/service.ts"
import { atOnce, sortSliced } from "../../../src/suggestions/typeahead/sliced.ts"
import { type Completable, foldText, Typeahead } from "../../../src/suggestions/typeahead/typeahead.ts"
import { seeded } from "../../support/attribution-oracle.ts"

const DAY = 86_400_000
const item = (label: string, score: number): Completable => ({ label, score, count: 1 })
const labels = (found: ReadonlyArray<{ readonly item: Completable }>) =>
  found.map((completion) => completion.item.label)
/** Few letters, so that prefixes, words and ties collide. */
const randomItems = (random: () => number, count: number): Array<Completable> => {
  const word = () =>
    Array.from({ length: 1 + Math.floor(random() * 5) }, () => "abcé"[Math.floor(random() * 4)]).join("")
  return Array.from({ length: count }, () =>
    item(Array.from({ length: 1 + Math.floor(random() * 3) }, word).join(" "), 1 + Math.floor(random() * 1e6))
  ).filter(({ label }, i, all) => all.findIndex((other) => foldText(other.label) === foldText(label)) === i)
}
/** First the labels that start with the text, by score, then those that contain it, by score. */
const plainly = (items: ReadonlyArray<Completable>, typed: string, limit: number): ReadonlyArray<string> => {
  const shown = items.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score || (a.label < b.label ? -1 : 1))
  const text = foldText(typed)
  const starts = shown.filter(({ label }) => foldText(label).startsWith(text)),
    inner = shown.filter(({ label }) => foldText(label).includes(` ${text}`))
  return [...new Set([...starts, ...inner].map(({ label }) => label))].slice(0, limit)
}

describe("typeahead", () => {
  it("finds the best labels that start with the typed text, then those that contain it, despite changes", () => {
    for (let seed = 1; seed <= 30; seed++) {
      const random = seeded(seed)
      const items = randomItems(random, 200)
      const built = Math.floor(items.length * 0.8)
      const index = Typeahead.of(items.slice(0, built))
      for (const fresh of items.slice(built)) index.put(fresh)
      for (let i = 0; i < 60; i++) {
        const at = Math.floor(random() * items.length)
        items[at] = item(items[at]!.label, random() < 0.3 ? 0 : 1 + Math.floor(random() * 1e6))
        index.put(items[at]!)
      }
      for (const again of [index, Typeahead.of(index.items())]) {
        for (let i = 0; i < 40; i++) {
          const { label } = items[Math.floor(random() * items.length)]!
          const typed = label.slice(0, 1 + Math.floor(random() * label.length))
          const limit = 1 + Math.floor(random() * 8)
          const expected = plainly(items, typed, limit)
          // Others follow if there is room: words in another order, and corrections.
          expect(labels(again.complete(typed, limit)).slice(0, expected.length), `${seed}: ${typed}`).toEqual(expected)
        }
        expect(labels(again.top(7))).toEqual(plainly(items, "", 7))
      }
    }
  })
  it("corrects one letter from four on, two from eight, and says so; never for fewer letters", () => {
    const index = Typeahead.of([
      item("headphones", 5),
      item("headset", 9),
      item("hat", 7),
      item("iphone case", 3),
      item("iphone", 2)
    ])
    const typos = (typed: string) => index.complete(typed, 3).map((found) => [found.item.label, found.typos])
    expect(typos("hedphones")).toEqual([["headphones", 1]])
    expect(typos("haedphnoes")).toEqual([["headphones", 2]])
    expect(typos("heap")).toEqual([
      ["headset", 1],
      ["headphones", 1]
    ])
    expect(typos("hxt")).toEqual([])
    expect(typos("ipohne cas")).toEqual([["iphone case", 1]])
    expect(typos("case iphone")).toEqual([["iphone case", 0]])
  })
  it("extends by whole words only", () => {
    const index = Typeahead.of([
      item("mac", 9),
      item("macbook", 8),
      item("mac mini", 2),
      item("Mac Pro", 3),
      item("big mac", 5)
    ])
    expect(index.extensions(" MAC ", 5).map(({ label }) => label)).toEqual(["Mac Pro", "mac mini"])
    expect(index.extensions("", 5)).toEqual([])
  })
  it("accepts any text", () => {
    const odd = ["!!!", "", "\u0000", "日本語 テスト", "🦄 horn", "a".repeat(5_000), "Ünï cödé", "ﬁ"]
    const index = Typeahead.of(odd.map((label, i) => item(label, i + 1)))
    for (const typed of [...odd, "日本", "uni c", "\ud800", "x".repeat(500)])
      expect(index.complete(typed, 3).length, typed).toBeLessThanOrEqual(3)
    expect(labels(index.complete("uni c", 3))).toEqual(["Ünï cödé"])
    expect(labels(index.complete("日本", 3))).toEqual(["日本語 テスト"])
    expect(Typeahead.of([]).complete("a", 3)).toEqual([])
  })
  it("requests another build when much is new", () => {
    const index = Typeahead.of(Array.from({ length: 80 }, (_, i) => item(`text ${i}`, i + 1)))
    for (let i = 0; i < 9; i++) index.put(item(`new ${i}`, 1))
    expect([index.wantsBuild, index.size]).toEqual([false, 89])
    index.put(item("new 9", 1))
    expect([index.wantsBuild, Typeahead.of(index.items()).fresh]).toEqual([true, 0])
  })
  it("sorts in slices with the same result", () => {
    const random = seeded(7)
    for (const size of [0, 1, 511, 512, 513, 5_000]) {
      const numbers = Array.from({ length: size }, () => Math.floor(random() * 1_000))
      expect(atOnce(sortSliced(numbers, (a, b) => a - b))).toEqual([...numbers].sort((a, b) => a - b))
    }
  })
})

describe("recent use", () => {
  it("halves in a week, and what is taken back leaves nothing", () => {
    const at = Date.UTC(2026, 10, 1)
    expect(weightOf(at + 7 * DAY) / weightOf(at)).toBe(2)
    expect(weightOf(at + DAY) / weightOf(at)).toBeCloseTo(2 ** (1 / 7), 3)
    expect(weightOf(Date.UTC(2045, 0, 1))).toBeLessThan(Number.MAX_VALUE)
    const random = seeded(3)
    const days = Array.from({ length: 5_000 }, () => at + Math.floor(random() * 120) * DAY)
    let sum = 0
    for (const day of days) sum += weightOf(day)
    for (const day of days.toReversed()) sum -= weightOf(day)
    expect(sum).toBe(0)
  })
})

describe("facets", () => {
  it("leave room for queries, and fill the rest", () => {
    expect([
      facetRoom(10, 10),
      facetRoom(10, 2),
      facetRoom(10, 0),
      facetRoom(2, 2),
      facetRoom(1, 1),
      facetRoom(1, 0)
    ]).toEqual([3, 8, 10, 1, 0, 1])
  })
  it("are quoted, or not offered", () => {
    expect([valueFilter("a", "x && y"), valueFilter("a", "`"), valueFilter("a", "")]).toEqual([
      "a:=`x && y`",
      undefined,
      undefined
    ])
  })
  it("refine by values that divide the answer, at most three of a field", () => {
    const field = (name: string, type: string) => ({ name, type })
    const collection = { schema: { fields: [field("brand", "string"), field("price", "float")] } } as never
    const counts = (values: ReadonlyArray<readonly [string, number]>) =>
      values.map(([value, count]) => ({ value, highlighted: value, count }))
    const stats = { total_values: 0 }
    const refined = facetRefinements(collection, 100, [
      {
        field_name: "brand",
        sampled: false,
        stats,
        counts: counts([
          ["all", 100],
          ["most", 75],
          ["half", 50],
          ["some", 20],
          ["third", 33],
          ["few", 2]
        ])
      },
      { field_name: "price", sampled: false, stats, counts: counts([["5", 50]]) },
      { field_name: "gone", sampled: false, stats, counts: counts([["x", 50]]) }
    ])
    expect(refined.map(({ label }) => label)).toEqual(["half", "third", "most"])
  })
})
