/**
 * The English stemmer that the Snowball project calls "english" (Porter2, snowballstem.org/algorithms/english): it
 * reduces words to roots by suffix rules over the regions R1 and R2. Implemented here because published libraries
 * contain the older Porter algorithm under the same name, which confuses "generous" with "generals".
 */

const SPECIAL: ReadonlyMap<string, string> = new Map(
  Object.entries({
    skis: "ski",
    skies: "sky",
    dying: "die",
    lying: "lie",
    tying: "tie",
    idly: "idl",
    gently: "gentl",
    ugly: "ugli",
    early: "earli",
    only: "onli",
    singly: "singl",
    sky: "sky",
    news: "news",
    howe: "howe",
    atlas: "atlas",
    cosmos: "cosmos",
    bias: "bias",
    andes: "andes"
  })
)
const FINISHED_AFTER_PLURAL: ReadonlySet<string> = new Set([
  "inning",
  "outing",
  "canning",
  "herring",
  "earring",
  "proceed",
  "exceed",
  "succeed"
])
const isVowel = (character: string): boolean =>
  character === "a" ||
  character === "e" ||
  character === "i" ||
  character === "o" ||
  character === "u" ||
  character === "y"
const hasVowel = (word: string): boolean => {
  for (const character of word) if (isVowel(character)) return true
  return false
}
const DOUBLES = /(bb|dd|ff|gg|mm|nn|pp|rr|tt)$/

/** Position after the first consonant that follows a vowel, from `start`. */
const regionAfter = (word: string, start: number): number => {
  for (let i = start + 1; i < word.length; i++) if (isVowel(word[i - 1]) && !isVowel(word[i])) return i + 1
  return word.length
}
const firstRegion = (word: string): number => {
  for (const prefix of ["gener", "commun", "arsen"]) if (word.startsWith(prefix)) return prefix.length
  return regionAfter(word, 0)
}
const endsInShortSyllable = (word: string): boolean => {
  const n = word.length
  if (n === 2) return isVowel(word[0]) && !isVowel(word[1])
  if (n < 3) return false
  const [a, b, c] = [word[n - 3], word[n - 2], word[n - 1]]
  return !isVowel(a) && isVowel(b) && !isVowel(c) && c !== "w" && c !== "x" && c !== "Y"
}
/** A y that acts as a consonant is marked as upper case while the rules run. */
const markConsonantY = (word: string): string => {
  if (!word.includes("y")) return word
  let out = ""
  for (let i = 0; i < word.length; i++) out += word[i] === "y" && (i === 0 || isVowel(out[i - 1])) ? "Y" : word[i]
  return out
}

const STEP_2: ReadonlyArray<readonly [suffix: string, replacement: string]> = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["abli", "able"],
  ["entli", "ent"],
  ["ization", "ize"],
  ["izer", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["aliti", "al"],
  ["alli", "al"],
  ["fulness", "ful"],
  ["ousli", "ous"],
  ["ousness", "ous"],
  ["iveness", "ive"],
  ["iviti", "ive"],
  ["biliti", "ble"],
  ["bli", "ble"],
  ["fulli", "ful"],
  ["lessli", "less"]
]
const STEP_3: ReadonlyArray<readonly [suffix: string, replacement: string]> = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["alize", "al"],
  ["icate", "ic"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""]
]
const STEP_4 = [
  "al",
  "ance",
  "ence",
  "er",
  "ic",
  "able",
  "ible",
  "ant",
  "ement",
  "ment",
  "ent",
  "ism",
  "ate",
  "iti",
  "ous",
  "ive",
  "ize"
]
const longestFirst = <A extends string | readonly [string, string]>(rules: ReadonlyArray<A>): ReadonlyArray<A> =>
  [...rules].sort((a, b) => (typeof b === "string" ? b : b[0]).length - (typeof a === "string" ? a : a[0]).length)
const SECOND = longestFirst(STEP_2)
const THIRD = longestFirst(STEP_3)
const FOURTH = longestFirst(STEP_4)
const LI_ENDING = /[cdeghkmnrt]$/

/** The root of a lower-case word. O(word). */
export const stemEnglish = (text: string): string => {
  if (text.length <= 2) return text
  const special = SPECIAL.get(text)
  if (special !== undefined) return special
  let word = markConsonantY(text)
  const r1 = firstRegion(word)
  const r2 = regionAfter(word, r1)
  word = plural(word)
  if (FINISHED_AFTER_PLURAL.has(word)) return word
  word = pastAndProgressive(word, r1)
  const n = word.length
  if (n > 2 && (word[n - 1] === "y" || word[n - 1] === "Y") && !isVowel(word[n - 2])) word = `${word.slice(0, -1)}i`
  word = derivations(word, r1, r2)
  word = endings(word, r1, r2)
  return word.replaceAll("Y", "y")
}
const plural = (word: string): string => {
  if (word.endsWith("sses")) return word.slice(0, -2)
  if (word.endsWith("ied") || word.endsWith("ies")) return word.slice(0, word.length > 4 ? -2 : -1)
  if (word.endsWith("us") || word.endsWith("ss") || !word.endsWith("s")) return word
  return hasVowel(word.slice(0, -2)) ? word.slice(0, -1) : word
}
const pastAndProgressive = (word: string, r1: number): string => {
  for (const suffix of ["eedly", "eed"])
    if (word.endsWith(suffix)) return word.length - suffix.length >= r1 ? `${word.slice(0, -suffix.length)}ee` : word
  for (const suffix of ["ingly", "edly", "ing", "ed"]) {
    if (!word.endsWith(suffix)) continue
    const stem = word.slice(0, -suffix.length)
    if (!hasVowel(stem)) return word
    if (stem.endsWith("at") || stem.endsWith("bl") || stem.endsWith("iz")) return `${stem}e`
    if (DOUBLES.test(stem)) return stem.slice(0, -1)
    return endsInShortSyllable(stem) && r1 >= stem.length ? `${stem}e` : stem
  }
  return word
}
const derivations = (given: string, r1: number, r2: number): string => {
  let word = given
  const second = SECOND.find(([suffix]) => word.endsWith(suffix))
  if (second !== undefined) {
    if (word.length - second[0].length >= r1) word = word.slice(0, -second[0].length) + second[1]
  } else if (word.endsWith("ogi")) {
    if (word.length - 3 >= r1 && word[word.length - 4] === "l") word = word.slice(0, -1)
  } else if (word.endsWith("li") && word.length - 2 >= r1 && LI_ENDING.test(word.slice(0, -2))) word = word.slice(0, -2)
  const third = THIRD.find(([suffix]) => word.endsWith(suffix))
  if (third !== undefined) {
    if (word.length - third[0].length >= r1) word = word.slice(0, -third[0].length) + third[1]
  } else if (word.endsWith("ative") && word.length - 5 >= r2) word = word.slice(0, -5)
  return word
}
const endings = (given: string, r1: number, r2: number): string => {
  let word = given
  const fourth = FOURTH.find((suffix) => word.endsWith(suffix))
  if (fourth !== undefined) {
    if (word.length - fourth.length >= r2) word = word.slice(0, -fourth.length)
  } else if (
    word.endsWith("ion") &&
    word.length - 3 >= r2 &&
    (word[word.length - 4] === "s" || word[word.length - 4] === "t")
  )
    word = word.slice(0, -3)
  if (word.endsWith("e")) {
    const at = word.length - 1
    if (at >= r2 || (at >= r1 && !endsInShortSyllable(word.slice(0, -1)))) word = word.slice(0, -1)
  } else if (word.endsWith("ll") && word.length - 1 >= r2) word = word.slice(0, -1)
  return word
}
