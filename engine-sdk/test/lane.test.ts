/**
 * Searches that exceed the quantum of their thread are answered by another thread over the same segments, with the same
 * result.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import type { SearchAnswer, SearchPlan } from "../src/plan.ts"
import type { Filter } from "../src/filter.ts"
import type { LocalEngine } from "../src/memory/local-engine.ts"
import { answerToJson } from "../src/search/answer/answer-json.ts"
import { slowFilter } from "./slow-filter.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const DOCS = 30_000
const words = Array.from({ length: 400 }, (_word, i) => `w${(i * 7919) % 3_000}`)
const textOf = (i: number): string =>
  Array.from({ length: 12 }, (_word, k) => words[(i * 31 + k * 17) % words.length]).join(" ")
const documentOf = (i: number) => ({
  id: `d${i}`,
  title: textOf(i),
  n: i,
  big: `9007199254740${String(i % 1_000).padStart(3, "0")}`,
  tags: [`t${i % 500}`, `u${i % 7}`],
  place: [i % 90, i % 180],
  float: i + 0.5
})
const schema = suiteSchema("c", [
  suiteField("title", "string"),
  suiteField("n", "int32", { facet: true, sort: true }),
  suiteField("tags", "string[]", { facet: true }),
  suiteField("place", "geopoint"),
  suiteField("float", "float", { facet: true })
])
const slow = slowFilter(300)
const cheap: Filter = {
  kind: "not",
  filter: {
    kind: "geo",
    field: "place",
    areas: [
      {
        kind: "polygon",
        exactFilterRadius_m: 0,
        points: [
          [79, 9],
          [79, 11],
          [81, 11],
          [81, 9]
        ]
      }
    ]
  }
}
const text = (tokens: ReadonlyArray<string>, more: object = {}): SearchPlan["text"] =>
  ({
    tokens,
    surface: tokens,
    phrases: [],
    excluded: [],
    synonyms: [],
    fields: [{ field: "title", weight: 15, numTypos: 2, prefix: true, infix: "off" }],
    synonymPrefix: false,
    demoteSynonymMatch: false,
    textMatchType: "max_score",
    prioritizeExactMatch: true,
    prioritizeTokenPosition: false,
    prioritizeNumMatchingFields: true,
    minLen1Typo: 4,
    minLen2Typo: 7,
    typoTokensThreshold: 1,
    dropTokensThreshold: 1,
    dropTokensMode: { kind: "right_to_left" },
    splitJoinTokens: "fallback",
    typosForNumericalTokens: true,
    typosForAlphaNumericalTokens: true,
    maxCandidates: undefined,
    exhaustive: false,
    maxExtraPrefix: 0,
    maxExtraSuffix: 0,
    ...more
  }) as SearchPlan["text"]
const highlight = {
  fields: ["title"],
  explicit: true,
  fullFields: ["title"],
  affixTokens: 4,
  snippetThreshold: 30,
  startTag: "<b>",
  endTag: "</b>",
  v1: true,
  bytes_max: 1_000_000
}
const plans = (filter: Filter): ReadonlyArray<SearchPlan> => [
  suitePlan("c", { filter, limit: 20 }),
  suitePlan("c", {
    filter,
    limit: 20,
    text: text(["w7919", "w0"]),
    highlight,
    sort: [{ kind: "text_match", order: "desc" }],
    selection: { include: ["title", "big"], exclude: [], joins: [] }
  }),
  suitePlan("c", {
    filter,
    limit: 10,
    group: { fields: ["tags"], limit: 2, missingValues: true },
    facets: [
      { field: "tags", ranges: [], order: { kind: "count" }, topK: false, strategy: "exhaustive", returnParent: true }
    ]
  }),
  suitePlan("c", {
    filter,
    window: { size: 250, fields: ["title", "n"] },
    pinned: [{ id: "d5", position: 2 }],
    injected: []
  })
]
let folder: string
let engine: LocalEngine
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-lane-"))
  engine = await openEngine({ path: folder, worker: true })
  for (const namespace of ["a", "b"]) {
    await engine.createCollection(namespace, schema, 1)
    const written = await engine.write(
      namespace,
      "c",
      Array.from({ length: DOCS }, (_document, i) => putOf(documentOf(i)))
    )
    if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error("refused")
  }
})
afterAll(async () => {
  await engine.close()
  rmSync(folder, { recursive: true, force: true })
})

const ofWindow = ({ window }: SearchAnswer) =>
  window === undefined
    ? undefined
    : {
        ids: window.ids,
        hits: window.organic.map((hit) => ({ ...hit })),
        injected: window.injected.map(({ hit, ...more }) => ({ ...more, hit: { ...hit } })),
        values: window.ids.map((_id, i) => [window.value(i, "title"), window.value(i, "n")])
      }
const shown = ({ search_time_ms: _time, window, ...answer }: SearchAnswer) => answerToJson(answer)

describe("the lane", () => {
  it("gives the same answers as the searching thread: pages, parts of documents, groups, facets, windows", async () => {
    const here: SearchAnswer[] = []
    for (const plan of plans(cheap)) {
      const [answer] = await engine.search("a", [plan])
      if (!answer.ok) throw new Error(answer.error.message)
      here.push(answer.value)
      answer.value.window?.keep()
    }
    const given = engine.search("a", plans(slow))
    expect(given).toBeInstanceOf(Promise)
    const there = (await given).map((answer) => {
      if (!answer.ok) throw new Error(answer.error.message)
      return answer.value
    })
    expect(there.map(shown)).toEqual(here.map(shown))
    expect(there.map(ofWindow)).toEqual(here.map(ofWindow))
    expect(there.map(({ search_cutoff }) => search_cutoff)).toEqual([false, false, false, false])
  })
  it("frees the thread for others after a quantum, and gives each namespace one place", async () => {
    const order: string[] = []
    const small = suitePlan("c", { filter: { kind: "ids", ids: ["d7"] }, limit: 3 })
    await engine.search("b", [small])
    const noteOrder = (name: string) => (answers: ReadonlyArray<{ readonly ok: boolean }>) => {
      order.push(name)
      return answers
    }
    const slowOnes = [1, 2, 3].map((n) =>
      Promise.resolve(engine.search("a", plans(slow).slice(0, 2))).then(noteOrder(`a${n}`))
    )
    const other = Promise.resolve(engine.search("b", plans(slow).slice(0, 2))).then(noteOrder("b"))
    const quick = await engine.search("b", [small])
    // It must finish before the second search that waits for the same place, however seldom a busy machine runs this
    // thread.
    expect([quick[0].ok, order.includes("a2")]).toEqual([true, false])
    await Promise.all([...slowOnes, other])
    expect(order.indexOf("b")).toBeLessThan(order.indexOf("a3"))
    expect(order.filter((name) => name !== "b")).toEqual(["a1", "a2", "a3"])
  })
  it("sees what was written before the search, including deletions, and no merge removes what it reads", async () => {
    await engine.write("a", "c", [
      { kind: "delete", id: "d1" },
      putOf({ ...documentOf(2), title: "changed" }),
      putOf({ ...documentOf(DOCS + 1), title: "added" })
    ])
    const importing = (async () => {
      for (let round = 0; round < 20; round++)
        await engine.write(
          "a",
          "c",
          Array.from({ length: 500 }, (_document, i) => putOf(documentOf(10_000 + round * 500 + i)))
        )
    })()
    for (let round = 0; round < 4; round++) {
      const [answer] = await engine.search("a", [
        suitePlan("c", {
          filter: { kind: "and", left: slow, right: { kind: "ids", ids: ["d1", "d2", `d${DOCS + 1}`, "d3"] } },
          limit: 10
        })
      ])
      expect(
        answer.ok && [answer.value.found, answer.value.hits?.map(({ document }) => document.title).sort()]
      ).toEqual([3, ["added", "changed", textOf(3)].sort()])
      const [all] = await engine.search("a", [suitePlan("c", { filter: slow, limit: 50 })])
      expect(
        all.ok &&
          all.value.hits?.every(({ document }) => typeof document.title === "string" && document.id !== undefined)
      ).toBe(true)
    }
    await importing
  })
  it("stops when the time is over, which all plans of a call share, and says so", async () => {
    const late = suitePlan("c", { filter: slow, cutoff_ms: 60 })
    const answers = await engine.search("a", [late, late, late, late])
    expect(answers.map((answer) => answer.ok && answer.value.search_cutoff)).toEqual([true, true, true, true])
    const budget = { limit_ms: 100, used_ms: 100 }
    expect(
      (await engine.search("a", [late], budget)).map(
        (answer) => answer.ok && [answer.value.search_cutoff, answer.value.found]
      )
    ).toEqual([[true, 0]])
    const counted = { limit_ms: 60, used_ms: 0 }
    await engine.search("a", [late, late, late, late], counted)
    // At most four times the work that follows the end of the time.
    expect(counted.used_ms).toBeLessThan(60 + 4 * 15 + 100)
  })
  it("also runs unions and pages of a list", async () => {
    const union = await engine.union("a", {
      plans: plans(slow).slice(0, 1),
      removeDuplicates: true,
      offset: 0,
      limit: 5,
      hits_max: 100
    })
    expect(union.ok && union.value.hits?.length).toBe(5)
    const page = await engine.scan("a", { collection: "c", filter: slow, limit: 7 })
    expect(page.ok && page.value.ids.length).toBe(7)
  })
  it("also builds what a named ranking reads", async () => {
    const relevance = {
      ranking: "relevance",
      text: "w7919 w0",
      units: [{ name: "title", locale: "", weight: 1 }],
      variants: [],
      corrects: true,
      completes: false,
      mayDropWords: true
    }
    const [answer] = await engine.search("b", [
      suitePlan("c", {
        filter: slow,
        limit: 5,
        text: text(["w7919", "w0"], { relevance }),
        sort: [{ kind: "text_match", order: "desc" }]
      })
    ])
    const [here] = await engine.search("b", [
      suitePlan("c", {
        filter: cheap,
        limit: 5,
        text: text(["w7919", "w0"], { relevance }),
        sort: [{ kind: "text_match", order: "desc" }]
      })
    ])
    expect(answer.ok && here.ok && shown(answer.value)).toBe(here.ok && shown(here.value))
  })
})
