/**
 * Documents of large segments are ordered by similarity: this must not change any search result, and the sets of common
 * words must equal their lists.
 */
import { describe, expect, it } from "vitest"
import { hasBit, setBit, bitsOf } from "../src/index/bits.ts"
import type { IndexValue } from "../src/documents/mod.ts"
import { SegmentBuilder } from "../src/index/builders.ts"
import { SPILLED } from "../src/index/columns.ts"
import { documentOrder, ORDERED_DOCS_MIN } from "../src/index/document-order.ts"
import { ListSets, postingIn } from "../src/index/list-sets.ts"
import { mergeSegments } from "../src/index/merge.ts"
import { radixOrder, sortPairs } from "../src/index/radix-order.ts"
import { allocatePlain } from "../src/index/sections.ts"
import { Segment } from "../src/index/segment.ts"
import { createEngine } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const drive = <A>(work: Generator<void, A>): A => {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

describe("sorting in steps", () => {
  it.each([0, 1, 2, 20, 24, 25, 4_096, 4_097, 30_000])("orders %i pairs as a plain sort does", (size) => {
    const random = randomOf(size + 1)
    for (const most of [40_000, 0xffffffff]) {
      const distinct = [...new Set(Array.from({ length: size }, () => random.below(most)))]
      const values = distinct.map(() => random.below(0xffffffff))
      const plain = distinct.map((key, i) => [key, values[i]]).sort((a, b) => a[0] - b[0])
      // The elements around the sorted range must stay unchanged.
      const keys = Uint32Array.from([7, ...distinct, 8]),
        with_ = Uint32Array.from([9, ...values, 10])
      drive(sortPairs(keys, with_, 1, keys.length - 1))
      expect([...keys]).toEqual([7, ...plain.map(([key]) => key), 8])
      expect([...with_]).toEqual([9, ...plain.map(([, value]) => value), 10])
    }
  })
  it("keeps equal elements in their order", () => {
    const random = randomOf(3),
      keys = Uint32Array.from({ length: 20_000 }, () => random.below(50) * 90_000_000)
    expect([...drive(radixOrder(keys))]).toEqual([...keys.keys()].sort((a, b) => keys[a] - keys[b] || a - b))
  })
})

it("sets of common words equal their lists, also after others replaced them", () => {
  const random = randomOf(21),
    docs = 200_000,
    sets = new ListSets(docs)
  const lists = Array.from({ length: 300 }, () => {
    const step = 1 + random.below(60),
      from = random.below(50_000)
    return Uint32Array.from({ length: Math.ceil((docs - from) / step) }, (_posting, i) => from + i * step)
  })
  for (let round = 0; round < 700; round++) {
    const at = random.below(lists.length),
      list = lists[at]
    const set = sets.get(at) ?? sets.make(at, list, 0, list.length)
    for (let look = 0; look < 40; look++) {
      const p = random.below(list.length),
        doc = random.below(docs)
      expect(hasBit(set.bits, list[p])).toBe(true)
      expect(postingIn(set, list[p])).toBe(p)
      expect(hasBit(set.bits, doc)).toBe(list.includes(doc))
    }
  }
})

const CATEGORIES = 9
const schema = suiteSchema("c", [
  suiteField("title", "string", { sort: true }),
  suiteField("category", "string", { facet: true }),
  suiteField("brand", "string", { facet: true, optional: true }),
  suiteField("model", "string", { facet: true }),
  suiteField("noise", "string", { facet: true }),
  suiteField("tags", "string[]", { facet: true }),
  suiteField("n", "int32"),
  suiteField("prices", "float[]"),
  suiteField("place", "geopoint")
])
const WORDS = ["oak", "table", "lamp", "red", "kettle", "set", "steel", "tea", "copper", "a", "b", "c"]
/** Everything that a segment stores about each document, by id. */
const contents = (segment: Segment): Map<string, string[]> => {
  const lines: string[][] = Array.from({ length: segment.docs }, (_lines, doc) => [`seq ${segment.seqs[doc]}`])
  for (const { name } of schema.fields) {
    const text = segment.text(name),
      values = segment.values(name),
      numbers = segment.numbers(name),
      geo = segment.geo(name),
      keys = segment.sortKeys(name)
    for (let term = 0; text !== undefined && term < text.terms.size; term++)
      for (let p = text.starts[term]; p < text.starts[term + 1]; p++) {
        if (p > text.starts[term] && text.docs[p] <= text.docs[p - 1])
          throw new Error(`${name}: the postings of ${text.terms.text(term)} are not in order`)
        const loc = text.locs[p]
        lines[text.docs[p]].push(
          `${name} ${text.terms.text(term)} ${loc < SPILLED ? loc : text.spill.subarray(loc - SPILLED + 1, loc - SPILLED + 1 + text.spill[loc - SPILLED]).join()}`
        )
      }
    for (let doc = 0; doc < segment.docs; doc++) {
      if (text?.lengths !== undefined) lines[doc].push(`${name} length ${text.lengths[doc]}`)
      if (text?.elementStarts !== undefined)
        lines[doc].push(
          `${name} lengths ${text.elementLengths!.subarray(text.elementStarts[doc], text.elementStarts[doc + 1]).join()}`
        )
      if (values?.single !== undefined)
        lines[doc].push(
          `${name} value ${values.single[doc] === 0 ? "none" : values.table.text(values.single[doc] - 1)}`
        )
      if (values?.starts !== undefined)
        lines[doc].push(
          `${name} values ${Array.from(values.ordinals!.subarray(values.starts[doc], values.starts[doc + 1]), (ordinal) => values.table.text(ordinal)).join()}`
        )
      if (numbers !== undefined)
        lines[doc].push(
          `${name} numbers ${numbers.starts === undefined ? String(numbers.first(doc)) : numbers.values.subarray(numbers.starts[doc], numbers.starts[doc + 1]).join()}`
        )
      if (geo !== undefined)
        lines[doc].push(
          `${name} place ${geo.coordinates.subarray(geo.starts[doc] * 2, geo.starts[doc + 1] * 2).join()}`
        )
      if (keys !== undefined)
        lines[doc].push(`${name} key ${keys.ordinals[doc] === 0 ? "none" : keys.table.text(keys.ordinals[doc] - 1)}`)
    }
  }
  const byId = new Map<string, string[]>()
  lines.forEach((own, doc) => {
    expect(segment.docsOfId(segment.idOf(doc))).toEqual([doc])
    byId.set(segment.idOf(doc), own.sort())
  })
  return byId
}

it("a large merged segment orders documents by category and brand, and keeps everything that its sources had", () => {
  const random = randomOf(4)
  const sourceOf = (id: number, docs: number): { segment: Segment; deleted: Uint32Array | undefined } => {
    const builder = new SegmentBuilder(schema, undefined)
    for (let i = 0; i < docs; i++) {
      const category = random.below(CATEGORIES)
      builder.add(
        id * 100_000 + i,
        `${id}-${i}`,
        new Map<string, IndexValue>(
          Object.entries<IndexValue>({
            title: Array.from({ length: 1 + random.below(6) }, () => random.pick(WORDS)).join(" "),
            category: `category ${category}`,
            ...(random.chance(0.9) ? { brand: `brand ${category * 5 + random.below(5)}` } : {}),
            model: `m${id}${Math.floor(i / 3)}`,
            noise: `x${random.below(6)}`,
            tags: Array.from({ length: random.below(4) }, () => random.pick(WORDS)),
            ...(random.chance(0.9) ? { n: random.below(1_000) } : {}),
            prices: Array.from({ length: random.below(3) }, () => Math.fround(random.next() * 100)),
            place: [random.below(90), random.below(90)]
          })
        )
      )
    }
    const { meta, region } = builder.finish(allocatePlain)
    const deleted = id === 1 ? undefined : bitsOf(docs)
    if (deleted !== undefined) for (let n = 0; n < docs / 20; n++) setBit(deleted, random.below(docs))
    return { segment: new Segment(id, meta, region), deleted }
  }
  const sources = [sourceOf(1, 20_000), sourceOf(2, 15_000), sourceOf(3, 900)]
  const { meta, moved, region } = drive(mergeSegments(schema, sources, allocatePlain))
  const merged = new Segment(9, meta, region)
  expect(merged.docs).toBeGreaterThan(ORDERED_DOCS_MIN)
  const expected = new Map<string, string[]>()
  sources.forEach(({ deleted, segment }, s) => {
    for (const [id, lines] of contents(segment)) {
      const [doc] = segment.docsOfId(id)
      if (deleted !== undefined && hasBit(deleted, doc)) {
        expect(merged.docsOfId(id)).toEqual([])
        continue
      }
      expect(merged.docsOfId(id)).toEqual([moved[s][doc]])
      expected.set(id, lines)
    }
  })
  expect(contents(merged)).toEqual(expected)
  const { single } = merged.values("category")!,
    brands = merged.values("brand")!.single!
  let runs = 0
  for (let doc = 1; doc < merged.docs; doc++)
    if (single![doc] !== single![doc - 1] || brands[doc] !== brands[doc - 1]) runs++
  // Runs of categories times their brands, or none; without the order, nearly every document would be a run. Further
  // fields may split documents that are equal in both.
  expect(runs).toBeLessThan(CATEGORIES * 6 * 8)
  // A small segment keeps the order of its sources.
  expect(
    drive(documentOrder(schema, [sources[2].segment], [Uint32Array.from({ length: 900 }, (_place, i) => i)], 900))
  ).toBe(undefined)
})

it("sums of a numeric facet do not depend on the order of documents", async () => {
  const random = randomOf(6),
    size = ORDERED_DOCS_MIN + 2_000
  const rows = Array.from({ length: size }, (_row, i) => ({
    id: String(i),
    kind: `k${random.below(7)}`,
    price: Math.fround(random.next() * 10 ** random.below(7))
  }))
  const statsOf = async (documents: ReadonlyArray<(typeof rows)[number]>): Promise<unknown> => {
    const engine = createEngine()
    await engine.createCollection(
      "t",
      suiteSchema("c", [suiteField("kind", "string", { facet: true }), suiteField("price", "float", { facet: true })]),
      1
    )
    await engine.write(
      "t",
      "c",
      documents.map((row) => putOf(row))
    )
    await expect.poll(() => engine.usage("t", "c")?.segments, { timeout: 60_000 }).toBe(1)
    const [answer] = await engine.search("t", [
      suitePlan("c", {
        filter: { kind: "number", field: "price", type: "float", ranges: [{ min: 0.5, max: Infinity }] },
        facets: [
          {
            field: "price",
            ranges: [],
            order: { kind: "count" },
            topK: false,
            strategy: "exhaustive",
            returnParent: false
          }
        ]
      })
    ])
    await engine.close()
    if (!answer.ok) throw new Error(answer.error.message)
    return answer.value.facet_counts[0].stats
  }
  const stats = await statsOf(rows)
  expect(stats).toEqual(await statsOf([...rows].reverse()))
  expect(stats).toEqual(await statsOf([...rows].sort((a, b) => a.price - b.price)))
})
