/** Scores of matches in segments that are scored in several ranges of 65,536 documents. */
import { expect, it } from "vitest"
import { setBit, bitsOf } from "../src/index/bits.ts"
import type { BestDocuments } from "../src/search/relevance/best-documents.ts"
import type { Lexicon } from "../src/search/relevance/lexicon.ts"
import type { QueryTerm } from "../src/search/relevance/query-terms.ts"
import { scoreMatches } from "../src/search/relevance/score-matches.ts"
import { UnitBuilder, type UnitIndex } from "../src/search/relevance/unit-index.ts"
import { LengthNorms, saturated } from "../src/search/relevance/weighting.ts"
import { wordAnalyzerOf } from "../src/search/relevance/words.ts"
import { randomOf } from "./random.ts"

const unitOf = (texts: ReadonlyArray<string>): UnitIndex => {
  const builder = new UnitBuilder(wordAnalyzerOf("en"))
  for (const text of texts) {
    builder.add(text)
    builder.closeDocument()
  }
  const work = builder.finishing()
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}
const termOf = (word: string): string => [...wordAnalyzerOf("en").words(word)].map(({ surface }) => surface)[0]
/** The number of a root in each unit. */
const placesOf = (units: ReadonlyArray<UnitIndex>, word: string): number[] =>
  units.map(({ terms }) => {
    for (let term = 0; term < terms.size; term++)
      if (terms.text(term) === wordAnalyzerOf("en").stem(termOf(word))) return term
    return -1
  })

const DOCS = 5 * 65_536 + 7
const random = randomOf(9)
const units = ["title", "body"].map((name) =>
  unitOf(
    Array.from({ length: DOCS }, () =>
      [
        ...(random.chance(0.5) ? ["common"] : []),
        ...(random.chance(0.02) ? ["scarce", "scarce"] : []),
        ...(random.chance(0.0005) ? ["seldom"] : []),
        ...(name === "body" ? ["filler"] : [])
      ].join(" ")
    )
  )
)
const weights = [{ weight: 4 }, { weight: 1 }]
const lexicon = { units: weights, segments: [units] } as unknown as Lexicon
const norms = new LengthNorms(weights, [1.3, 2.4])
const factors = [0.7, 1.9, 3.1]
const terms = ["common", "scarce", "seldom"].map(
  (word) => ({ places: [placesOf(units, word)] }) as unknown as QueryTerm
)
/** The score of one document and the terms that it has, from the words of its texts. */
const plainScore = (doc: number): { readonly score: number; readonly has: number } => {
  let score = 0,
    has = 0
  terms.forEach(({ places: [places] }, t) => {
    let tf = 0
    units.forEach(({ lengths, stream, streamStarts }, u) => {
      for (let p = streamStarts[doc]; p < streamStarts[doc + 1]; p++)
        if (places[u] >= 0 && stream[p] === places[u] + 2) tf += norms.of(u, lengths[doc])
    })
    if (tf === 0) return
    score += factors[t] * saturated(tf)
    has |= 1 << t
  })
  return { score, has }
}
const scoredOf = (docs: ReadonlyArray<number>, coordination?: ReadonlyArray<number>, most = docs.length) => {
  const matched = bitsOf(DOCS)
  for (const doc of docs) setBit(matched, doc)
  const offered: Array<{ doc: number; score: number; has: number }> = []
  const best = {
    offerAll: (own: Uint32Array, scores: Float64Array, has: Uint32Array) =>
      own.forEach((doc, i) => offered.push({ doc, score: scores[i], has: has[i] }))
  } as unknown as BestDocuments
  const count = scoreMatches({ lexicon, norms, terms, factors, coordination }, 0, matched, most, best)
  expect(count).toBe(docs.length)
  return offered
}

it("are those of the documents' words, in the order of the documents, whichever ranges have matches", () => {
  const cases: ReadonlyArray<readonly [name: string, isMatch: (doc: number) => boolean]> = [
    ["all", () => true],
    ["most", (doc) => doc % 3 !== 0],
    ["so few that lists are searched for them", (doc) => doc % 4_001 === 17],
    ["none in some ranges", (doc) => doc % 5 === 0 && (doc < 100 || (doc > 200_000 && doc < 262_144))],
    ["the ends of ranges", (doc) => doc % 65_536 === 0 || doc % 65_536 === 65_535],
    ["only the last", (doc) => doc === DOCS - 1],
    ["none", () => false]
  ]
  for (const [name, isMatch] of cases) {
    const docs = Array.from({ length: DOCS }, (_own, doc) => doc).filter(isMatch)
    const offered = scoredOf(docs)
    expect(
      offered.map(({ doc }) => doc),
      name
    ).toEqual(docs)
    // However many might have matched.
    expect(scoredOf(docs, undefined, DOCS), name).toEqual(offered)
    for (let i = 0; i < docs.length; i += docs.length > 10_000 ? 37 : 1) {
      const { has, score } = plainScore(docs[i])
      expect(offered[i].score, `${name}, ${docs[i]}`).toBeCloseTo(score, 5)
      expect(offered[i].has, `${name}, ${docs[i]}`).toBe(has)
    }
  }
})
it("are multiplied by what a combination of terms is worth", () => {
  const docs = Array.from({ length: 50_000 }, (_own, i) => i * 6)
  const coordination = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 1]
  const plain = scoredOf(docs),
    coordinated = scoredOf(docs, coordination)
  for (let i = 0; i < docs.length; i++)
    expect(coordinated[i].score).toBeCloseTo(plain[i].score * coordination[plain[i].has], 9)
})
