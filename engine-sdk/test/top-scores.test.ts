/**
 * Scoring only what can be shown must give the same answers as scoring everything: a page of ten is compared with the
 * first ten of a page so long that every match is scored, and ranges over evenly split columns with a check of every
 * document.
 */
import { expect, it } from "vitest"
import { createEngine } from "../src/mod.ts"
import type { SearchPlan, SortKey } from "../src/plan.ts"
import type { Filter } from "../src/filter.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"

/** A page size beyond which nothing is scored selectively. */
const EVERYTHING = 5_000
const mulberry = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const WORDS = [
  "oak",
  "oaken",
  "table",
  "tables",
  "lamp",
  "lamb",
  "red",
  "read",
  "kettle",
  "set",
  "old",
  "olden",
  "steel",
  "tea",
  "team",
  "copper"
]
const SORTS: ReadonlyArray<ReadonlyArray<SortKey>> = [
  [{ kind: "text_match", order: "desc" }],
  [
    { kind: "text_match", order: "desc" },
    { kind: "field", field: "rank", type: "int32", missing: "normal", order: "desc" }
  ],
  [
    { kind: "text_match", order: "desc" },
    { kind: "field", field: "rank", type: "int32", missing: "first", order: "asc" }
  ],
  [
    { kind: "text_match", order: "desc" },
    { kind: "field", field: "rank", type: "int32", missing: "normal", order: "asc" },
    { kind: "field", field: "title", type: "string", missing: "normal", order: "asc" }
  ],
  [
    { kind: "field", field: "rank", type: "int32", missing: "normal", order: "desc" },
    { kind: "text_match", order: "desc" }
  ],
  [
    { kind: "field", field: "rank", type: "int32", missing: "first", order: "asc" },
    { kind: "field", field: "title", type: "string", missing: "normal", order: "asc" },
    { kind: "text_match", order: "desc" }
  ]
]

/** Few enough values to be looked up one by one. */
const FEW_RANKS = 50
/**
 * The last case is one large segment with many values: it uses sets of bits, classes for breaking ties, and single
 * look-ups of postings.
 */
