/**
 * Workers that search: their answers are those of the thread that receives searches, for two tenants side by side,
 * after every write, when one of them ends and when the engine closes.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { openEngine } from "../src/mod.ts"
import { AnswerBudget } from "../src/budget/answer-budget.ts"
import type { CollectionReader } from "../src/index/reader.ts"
import type { LocalEngine } from "../src/memory/local-engine.ts"
import { OtherThreads } from "../src/memory/other-threads.ts"
import type { SearchAnswer, SearchPlan } from "../src/plan.ts"
import { answerToJson } from "../src/search/answer/answer-json.ts"
import { slowFilter } from "./slow-filter.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const DOCS = 4_000
const schema = suiteSchema("c", [
  suiteField("title", "string", { facet: true }),
  suiteField("n", "int32", { facet: true, sort: true }),
  suiteField("big", "int64", { sort: true }),
  suiteField("place", "geopoint")
])
const documentOf = (namespace: string, i: number) => ({
  id: `d${i}`,
  title: `${namespace} lamp ${i % 50}`,
  n: i,
  big: 9_007_199_254_740_000n + BigInt(i % 1_000),
  place: [i % 90, i % 180]
})
const heavy = suitePlan("c", {
  filter: slowFilter(20_000),
  cutoff_ms: 10_000
})
const facet = (field: string): SearchPlan["facets"][number] => ({
  field,
  ranges: [],
  order: { kind: "count" },
  topK: false,
  strategy: "exhaustive",
  returnParent: false
})
const text = (tokens: ReadonlyArray<string>): SearchPlan["text"] => ({
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
  maxExtraSuffix: 0
})
const plans: ReadonlyArray<SearchPlan> = [
  suitePlan("c", { limit: 20, facets: [facet("title")] }),
  suitePlan("c", {
    text: text(["lamp", "7"]),
    limit: 10,
    highlight: {
      fields: ["title"],
      explicit: true,
      fullFields: ["title"],
      affixTokens: 4,
      snippetThreshold: 30,
      startTag: "<b>",
      endTag: "</b>",
      v1: true,
      bytes_max: 1_000_000
    },
    sort: [{ kind: "text_match", order: "desc" }]
  }),
  suitePlan("c", {
    filter: {
      kind: "number",
      field: "big",
      type: "int64",
      ranges: [{ min: 9_007_199_254_740_993n, max: 9_007_199_254_740_999n }]
    },
    selection: { include: ["big", "title"], exclude: [], joins: [] }
  }),
  suitePlan("c", { group: { fields: ["title"], limit: 2, missingValues: true }, limit: 5, facets: [facet("n")] })
]
const shown = ({ search_time_ms: _time, ...answer }: SearchAnswer): string => answerToJson(answer)
const answersOf = async (engine: LocalEngine, namespace: string, asked = plans): Promise<ReadonlyArray<string>> =>
  (await engine.search(namespace, asked)).map((answer) => {
    if (!answer.ok) throw new Error(answer.error.message)
    return shown(answer.value)
  })
const foundOf = async (engine: LocalEngine, namespace: string, plan: SearchPlan): Promise<number> => {
  const [answer] = await engine.search(namespace, [plan])
  if (!answer.ok) throw new Error(answer.error.message)
  return answer.value.found
}
const fill = async (engine: LocalEngine): Promise<void> => {
  for (const namespace of ["a", "b"]) {
    await engine.createCollection(namespace, schema, 1)
    const written = await engine.write(
      namespace,
      "c",
      Array.from({ length: DOCS }, (_document, i) => putOf(documentOf(namespace, i)))
    )
    if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error("refused")
  }
}
const ready = (engine: LocalEngine, count: number): Promise<void> =>
  vi.waitFor(() => expect(engine.searchWorkers().ready).toBe(count), { timeout: 60_000, interval: 20 })
/** Internals of an engine that the tests observe. */
interface Inside {
  readonly threads: Pick<OtherThreads, "long" | "unread"> & {
    readonly pool: {
      readonly workers: ReadonlyArray<{
        readonly isPreparing: boolean
        readonly running: ReadonlyMap<number, object>
      }>
    }
  }
  readonly entryOf: (
    namespace: string,
    name: string
  ) => {
    readonly reader: Pick<CollectionReader, "unmapped"> & { readonly dictionaries: ReadonlyMap<string, object> }
  }
}
const insideOf = (engine: LocalEngine): Inside => engine as unknown as Inside
/** The task of a message to a searching thread; empty for any other message. */
const taskOf = (message: unknown): object => {
  if (typeof message === "string") return JSON.parse(message) as object
  const task = (message as { readonly task?: { readonly text?: string; readonly value?: object } }).task
  return task?.text === undefined ? (task?.value ?? {}) : (JSON.parse(task.text) as object)
}
const opened = (path: string): Promise<LocalEngine> =>
  openEngine({ path, worker: true, searchWorkers: { count: 2, cost_min_ms: 0, here_share: 0 } })

