/** Splits words that were written together: digits and letters, and compounds of two known words. Pure. */

/**
 * Splits `500ml` into `500 ml`, `iphone15` into `iphone 15`; undefined if the word has not both.
 *
 * @example
 * ```ts
 * import { splitAtDigits } from "@dowser/engine-sdk/understanding"
 *
 * splitAtDigits("500ml") // "500 ml"
 * ```
 */
export const splitAtDigits = (word: string): string | undefined => {
  const parts = word.match(/\p{L}[\p{L}\p{M}]*|\p{N}+(?:[.,]\p{N}+)*|[^\p{L}\p{N}]+/gu)
  if (parts === null || !parts.some((part) => /^\p{L}/u.test(part)) || !parts.some((part) => /^\p{N}/u.test(part)))
    return undefined
  const split = parts.join(" ").replace(/\s+/g, " ").trim()
  return split === word ? undefined : split
}

/** Minimum letters of each half, because shorter strings are known words by accident. */
const HALF_LETTERS_MIN = 3
const WORD_LETTERS_MAX = 40
/** All ways to split a word in two; none if it does not consist of letters alone. */
export const halvesOf = (word: string): ReadonlyArray<readonly [string, string]> => {
  const letters = [...word]
  if (letters.length > WORD_LETTERS_MAX || !/^[\p{L}\p{M}]+$/u.test(word)) return []
  const halves: Array<readonly [string, string]> = []
  for (let at = HALF_LETTERS_MIN; at <= letters.length - HALF_LETTERS_MIN; at++)
    halves.push([letters.slice(0, at).join(""), letters.slice(at).join("")])
  return halves
}
