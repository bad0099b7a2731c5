/**
 * How alike two words sound, from 0 to 1, by their letters: an edit distance in which sounds that are made at the same
 * place of the mouth are near to each other, and vowels nearer still. English spelling in mind; for others it is a
 * distance between spellings. Pure, O(product of the lengths).
 */

/** Letters that are written for one sound, or for none. */
const SPELLINGS: ReadonlyArray<readonly [RegExp, string]> = [
  [/[^\p{L}\p{N}]+/gu, ""],
  [/tch/g, "c"],
  [/^kn/g, "n"],
  [/^wr/g, "r"],
  [/^wh/g, "w"],
  [/ph/g, "f"],
  [/gh(?=[^aeiou]|$)/g, ""],
  [/ck/g, "k"],
  [/ng(?=[^aeiouy]|$)/g, "n"],
  [/qu/g, "kw"],
  [/x/g, "ks"],
  [/[sc]h/g, "$"],
  [/c(?=[eiy])/g, "s"],
  [/[cq]/g, "k"],
  [/z/g, "s"],
  [/th/g, "t"],
  [/igh|ee|ie/g, "i"],
  [/ai|ay|ea|ei/g, "e"],
  [/oo|ou|ue/g, "u"],
  [/au|oa/g, "o"],
  [/(.)\1+/gu, "$1"],
  [/(?<=[^aeiou\d])e$/g, ""]
]
export const soundOfWord = (word: string): string => {
  const plain = word
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase()
  const heard = SPELLINGS.reduce((text, [from, to]) => text.replace(from, to === "$" ? "$$" : to), plain)
  return heard === "" ? plain : heard
}

const CLASSES = ["aeiouy", "bp", "dt", "gkj", "fvw", "s$", "mn", "lr", "h"]
const classOf = new Map(CLASSES.flatMap((letters, at) => Array.from(letters, (letter) => [letter, at] as const)))
const VOWELS = 0
const NEAR = 0.35,
  VOWEL_NEAR = 0.25,
  VOWEL_LOST = 0.45,
  LOST = 0.85

const isVowel = (letter: string): boolean => classOf.get(letter) === VOWELS
const lost = (letter: string): number => (isVowel(letter) || letter === "h" ? VOWEL_LOST : LOST)
const changed = (a: string, b: string): number => {
  if (a === b) return 0
  const own = classOf.get(a)
  if (own === undefined || own !== classOf.get(b)) return 1
  return own === VOWELS ? VOWEL_NEAR : NEAR
}

/** Of two sounds (`soundOfWord`). */
export const alikeness = (a: string, b: string): number => {
  const most = Math.max(a.length, b.length)
  if (most === 0) return 0
  let row = new Float64Array(b.length + 1)
  for (let j = 1; j <= b.length; j++) row[j] = row[j - 1]! + lost(b[j - 1]!)
  for (let i = 1; i <= a.length; i++) {
    const next = new Float64Array(b.length + 1)
    const letter = a[i - 1]!
    next[0] = row[0]! + lost(letter)
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        row[j - 1]! + changed(letter, b[j - 1]!),
        row[j]! + lost(letter),
        next[j - 1]! + lost(b[j - 1]!)
      )
    row = next
  }
  return Math.max(0, 1 - row[b.length]! / most)
}
/** The lips make both. */
const LIPS = [classOf.get("b"), classOf.get("f")]
/** Words that may be alike begin in the same place of the mouth. */
export const beginningOf = (sound: string): number | string => {
  const own = classOf.get(sound[0] ?? "")
  return own === LIPS[1] ? LIPS[0]! : (own ?? sound[0] ?? "")
}
