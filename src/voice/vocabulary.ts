/** Words of a collection by how they sound, as two texts that many of them fit into. Pure. */
import { createHash } from "node:crypto"
import type { Likely } from "../ports/transcriber/transcriber.ts"
import { alikeness, beginningOf, soundOfWord } from "../ports/transcriber/sounds-alike.ts"

/** Lines, the most used word first, how each of them sounds, and what the documents begin with. */
export interface KeptWords {
  readonly words: string
  readonly sounds: string
  readonly likely: Likely | undefined
}
export const keptWords = (words: ReadonlyArray<string>, openings: ReadonlyArray<string> = []): KeptWords => ({
  words: words.join("\n"),
  sounds: words.map(soundOfWord).join("\n"),
  likely: likelyOf(openings.join("\n"))
})
/** Named by its content, so that it is sent to a thread only once. */
const likelyOf = (text: string): Likely | undefined =>
  text === ""
    ? undefined
    : { name: createHash("sha256").update(text).digest("base64url"), openings: new TextEncoder().encode(text) }
/** A character may take two bytes. */
export const bytesOfKept = ({ likely, sounds, words }: KeptWords): number =>
  2 * (words.length + sounds.length) + (likely?.openings.length ?? 0) + 300

/** Sounds whose lengths differ by more are not alike. */
const LENGTH_MAX = 3
/** A word of few uses needs to sound more alike than one of many. */
const RANK_WEIGHT = 0.04

export class Vocabulary {
  readonly #words: ReadonlyArray<string>
  readonly #sounds: ReadonlyArray<string>
  readonly #known: ReadonlySet<string>

  /** For a transcriber that accepts likely words. */ readonly likely: Likely | undefined

  constructor({ likely, sounds, words }: KeptWords) {
    this.likely = likely
    this.#words = words === "" ? [] : words.split("\n")
    this.#sounds = words === "" ? [] : sounds.split("\n")
    this.#known = new Set(this.#words)
  }
  has(word: string): boolean {
    return this.#known.has(word)
  }
  /** The word that sounds most like it, at least so much; undefined where none does. O(words). */
  nearest(heard: string, least = 0): { readonly word: string; readonly alike: number } | undefined {
    const sound = soundOfWord(heard)
    const beginning = beginningOf(sound)
    let best: { readonly word: string; readonly alike: number } | undefined
    let most = least
    for (const [at, other] of this.#sounds.entries()) {
      if (Math.abs(other.length - sound.length) > LENGTH_MAX || beginningOf(other) !== beginning) continue
      const alike = alikeness(sound, other, most)
      const weighed = alike - (RANK_WEIGHT * at) / this.#sounds.length
      if (best === undefined ? alike < least || alike === 0 : weighed <= most) continue
      most = Math.max(least, weighed)
      best = { word: this.#words[at]!, alike }
    }
    return best
  }
}
