/** Sums kept in order through any additions equal sums that are sorted from scratch. */
import { describe, expect, it } from "vitest"
import { RankedTable, type Ranking } from "../../../src/analytics/ranked-table.ts"
import { parseSnapshot, seesAllOf } from "../../../src/analytics/snapshot.ts"
import { seeded } from "../../support/attribution-oracle.ts"

const popular: Ranking = {
  name: "popular",
  shows: (sum) => sum(0) !== 0 || sum(1) !== 0,
  compare: (a, b) => b(0) - a(0) || b(1) - a(1)
}
const rate: Ranking = {
  name: "rate",
  shows: (sum) => sum(0) !== 0,
  compare: (a, b) => b(1) / Math.max(1, b(0)) - a(1) / Math.max(1, a(0))
}

describe("a ranked table", () => {
  it("equals sorting everything after every change, in every order and on every page", () => {
    for (let seed = 1; seed <= 40; seed++) {
      const random = seeded(seed)
      const table = new RankedTable(2)
      const plain = new Map<string, readonly [number, number]>()
      const words = ["a", "b", "ab", "é", "\u{1f600}", "\uffee", "z", "10", "9"]
      for (let round = 0; round < 12; round++) {
        for (let i = 0, changes = Math.floor(random() * (round < 2 ? 300 : 30)); i < changes; i++) {
          const key = [
            words[Math.floor(random() * words.length)]! + String(Math.floor(random() * 40)),
            words[Math.floor(random() * 3)]!
          ]
          // As much is taken back as added, so that rows vanish and return.
          const sums = [Math.floor(random() * 5) - 2, Math.floor(random() * 3) - 1] as const
          table.add(key, sums)
          const known = plain.get(key.join("\n")) ?? [0, 0]
          plain.set(key.join("\n"), [known[0] + sums[0], known[1] + sums[1]])
        }
        for (const ranking of random() < 0.7 ? [popular, rate] : [popular]) {
          const expected = [...plain]
            .filter(([, sums]) => ranking.shows((column) => sums[column]!))
            .sort(
              ([keyA, a], [keyB, b]) =>
                ranking.compare(
                  (column) => a[column]!,
                  (column) => b[column]!
                ) ||
                Buffer.compare(Buffer.from(keyA.replace("\n", "\u0000")), Buffer.from(keyB.replace("\n", "\u0000")))
            )
            .map(([key, sums]) => ({ key: key.split("\n"), sums: [...sums] }))
          const offset = Math.floor(random() * 20)
          expect(table.page(ranking, 1_000, 0)).toEqual({ total: expected.length, rows: expected })
          expect(table.page(ranking, 7, offset)).toEqual({
            total: expected.length,
            rows: expected.slice(offset, offset + 7)
          })
        }
      }
    }
  })
  it("grows", () => {
    const table = new RankedTable(1)
    for (let i = 0; i < 5_000; i++) table.add([`q${i % 3_000}`], [1])
    expect(table.size).toBe(3_000)
    const byCount: Ranking = { name: "n", shows: () => true, compare: (a, b) => b(0) - a(0) }
    expect(table.page(byCount, 2, 1_999).rows.map(({ sums }) => sums[0])).toEqual([2, 1])
    expect(table.bytes).toBeGreaterThan(3_000 * 100)
  })
})

describe("snapshots", () => {
  it("show whether one of two sees everything that the other does", () => {
    const at = parseSnapshot
    expect(seesAllOf(at("10:20:10,15"), at("10:20:10,15"))).toBe(true)
    expect(seesAllOf(at("15:20:15"), at("10:20:10,15"))).toBe(true)
    expect(seesAllOf(at("10:20:10,15"), at("15:20:15"))).toBe(false)
    expect(seesAllOf(at("10:30:10,15,25"), at("10:20:10,15"))).toBe(true)
    expect(seesAllOf(at("10:19:10"), at("10:20:10"))).toBe(false)
    expect(seesAllOf(at("20:20:"), at("10:20:10"))).toBe(true)
    expect(seesAllOf(at("12:30:12"), at("20:20:"))).toBe(false)
  })
})