it.each([
  [1, 700, 60, FEW_RANKS, 120],
  [2, 9_000, 2_000, FEW_RANKS, 120],
  [3, 40_000, 40_000, 1_000_000, 80]
])("ranks alike whether few or all are scored (seed %i, %i documents)", async (seed, size, batch, ranks, queries) => {
  const random = mulberry(seed)
  const pick = <A>(list: ReadonlyArray<A>): A => list[Math.floor(random() * list.length)]
  const words = (most: number): string =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => pick(WORDS)).join(" ")
  const engine = createEngine()
  await engine.createCollection(
    "t",
    suiteSchema("c", [
      suiteField("title", "string", { sort: true }),
      suiteField("brand", "string", { facet: true }),
      suiteField("tags", "string[]", { facet: true }),
      suiteField("rank", "int32")
    ]),
    1
  )
  // Batches become segments of their own; some documents are rewritten, so that segments have deletions.
  const document = (i: number) =>
    putOf({
      id: String(i),
      title: words(14),
      brand: words(2),
      tags: Array.from({ length: Math.floor(random() * 4) }, () => words(2)),
      ...(random() < 0.9 ? { rank: Math.floor(random() * ranks) } : {})
    })
  for (let at = 0; at < size; at += batch)
    await engine.write(
      "t",
      "c",
      Array.from({ length: Math.min(batch, size - at) }, (_document, i) => document(at + i))
    )
  if (batch === size) await expect.poll(() => engine.usage("t", "c")?.segments, { timeout: 60_000 }).toBe(1)
  await engine.write(
    "t",
    "c",
    Array.from({ length: 40 }, () => document(Math.floor(random() * size)))
  )
  const ask = async (plan: SearchPlan) => {
    const [answer] = await engine.search("t", [plan])
    if (!answer.ok) throw new Error(answer.error.message)
    return {
      found: answer.value.found,
      facets: answer.value.facet_counts,
      hits: (answer.value.hits ?? [])
        .slice(0, 10)
        .map(({ document: { id }, text_match }) => `${String(id)} ${String(text_match)}`)
    }
  }
  for (let n = 0; n < queries; n++) {
    // Some queries have more pairs of word and field than a mark can represent as its own number.
    const tokens = words(n % 6 === 0 ? 9 : 3).split(" ")
    const last = tokens[tokens.length - 1]
    // oxlint-disable-next-line no-dupe-else-if -- the second call gives another random number
    if (random() < 0.3) tokens[tokens.length - 1] = last.slice(0, 2)
    else if (random() < 0.3) tokens[tokens.length - 1] = `${last.slice(0, 2)}x${last.slice(2)}`
    const low = Math.floor(random() * ranks)
    const filter: Filter | undefined =
      random() < 0.4
        ? {
            kind: "number",
            field: "rank",
            type: "int32",
            ranges: [{ min: low, max: low + Math.floor(random() * ranks * 0.6), minOpen: random() < 0.5 }]
          }
        : undefined
    const plan = suitePlan("c", {
      text: suiteText(tokens, pick([["title"], ["title", "brand"], ["title", "brand", "tags"]]), {
        prioritizeTokenPosition: random() < 0.2,
        prioritizeNumMatchingFields: random() < 0.8,
        prioritizeExactMatch: random() < 0.8
      }),
      sort: pick(SORTS),
      filter,
      facets: [
        {
          field: "brand",
          ranges: [],
          order: { kind: "count" },
          topK: false,
          strategy: "exhaustive",
          returnParent: false
        }
      ],
      pinned: random() < 0.2 ? [{ id: String(Math.floor(random() * size)), position: 2 }] : []
    })
    expect(await ask(plan), `${tokens.join(" ")} ${JSON.stringify(filter)}`).toEqual(
      await ask({ ...plan, limit: EVERYTHING })
    )
    if (filter?.kind === "number" && ranks === FEW_RANKS) {
      const all = await ask({ ...plan, text: undefined, sort: [], pinned: [] })
      // The same condition, value by value.
      const { max, min, minOpen } = filter.ranges[0]
      let sum = 0
      for (let value = Number(min) + (minOpen === true ? 1 : 0); value <= Number(max); value++)
        sum += (
          await ask({
            ...plan,
            text: undefined,
            sort: [],
            pinned: [],
            filter: { kind: "number", field: "rank", type: "int32", ranges: [{ min: value, max: value }] }
          })
        ).found
      expect(all.found).toBe(sum)
    }
  }
  await engine.close()
})

it("ranks adjacent words in one field before more words far apart in another", async () => {
  const engine = createEngine()
  await engine.createCollection(
    "t",
    suiteSchema("c", [suiteField("title", "string"), suiteField("brand", "string")]),
    1
  )
  const gap = " of".repeat(20)
  const title = `red${gap} green${gap} blue`
  await engine.write("t", "c", [
    putOf({ id: "1", title, brand: "red green" }),
    putOf({ id: "2", title, brand: "of" }),
    putOf({ id: "3", title, brand: "red green" })
  ])
  const plan = suitePlan("c", { text: suiteText(["red", "green", "blue"], ["title", "brand"]), sort: SORTS[0] })
  const [few, all] = await engine.search("t", [plan, { ...plan, limit: EVERYTHING }])
  if (!few.ok || !all.ok) throw new Error("refused")
  expect(few.value.hits?.map(({ document: { id } }) => id)).toEqual(["3", "1", "2"])
  const scores = few.value.hits?.map(({ text_match }) => text_match) ?? []
  expect(scores).toEqual(all.value.hits?.map(({ text_match }) => text_match))
  // The first has two words in one window, the second a single word: the difference is more than one field.
  expect(Number(scores[1]) - Number(scores[2])).toBeGreaterThan(2 ** 32)
  await engine.close()
})
