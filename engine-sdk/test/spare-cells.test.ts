/** What a search holds per document of a segment is reused by the next one, also after a search that failed. */
import { afterEach, describe, expect, it } from "vitest"
import { Allowance, GIVE_WAY } from "../src/budget/cutoff.ts"
import { SegmentBuilder } from "../src/index/builders.ts"
import { bitsOf } from "../src/index/bits.ts"
import { CollectionReader, type SegmentView } from "../src/index/reader.ts"
import { allocatePlain } from "../src/index/sections.ts"
import type { SearchPlan } from "../src/plan.ts"
import { executeSearch } from "../src/search/answer/answer.ts"
import { executeUnion } from "../src/search/answer/union.ts"
import { DocLists } from "../src/search/text/doc-lists.ts"
import {
  newMatches,
  noMatches,
  releaseMatches,
  scoreOnlyBest,
  type SegmentMatches
} from "../src/search/text/segment-matches.ts"
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
/** Matches whose space has room for this many documents. Only lengths matter here, so all share their arrays. */
const shared = { high: new Float64Array(3_000_100), found: bitsOf(100), lists: new DocLists() }
const matchesOf = (docs: number): SegmentMatches => {
  const high = shared.high.subarray(0, docs)
  return {
    ...noMatches(reader.views[0]),
    space: { high, low: high, found: shared.found, scored: shared.found, lists: shared.lists }
  }
}
/** Other tests must not get space that is shared: all that is kept is taken away. */
afterEach(() => {
  const view = { segment: { docs: 0 } } as SegmentView
  for (let i = 0; i < 100; i++) newMatches(view, undefined)
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
    releaseMatches([matchesOf(200), matchesOf(50), matchesOf(10)])
    const taken = [1, 2, 3].map(() => newMatches(reader.views[0], undefined).high.length)
    expect(taken.every((length) => length >= 40)).toBe(true)
    expect(taken).toContain(50)
    expect(taken).not.toContain(10)
  })
  it("are kept for eight million documents at most, the longest, or as many as one search has used", () => {
    const long = () =>
      Array.from({ length: 20 }, () => newMatches(reader.views[0], undefined).high.length).filter(
        (length) => length >= 3_000_000
      )
    for (const docs of [3_000_000, 3_000_001, 3_000_002]) releaseMatches([matchesOf(docs)])
    expect(long()).toEqual([3_000_001, 3_000_002])
    releaseMatches([matchesOf(3_000_000), matchesOf(3_000_001), matchesOf(3_000_002)])
    releaseMatches([matchesOf(50)])
    expect(long()).toEqual([3_000_000, 3_000_001, 3_000_002])
    releaseMatches(Array.from({ length: 18 }, (_, at) => matchesOf(3_000_000 + at)))
    expect(long().length).toBe(18)
    for (let at = 0; at < 18; at++) releaseMatches([matchesOf(100)])
    expect(nextCells(20).filter((cells) => cells.length === 100).length).toBe(16)
  })
})
describe("sets of documents", () => {
  it("are empty at first, as long as the segment, and no others' while both are in use", () => {
    const view = { segment: { docs: 90 } } as SegmentView
    const [one, other] = [newMatches(view, undefined), newMatches(view, undefined)]
    scoreOnlyBest([one, other])
    const sets = [one.found, one.scored, other.found, other.scored]
    sets.forEach((set, at) => set.fill(at + 1))
    expect(sets.map((set) => [...set])).toEqual([1, 2, 3, 4].map((value) => [value, value, value]))
    releaseMatches([one, other])
    const next = newMatches(reader.views[0], undefined)
    scoreOnlyBest([next])
    expect([[...next.found], [...next.scored]]).toEqual([
      [0, 0],
      [0, 0]
    ])
    releaseMatches([next])
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
