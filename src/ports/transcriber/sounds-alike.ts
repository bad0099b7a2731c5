/**
 * How similar two words sound, from 0 to 1, judged by their letters: an edit distance in which sounds with the same
 * place of articulation are close, and vowels closer still. It is designed for English spelling; for other languages it
 * compares spellings. Pure, O(product of the lengths).
 */

/** Spellings of a sound, or of none. */
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

/** By place of articulation: class 1 is vowels, class 0 everything but Latin letters. */
const CLASSES = ["", "aeiouy", "bp", "dt", "gkj", "fvw", "s$", "mn", "lr", "h"]
const VOWEL = 1,
  BREATH = 9
const LATIN = 128
const classes = new Uint8Array(LATIN)
for (const [at, letters] of CLASSES.entries()) for (const letter of letters) classes[letter.charCodeAt(0)] = at
const classOf = (code: number): number => (code < LATIN ? classes[code]! : 0)
const NEAR = 0.35,
  VOWEL_NEAR = 0.25,
  VOWEL_LOST = 0.45,
  LOST = 0.85

const lost = (code: number): number => {
  const own = classOf(code)
  return own === VOWEL || own === BREATH ? VOWEL_LOST : LOST
}
const changed = (a: number, b: number): number => {
  if (a === b) return 0
  const own = classOf(a)
  if (own === 0 || own !== classOf(b)) return 1
  return own === VOWEL ? VOWEL_NEAR : NEAR
}

/** Similarity of two sounds (`soundOfWord`); 0 if it is less than `least`, which is detected early. */
export const alikeness = (a: string, b: string, least = 0): number => {
  const most = Math.max(a.length, b.length)
  if (most === 0) return 0
  const costMax = (1 - least) * most
  const row = new Float64Array(b.length + 1)
  for (let j = 1; j <= b.length; j++) row[j] = row[j - 1]! + lost(b.charCodeAt(j - 1))
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1)
    const own = lost(letter)
    let diagonal = row[0]!
    row[0] = diagonal + own
    let fewest = row[0]
    for (let j = 1; j <= b.length; j++) {
      const other = b.charCodeAt(j - 1)
      const cost = Math.min(diagonal + changed(letter, other), row[j]! + own, row[j - 1]! + lost(other))
      diagonal = row[j]!
      row[j] = cost
      if (cost < fewest) fewest = cost
    }
    if (fewest > costMax) return 0
  }
  return row[b.length]! > costMax ? 0 : Math.max(0, 1 - row[b.length]! / most)
}
const [LIPS, LIPS_AND_TEETH] = [2, 5]
/** The class of the first sound, which similar words share; other letters are classes of their own. */
export const beginningOf = (sound: string): number => {
  const code = sound.charCodeAt(0)
  const own = classOf(code)
  return own === LIPS_AND_TEETH ? LIPS : own === 0 ? LATIN + code : own
}
