/**
 * Corrects a transcript by the words of the collection. A word that no document contains, and that the transcriber is
 * unsure of, becomes the indexed word that sounds most like it; two or three words may be one that the transcriber
 * split. Known words, and words that sound like no other, stay as they are. Pure.
 */
import type { SpokenWord } from "../ports/transcriber/transcriber.ts"

/** An unknown word with this score or more is kept: it is probably a name that the collection lacks. */
const SURE = 0.93
const ALIKE_MIN = 0.72
/** Minimum similarity for several words joined into one, which more often sound alike by accident. */
const JOINED_ALIKE_MIN = 0.78
/** Minimum similarity for a run with a known word: part of a split word may happen to be indexed ("sam some"). */
const KNOWN_ALIKE_MIN = 0.82
const JOINED_MAX = 3
/** Added for each further word that a replacement covers. */
const JOINED_WORTH = 0.12
const LETTERS_MIN = 3
/** The most words corrected per request; each one scans a part of the vocabulary. */
const WORDS_MAX = 24

/** Removes punctuation, because a leading dash or a quotation mark has a meaning in a query. */
const plainOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "")
    .replace(/[^\p{L}\p{M}\p{N}'’.&+/-]+/gu, " ")
    .trim()

/** Words of the collection (`Vocabulary`). */
interface Lexicon {
  readonly has: (word: string) => boolean
  readonly nearest: (word: string, least: number) => { readonly word: string; readonly alike: number } | undefined
}
interface Heard {
  readonly text: string
  readonly isDoubtful: boolean
}
interface Correction {
  /** A query: words separated by spaces. */ readonly text: string
  /** Indexed words that replaced others. */ readonly put: ReadonlyArray<string>
}

const heardOf = (
  words: ReadonlyArray<SpokenWord>,
  vocabulary: Pick<Lexicon, "has"> | undefined
): ReadonlyArray<Heard> =>
  words.flatMap(({ score, text }) =>
    plainOf(text)
      .split(/[\s-]+/)
      .filter((part) => part !== "")
      .map((part) => ({
        text: part,
        isDoubtful: vocabulary !== undefined && !vocabulary.has(part) && (score ?? 0) < SURE && !/\d/.test(part)
      }))
  )
/** The words that may be corrected. */
export const doubtful = (words: ReadonlyArray<SpokenWord>, vocabulary: Pick<Lexicon, "has">): ReadonlyArray<string> => [
  ...new Set(heardOf(words, vocabulary).flatMap(({ isDoubtful, text }) => (isDoubtful ? [text] : [])))
]
interface Replacement {
  readonly word: string
  readonly length: number
  readonly worth: number
}
/** The best replacement for one to three words from `at` on; longer runs are preferred. */
const replacement = (heard: ReadonlyArray<Heard>, at: number, vocabulary: Lexicon): Replacement | undefined => {
  let best: Replacement | undefined
  for (let length = Math.min(JOINED_MAX, heard.length - at); length >= 1; length--) {
    const run = heard.slice(at, at + length)
    const known = run.filter(({ isDoubtful }) => !isDoubtful).length
    const joined = run.map(({ text }) => text).join("")
    if (known > 1 || known === length || joined.length < LETTERS_MIN) continue
    const least = length === 1 ? ALIKE_MIN : known === 0 ? JOINED_ALIKE_MIN : KNOWN_ALIKE_MIN
    const found = vocabulary.nearest(joined, least)
    if (found === undefined) continue
    const worth = found.alike + JOINED_WORTH * (length - 1)
    if (worth > (best?.worth ?? 0)) best = { word: found.word, length, worth }
  }
  return best
}

/** Yields after each lookup, so that the caller can pause. */
export function* correcting(words: ReadonlyArray<SpokenWord>, vocabulary: Lexicon): Generator<void, Correction> {
  const heard = heardOf(words, vocabulary)
  const text: Array<string> = []
  const put: Array<string> = []
  for (let at = 0; at < heard.length;) {
    const found = at >= WORDS_MAX ? undefined : replacement(heard, at, vocabulary)
    if (found === undefined) text.push(heard[at++]!.text)
    else {
      text.push(found.word)
      put.push(found.word)
      at += found.length
    }
    if (at < WORDS_MAX) yield
  }
  return { text: text.join(" "), put }
}
/** The query without corrections. */
export const plainQuery = (words: ReadonlyArray<SpokenWord>): string =>
  heardOf(words, undefined)
    .map(({ text }) => text)
    .join(" ")
