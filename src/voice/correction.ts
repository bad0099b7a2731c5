/**
 * What was heard, as the collection writes it: words that no document has, and that the transcriber was not sure of,
 * become indexed words that sound alike; two or three of them may be one word that was torn apart. What is known, or
 * what nothing sounds like, stays as it is. Pure.
 */
import type { SpokenWord } from "../ports/transcriber/transcriber.ts"

/** A transcriber that is as sure of an unknown word is believed: it is a name that the collection lacks. */
const SURE = 0.93
const ALIKE_MIN = 0.72
/** Of words that were torn apart: more may sound alike by accident. */
const JOINED_ALIKE_MIN = 0.78
/** The collection may have a part of a word as a word by accident ("sam some"). */
const KNOWN_ALIKE_MIN = 0.82
const JOINED_MAX = 3
/** That a word more is explained. */
const JOINED_WORTH = 0.12
const LETTERS_MIN = 3
/** Of a request; each is a walk over a part of the vocabulary. */
const WORDS_MAX = 24

/** Without what is not spoken: a dash before a word, or a quotation mark, would mean something in a query. */
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
  /** A query: words with a blank between them. */ readonly text: string
  /** Indexed words that were put in. */ readonly put: ReadonlyArray<string>
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
/** Those that may be corrected. */
export const doubtful = (words: ReadonlyArray<SpokenWord>, vocabulary: Pick<Lexicon, "has">): ReadonlyArray<string> => [
  ...new Set(heardOf(words, vocabulary).flatMap(({ isDoubtful, text }) => (isDoubtful ? [text] : [])))
]
interface Replacement {
  readonly word: string
  readonly length: number
  readonly worth: number
}
/** The word that a run of words from there sounds most like, a longer run rather than a shorter one. */
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

/** A yield after each word that was looked for. */
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
/** Where nothing is known of the collection. */
export const plainQuery = (words: ReadonlyArray<SpokenWord>): string =>
  heardOf(words, undefined)
    .map(({ text }) => text)
    .join(" ")
