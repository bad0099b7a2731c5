/** The words of a collection and their sounds, each kept as one text to save memory. Pure. */
import { createHash } from "node:crypto"
import type { Likely } from "../ports/transcriber/transcriber.ts"
import { alikeness, beginningOf, soundOfWord } from "../ports/transcriber/sounds-alike.ts"

/** One word per line, the most frequent first; their sounds, line by line; and the first words of documents. */
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
/** The name is a hash of the content, so that a thread that already has this text does not receive it again. */
const likelyOf = (text: string): Likely | undefined =>
  text === ""
    ? undefined
    : { name: createHash("sha256").update(text).digest("base64url"), openings: new TextEncoder().encode(text) }
/** A character may take two bytes. */
export const bytesOfKept = ({ likely, sounds, words }: KeptWords): number =>
  2 * (words.length + sounds.length) + (likely?.openings.length ?? 0) + 300

/** Sounds whose lengths differ by more are not alike. */
const LENGTH_MAX = 3
/** A rare word must sound more alike than a frequent one. */
const RANK_WEIGHT = 0.04

export class Vocabulary {
  readonly #words: ReadonlyArray<string>
  readonly #sounds: ReadonlyArray<string>
  readonly #known: ReadonlySet<string>

  /** What visitors are likely to say, for transcribers that accept hints. */ readonly likely: Likely | undefined

  constructor({ likely, sounds, words }: KeptWords) {
    this.likely = likely
    this.#words = words === "" ? [] : words.split("\n")
    this.#sounds = words === "" ? [] : sounds.split("\n")
    this.#known = new Set(this.#words)
  }
  has(word: string): boolean {
    return this.#known.has(word)
  }
  /** The word that sounds most like `heard`, if any is at least that similar. O(words). */
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