describe("search workers", () => {
  let folder: string
  let engine: LocalEngine
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "dowser-workers-"))
    engine = await opened(folder)
    await fill(engine)
    await ready(engine, 2)
  })
  afterAll(async () => {
    await engine.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it("answer like the receiving thread, each tenant separately", async () => {
    const plain = await openEngine({ path: join(folder, "plain") })
    await fill(plain)
    const here = new Map<string, ReadonlyArray<string>>()
    for (const namespace of ["a", "b"]) here.set(namespace, await answersOf(plain, namespace))
    await plain.close()
    const sent = engine.searchWorkers().searches
    // Forty at a time, so that both workers serve both tenants.
    await Promise.all(
      Array.from({ length: 40 }, async (_search, i) => {
        const namespace = i % 2 === 0 ? "a" : "b"
        expect(await answersOf(engine, namespace)).toEqual(here.get(namespace))
      })
    )
    expect(engine.searchWorkers().searches).toBe(sent + 40)
    const [answer] = await engine.search("b", [plans[1]])
    if (!answer.ok) throw new Error(answer.error.message)
    // Read as objects, not only serialized.
    expect(answer.value.hits?.every(({ document }) => String(document.title).startsWith("b lamp"))).toBe(true)
    expect(answer.value.hits?.[0].highlights?.length).toBe(1)
    expect(typeof answer.value.hits?.[0].text_match).toBe("bigint")
  })

  it("see writes at once, at every worker, and deleted documents no more", async () => {
    for (let round = 0; round < 30; round++) {
      const id = `new${round}`
      await engine.write("a", "c", [putOf({ ...documentOf("a", 0), id, title: `fresh${round}` })])
      const one = suitePlan("c", { text: text([`fresh${round}`]) })
      // More than one worker takes at a time.
      const found = await Promise.all(Array.from({ length: 4 }, () => foundOf(engine, "a", one)))
      expect(found).toEqual([1, 1, 1, 1])
      expect(await foundOf(engine, "b", one)).toBe(0)
      await engine.write("a", "c", [{ kind: "delete", id }])
      expect(await Promise.all(Array.from({ length: 4 }, () => foundOf(engine, "a", one)))).toEqual([0, 0, 0, 0])
    }
    // One after another, from the same segment.
    const ids = Array.from({ length: 6 }, (_document, i) => `one${i}`)
    await engine.write(
      "a",
      "c",
      ids.map((id) => putOf({ ...documentOf("a", 0), id, title: "together" }))
    )
    const one = suitePlan("c", { text: text(["together"]) })
    for (let left = ids.length; left >= 0; left--) {
      const found = await Promise.all(Array.from({ length: 4 }, () => foundOf(engine, "a", one)))
      expect(found).toEqual([left, left, left, left])
      if (left > 0) await engine.write("a", "c", [{ kind: "delete", id: ids[left - 1] }])
    }
  })

  it("hand over a search that exceeds its quantum to the lane, while cheap ones continue", async () => {
    const order: string[] = []
    const slow = Promise.resolve(engine.search("a", [heavy])).then(([answer]) => {
      order.push("slow")
      return answer
    })
    for (let i = 0; i < 8; i++) await answersOf(engine, "b", [plans[0]])
    order.push("cheap")
    const answer = await slow
    expect(order).toEqual(["cheap", "slow"])
    expect(answer.ok && [answer.value.found > 0, answer.value.search_cutoff]).toEqual([true, false])
  })

  it("count a facet of many values while cheap searches continue, for each tenant separately", async () => {
    const many = 20_000
    const importing = (["a", "b"] as const).map(async (namespace, tenant) => {
      await engine.createCollection(namespace, { ...schema, name: "many" }, 1)
      for (let from = 0; from < many; from += 10_000)
        await engine.write(
          namespace,
          "many",
          Array.from({ length: 10_000 }, (_document, i) =>
            putOf({
              ...documentOf(namespace, from + i),
              title: `${namespace}${tenant === 0 ? from + i : (from + i) % 9_000}`
            })
          )
        )
    })
    let isOver = false
    const all = Promise.all(importing).then(() => {
      isOver = true
    })
    const plan = suitePlan("many", { limit: 1, facets: [{ ...facet("title") }], facetValuesMax: 5 })
    const distinct = async (namespace: string) => {
      const [answer] = await engine.search(namespace, [plan])
      if (!answer.ok) return undefined
      return {
        found: answer.value.found,
        values: answer.value.facet_counts[0]?.stats.total_values,
        isOwn: answer.value.facet_counts[0]?.counts.every(({ value }) => value.startsWith(namespace)) === true
      }
    }
    while (!isOver) {
      for (const namespace of ["a", "b"]) {
        const counted = await distinct(namespace)
        if (counted !== undefined) expect(counted.isOwn || counted.found === 0).toBe(true)
      }
      await answersOf(engine, "b", [plans[0]])
    }
    await all
    for (let round = 0; round < 20; round++) {
      expect(await distinct("a")).toEqual({ found: many, values: many, isOwn: true })
      expect(await distinct("b")).toEqual({ found: many, values: 9_000, isOwn: true })
    }
    for (const namespace of ["a", "b"]) await engine.dropCollection(namespace, "many")
  })

  it("prepare a facet of many values before the first search", async () => {
    const many = 12_000
    await engine.createCollection("a", { ...schema, name: "ready" }, 1)
    const real = Worker.prototype.postMessage
    const prepared = new Set<Worker>()
    const post = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...given) {
      const { work } = taskOf(given[0]) as { readonly work?: { readonly kind: string; readonly collection?: string } }
      if (work?.kind === "prepare" && work.collection === "ready") prepared.add(this)
      return real.apply(this, given)
    })
    for (const half of [0, 1])
      await engine.write(
        "a",
        "ready",
        Array.from({ length: many }, (_document, i) =>
          putOf({ ...documentOf("a", i), id: `${half}-${i}`, title: `${half} ${i}` })
        )
      )
    const { entryOf, threads } = insideOf(engine)
    const { reader } = entryOf.call(engine, "a", "ready")
    await vi.waitFor(() => expect(reader.dictionaries.has("title") && reader.unmapped("title") === 0).toBe(true), {
      timeout: 20_000,
      interval: 20
    })
    // Nobody has searched the collection, and each worker was ordered to prepare it.
    await vi.waitFor(() => expect(prepared.size).toBe(2), { timeout: 20_000, interval: 20 })
    post.mockRestore()
    const plan = suitePlan("ready", { limit: 1, facets: [facet("title")], facetValuesMax: 5 })
    const answers = await Promise.all(Array.from({ length: 6 }, () => engine.search("a", [plan])))
    for (const [answer] of answers) expect(answer.ok && answer.value.facet_counts[0]?.stats.total_values).toBe(many * 2)
    await engine.dropCollection("a", "ready")
    await threads.unread()
  })

  it("are waited for before memory that they read is reused", async () => {
    const { threads } = insideOf(engine)
    const running = (): ReadonlyArray<object> => threads.pool.workers.flatMap((worker) => [...worker.running.values()])
    const asked = Array.from({ length: 12 }, () => foundOf(engine, "a", plans[0]))
    const before = running()
    expect(before.length).toBeGreaterThan(0)
    const unread = threads.unread()
    // Later searches need not be waited for.
    const later = Array.from({ length: 200 }, () => foundOf(engine, "b", plans[0]))
    await unread
    expect(running().filter((one) => before.includes(one))).toEqual([])
    await Promise.all([...asked, ...later])
    expect(running()).toEqual([])
    expect(threads.unread()).toBe(undefined)
  })

  it("receive the remaining time, and stop when it is over", async () => {
    const cut = suitePlan("c", { filter: heavy.filter, cutoff_ms: 10_000 })
    const [answer] = await engine.search("a", [cut], { limit_ms: 60_000, used_ms: 59_999 })
    expect(answer.ok && answer.value.search_cutoff).toBe(true)
  })

  it("use the current stemming dictionary, and none when it is deleted", async () => {
    const stems = suiteSchema("stems", [suiteField("title", "string", { stem_dictionary: "d" })])
    const words = new Map([["mice", "mouse"]])
    await engine.setDictionary("a", "d", words)
    await engine.createCollection("a", stems, 1)
    await engine.write(
      "a",
      "stems",
      Array.from({ length: 1_100 }, (_document, i) => putOf({ id: `${i}`, title: "mice" }))
    )
    const plan = suitePlan("stems", { text: text(["mouse"]), limit: 1, highlight: plans[1].highlight })
    const marked = (): Promise<ReadonlyArray<boolean>> =>
      Promise.all(
        Array.from({ length: 4 }, async () => (await answersOf(engine, "a", [plan])).join("").includes("<b>mice</b>"))
      )
    const sent = engine.searchWorkers().searches
    for (const [own, isMarked] of [
      [words, true],
      [new Map([["mice", "rat"]]), false],
      [new Map(words), true],
      [undefined, false]
    ] as const) {
      await engine.setDictionary("a", "d", own)
      expect(await marked()).toEqual([isMarked, isMarked, isMarked, isMarked])
    }
    expect(engine.searchWorkers().searches).toBeGreaterThanOrEqual(sent + 16)
    await engine.dropCollection("a", "stems")
  })

  it("charge the request for the memory of its answers, each once, and refuse beyond its bound", async () => {
    const budget = new AnswerBudget(10_000_000)
    const sent = engine.searchWorkers().searches
    await answersOf(engine, "a", [{ ...plans[1], budget }])
    const { held } = budget
    expect(held).toBeGreaterThan(0)
    await answersOf(engine, "a", [{ ...plans[1], budget }])
    expect(budget.held).toBe(held * 2)
    const small = new AnswerBudget(Math.floor(held / 8))
    const [refused] = await engine.search("a", [{ ...plans[1], budget: small }])
    expect([refused.ok, small.refusal?.kind]).toEqual([false, "Invalid"])
    expect(engine.searchWorkers().searches).toBeGreaterThanOrEqual(sent + 3)
  })

  it("keep the memory of a dropped collection from the writer while one of them searches it", async () => {
    await engine.createCollection("a", { ...schema, name: "gone" }, 1)
    await engine.write(
      "a",
      "gone",
      Array.from({ length: DOCS }, (_document, i) => putOf(documentOf("a", i)))
    )
    const real = Worker.prototype.postMessage
    let freed = 0,
      searches = 0
    const post = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...given) {
      const [message] = given as [unknown]
      if (typeof message === "object" && message !== null && "kind" in message && message.kind === "seen") freed++
      if (typeof message === "object" && message !== null && "givenUp" in message) searches++
      return real.apply(this, given)
    })
    try {
      let isOver = false
      const slow = Promise.resolve(engine.search("a", [{ ...heavy, collection: "gone" }])).then((answers) => {
        isOver = true
        return answers
      })
      await vi.waitFor(() => expect(searches).toBe(1), { timeout: 30_000, interval: 5 })
      const before = freed
      await engine.dropCollection("a", "gone")
      if (!isOver) expect(freed).toBe(before)
      await slow
      await vi.waitFor(() => expect(freed).toBe(before + 1), { timeout: 30_000, interval: 5 })
    } finally {
      post.mockRestore()
    }
  })

  it("treat a collection that was dropped and created again as new", async () => {
    await engine.createCollection("a", { ...schema, name: "again" }, 1)
    const puts = (title: string) =>
      Array.from({ length: 1_200 }, (_document, i) => putOf({ ...documentOf("a", i), title }))
    const plan = suitePlan("again", { text: text(["old"]) })
    await engine.write("a", "again", puts("old"))
    expect(await foundOf(engine, "a", plan)).toBe(1_200)
    await engine.dropCollection("a", "again")
    await engine.createCollection("a", { ...schema, name: "again" }, 2)
    await engine.write("a", "again", puts("young"))
    const real = Worker.prototype.postMessage
    const forgotten: number[] = []
    const post = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...given) {
      const { shared } = Object(given[0]) as { readonly shared?: { readonly forgotten: ReadonlyArray<number> } }
      forgotten.push(...(shared?.forgotten ?? []))
      return real.apply(this, given)
    })
    const found = await Promise.all(Array.from({ length: 6 }, () => foundOf(engine, "a", plan)))
    post.mockRestore()
    expect(found).toEqual([0, 0, 0, 0, 0, 0])
    // They also drop what they derived from the old one.
    expect(forgotten.length).toBeGreaterThan(0)
    await engine.dropCollection("a", "again")
  })
})

