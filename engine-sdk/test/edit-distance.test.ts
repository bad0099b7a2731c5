/** The banded algorithm, compared with a slow and obvious one. */
import { expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import { editDistance } from "../src/analysis/edit-distance.ts"

const slow = (a: string, b: string): number => {
  const cell: number[][] = Array.from({ length: a.length + 1 }, (_row, i) => [
    i,
    ...Array.from({ length: b.length }, () => 0)
  ])
  for (let j = 0; j <= b.length; j++) cell[0]![j] = j
  for (let i = 1; i <= a.length; i++)
    for (let j = 1; j <= b.length; j++) {
      cell[i]![j] = Math.min(
        cell[i - 1]![j]! + 1,
        cell[i]![j - 1]! + 1,
        cell[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      )
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        cell[i]![j] = Math.min(cell[i]![j]!, cell[i - 2]![j - 2]! + 1)
    }
  return cell[a.length]![b.length]!
}

it("is exact up to the requested distance, and larger than it beyond", () => {
  const random = makeRandom("edit distance")
  const word = (length: number): string => Array.from({ length }, () => random.pick(["a", "b", "c"])).join("")
  const pairs: Array<readonly [string, string]> = [
    ["", ""],
    ["", "a"],
    ["ab", "ba"],
    ["abc", "ca"],
    ["a", "abcd"],
    ["aaaaaaaaab", "baaaaaaaaa"]
  ]
  for (let i = 0; i < 20_000; i++) {
    const a = word(random.below(9))
    // The second word is often close to the first.
    const at = random.below(a.length + 1),
      b = random.chance(0.5)
        ? word(random.below(9))
        : `${a.slice(0, at)}${word(random.below(3))}${a.slice(at + random.below(3))}`
    pairs.push([a, b])
  }
  for (const [a, b] of pairs)
    for (const most of [0, 1, 2, 3, 7]) {
      const exact = slow(a, b),
        found = editDistance(a, b, most)
      expect([a, b, most, exact <= most ? found : found > most]).toEqual([a, b, most, exact <= most ? exact : true])
    }
})

it("takes words of any length", () => {
  const long = "x".repeat(100_000)
  expect([
    editDistance(long, `${long}y`, 2),
    editDistance(`a${long}`, `b${long}`, 2),
    editDistance(long, "y".repeat(100_000), 2) > 2
  ]).toEqual([1, 1, true])
})
