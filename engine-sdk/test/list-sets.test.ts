/**
 * Which sets of common words a segment keeps: the most recently used ones, and of the rest the most expensive to build.
 */
import { describe, expect, it } from "vitest"
import { ListSets, postingIn } from "../src/index/list-sets.ts"

const DOCS = 40_000
const evens = Uint32Array.from({ length: DOCS / 2 }, (_, i) => i * 2)
const make = (sets: ListSets, key: number, postings: number) => sets.make(key, evens, 0, postings)

describe("sets of common words", () => {
  it("keeps an expensive set while cheap ones come and go, but not for ever", () => {
    const sets = new ListSets(DOCS)
    make(sets, 0, 20_000)
    for (let key = 1; key <= 1_000; key++) make(sets, key, 1_000)
    expect(sets.get(0)).toBeDefined()
    // As many sets as its cost is worth, without a use in between.
    for (let key = 1_001; key <= 8_000; key++) make(sets, key, 1_000)
    expect(sets.get(0)).toBeUndefined()
  })
  it("keeps the most recently used sets, whatever they cost", () => {
    const sets = new ListSets(DOCS)
    for (let key = 0; key < 400; key++) make(sets, key, 20_000)
    const cheap = make(sets, 1_000, 700)
    for (let key = 400; key < 495; key++) make(sets, key, 20_000)
    expect(sets.get(1_000)).toBe(cheap)
    expect([0, 698, 1_398].map((doc) => postingIn(cheap, doc))).toEqual([0, 349, 699])
    for (let key = 500; key < 600; key++) make(sets, key, 20_000)
    expect(sets.get(1_000)).toBeUndefined()
  })
})
