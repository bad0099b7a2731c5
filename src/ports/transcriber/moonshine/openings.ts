/**
 * Finds openings of documents by how they sound: each as runs of three and four sounds, in which letters with the same
 * place of articulation are equal. Words that were split or joined, or that lost a first syllable, keep most of their
 * runs. Pure; some two thousand bytes a document.
 */
import { soundOfWord } from "../sounds-alike.ts"

/** By letter, for look-ups: similar sounds are equal, and h is dropped. */
const SOUNDS = new Map(
  Object.entries({ aeiouy: "a", bp: "p", dt: "t", gkj: "k", fv: "f", s$: "s", mn: "n", h: "" }).flatMap(
    ([letters, sound]) => [...letters].map((letter) => [letter, sound] as const)
  )
)
const RUNS = [3, 4] as const
/** A run that occurs in more of the openings is not informative. */
const COMMON = 1 / 3
/** A long opening matches more runs by chance. Shorter ones count as having this many letters. */
const LENGTH_AT_LEAST = 20

/** Maximum number of openings, whose indexes have two bytes. */
const OPENINGS_MAX = 65_535
/** Overhead of a text or a run. */
const ENTRY_BYTES = 100

const outlineOf = (word: string): string => [...soundOfWord(word)].map((each) => SOUNDS.get(each) ?? each).join("")
const wordsIn = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

export class Openings {
  readonly #texts: ReadonlyArray<string>
  /** By run: the openings that contain it. */ readonly #having: ReadonlyMap<string, Uint16Array>
  readonly #outlines = new Map<string, string>()

  /** One per line, as `vocabularies.ts` stores them. */
  constructor(lines: string) {
    this.#texts = lines === "" ? [] : lines.split("\n", OPENINGS_MAX)
    const all = new Map<string, Array<number>>()
    for (const [at, text] of this.#texts.entries())
      for (const run of this.#runs(text)) {
        const having = all.get(run)
        if (having === undefined) all.set(run, [at])
        else having.push(at)
      }
    this.#having = new Map([...all].map(([run, having]) => [run, Uint16Array.from(having)]))
    this.#outlines.clear()
  }
  /** Approximate. */
  get bytes(): number {
    const texts = this.#texts.reduce((sum, { length }) => sum + ENTRY_BYTES + 2 * length, 0)
    return [...this.#having.values()].reduce((sum, { length }) => sum + ENTRY_BYTES + 2 * length, texts)
  }
  #outline(word: string): string {
    const known = this.#outlines.get(word)
    if (known !== undefined) return known
    const outline = outlineOf(word)
    this.#outlines.set(word, outline)
    return outline
  }
  #runs(text: string): ReadonlySet<string> {
    const outline = wordsIn(text)
      .map((word) => this.#outline(word))
      .join("")
      .replace(/(.)\1+/gu, "$1")
    const runs = new Set<string>()
    for (const length of RUNS)
      for (let at = 0; at + length <= outline.length; at++) runs.add(outline.slice(at, at + length))
    return runs
  }
  /** The openings that sound most like one of the texts, best first. O(runs of the texts x openings with them). */
  near(texts: ReadonlyArray<string>, count: number): ReadonlyArray<string> {
    const size = this.#texts.length
    const worth = new Float32Array(size)
    const runs = new Set(texts.flatMap((text) => [...this.#runs(text)]))
    this.#outlines.clear()
    for (const run of runs) {
      const having = this.#having.get(run)
      if (having === undefined || having.length > Math.max(2, size * COMMON)) continue
      const weight = Math.log((1 + size) / having.length)
      for (const at of having) worth[at]! += weight
    }
    for (let at = 0; at < size; at++) worth[at]! /= Math.sqrt(LENGTH_AT_LEAST + this.#texts[at]!.length)
    const found = [...worth.keys()].filter((at) => worth[at]! > 0).sort((a, b) => worth[b]! - worth[a]!)
    return found.slice(0, count).map((at) => this.#texts[at]!)
  }
}
/** The distinct words of openings: what a decoder listens for. */
export const wordsOfOpenings = (openings: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set(openings.flatMap((each) => wordsIn(each)).filter((word) => /^\p{L}/u.test(word)))
]
