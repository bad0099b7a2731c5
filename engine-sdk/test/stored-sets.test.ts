/** Sets of common words that all threads share: they equal the lists, are bounded, and survive a start. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, describe, expect, it, vi } from "vitest"
import type { IndexValue } from "../src/documents/mod.ts"
import { hasBit } from "../src/index/bits.ts"
import { SegmentBuilder } from "../src/index/builders.ts"
import { lacksCommonWords, makingCommonWords } from "../src/index/making-sets.ts"
import type { TextColumn } from "../src/index/columns.ts"
import { attachSections, type DerivedSection } from "../src/index/derived-sections.ts"
import { ListSets, postingIn } from "../src/index/list-sets.ts"
import { allocatePlain } from "../src/index/sections.ts"
import { Segment } from "../src/index/segment.ts"
import type { LocalEngine } from "../src/memory/local-engine.ts"
import { openEngine } from "../src/mod.ts"
import { answerToJson } from "../src/search/answer/answer-json.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const drive = <A>(work: Generator<void, A>): A => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
const schema = suiteSchema("c", [suiteField("title", "string"), suiteField("tags", "string[]")])
/** `wordOf`: the title of each document, in words. */
const segmentOf = (docs: number, wordsOf: (doc: number) => string[], tagsOf: (doc: number) => string[]): Segment => {
  const builder = new SegmentBuilder(schema, undefined)
  for (let doc = 0; doc < docs; doc++)
    builder.add(
      doc,
      `d${doc}`,
      new Map<string, IndexValue>([
        ["title", wordsOf(doc).join(" ")],
        ["tags", tagsOf(doc)]
      ])
    )
  const { meta, region } = builder.finish(allocatePlain)
  return new Segment(1, meta, region)
}
const sectionOf = (segment: Segment): DerivedSection => {
  const { name, put } = drive(makingCommonWords(segment))
  return { name, id: 7, ...drive(put(allocatePlain)) }
}
const expectSets = (column: TextColumn, docs: number): number => {
  let sets = 0
  for (let term = 0; term < column.terms.size; term++) {
    const set = column.setOf(term)
    expect(set !== undefined, column.terms.text(term)).toBe(column.frequency(term) * 64 >= docs)
    if (set === undefined) continue
    sets++
    let wrong = 0,
      members = 0
    for (let doc = 0; doc < docs; doc++) if (hasBit(set.bits, doc)) members++
    for (let p = column.starts[term]; p < column.starts[term + 1]; p++)
      if (!hasBit(set.bits, column.docs[p]) || postingIn(set, column.docs[p]) !== p) wrong++
    expect([wrong, members], column.terms.text(term)).toEqual([0, column.frequency(term)])
  }
  return sets
}

afterEach(() => {
  vi.restoreAllMocks()
})

