/** A document's values are read in pieces; however they are split, the words are those of the values. */
import { expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import { UnitBuilder } from "../src/search/relevance/unit-index.ts"
import { wordAnalyzerOf } from "../src/search/relevance/words.ts"

it("splits no word of many values, and reads each once and in order", () => {
  const random = makeRandom("pieces"),
    analyzer = wordAnalyzerOf("en")
  const word = (): string =>
    `${random.pick(["kettle", "lantern", "umbrella", "sennheiser", "q"])}${random.below(2_000)}x`
  for (let round = 0; round < 20; round++) {
    // Single words, sentences, and texts of several pieces; together far more than one piece.
    const values = Array.from({ length: 1_500 }, () =>
      Array.from({ length: random.chance(0.005) ? 2_000 : random.pick([1, 1, 4]) }, word).join(" ")
    )
    const wanted: string[] = []
    for (const value of values) for (const { surface } of analyzer.words(value)) wanted.push(surface)
    const builder = new UnitBuilder(analyzer)
    for (const value of values) builder.add(value)
    while (builder.addRest()) {
      /* Reads all the rest. */
    }
    builder.closeDocument()
    const work = builder.finishing()
    let step = work.next()
    while (step.done !== true) step = work.next()
    const { lengths, surfaces } = step.value
    expect(lengths[0]).toBe(Math.min(wanted.length, 0x7fff))
    expect(
      Array.from({ length: surfaces.terms.size }, (_surface, i) => surfaces.terms.text(i)).filter(
        (surface) => !wanted.includes(surface)
      )
    ).toEqual([])
    expect(surfaces.terms.size).toBe(new Set(wanted.slice(0, 0x7fff)).size)
  }
})
