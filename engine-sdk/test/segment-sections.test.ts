/**
 * Data that the writing thread derives for all searching threads: indexes of relevance rankings, which are ready before
 * the first search of an opened or merged segment, stored with the snapshot, and removed with their segments.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import type { SearchBudget } from "../src/engine.ts"
import type { LocalEngine } from "../src/memory/local-engine.ts"
import { arraysOf, type DerivedSection } from "../src/index/derived-sections.ts"
import { CollectionReader, type PublishedSegment } from "../src/index/reader.ts"
import { SharedViews } from "../src/lane/shared-views.ts"
import { openEngine } from "../src/mod.ts"
import { ValueColumn } from "../src/index/columns.ts"
import { Segment } from "../src/index/segment.ts"
import type { FacetRequest, SearchPlan } from "../src/plan.ts"
import type { Filter } from "../src/filter.ts"
import { LargestFirst } from "../src/search/facets/largest-first.ts"
import { answerToJson } from "../src/search/answer/answer-json.ts"
import { UnitBuilder } from "../src/search/relevance/unit-index.ts"
import { MemoryJournal } from "../src/store/journal.ts"
import { SlabPool } from "../src/store/slab-pool.ts"
import { Writer } from "../src/store/writer.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const schema = suiteSchema("c", [suiteField("title", "string"), suiteField("body", "string")])
const VOCABULARY = ["oak", "pine", "desk", "lamp", "chairs", "shelf", "steel", "glass", "rounded", "kettle", "running"]
const documentsOf = (seed: number, count: number, from = 0) => {
  const random = randomOf(seed)
  const sentence = (words: number): string => Array.from({ length: words }, () => random.pick(VOCABULARY)).join(" ")
  return Array.from({ length: count }, (_document, i) => ({
    id: `d${from + i}`,
    title: `${sentence(3)} n${from + i}`,
    body: sentence(9)
  }))
}
const units = [
  { name: "title", locale: "", weight: 4 },
  { name: "body", locale: "", weight: 1 }
]
const planOf = (asked: string): SearchPlan =>
  suitePlan("c", {
    text: suiteText(asked.split(" "), ["title", "body"], {
      relevance: {
        ranking: "relevance",
        text: asked,
        units,
        variants: [],
        corrects: true,
        completes: true,
        mayDropWords: true
      }
    }),
    limit: 30
  })
const PLANS = ["oak desk", "stel shelf", "running chair", "round ketle lam", "n17 glass"].map(planOf)
/** The answers to all plans, as sent, without their times. */
const shown = async (engine: LocalEngine, namespace = "a", budget?: SearchBudget): Promise<string> =>
  (await engine.search(namespace, PLANS, budget))
    .map((answer) => {
      if (!answer.ok) throw new Error(answer.error.message)
      return answerToJson(answer.value).replace(/"search_time_ms":\d+/, "")
    })
    .join("\n")
const add = async (engine: LocalEngine, documents: ReadonlyArray<{ readonly id: string }>, namespace = "a") => {
  const written = await engine.write(
    namespace,
    "c",
    documents.map((document) => putOf(document))
  )
  expect(written.ok).toBe(true)
}
const bytesOf = (engine: LocalEngine, namespace: string): number => engine.usage(namespace, "c")!.index_bytes

let path = ""
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "dowser-sections-"))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(path, { recursive: true, force: true })
})
const opened = (more = {}): Promise<LocalEngine> => openEngine({ path, worker: true, ...more })
/** Counts documents whose words were read or taken over on this thread. */
const readHere = () => vi.spyOn(UnitBuilder.prototype, "closeDocument")
const sectionFiles = async (): Promise<string[]> =>
  (await readdir(join(path, "segments"))).filter((name) => name.endsWith(".sec"))

