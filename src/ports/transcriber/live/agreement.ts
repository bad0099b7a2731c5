/**
 * What can be shown of speech in progress: the words with which two successive decodings begin (Local Agreement, Liu,
 * Spanakis and Niehues, 2020), because the end of a decoding is a guess about an unfinished word. Shown words are not
 * withdrawn before the end. Pure.
 */
import type { SpokenWord } from "../transcriber.ts"

/** Models change their mind about punctuation and capitals of the same word. */
const plain = ({ text }: SpokenWord): string => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

export class Agreement {
  #before: ReadonlyArray<SpokenWord> = []
  #agreed: ReadonlyArray<SpokenWord> = []

  /** Adds a decoding of the same audio and what followed; returns the words agreed on now. */
  add(words: ReadonlyArray<SpokenWord>): ReadonlyArray<SpokenWord> {
    let same = 0
    while (same < words.length && same < this.#before.length && plain(words[same]!) === plain(this.#before[same]!))
      same++
    if (same > this.#agreed.length) this.#agreed = [...this.#agreed, ...words.slice(this.#agreed.length, same)]
    this.#before = words
    return this.#agreed
  }
}
