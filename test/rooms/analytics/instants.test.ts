/** Packed instants: additions can be read back, whatever the numbers, also beside values packed by earlier versions. */
import { describe, expect, it } from "vitest"
import { Packr } from "msgpackr"
import { INSTANT_TABLES, type InstantTable, MinutePacker, MinuteReader } from "../../../streams/figures/instants.ts"
import { Draws } from "../../support/simulation/random.ts"

type Read = readonly [key: ReadonlyArray<string>, after_ms: number, sums: ReadonlyArray<number>]
const readAll = (bytes: Uint8Array): Record<InstantTable, Array<Read>> => {
  const reader = new MinuteReader(bytes)
  const read = { queries: [], products: [], events: [], filters: [] } as Record<InstantTable, Array<Read>>
  for (const table of INSTANT_TABLES)
    reader.each(table, (key, after_ms, sums) => void read[table].push([[...key], after_ms, [...sums]]))
  return read
}
const numbers = [
  0, 0, 0, 1, 1, -1, 2, 127, 128, -32, -33, -128, -129, 255, 256, 65_535, 65_536, 999_999, -999_999, 4_294_967_295,
  4_294_967_296, -2_147_483_648, -2_147_483_649, 3_000_000_000_000, -0.5, 0.1
]

describe("a minute's instants", () => {
  it("are read as they were added, of every width and size", () => {
    const draws = new Draws(23)
    for (let round = 0; round < 60; round++) {
      const packer = new MinutePacker()
      const added = { queries: [], products: [], events: [], filters: [] } as Record<InstantTable, Array<Read>>
      for (const table of INSTANT_TABLES) {
        const width = draws.pick([1, 4, 10, 11, 31]),
          parts = draws.whole(1, 5)
        for (let keys = draws.pick([0, 1, 3, 200]); keys > 0; keys--) {
          const key = ["org", ...Array.from({ length: parts }, () => draws.pick(["", "a", "größe 🎧", `k${keys}`]))]
          for (let left = draws.pick([1, 1, 2, 300]); left > 0; left--) {
            const sums = Array.from({ length: width }, () => draws.pick(numbers)),
              after_ms = draws.whole(0, 59_999),
              from = draws.whole(0, 3)
            packer.add(table, key, 1, after_ms, Float64Array.of(...Array<number>(from).fill(7), ...sums), from, width)
            added[table].push([key.slice(1), after_ms, sums])
          }
        }
      }
      expect(readAll(packer.pack())).toEqual(added)
    }
  })
  it("are empty without additions", () =>
    expect(readAll(new MinutePacker().pack())).toEqual({ queries: [], products: [], events: [], filters: [] }))
  it("that were packed as one list of numbers for each table can be read too", () => {
    const packed = new Packr({ useRecords: false }).pack([
      3,
      ["c", "q"],
      [2, 3, 0, 1, 2, 5, 0b101, 1, -2, 70, 0b010, 1.5],
      [],
      [1, 1, 0, 1, 9, 1, 4],
      []
    ])
    expect(readAll(packed)).toEqual({
      queries: [
        [["c", "q"], 5, [1, 0, -2]],
        [["c", "q"], 70, [0, 1.5, 0]]
      ],
      products: [],
      events: [[["c"], 9, [4]]],
      filters: []
    })
  })
  it("with more sums than a mask has bits are refused", () =>
    expect(() => new MinutePacker().add("queries", ["o", "c"], 1, 0, new Array<number>(32).fill(1), 0, 32)).toThrow(
      RangeError
    ))
})
