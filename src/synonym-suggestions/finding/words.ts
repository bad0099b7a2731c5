/** Words of queries and documents in comparable form: lower case, without accents and punctuation. */
export const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** Number of edits of one character, or swaps of two adjacent ones, between two words; `most` + 1 if there are more. */
const distance = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: Array<number> = [],
    last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const now = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      now[j] = Math.min(changed, last[j]! + 1, now[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        now[j] = Math.min(now[j]!, before[j - 2]! + 1)
    }
    before = last
    last = now
  }
  return last[b.length]!
}

/** Word lengths from which a search allows one typo, and two (`min_len_1typo`, `min_len_2typo`). */
const ONE_ERROR_FROM = 4,
  TWO_ERRORS_FROM = 7
/** Whether a search for one word finds the other in any case: by typos, as a prefix, or written together. */
export const isFoundAnyway = (term: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean => {
  const [a, b] = [term.join(""), other.join("")]
  if (a === b || b.startsWith(a)) return true
  if (term.length !== other.length) return false
  return term.every((word, i) => {
    const errors = word.length >= TWO_ERRORS_FROM ? 2 : word.length >= ONE_ERROR_FROM ? 1 : 0
    return other[i]!.startsWith(word) || distance(word, other[i]!, errors) <= errors
  })
}
