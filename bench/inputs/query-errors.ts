/**
 * Errors that people make in queries, generated from a seed: one wrong letter in one word, or two words joined into
 * one.
 */
import { makeRandom } from "../../fixtures/random.ts"

const letters = "abcdefghijklmnopqrstuvwxyz"
const isWord = (word: string, least: number) => word.length >= least && /^[a-z]+$/i.test(word)

/**
 * Drops, doubles, replaces, inserts or swaps one letter in one word of at least four letters, never the first letter.
 */
export const withTypo = (text: string, seed: number): string => {
  const random = makeRandom(seed)
  const words = text.split(/\s+/).filter((word) => word !== "")
  const able = words.flatMap((word, i) => (isWord(word, 4) ? [i] : []))
  if (able.length === 0) return text
  const i = random.pick(able),
    word = words[i],
    at = 1 + random.below(word.length - 1)
  const other = letters[random.below(26)]
  const kinds = [
    word.slice(0, at) + word.slice(at + 1),
    word.slice(0, at) + word[at] + word.slice(at),
    word.slice(0, at) + other + word.slice(at + 1),
    word.slice(0, at) + other + word.slice(at),
    at + 1 < word.length
      ? word.slice(0, at) + word[at + 1] + word[at] + word.slice(at + 2)
      : word.slice(0, at - 1) + word[at] + word[at - 1]
  ]
  words[i] = random.pick(kinds)
  return words.join(" ")
}

/** Removes the space between two neighbouring words of letters. A text without such a pair stays unchanged. */
export const joinedWords = (text: string, seed: number): string => {
  const random = makeRandom(seed)
  const words = text.split(/\s+/).filter((word) => word !== "")
  const able = words.flatMap((word, i) =>
    i + 1 < words.length && isWord(word, 3) && isWord(words[i + 1], 3) ? [i] : []
  )
  if (able.length === 0) return text
  const i = random.pick(able)
  return [...words.slice(0, i), words[i] + words[i + 1], ...words.slice(i + 2)].join(" ")
}