describe("the index of a relevance ranking", () => {
  it("is ready after a start and after a merge before the first search, and gives the same answers", async () => {
    let engine = await opened()
    await engine.createCollection("a", schema, 1)
    await add(engine, documentsOf(1, 3_000))
    const here = readHere()
    const before = await shown(engine)
    // The first search that needs it waits, and does not read documents either.
    expect(here).not.toHaveBeenCalled()
    await engine.close()
    expect((await sectionFiles()).length).toBeGreaterThan(0)

    engine = await opened()
    expect(await shown(engine)).toBe(before)
    expect(here).not.toHaveBeenCalled()
    for (let from = 3_000; from < 8_000; from += 1_000) await add(engine, documentsOf(from, 1_000, from))
    await expect.poll(() => engine.usage("a", "c")!.segments, { timeout: 60_000 }).toBe(1)
    const merged = await shown(engine)
    expect(here).not.toHaveBeenCalled()
    await engine.close()
    for (const name of await sectionFiles()) await rm(join(path, "segments", name))
    engine = await opened()
    expect(await shown(engine)).toBe(merged)
    expect(here).not.toHaveBeenCalled()
    await engine.close()
  })

  it("is read from the snapshot at a start, not computed, on any thread", async () => {
    let engine = await openEngine({ path })
    await engine.createCollection("a", schema, 1)
    await add(engine, documentsOf(9, 2_000))
    const made = readHere(),
      before = await shown(engine)
    expect(made).toHaveBeenCalled()
    await engine.close()
    made.mockClear()
    engine = await openEngine({ path })
    expect(await shown(engine)).toBe(before)
    expect(made).not.toHaveBeenCalled()
    await engine.close()
  })

  it("is computed after a start for new writes, for rankings requested before it, without a new request", async () => {
    let engine = await openEngine({ path })
    await engine.createCollection("a", schema, 1)
    await add(engine, documentsOf(9, 600))
    await shown(engine)
    await engine.close()
    engine = await openEngine({ path })
    await add(engine, documentsOf(10, 900, 600))
    const made = readHere()
    await expect.poll(() => made.mock.calls.length).toBeGreaterThanOrEqual(2 * 900)
    await new Promise((resolve) => setTimeout(resolve, 100))
    made.mockClear()
    await shown(engine)
    expect(made).not.toHaveBeenCalled()
    await engine.close()
  })

  it("answers the same after deletions, upserts and a restart, and follows later writes", async () => {
    let engine = await opened()
    await engine.createCollection("a", schema, 1)
    await add(engine, documentsOf(2, 2_000))
    await shown(engine)
    await engine.write(
      "a",
      "c",
      Array.from({ length: 150 }, (_document, i) => ({ kind: "delete" as const, id: `d${i * 3}` }))
    )
    await add(engine, documentsOf(7, 200, 1_000))
    const before = await shown(engine)
    await engine.close()
    engine = await opened()
    expect(await shown(engine)).toBe(before)
    await add(engine, [{ id: "new", title: "oak desk oak desk", body: "oak desk" } as { readonly id: string }])
    expect(await shown(engine)).toContain('"new"')
    await engine.close()
  })

  it("is recomputed if its stored form is damaged, and nothing else is", async () => {
    let engine = await opened()
    await engine.createCollection("a", schema, 1)
    await add(engine, documentsOf(3, 2_000))
    const before = await shown(engine)
    await engine.close()
    const files = await sectionFiles()
    expect(files.length).toBeGreaterThan(0)
    for (const [i, name] of files.entries()) {
      const file = join(path, "segments", name),
        bytes = await readFile(file)
      if (i === 0) bytes[bytes.length >> 1] ^= 0xff
      await writeFile(file, i === 0 ? bytes : bytes.subarray(0, 100))
    }
    const segments = new Map<string, Buffer>()
    for (const name of await readdir(join(path, "segments")))
      if (name.endsWith(".seg")) segments.set(name, await readFile(join(path, "segments", name)))
    engine = await opened()
    const here = readHere()
    expect(await shown(engine)).toBe(before)
    expect(here).not.toHaveBeenCalled()
    await engine.close()
    for (const [name, bytes] of segments) expect(await readFile(join(path, "segments", name))).toEqual(bytes)
    engine = await opened()
    expect(await shown(engine)).toBe(before)
    await engine.close()
  })

  it("is read by every search worker and the lane, separately for each tenant, also after writes and merges", async () => {
    const engine = await opened({ searchWorkers: { count: 2, documents_min: 0, cost_min_ms: 0, here_share: 0 } })
    const alone = await openEngine({ path: await mkdtemp(join(path, "alone-")) })
    const namespaces = ["a", "b"]
    for (const one of [engine, alone])
      for (const namespace of namespaces) {
        await one.createCollection(namespace, schema, 1)
        await add(one, documentsOf(namespace === "a" ? 11 : 12, 2_000), namespace)
      }
    await expect.poll(() => engine.searchWorkers().ready, { timeout: 60_000 }).toBe(2)
    const here = readHere()
    const agree = async () => {
      for (const namespace of namespaces) {
        const wanted = await shown(alone, namespace)
        here.mockClear()
        const sent = engine.searchWorkers().searches
        expect(await Promise.all([1, 2, 3, 4].map(() => shown(engine, namespace)))).toEqual(Array(4).fill(wanted))
        expect(engine.searchWorkers().searches).toBeGreaterThanOrEqual(sent + 4)
        const budget = { limit_ms: 4_000, used_ms: 0, isSlow: true }
        expect(await shown(engine, namespace, budget)).toBe(wanted)
        expect(here).not.toHaveBeenCalled()
      }
    }
    await agree()
    for (const one of [engine, alone]) {
      for (let from = 2_000; from < 6_000; from += 1_000) await add(one, documentsOf(from, 1_000, from))
      await expect.poll(() => one.usage("a", "c")!.segments, { timeout: 60_000 }).toBe(1)
    }
    await agree()
    await alone.close()
    await engine.close()
  })

  it("costs only the tenant that requests it: of two with the same documents, one has it", async () => {
    const engine = await opened()
    for (const namespace of ["a", "b"]) {
      await engine.createCollection(namespace, schema, 1)
      await add(engine, documentsOf(namespace === "a" ? 4 : 5, 2_000), namespace)
    }
    const before = { a: bytesOf(engine, "a"), b: bytesOf(engine, "b") }
    const own = await shown(engine, "a")
    await new Promise((resolve) => setTimeout(resolve, 700))
    expect(bytesOf(engine, "b")).toBe(before.b)
    expect(bytesOf(engine, "a")).toBeGreaterThan(before.a + 50_000)
    expect(await shown(engine, "b")).not.toBe(own)
    expect(await shown(engine, "a")).toBe(own)
    await engine.close()
  })

  it("covers the most recently requested fields", async () => {
    const engine = await opened()
    await engine.createCollection("a", schema, 1)
    await add(engine, documentsOf(6, 1_500))
    const [plan] = PLANS
    const asking = (name: string): SearchPlan => ({
      ...plan,
      text: { ...plan.text!, relevance: { ...plan.text!.relevance!, units: [{ name, locale: "", weight: 1 }] } }
    })
    // Units are kept by the names in requests, whether or not a field has them, and only as long as they are requested.
    for (const name of ["title", "body"]) await engine.search("a", [asking(name)])
    const both = bytesOf(engine, "a")
    for (let i = 0; i < 4; i++)
      await engine.search("a", [
        { ...plan, text: { ...plan.text!, relevance: { ...plan.text!.relevance!, units: [unitOf(`x${i}.`)] } } }
      ])
    expect(bytesOf(engine, "a")).toBeLessThan(both)
    await engine.close()
  })
})
const unitOf = (prefix: string) => ({ name: `${prefix}*`, prefix, locale: "", weight: 1 })