describe("search workers that end", () => {
  it("are replaced, and their searches are sent again", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-workers-"))
    const started: Worker[] = []
    const real = Worker.prototype.postMessage
    // Records the threads that the engine starts, so that the test can end them.
    const post = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...given) {
      if (typeof given[0] === "object" && given[0] !== null && "task" in given[0] && !started.includes(this))
        started.push(this)
      return real.apply(this, given)
    })
    const engine = await opened(folder)
    const long = vi.spyOn(insideOf(engine).threads, "long")
    try {
      await fill(engine)
      await ready(engine, 2)
      const before = await answersOf(engine, "a")
      for (let round = 0; round < 3; round++) {
        started.length = 0
        const asked = Array.from({ length: 12 }, (_search, i) => answersOf(engine, i % 2 === 0 ? "a" : "b"))
        expect(started.length).toBeGreaterThan(0)
        for (const worker of started.slice(0, 2)) void worker.terminate()
        const answers = await Promise.all(asked)
        answers.forEach((answer, i) => {
          if (i % 2 === 0) expect(answer).toEqual(before)
          else expect(answer).not.toEqual(before)
        })
        await ready(engine, 2)
      }
      // Their searches were lost, not slow, so no quantum is reduced.
      expect(long.mock.calls.some(([, , , isSlow]) => isSlow === false)).toBe(true)
      // A worker that missed an update must end, because its searches would see the old collection.
      post.mockImplementation(function (this: Worker, ...given) {
        const [message] = given as [{ readonly shared?: { readonly collections: ReadonlyArray<object> } }]
        const collections = message.shared?.collections
        if (collections === undefined || !("quantum_ms" in taskOf(message))) return real.apply(this, given)
        const broken = collections.map((collection) => ({ ...collection, views: [{ id: 999, graphs: [] }] }))
        return real.call(this, { ...message, shared: { ...message.shared, collections: broken } })
      })
      const fresh = suitePlan("c", { text: text(["fresh"]) })
      await engine.write("a", "c", [putOf({ ...documentOf("a", 0), id: "fresh", title: "fresh" })])
      expect(await foundOf(engine, "a", fresh)).toBe(1)
      post.mockImplementation(function (this: Worker, ...given) {
        return real.apply(this, given)
      })
      for (let i = 0; i < 6; i++) expect(await foundOf(engine, "a", fresh)).toBe(1)
      await ready(engine, 2)
      // The same holds if a message cannot be sent.
      await engine.write("a", "c", [putOf({ ...documentOf("a", 1), id: "fresh2", title: "fresh" })])
      const uncloneable = { ...fresh, metadata: () => 1 } as unknown as SearchPlan
      await expect(
        Promise.all([engine.search("a", [uncloneable]), engine.search("a", [uncloneable])])
      ).rejects.toThrow()
      for (let i = 0; i < 6; i++) expect(await foundOf(engine, "a", fresh)).toBe(2)
    } finally {
      post.mockRestore()
      await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("leave waiting searches to the receiving thread, one in each turn, when the last of them ends", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-workers-"))
    const engine = await openEngine({
      path: folder,
      worker: true,
      searchWorkers: { count: 1, cost_min_ms: 0, here_share: 0 }
    })
    const real = Worker.prototype.postMessage
    let searcher: Worker | undefined
    const post = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker, ...given) {
      if ("quantum_ms" in taskOf(given[0])) searcher = this
      return real.apply(this, given)
    })
    try {
      await fill(engine)
      await ready(engine, 1)
      await foundOf(engine, "a", plans[0])
      let isOver = false,
        turn = 0
      const perTurn = new Map<number, number>()
      const turning = (): void => {
        turn++
        if (!isOver) setImmediate(turning)
      }
      turning()
      const asked = Array.from({ length: 300 }, async (_search, i) => {
        const found = await foundOf(engine, i % 2 === 0 ? "a" : "b", plans[0])
        perTurn.set(turn, (perTurn.get(turn) ?? 0) + 1)
        return found
      })
      void searcher!.terminate()
      expect(new Set(await Promise.all(asked))).toEqual(new Set([DOCS]))
      isOver = true
      expect(Math.max(...perTurn.values())).toBeLessThan(60)
    } finally {
      post.mockRestore()
      await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("are not ordered to prepare what is closed, for which other orders would wait", () => {
    const threads = new OtherThreads("nowhere", { count: 1 })
    const open = new Set(["a"])
    threads.attach({
      entryOf: (_namespace, name) =>
        ({ record: { key: 1 }, reader: open.has(name) ? {} : undefined, documents: 1, pins: 0 }) as never,
      nameOf: (key) => (key === 3 ? undefined : { namespace: "n", name: key === 1 ? "a" : "b" }),
      earlyOf: () => [],
      dictionariesOf: () => undefined
    })
    const { preparing } = threads as unknown as { readonly preparing: (key: number) => object | undefined }
    expect([1, 2, 3].map((key) => preparing.call(threads, key) !== undefined)).toEqual([true, false, false])
  })

  it("treat a collection that was closed for memory and reopened as new", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-workers-"))
    const first = await opened(folder)
    await fill(first)
    await first.close()
    // There is room for one of the two: when one is searched, the other is closed and its memory is reused.
    const engine = await openEngine({
      path: folder,
      worker: true,
      memoryBudgetBytes: 1,
      searchWorkers: { count: 2, cost_min_ms: 0, here_share: 0 }
    })
    try {
      const before = new Map<string, ReadonlyArray<string>>()
      for (const namespace of ["a", "b"]) before.set(namespace, await answersOf(engine, namespace))
      await ready(engine, 2)
      const sent = engine.searchWorkers().searches
      for (let round = 0; round < 10; round++)
        for (const namespace of ["a", "b"]) {
          const asked = Array.from({ length: 4 }, () => answersOf(engine, namespace))
          for (const answers of await Promise.all(asked)) expect(answers).toEqual(before.get(namespace))
        }
      expect(engine.searchWorkers().searches).toBeGreaterThan(sent)
      expect([engine.usage("a", "c")?.open, engine.usage("b", "c")?.open]).toEqual([false, true])
    } finally {
      await engine.close()
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it("answer that the engine is closed if it closes while they search", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-workers-"))
    const engine = await opened(folder)
    try {
      await fill(engine)
      await ready(engine, 2)
      const asked = [
        ...Array.from({ length: 40 }, (_search, i) =>
          engine.search(i % 2 === 0 ? "a" : "b", [plans[i % plans.length]])
        ),
        engine.search("a", [heavy])
      ]
      await engine.close()
      for (const [answer] of await Promise.all(asked))
        if (!answer.ok) expect(answer.error).toEqual({ kind: "Unavailable", message: "The engine is closed." })
      // The folder can be opened again.
      const next = await opened(folder)
      expect(next.describeCollection("a", "c")?.num_documents).toBe(DOCS)
      await next.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
describe("the option", () => {
  it.each([
    [17, "searchWorkers: `count` must be a whole number from 0 to 16, not 17."],
    [1.5, "searchWorkers: `count` must be a whole number from 0 to 16, not 1.5."],
    [
      { count: -1, documents_min: -2, cost_min_ms: -3, here_share: 2 },
      "searchWorkers: `count` must be a whole number from 0 to 16, not -1; `documents_min` must not be negative, as -2 is; `cost_min_ms` must not be negative, as -3 is; `here_share` must be from 0 to 1, not 2."
    ]
  ])("%j is refused", async (searchWorkers, message) => {
    await expect(openEngine({ path: join(tmpdir(), "never-made"), worker: true, searchWorkers })).rejects.toThrow(
      message
    )
  })
  it("requires a writer in another thread", async () => {
    await expect(openEngine({ path: join(tmpdir(), "never-made"), searchWorkers: 1 })).rejects.toThrow(
      "searchWorkers: workers need `worker: true`."
    )
  })
})
