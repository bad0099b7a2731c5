/** Word expansion over a sorted vocabulary must agree with the plain edit distance, word by word. */
import { describe, expect, it } from "vitest"
import { expandTerm } from "../src/index/expand.ts"
import { encodeUtf8, sortUtf8, ByteLog } from "../src/index/bytes.ts"
import { sharedPrefixes } from "../src/index/text-builder.ts"
import type { TextColumn } from "../src/index/columns.ts"
import { StringTable } from "../src/index/string-table.ts"

const seeded = (seed: number) => (): number => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
/** Optimal string alignment without a swap of the first two letters, which is the engine's rule. */
const distance = (a: string, b: string): number => {
  const rows = Array.from({ length: a.length + 1 }, (_row, i) =>
    Array.from({ length: b.length + 1 }, (_cell, j) => (i === 0 ? j : j === 0 ? i : 0))
  )
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      rows[i][j] = Math.min(
        rows[i - 1][j] + 1,
        rows[i][j - 1] + 1,
        rows[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      )
      if (i > 2 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        rows[i][j] = Math.min(rows[i][j], rows[i - 2][j - 2] + 1)
    }
  return rows[a.length][b.length]
}
const columnOf = (words: ReadonlyArray<string>): TextColumn => {
  const log = new ByteLog(),
    offsets = [0]
  for (const word of words) offsets.push(log.text(word))
  const table = new StringTable(log.done(), Uint32Array.from(offsets))
  return { terms: table, shared: sharedPrefixes(table.bytes, table.offsets) } as TextColumn
}
const expanded = (
  column: TextColumn,
  words: ReadonlyArray<string>,
  token: string,
  cost: number,
  prefix: boolean
): string[] => {
  const found: string[] = []
  expandTerm(column, encodeUtf8(token), cost, prefix, (term) => found.push(words[term]))
  return found
}

describe("expandTerm", () => {
  const random = seeded(7)
  const word = (most: number): string =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => "abcd"[Math.floor(random() * 4)]).join("")
  const words = sortUtf8([...new Set(Array.from({ length: 900 }, () => word(9)))])
  const column = columnOf(words)
  it("finds exactly the words at each distance", () => {
    for (let n = 0; n < 60; n++) {
      const token = word(8)
      for (const cost of [0, 1, 2])
        expect(expanded(column, words, token, cost, false), `${token} at ${cost}`).toEqual(
          words.filter((candidate) => distance(candidate, token) === cost)
        )
    }
  })
  it("uses the nearest prefix that is not shorter than the token", () => {
    const nearest = (candidate: string, token: string): number => {
      if (candidate.length < token.length) return distance(candidate, token)
      let best = Infinity
      for (let n = token.length; n <= candidate.length; n++)
        best = Math.min(best, distance(candidate.slice(0, n), token))
      return best
    }
    for (let n = 0; n < 60; n++) {
      const token = word(7)
      for (const cost of [0, 1, 2])
        expect(expanded(column, words, token, cost, true), `${token} at ${cost}`).toEqual(
          words.filter((candidate) => nearest(candidate, token) === cost)
        )
    }
  })
})
