/** Reads text that was typed with the wrong keyboard layout: the same keys, read by another layout. Pure. */
import { type Layout, type LayoutName, layouts } from "./layouts.ts"

/** Dead keys of the Greek layout, and the mark that each puts on the following vowel. */
const DEAD: ReadonlyMap<string, string> = new Map([
  ["΄", "\u0301"],
  ["¨", "\u0308"],
  ["΅", "\u0308\u0301"]
])
const marks = new RegExp(`[${[...DEAD.keys()].join("")}](\\p{L})`, "gu")
const accented = (text: string): string =>
  text.replace(marks, (typed, vowel: string) => (vowel + DEAD.get(typed[0]!)!).normalize("NFC"))
/** Replaces Greek vowels with marks by the two keys that produce them. */
const asTyped = (text: string): string =>
  text.replace(/[\u0370-\u03ff]/g, (letter) => {
    const [vowel, ...own] = letter.normalize("NFD")
    const dead = own.length === 0 ? undefined : [...DEAD].find(([, mark]) => mark === own.join(""))?.[0]
    return dead === undefined ? letter : dead + vowel!
  })

/** A word with punctuation inside was probably typed on another layout; punctuation may end a sentence. */
const WORD = /^[\p{L}\p{M}\p{N}]+(?:['’.-][\p{L}\p{M}\p{N}]+)*[.,!?]?$/u
const LATIN = /\p{Script=Latin}/u
const isLetter = (text: string): boolean => /^[\p{L}\p{M}]+$/u.test(text)

/** What text typed on one layout becomes on the other: lower-case letters, longest first. */
const tableOf = (from: Layout, to: Layout): ReadonlyMap<string, string> => {
  const table = new Map<string, string>()
  const put = (typed: string, meant: string) => {
    if (!table.has(typed)) table.set(typed, meant)
  }
  for (let key = 0; key < from.plain.length; key++) {
    const plain = from.plain[key]!,
      shifted = from.shifted[key]!,
      meant = to.plain[key]!
    put(plain.toLowerCase(), meant.toLowerCase())
    // On a Hebrew keyboard, shift produces Latin capitals, so such readings are unlikely.
    if (LATIN.test(shifted) && from.name === "hebrew") continue
    // Shift produces capitals: a letter stands for the same letter, any other sign for what the other layout has there.
    const capital = to.shifted[key]!
    put(shifted.toLowerCase(), (isLetter(capital) ? capital : isLetter(meant) ? meant : capital).toLowerCase())
  }
  return table
}
interface Pair {
  readonly from: LayoutName
  readonly to: LayoutName
  readonly table: ReadonlyMap<string, string>
}
/** 56 tables of some 94 entries, built for the first query that is read by another layout. */
let pairs: ReadonlyArray<Pair> | undefined
const allPairs = (): ReadonlyArray<Pair> =>
  (pairs ??= layouts.flatMap((from) =>
    layouts.flatMap((to) => (to === from ? [] : [{ from: from.name, to: to.name, table: tableOf(from, to) }]))
  ))

/** undefined if a character is on no key of the layout. O(text). */
const read = (text: string, { from, table, to }: Pair): string | undefined => {
  const typed = (from === "greek" ? asTyped(text) : text).toLowerCase()
  let meant = ""
  for (let at = 0; at < typed.length;) {
    const two = table.get(typed.slice(at, at + 2))
    const letter = String.fromCodePoint(typed.codePointAt(at)!)
    // If two letters may be one key, that key is likelier than two.
    const one = two ?? table.get(letter) ?? (/\s/.test(letter) ? letter : undefined)
    if (one === undefined) return undefined
    meant += one
    at += two === undefined ? letter.length : 2
  }
  return to === "greek" ? accented(meant) : meant
}

export interface LayoutReading {
  readonly from: LayoutName
  readonly to: LayoutName
  /** The same words in lower case, each read again if possible. */ readonly words: ReadonlyArray<string>
}
/**
 * One reading for each pair of layouts that changes the words, the likeliest first. O(pairs · text).
 *
 * @example
 * ```ts
 * import { layoutReadings } from "@dowser/engine-sdk/understanding"
 *
 * layoutReadings(["ghbdtn"])[0]?.words // ["привет"]
 * ```
 */
export const layoutReadings = (words: ReadonlyArray<string>): ReadonlyArray<LayoutReading> => {
  const known = new Set<string>([words.join(" ").toLowerCase()])
  return allPairs().flatMap((pair) => {
    // A word that is on none of the layout's keys was typed on another layout and is kept.
    const meant = words.map((word) => {
      const own = read(word, pair)
      return own === undefined || !WORD.test(own) ? word.toLowerCase() : own
    })
    const text = meant.join(" ")
    if (known.has(text)) return []
    known.add(text)
    return [{ from: pair.from, to: pair.to, words: meant }]
  })
}
/**
 * The text that results if somebody types it for one layout while another is active. For tests and benches.
 *
 * @example
 * ```ts
 * import { typedOn } from "@dowser/engine-sdk/understanding"
 *
 * typedOn("привет", "russian", "qwerty") // "ghbdtn"
 * ```
 */
export const typedOn = (text: string, meant: LayoutName, on: LayoutName): string | undefined => {
  const pair = allPairs().find(({ from, to }) => from === meant && to === on)
  return pair === undefined ? text.toLowerCase() : read(text, pair)
}
