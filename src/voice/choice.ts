/**
 * Chooses among the readings of one piece of speech by the documents: the model must consider it likely, and the first
 * words of some document must contain its words, ideally in the same order. If no reading matches well enough, none is
 * chosen, because the visitor is probably speaking of something else; the caller keeps the first transcript. Pure.
 */
import type { Reading, Readings } from "../ports/transcriber/transcriber.ts"
import { correcting, plainQuery } from "./correction.ts"
import { keptWords, Vocabulary } from "./vocabulary.ts"

/** In natural logarithms: gain per letter found, loss per letter missed, loss of a reading with replaced words. */
const FOUND = 0.4,
  MISSED = 1.2,
  PUT = 2
/** Subtracted, in letters, if the order of the words differs from the document's. */
const OTHER_ORDER = 1
/** Minimum share of a reading's letters that a document must contain. */
const FOUND_SHARE_MIN = 0.7
/** A piece that the model takes for silence needs stronger evidence. */
const SILENT_SHARE_MIN = 0.9,
  SILENT_HEARD_MIN = -8
/** Caps scores below the certainty of `correction.ts`, so that every word may be replaced by a similar one. */
const SURE_AT_MOST = 0.9
const LETTERS_MIN = 3
/** The most words of a reading that are compared. */
const WORDS_MAX = 24

const wordsIn = (text: string): ReadonlyArray<string> =>
  (
    text
      .normalize("NFKD")
      .replace(/\p{M}+/gu, "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  ).slice(0, WORDS_MAX)

/** Letters of words that both texts contain in the same order; two adjacent words may match one joined word. */
const lettersIn = (words: ReadonlyArray<string>, opening: ReadonlyArray<string>): number => {
  const columns = opening.length + 3
  const most = new Uint16Array((words.length + 3) * columns)
  for (let i = words.length - 1; i >= 0; i--)
    for (let j = opening.length - 1; j >= 0; j--) {
      const at = (down: number, right: number) => most[(i + down) * columns + j + right]!
      const word = words[i]!,
        other = opening[j]!
      let best = Math.max(at(1, 0), at(0, 1))
      if (word === other) best = Math.max(best, word.length + at(1, 1))
      if (word + (words[i + 1] ?? " ") === other) best = Math.max(best, other.length + at(2, 1))
      if (other + (opening[j + 1] ?? " ") === word) best = Math.max(best, word.length + at(1, 2))
      most[i * columns + j] = best
    }
  return most[0]!
}

/** Letters of words that both texts contain in any order; each word of `opening` matches once. */
const lettersAnywhere = (words: ReadonlyArray<string>, opening: ReadonlyArray<string>): number => {
  const left = [...opening]
  return words.reduce((sum, word) => {
    const at = left.indexOf(word)
    if (at < 0) return sum
    left.splice(at, 1)
    return sum + word.length
  }, 0)
}

interface Candidate {
  readonly text: string
  readonly heard: number
}
interface Judged extends Candidate {
  readonly share: number
  readonly worth: number
}
/** The reading as transcribed and, if it differs, with words replaced by similar ones of `near`. */
function* candidatesOf({ heard, words }: Reading, near: Vocabulary): Generator<void, ReadonlyArray<Candidate>> {
  const unsure = words.map(({ score, text }) => ({ text, score: Math.min(score ?? 0, SURE_AT_MOST) }))
  const { put, text } = yield* correcting(unsure, near)
  const own = { text: plainQuery(words), heard }
  return put.length === 0 ? [own] : [own, { text, heard: heard - PUT }]
}
const judged = ({ heard, text }: Candidate, near: ReadonlyArray<ReadonlyArray<string>>): Judged => {
  const words = wordsIn(text)
  const all = words.reduce((sum, { length }) => sum + length, 0)
  const found = near.reduce(
    (most, opening) => Math.max(most, lettersIn(words, opening), lettersAnywhere(words, opening) - OTHER_ORDER),
    0
  )
  return {
    text,
    heard,
    share: all === 0 ? 0 : found / all,
    worth: heard + FOUND * found - MISSED * (all - found)
  }
}

/** The chosen query, if any; yields after each reading. `isSilent`: the first transcript is empty. */
export function* choosing({ near, candidates }: Readings, isSilent: boolean): Generator<void, string | undefined> {
  const openings = near.map(wordsIn)
  const vocabulary = new Vocabulary(
    keptWords([...new Set(openings.flat())].filter(({ length }) => length >= LETTERS_MIN))
  )
  let best: Judged | undefined
  for (const reading of candidates) {
    for (const candidate of yield* candidatesOf(reading, vocabulary)) {
      const each = judged(candidate, openings)
      if (each.text !== "" && each.worth > (best?.worth ?? -Infinity)) best = each
    }
    yield
  }
  if (best === undefined || best.share < (isSilent ? SILENT_SHARE_MIN : FOUND_SHARE_MIN)) return undefined
  return isSilent && best.heard < SILENT_HEARD_MIN ? undefined : best.text
}
