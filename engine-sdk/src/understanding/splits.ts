/** Words that were written together: digits and letters, and compounds of two known words. Pure. */

/**
 * `500ml` as `500 ml`, `iphone15` as `iphone 15`; undefined where the word is not both.
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

/** Letters of each half: shorter ones are known words by accident. */
const HALF_LETTERS_MIN = 3
const WORD_LETTERS_MAX = 40
/** Every place where a word may be two; none where it is not letters alone. */
export const halvesOf = (word: string): ReadonlyArray<readonly [string, string]> => {
  const letters = [...word]
  if (letters.length > WORD_LETTERS_MAX || !/^[\p{L}\p{M}]+$/u.test(word)) return []
  const halves: Array<readonly [string, string]> = []
  for (let at = HALF_LETTERS_MIN; at <= letters.length - HALF_LETTERS_MIN; at++)
    halves.push([letters.slice(0, at).join(""), letters.slice(at).join("")])
  return halves
}