describe("counts of facets", () => {
  const faceted = suiteSchema("c", [
    suiteField("sku", "string", { facet: true }),
    suiteField("tags", "string[]", { facet: true }),
    suiteField("n", "int32")
  ])
  const taggedOf = (seed: number, count: number, from = 0) => {
    const random = randomOf(seed)
    return Array.from({ length: count }, (_document, i) => ({
      id: `d${from + i}`,
      sku: `s${(from + i) * 7}`,
      tags: Array.from({ length: random.below(4) }, () => `t${random.below(90)}`),
      n: random.below(1_000)
    }))
  }
  const FACETS = ["sku", "tags"].map((field): FacetRequest => ({
    field,
    ranges: [],
    order: { kind: "count" },
    topK: false,
    strategy: "exhaustive",
    returnParent: false
  }))
  const FILTERED: Filter = { kind: "number", field: "n", type: "int32", ranges: [{ min: -Infinity, max: 700 }] }
  const plans = [undefined, FILTERED].map((filter) =>
    suitePlan("c", { facets: FACETS, facetValuesMax: 12, limit: 1, filter })
  )
  const counted = async (engine: LocalEngine): Promise<string> =>
    (await engine.search("a", plans))
      .map((answer) => {
        if (!answer.ok) throw new Error(answer.error.message)
        return JSON.stringify([answer.value.found, answer.value.facet_counts])
      })
      .join("\n")
  it("are ready after a start and after a merge, and equal the searching thread's own counts", async () => {
    let engine = await opened()
    await engine.createCollection("a", faceted, 1)
    await add(engine, taggedOf(1, 6_000))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await engine.close()
    expect((await sectionFiles()).length).toBeGreaterThanOrEqual(3)

    const sorted = vi.spyOn(Segment.prototype, "ordering"),
      looked = vi.spyOn(ValueColumn.prototype, "lookingForRepeats")
    engine = await opened()
    const first = await counted(engine)
    expect([sorted.mock.calls.length, looked.mock.calls.length]).toEqual([0, 0])
    await engine.write(
      "a",
      "c",
      Array.from({ length: 300 }, (_document, i) => ({ kind: "delete" as const, id: `d${i * 5}` }))
    )
    await add(engine, taggedOf(3, 400, 2_000))
    const changed = await counted(engine)
    expect(changed).not.toBe(first)
    await add(engine, taggedOf(2, 3_000, 6_000))
    await expect.poll(() => engine.usage("a", "c")!.segments, { timeout: 60_000 }).toBe(1)
    sorted.mockClear()
    looked.mockClear()
    const merged = await counted(engine)
    expect([sorted.mock.calls.length, looked.mock.calls.length]).toEqual([0, 0])
    await engine.write("a", "c", [{ kind: "delete", id: "d7000" }])
    const last = await counted(engine)
    await engine.close()
    for (const name of await sectionFiles()) await rm(join(path, "segments", name))
    // They are counted here before the other thread gets to it.
    engine = await openEngine({ path })
    expect(await counted(engine)).toBe(last)
    expect(sorted).toHaveBeenCalled()
    await add(engine, taggedOf(2, 1, 7_000))
    expect(merged.length).toBeGreaterThan(0)
    await engine.close()
  })
  it("are sorted as far as they are read, like a full sort", () => {
    const random = randomOf(4)
    for (const most of [1, 3, 300, 70_000, 3_000_000]) {
      const totals = Uint32Array.from({ length: 9_000 }, () => random.below(random.chance(0.01) ? 3_000_000 : most))
      const sorted = [...totals.keys()]
        .filter((value) => totals[value] > 0)
        .sort((a, b) => totals[b] - totals[a] || a - b)
      const largest = new LargestFirst(totals)
      expect(Array.from({ length: sorted.length }, (_value, at) => largest.at(at))).toEqual(sorted)
      expect(largest.at(sorted.length)).toBe(undefined)
    }
  })
})

