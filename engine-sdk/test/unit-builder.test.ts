/** A document's values are read in pieces; however they are split, the words are those of the values. */
import { expect, it } from "vitest"
import { makeRandom } from "../../fixtures/random.ts"
import { UnitBuilder } from "../src/search/relevance/unit-index.ts"
import { LengthNorms } from "../src/search/relevance/weighting.ts"
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

it("notes beside each posting how often the word occurs, up to 255, and how long the text is, up to 255", () => {
  const texts: ReadonlyArray<readonly [text: string, count: number, length: number]> = [
    ["kettle", 1, 1],
    ["kettle lid kettle", 2, 3],
    [`kettle ${"lid ".repeat(253)}`, 1, 254],
    [`kettle ${"lid ".repeat(254)}`, 1, 255],
    [`kettle ${"lid ".repeat(999)}`, 1, 255],
    ["kettle ".repeat(255), 255, 255],
    ["kettle ".repeat(256), 255, 255],
    ["kettle ".repeat(700), 255, 255]
  ]
  const builder = new UnitBuilder(wordAnalyzerOf("en"))
  for (const [text] of texts) {
    builder.add(text)
    builder.closeDocument()
  }
  const work = builder.finishing()
  let step = work.next()
  while (step.done !== true) step = work.next()
  const { lengths, occurrences, postingDocs, starts, terms } = step.value
  const kettle = [...Array(terms.size).keys()].findIndex((term) => terms.text(term).startsWith("kettl"))
  const postings = [...Array(texts.length).keys()].map((i) => starts[kettle] + i)
  expect(postings.at(-1)).toBe(starts[kettle + 1] - 1)
  expect(postings.map((p) => [postingDocs[p], occurrences[p] >>> 8, occurrences[p] & 255])).toEqual(
    texts.map(([, count, length], doc) => [doc, count, length])
  )
  // What a posting weighs is that of its whole length.
  const norms = new LengthNorms([{ weight: 3 }], [10])
  for (const p of postings) {
    const doc = postingDocs[p],
      count = Math.min(255, texts[doc][1])
    expect(norms.ofPosting(0, occurrences[p], lengths, doc)).toBe(count * norms.of(0, lengths[doc]))
  }
  expect(norms.ofPosting(0, occurrences[postings[4]], lengths, 4)).toBeCloseTo(3 / (0.4 + 0.6 * 100), 12)
})
