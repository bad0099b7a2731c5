/** Which of several readings is meant, as far as documents show. */
import { describe, expect, it } from "vitest"
import type { Reading, Readings } from "../../../src/ports/transcriber/transcriber.ts"
import { atOnce } from "../../../src/suggestions/typeahead/sliced.ts"
import { choosing } from "../../../src/voice/choice.ts"

const near = [
  "spigen ultra hybrid case for apple iphone 6",
  "speck candyshell grip case for apple iphone",
  "native union clic wooden case",
  "life proof nüüd case"
]
const reading = (text: string, heard: number, score = 0.6): Reading => ({
  words: text.split(" ").map((word) => ({ text: word, score })),
  heard
})
const chosen = (candidates: ReadonlyArray<Reading>, isSilent = false, openings: Readings["near"] = near) =>
  atOnce(choosing({ candidates, near: openings }, isSilent))

describe("of several readings", () => {
  it("one with which a document begins is chosen, though another is likelier", () => {
    expect(chosen([reading("Made of union click.", -2), reading("Native union click", -4)])).toBe("native union clic")
    expect(chosen([reading("The line case is", -1), reading("Speck candyshell grip", -5)])).toBe(
      "speck candyshell grip"
    )
  })
  it("the likelier one is chosen if documents contain both", () => {
    expect(chosen([reading("ultra hybrid", -1), reading("candyshell grip", -3)])).toBe("ultra hybrid")
    expect(chosen([reading("ultra hybrid", -3), reading("candyshell grip", -1)])).toBe("candyshell grip")
  })
  it("words count in order, once each, split or joined, and with their marks", () => {
    expect(chosen([reading("case hybrid ultra", -1, 1), reading("ultra hybrid case", -1)])).toBe("ultra hybrid case")
    // A well-heard reading is not replaced by a worse one because a document has the words in another order.
    const other = ["trekking backpack waterproof", "waterproof pick"]
    expect(chosen([reading("Waterproof backpack", -2), reading("Waterproof pick", -4)], false, other)).toBe(
      "waterproof backpack"
    )
    expect(chosen([reading("grip grip grip grip", -1)])).toBe(undefined)
    expect(chosen([reading("candy shell grip", -1)])).toMatch(/^candy ?shell grip$/)
    expect(chosen([reading("lifeproof nuud case", -1)])).toBe("lifeproof nuud case")
  })
  it("none is chosen if documents contain little of any: the visitor means something else", () => {
    expect(chosen([reading("I forgot my umbrella on the train", -1), reading("ultra umbrella train", -4)])).toBe(
      undefined
    )
    expect(chosen([], false)).toBe(undefined)
    expect(chosen([reading("ultra hybrid", -1)], false, [])).toBe(undefined)
  })
  it("nothing is invented if nothing was heard at first", () => {
    expect(chosen([reading("speck candyshell grip", -3)], true)).toBe("speck candyshell grip")
    expect(chosen([reading("speck candyshell grip", -9)], true)).toBe(undefined)
    const most = [reading("speck candyshell grip lamp", -3, 1)]
    expect([chosen(most), chosen(most, true)]).toEqual(["speck candyshell grip lamp", undefined])
  })
  it("the result is a plain query, of bounded work, whatever readings and documents contain", () => {
    expect(chosen([reading('-ultra "hybrid" *', -1)])).toBe("ultra hybrid")
    const many = reading("case ".repeat(4_000).trim(), -1)
    expect(chosen([many], false, ["case ".repeat(4_000)])).toHaveLength(4_000 * 5 - 1)
    expect(chosen([reading("__proto__ constructor", -1)], false, ["__proto__ constructor"])).toBe("proto constructor")
  })
})
