/** What a search holds per document of a segment is reused by the next one, also after a search that failed. */
import { afterAll, describe, expect, it } from "vitest"
import { Allowance, GIVE_WAY } from "../src/budget/cutoff.ts"
import { SegmentBuilder } from "../src/index/builders.ts"
import { bitsOf } from "../src/index/bits.ts"
import { CollectionReader } from "../src/index/reader.ts"
import { allocatePlain } from "../src/index/sections.ts"
import type { SearchPlan } from "../src/plan.ts"
import { executeSearch } from "../src/search/answer/answer.ts"
import { executeUnion } from "../src/search/answer/union.ts"
import { DocLists } from "../src/search/text/doc-lists.ts"
import { newMatches, releaseMatches } from "../src/search/text/segment-matches.ts"
import { suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const schema = suiteSchema("c", [suiteField("n", "int32")])
const reader = new CollectionReader(schema, { text: (seq) => JSON.stringify({ id: `d${seq}`, n: seq }) })
const builder = new SegmentBuilder(schema, undefined)
for (let seq = 0; seq < 40; seq++)
  builder.add(seq, `d${seq}`, new Map([["n", seq]]) as Parameters<SegmentBuilder["add"]>[2])
reader.apply({ added: [{ id: 1, ...builder.finish(allocatePlain) }], removed: [], deletions: [] })
const scope = { collection: () => reader, names: () => [], dictionaries: () => undefined }

/** The cells that the next searches get, if `count` run at a time; new arrays if earlier ones have not returned any. */
const nextCells = (count = 1): ReadonlyArray<Float64Array> => {
  const matches = Array.from({ length: count }, () => newMatches(reader.views[0], undefined))
  releaseMatches(matches)
  return matches.map(({ high }) => high)
}
const areTheSame = (cells: ReadonlyArray<Float64Array>, others: ReadonlyArray<Float64Array>): boolean =>
  cells.every((own) => others.includes(own))
/** Other tests of this process must not get cells that overlap, so all that are kept are replaced. */
afterAll(() => {
  for (let i = 0; i < 40; i++) newMatches(reader.views[0], undefined)
  releaseMatches(
    Array.from({ length: 16 }, () => ({
      ...newMatches(reader.views[0], undefined),
      high: new Float64Array(100),
      low: new Float64Array(100)
    }))
  )
})
/** Gives way at the n-th check of the clock. */
class GivesWay extends Allowance {
  private left: number
  constructor(looks: number) {
    super()
    this.left = looks
  }
  override isOver(): boolean {
    if (this.left-- <= 0) throw GIVE_WAY
    return false
  }
}
const failing: SearchPlan = {
  ...suitePlan("c"),
  get matchesNothing(): never {
    throw new Error("a defect while matching")
  }
}
const union = (plans: ReadonlyArray<SearchPlan>) => ({
  plans,
  removeDuplicates: false,
  offset: 0,
  limit: 10,
  hits_max: 10
})

describe("score cells", () => {
  it("are returned by a search that gave way after matching", () => {
    const cells = nextCells()
    let gaveWay = 0
    for (let looks = 1; looks < 6; looks++) {
      try {
        expect(executeSearch(scope, suitePlan("c"), new GivesWay(looks))).toMatchObject({ value: { found: 40 } })
      } catch (error) {
        if (error !== GIVE_WAY) throw error
        gaveWay++
      }
      expect(areTheSame(nextCells(), cells)).toBe(true)
    }
    expect(gaveWay).toBeGreaterThan(1)
    expect(gaveWay).toBeLessThan(5)
  })
  it("are returned by a search that failed while matching", () => {
    const cells = nextCells()
    expect(() => executeSearch(scope, failing)).toThrow("a defect while matching")
    expect(areTheSame(nextCells(), cells)).toBe(true)
  })
  it("are returned by the earlier searches of a union whose last one failed", () => {
    const cells = nextCells(2)
    expect(executeUnion(scope, union([suitePlan("c"), suitePlan("c")]))).toMatchObject({ value: { found: 80 } })
    expect(() => executeUnion(scope, union([suitePlan("c"), failing]))).toThrow("a defect while matching")
    expect(areTheSame(nextCells(2), cells)).toBe(true)
  })
  it("of a smaller segment are not given to a larger one", () => {
    const large = new Float64Array(200),
      small = new Float64Array(50)
    const of = (cells: Float64Array) => ({ ...newMatches(reader.views[0], undefined), high: cells, low: cells })
    releaseMatches([of(large), of(small), of(new Float64Array(10))])
    const taken = [1, 2, 3].map(() => newMatches(reader.views[0], undefined))
    expect(taken.every(({ high }) => high.length >= 40)).toBe(true)
    expect(taken.map(({ high }) => high)).toContain(small)
    releaseMatches(taken)
  })
  it("are kept for eight million documents at most, the longest, or as many as the last search used", () => {
    const some = newMatches(reader.views[0], undefined),
      cells = new Float64Array(3_000_100)
    const of = (docs: number) => {
      const found = bitsOf(docs)
      return { ...some, found, scored: found, high: cells.subarray(0, docs), low: cells.subarray(0, docs) }
    }
    const long = () =>
      Array.from({ length: 20 }, () => newMatches(reader.views[0], undefined).high.length).filter(
        (length) => length >= 3_000_000
      )
    for (const docs of [3_000_000, 3_000_001, 3_000_002]) releaseMatches([of(docs)])
    expect(long()).toEqual([3_000_001, 3_000_002])
    releaseMatches([of(3_000_000), of(3_000_001), of(3_000_002)])
    expect(long()).toEqual([3_000_000, 3_000_001, 3_000_002])
    releaseMatches(Array.from({ length: 18 }, (_, at) => of(3_000_000 + at)))
    expect(long().length).toBe(18)
    for (let at = 0; at < 18; at++) releaseMatches([of(100)])
    expect(nextCells(20).filter((cells) => cells.length === 100).length).toBe(16)
  })
})

describe("lists of documents", () => {
  it("stay as they are when later ones need more space", () => {
    const lists = new DocLists()
    const first = lists.take(3_000)
    first.fill(7)
    const kept = lists.keep(first, 2)
    const second = lists.take(2_000).fill(8)
    expect(second.buffer).toBe(first.buffer)
    expect([...kept, second[0]]).toEqual([7, 7, 8])
    // Does not fit into the same space.
    const third = lists.take(3_000).fill(9)
    expect(third.buffer).not.toBe(first.buffer)
    expect([...kept, second[1_999], third[0]]).toEqual([7, 7, 8, 9])
  })
  it("share their space from search to search, unless it is larger than a megabyte", () => {
    const lists = new DocLists()
    const spaceFor = (size: number): ArrayBufferLike => {
      const { buffer } = lists.take(size)
      lists.clear()
      return buffer
    }
    expect(spaceFor(260_000)).toBe(spaceFor(260_000))
    expect(spaceFor(270_000)).not.toBe(spaceFor(270_000))
  })
})