describe("sections of the writing thread", () => {
  const writing = () => {
    const pool = new SlabPool(() => {}),
      live = new Map<number, PublishedSegment>(),
      merged: PublishedSegment[] = []
    const writer = new Writer(
      new MemoryJournal(),
      (event) => {
        if (event.kind !== "published" && event.kind !== "dropped") return
        if (event.kind === "published") {
          const { added, removed, sections = [] } = event.publication
          for (const segment of added) live.set(segment.id, segment)
          for (const { sections: now, segment } of sections) live.set(segment, { ...live.get(segment)!, sections: now })
          for (const id of removed) live.delete(id)
          if (removed.length > 0) merged.push(...added)
        }
        pool.seen(++pool.publications)
      },
      { allocate: pool.allocate, release: pool.retire, holding: (work) => pool.holding(work) }
    )
    writer.start()
    const write = (documents: ReturnType<typeof documentsOf>) =>
      writer.write(
        "a",
        "c",
        documents.map((document) => putOf(document)),
        false
      )
    const sections = (): DerivedSection[] => [...live.values()].flatMap(({ sections: own = [] }) => own)
    /** The number of bytes that searches may read. */
    const published = (): number =>
      [...live.values(), ...sections()].reduce((sum, { region }) => sum + region.buffer.byteLength, 0)
    return { pool, writer, write, sections, published, live, merged }
  }
  it("have memory while their segments exist, and come with segments that replace others", async () => {
    const { live, merged, pool, published, sections, write, writer } = writing()
    await writer.create("a", { ...schema, fields: [{ ...schema.fields[0], facet: true }, schema.fields[1]] }, 1)
    await write(documentsOf(8, 2_000))
    expect([sections().length, pool.lentBytes]).toEqual([0, published()])
    await writer.makeUnits(1, units)
    // Words of two fields, counts of a facet, and the order that the counts use.
    expect(sections().length).toBe(4 * live.size)
    expect(pool.lentBytes).toBe(published())
    for (let from = 2_000; from < 6_000; from += 1_000) await write(documentsOf(from, 1_000, from))
    await expect.poll(() => live.size, { timeout: 60_000 }).toBe(1)
    expect(merged.every((segment) => segment.sections!.length >= 2)).toBe(true)
    expect(merged.at(-1)!.sections!.length).toBe(4)
    expect(pool.lentBytes).toBe(published())
    await writer.drop("a", "c")
    expect(pool.lentBytes).toBe(0)
    await writer.close()
  })
  it("are sent to other threads with their segment, and again only when they change", async () => {
    const { live, write, writer } = writing()
    await writer.create("a", schema, 1)
    await write(documentsOf(8, 2_000))
    const reader = new CollectionReader(schema, { text: () => undefined }),
      known = {
        collections: new Map(),
        gone: [],
        bases: { numbers: new Set<number>(), from: 1 },
        dictionaries: new Map()
      }
    const shared = new SharedViews(
      "a",
      { kind: "prepare", collection: "c" },
      new Set(["c"]),
      () => ({ record: { key: 1 }, reader }),
      () => [],
      undefined
    )
    const sentSections = (): Array<number | undefined> | undefined => {
      const now = shared.forThread(known, 10)
      if (!now.ok) throw new Error(now.error.message)
      return now.value.shared?.collections.flatMap(({ views }) => views.map(({ sections }) => sections?.length))
    }
    reader.apply({ added: [...live.values()], removed: [], deletions: [] })
    expect(sentSections()).toEqual([undefined])
    await writer.makeUnits(1, units)
    const sections = [...live.values()].map(({ id, sections: own = [] }) => ({ segment: id, sections: own }))
    reader.apply({ added: [], removed: [], deletions: [], sections })
    expect(sentSections()).toEqual([2])
    expect(sentSections()).toBe(undefined)
    reader.apply({ added: [], removed: [], deletions: [{ segment: sections[0].segment, docs: [1] }] })
    expect(sentSections()).toEqual([undefined])
    known.collections.clear()
    expect(sentSections()).toEqual([2])
    await writer.close()
  })
  it("count a replaced document once", async () => {
    const { sections, write, writer } = writing()
    await writer.create("a", schema, 1)
    await write(documentsOf(8, 2_000))
    await write(documentsOf(9, 300))
    await writer.makeUnits(1, units)
    const docsWith = sections().map((section) => arraysOf(section).f64("sums")[1])
    expect(docsWith.reduce((sum, docs) => sum + docs, 0)).toBe(2 * 2_000)
    await writer.close()
  })
})
