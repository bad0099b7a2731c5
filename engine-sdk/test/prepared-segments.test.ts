/**
 * Data derived from segments that searches share (numbers of facet values, orders, ages): correct for any segments, and
 * ready before a merged one is searched.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { SegmentBuilder } from "../src/index/builders.ts"
import { FieldDictionary } from "../src/index/field-dictionary.ts"
import { CollectionReader, type PublishedSegment } from "../src/index/reader.ts"
import { allocatePlain } from "../src/index/sections.ts"
import { Segment } from "../src/index/segment.ts"
import { createEngine, openEngine } from "../src/mod.ts"
import type { FacetRequest } from "../src/plan.ts"
import { prepareSuccessor } from "../src/search/prepare-segment.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf, type Random } from "./random.ts"

const schema = suiteSchema("c", [suiteField("tag", "string", { facet: true }), suiteField("n", "int32")])
const segmentOf = (
  id: number,
  documents: ReadonlyArray<{ readonly seq: number; readonly tag: string }>
): PublishedSegment => {
  const builder = new SegmentBuilder(schema, undefined)
  for (const { seq, tag } of documents)
    builder.add(
      seq,
      `d${seq}`,
      new Map<string, string | number>([
        ["tag", tag],
        ["n", seq]
      ])
    )
  return { id, ...builder.finish(allocatePlain) }
}
const openedOf = ({ id, meta, region }: PublishedSegment): Segment => new Segment(id, meta, region)
const tagOf = (random: Random): string => random.pick(["", "a", "b", "zz", "ä", "日本"]) + random.below(400)
const randomSegment = (random: Random, id: number, from: number): PublishedSegment =>
  segmentOf(
    id,
    Array.from({ length: 1 + random.below(300) }, (_document, i) => ({ seq: from + i, tag: tagOf(random) }))
  )

describe("numbers of facet values", () => {
  it("are one for each text over all segments, whichever is the base and in whatever order they are requested", () => {
    const random = randomOf(5)
    for (let round = 0; round < 40; round++) {
      const segments = Array.from({ length: 1 + random.below(5) }, (_segment, i) =>
        openedOf(randomSegment(random, i, i * 1_000))
      )
      const dictionary = new FieldDictionary("tag", random.chance(0.2) ? undefined : random.pick(segments))
      const numbers = new Map<string, number>()
      for (const segment of segments.sort(() => random.next() - 0.5)) {
        const { table } = segment.values("tag")!
        const map = dictionary.ordinalsOf(segment)!
        expect(map.length).toBe(table.size)
        map.forEach((number, ordinal) => {
          const text = table.text(ordinal)
          expect(dictionary.text(number)).toBe(text)
          expect(numbers.get(text) ?? number).toBe(number)
          expect(dictionary.idOf(text)).toBe(number)
          expect(number).toBeLessThan(dictionary.size)
          numbers.set(text, number)
        })
      }
      expect(new Set(numbers.values()).size).toBe(numbers.size)
      expect(dictionary.idOf("nowhere")).toBe(undefined)
    }
  })
})

it("documents in insertion order: equals a plain sort, for numbers of up to 32 bits and repeated ones", () => {
  const random = randomOf(8)
  for (const most of [1, 5, 300, 3_000, 5_000_000, 0xffffffff]) {
    const seqs = Array.from({ length: 2_000 }, () => Math.floor(random.next() * most))
    const segment = openedOf(
      segmentOf(
        1,
        seqs.map((seq) => ({ seq, tag: "t" }))
      )
    )
    const plain = [...seqs.keys()].sort((a, b) => seqs[a] - seqs[b] || a - b)
    expect([...segment.insertionOrder]).toEqual(plain)
  }
})

describe("a segment that replaces others", () => {
  const texts = { text: () => undefined }
  const parts = (random: Random) => [
    randomSegment(random, 1, 0),
    randomSegment(random, 2, 1_000),
    randomSegment(random, 3, 2_000)
  ]
  const drive = (work: Generator<void, unknown>): number => {
    let steps = 0
    while (work.next().done !== true) steps++
    return steps
  }
  it("has its values numbered when it is published, whether it becomes the base or not", () => {
    const random = randomOf(13)
    for (let round = 0; round < 20; round++) {
      const reader = new CollectionReader(schema, texts)
      reader.apply({ added: parts(random), removed: [], deletions: [] })
      const before = reader.dictionary("tag")
      for (const { segment } of reader.views) before.ordinalsOf(segment)
      const replaced = random.pick([
        [1, 2],
        [2, 3],
        [1, 2, 3]
      ])
      const merged = segmentOf(
        9,
        Array.from({ length: 500 }, (_document, i) => ({ seq: 5_000 + i, tag: tagOf(random) }))
      )
      drive(prepareSuccessor(reader, merged, replaced))
      // Until it is published, nothing changes for searches.
      expect(reader.dictionary("tag")).toBe(before)
      expect(reader.views.map(({ segment }) => segment.id)).toEqual([1, 2, 3])
      reader.apply({ added: [{ ...merged, deleted: [3] }], removed: replaced, deletions: [] })
      const after = reader.dictionary("tag")
      expect(reader.views.some(({ segment }) => segment === after.base)).toBe(true)
      for (const { segment } of reader.views)
        expect([segment.id, drive(after.mapping(segment))]).toEqual([segment.id, 0])
      const view = reader.views.find(({ segment }) => segment.id === 9)!
      expect([view.deletedCount, [...view.segment.derived.keys()]]).toEqual([1, ["ages:tag"]])
    }
  })
  it("leaves nothing behind if it is not published", () => {
    const random = randomOf(14)
    const reader = new CollectionReader(schema, texts)
    reader.apply({ added: parts(random), removed: [], deletions: [] })
    const before = reader.dictionary("tag")
    const merged = segmentOf(
      9,
      Array.from({ length: 900 }, (_document, i) => ({ seq: 5_000 + i, tag: tagOf(random) }))
    )
    const work = prepareSuccessor(reader, merged, [1, 2])
    work.next()
    reader.unexpect(9)
    reader.apply({ added: [segmentOf(4, [{ seq: 9_000, tag: "new" }])], removed: [], deletions: [] })
    expect(reader.dictionary("tag")).toBe(before)
  })
})

describe.each(["memory", "worker"])("facets beside an import and its merges (%s)", (kind) => {
  it("equal a plain count, at every moment and for both tenants", async () => {
    const path = kind === "memory" ? undefined : await mkdtemp(join(tmpdir(), "engine-prepared-"))
    const engine = path === undefined ? createEngine() : await openEngine({ path, worker: true })
    const facet = (): FacetRequest => ({
      field: "tag",
      ranges: [],
      order: { kind: "count" },
      topK: false,
      strategy: "exhaustive",
      returnParent: false
    })
    const counted = async (namespace: string) => {
      const [answer] = await engine.search(namespace, [
        suitePlan("c", { facets: [facet()], facetValuesMax: 5_000, limit: 0 })
      ])
      if (!answer.ok) throw new Error(answer.error.message)
      return {
        found: answer.value.found,
        counts: new Map(answer.value.facet_counts[0].counts.map(({ count, value }) => [value, count]))
      }
    }
    try {
      for (const namespace of ["t", "u"]) await engine.createCollection(namespace, schema, 1)
      await engine.write("u", "c", [putOf({ id: "only", tag: "other tenant", n: 1 })])
      let isOver = false
      const tags = (version: number) =>
        Array.from({ length: 9_000 }, (_document, i) =>
          putOf({ id: `d${i}`, tag: `v${(i * 7 + version) % 3_000}`, n: i })
        )
      const imports = (async () => {
        for (let version = 0; version < 3; version++) await engine.write("t", "c", tags(version))
      })().finally(() => {
        isOver = true
      })
      let searches = 0
      while (!isOver) {
        const { counts, found } = await counted("t")
        expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBe(found)
        searches++
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
      await imports
      expect(searches).toBeGreaterThan(3)
      const { counts, found } = await counted("t")
      expect([found, counts.size, [...counts.values()].every((count) => count === 3)]).toEqual([9_000, 3_000, true])
      expect([...(await counted("u")).counts]).toEqual([["other tenant", 1]])
    } finally {
      await engine.close()
      if (path !== undefined) await rm(path, { recursive: true, force: true })
    }
  })
})

it("background work that fails is reported, ends nothing, and is done by the search that needs it", async () => {
  const warnings: Array<string> = []
  const listen = (warning: Error) => warnings.push(warning.message)
  const { mappingPublished } = CollectionReader.prototype
  process.on("warning", listen)
  const engine = createEngine()
  try {
    CollectionReader.prototype.mappingPublished = function* () {
      yield
      throw new Error("no values today")
    }
    await engine.createCollection("n", schema, 1)
    for (let from = 0; from < 8_000; from += 2_000)
      await engine.write(
        "n",
        "c",
        Array.from({ length: 2_000 }, (_document, i) =>
          putOf({ id: `d${from + i}`, tag: `t${(from + i) % 700}`, n: i })
        )
      )
    await expect
      .poll(() => warnings)
      .toContainEqual(expect.stringMatching(/was not made ready between searches: no values today/))
    const facet: FacetRequest = {
      field: "tag",
      ranges: [],
      order: { kind: "count" },
      topK: false,
      strategy: "exhaustive",
      returnParent: false
    }
    const [answered] = await engine.search("n", [suitePlan("c", { facets: [facet], facetValuesMax: 5_000, limit: 0 })])
    if (!answered.ok) throw new Error(answered.error.message)
    expect([answered.value.found, answered.value.facet_counts[0].counts.length]).toEqual([8_000, 700])
  } finally {
    CollectionReader.prototype.mappingPublished = mappingPublished
    process.off("warning", listen)
    await engine.close()
  }
})