describe("the stored sets of a segment", () => {
  // More than 65,536 documents, so that sets have two bases.
  const DOCS = 70_000
  const random = randomOf(5)
  const segment = segmentOf(
    DOCS,
    () => [
      random.chance(0.5) ? "for" : "with",
      ...(random.chance(1 / 40) ? ["oak"] : []),
      ...(random.chance(1 / 200) ? ["rare"] : [])
    ],
    () => (random.chance(0.3) ? ["oak", "sale"] : [])
  )
  it("equal the lists of every common word in every field, and no thread makes its own", () => {
    expect(lacksCommonWords(segment)).toBe(true)
    attachSections(segment, [sectionOf(segment)])
    expect(lacksCommonWords(segment)).toBe(false)
    const made = vi.spyOn(ListSets.prototype, "make")
    expect(expectSets(segment.text("title")!, DOCS)).toBe(3)
    expect(expectSets(segment.text("tags")!, DOCS)).toBe(2)
    expect(made).not.toHaveBeenCalled()
    const title = segment.text("title")!
    expect(title.setOf(title.terms.findText("oak"), true)).toBe(title.setOf(title.terms.findText("oak")))
    attachSections(segment, [])
    expect(expectSets(title, DOCS)).toBe(3)
    expect(made).toHaveBeenCalledTimes(3)
  })
  it("are written over whatever the memory contains", () => {
    const { name, put } = drive(makingCommonWords(segment))
    const section = drive(
      put((bytes) => ({ buffer: new Uint8Array(bytes).fill(0xff).buffer, offset: 0, length: bytes }))
    )
    attachSections(segment, [{ name, id: 8, ...section }])
    expect(expectSets(segment.text("title")!, DOCS)).toBe(3)
  })
  it("take at most half as much memory as the postings; further words have sets of the thread", () => {
    // 240 words, each in one document of sixty, and one in all.
    const size = 33_000
    const many = segmentOf(
      size,
      (doc) => ["all", ...[0, 1, 2, 3].map((n) => `w${(doc * 4 + n) % 240}`)],
      () => []
    )
    const section = sectionOf(many)
    attachSections(many, [section])
    expect(section.meta.bytes).toBeLessThan((size * 5 * 8) / 2 + 4_096)
    expect(section.meta.bytes).toBeGreaterThan(size * 5 * 3)
    const made = vi.spyOn(ListSets.prototype, "make")
    const column = many.text("title")!
    column.setOf(column.terms.findText("all"))
    expect(made).not.toHaveBeenCalled()
    expect(expectSets(column, size)).toBe(241)
    expect(made.mock.calls.length).toBeGreaterThan(100)
  })
  it("are not made for small segments; a large one without common words has them all the same", () => {
    expect(
      lacksCommonWords(
        segmentOf(
          200,
          () => ["a"],
          () => []
        )
      )
    ).toBe(false)
    const none = segmentOf(
      33_000,
      (doc) => [`n${doc}`],
      () => []
    )
    expect(lacksCommonWords(none)).toBe(true)
    attachSections(none, [sectionOf(none)])
    expect(lacksCommonWords(none)).toBe(false)
    expect(expectSets(none.text("title")!, 33_000)).toBe(0)
  })
})

describe("an engine with a writing thread", () => {
  it("makes them there, stores them, and has them after a start, for each tenant its own", async () => {
    const path = await mkdtemp(join(tmpdir(), "dowser-stored-sets-"))
    const NAMESPACES = ["a", "b"]
    const plans = ["for oak", "with", "pine for the"].map((q) =>
      suitePlan("c", { text: suiteText(q.split(" "), ["title", "tags"], {}), limit: 5 })
    )
    const shown = async (engine: LocalEngine): Promise<string[]> => {
      const texts: string[] = []
      for (const namespace of NAMESPACES)
        for (const answer of await engine.search(namespace, plans)) {
          if (!answer.ok) throw new Error(answer.error.message)
          texts.push(answerToJson(answer.value).replace(/"search_time_ms":\d+/, ""))
        }
      return texts
    }
    const foundIn = (texts: string[]): string[] => texts.map((text) => /"found":(\d+)/.exec(text)![1])
    const made = vi.spyOn(ListSets.prototype, "make")
    try {
      let engine = await openEngine({ path, worker: true })
      for (const [n, namespace] of NAMESPACES.entries()) {
        await engine.createCollection(namespace, schema, 1)
        const operations = Array.from({ length: 33_000 }, (_, i) =>
          putOf({
            id: `d${i}`,
            title: `${i % 2 === n ? "for" : "with"} ${i % 20 === 0 ? "oak" : `n${i}`}`,
            tags: ["pine"]
          })
        )
        for (let from = 0; from < operations.length; from += 3_000)
          expect((await engine.write(namespace, "c", operations.slice(from, from + 3_000))).ok).toBe(true)
        await expect.poll(() => engine.usage(namespace, "c")!.segments, { timeout: 60_000 }).toBe(1)
      }
      const before = await shown(engine)
      // In the second one no document has both "for" and "oak", so a word is dropped.
      expect(foundIn(before)).toEqual(["1650", "16500", "16500", "16500", "16500", "16500"])
      await engine.close()
      engine = await openEngine({ path, worker: true })
      made.mockClear()
      expect(await shown(engine)).toEqual(before)
      expect(made).not.toHaveBeenCalled()
      await engine.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  }, 120_000)
})
