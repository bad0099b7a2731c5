/** Frequencies of roots that are counted between searches, and what searches find until then. */
import { describe, expect, it, vi } from "vitest"
import { createEngine } from "../src/mod.ts"
import type { CollectionReader } from "../src/index/reader.ts"
import { memoryResources, search } from "../src/operations/mod.ts"
import { frequenciesOf } from "../src/search/relevance/frequency-table.ts"
import { Lexicon } from "../src/search/relevance/lexicon.ts"
import type { UnitIndex } from "../src/search/relevance/unit-index.ts"
import { putOf, suiteField, suiteSchema } from "../src/testing/engine-suite.ts"

const { frequencies } = Lexicon.prototype
const MANY_ROOTS = 40_000
/** Roots with consecutive hashes, each in `docs` documents. */
const indexOf = (roots: number, docs: number, from = 0): UnitIndex =>
  ({
    hashes: Uint32Array.from({ length: roots }, (_one, i) => from + i),
    starts: Uint32Array.from({ length: roots + 1 }, (_one, i) => i * docs)
  }) as UnitIndex
const readerOf = (): CollectionReader => ({ derived: new Map() }) as unknown as CollectionReader

describe("the frequencies of roots", () => {
  it("are counted by a search if there are few", () => {
    const reader = readerOf(),
      few = indexOf(1_000, 3)
    expect(frequenciesOf(reader, "title", [few])!.frequency(999)).toBe(3)
    expect(frequenciesOf(reader, "title", [few, indexOf(10, 2)])!.frequency(9)).toBe(5)
  })

  it("are counted between searches if there are many, also when segments are replaced", async () => {
    const reader = readerOf(),
      ready = (...indexes: UnitIndex[]) => frequenciesOf(reader, "title", indexes)
    const before = indexOf(MANY_ROOTS, 3),
      after = indexOf(MANY_ROOTS, 5, 100),
      small = indexOf(100, 1)
    for (const indexes of [[before], [after, small]]) {
      expect(ready(...indexes)).toBeUndefined()
      await expect.poll(() => ready(...indexes) !== undefined, { timeout: 20_000 }).toBe(true)
    }
    const table = ready(after, small)!
    expect(
      [50, 99, 100, MANY_ROOTS - 1, MANY_ROOTS + 99, MANY_ROOTS + 100].map((hash) => table.frequency(hash))
    ).toEqual([1, 1, 5, 5, 5, 0])
  })

  it("are looked up by a search that finds them uncounted, with the same result", async () => {
    const lexicons: Lexicon[] = []
    const asks = vi.spyOn(Lexicon.prototype, "frequencies").mockImplementation(function (this: Lexicon) {
      lexicons.push(this)
      return frequencies.call(this)
    })
    const engine = createEngine()
    await engine.createCollection("a", suiteSchema("notes", [suiteField("text", "string")]), 0)
    const documents = Array.from({ length: 400 }, (_one, i) => {
      const rare = Array.from({ length: 60 }, (_word, w) => `w${i * 47 + w}`)
      return putOf({ id: `d${i}`, text: `walnut kitchen table ${rare.join(" ")}` })
    })
    expect((await engine.write("a", "notes", documents)).ok).toBe(true)
    const asked = { q: "walnut kitchen table", query_by: "text", ranking: "relevance" }
    const context = { engine, resources: memoryResources(), namespace: "a", now_s: 0 }
    expect((await search(context, "notes", asked)).ok).toBe(true)
    asks.mockRestore()

    const [lexicon] = lexicons
    const [[unit]] = lexicon.segments
    const all = () => {
      const frequencyOf = lexicon.frequencies()
      return Array.from({ length: unit.terms.size }, (_one, term) => frequencyOf(unit, term))
    }
    const lookedUp = all()
    const lookups = vi.spyOn(unit.terms, "key")
    const looksUp = (): boolean => {
      lookups.mockClear()
      all()
      return lookups.mock.calls.length > 0
    }
    expect(looksUp()).toBe(true)
    await expect.poll(looksUp, { timeout: 20_000 }).toBe(false)
    expect(all()).toEqual(lookedUp)
    await engine.close()
  })
})
