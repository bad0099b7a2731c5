/** The likeliest spellings of a word in another script: best first, bounded in number. Pure. */
import type { SpellingTable } from "./transliteration-tables.ts"
import {
  cyrillicToLatin,
  greekToLatin,
  latinToGreek,
  latinToRussian,
  latinToUkrainian
} from "./transliteration-tables.ts"

export type SpellingTarget = "russian" | "ukrainian" | "greek" | "latin"
/** Maximum letters of a word that is transliterated; a longer one is a code, or nothing that anybody searches for. */
const WORD_LETTERS_MAX = 32
const PIECE_LETTERS_MAX = 4
/** A Greek word has one accent; only texts in capitals have none. */
const NO_ACCENT_COST = 1.5
const ACCENTED = /[άέήίόύώ]/

interface Path {
  readonly text: string
  readonly cost: number
  readonly hasAccent: boolean
}
const byCost = (a: Path, b: Path): number => a.cost - b.cost || a.text.length - b.text.length

/**
 * The `most` cheapest spellings. From each position of the word, the letter groups that start there are followed, and
 * at most that many paths are kept per position: O(letters · most · outputs of a group).
 */
const spelled = (word: string, table: SpellingTable, most: number): ReadonlyArray<Path> => {
  const letters = [...word.toLowerCase()]
  if (letters.length > WORD_LETTERS_MAX) return []
  const reached: Array<Map<string, Path>> = letters.map(() => new Map())
  reached.push(new Map())
  reached[0]!.set("", { text: "", cost: 0, hasAccent: false })
  for (let at = 0; at < letters.length; at++) {
    const paths = [...reached[at]!.values()].sort(byCost).slice(0, most)
    reached[at] = new Map()
    const letter = letters[at]!
    for (let length = Math.min(PIECE_LETTERS_MAX, letters.length - at); length > 0; length--) {
      const outputs = table.get(letters.slice(at, at + length).join("")) ?? (length === 1 ? kept(letter) : [])
      const next = reached[at + length]!
      for (const [written, cost] of outputs) {
        const hasAccent = ACCENTED.test(written)
        for (const path of paths) {
          if (hasAccent && path.hasAccent) continue
          const text = path.text + written,
            known = next.get(text)
          // Two single letters that could be one group of two are the less likely reading.
          const total = path.cost + cost
          if (known === undefined || total < known.cost)
            next.set(text, { text, cost: total, hasAccent: hasAccent || path.hasAccent })
        }
      }
    }
  }
  return [...reached[letters.length]!.values()].sort(byCost)
}
/** Digits and punctuation are kept; a letter that the table does not contain ends the path. */
const kept = (letter: string): ReadonlyArray<readonly [string, number]> =>
  /[^\p{L}\p{M}]/u.test(letter) ? [[letter, 0]] : []

const SCRIPTS = [
  [
    /\p{Script=Latin}/u,
    [
      ["russian", latinToRussian],
      ["ukrainian", latinToUkrainian],
      ["greek", latinToGreek]
    ]
  ],
  [/\p{Script=Cyrillic}/u, [["latin", cyrillicToLatin]]],
  [/\p{Script=Greek}/u, [["latin", greekToLatin]]]
] as const satisfies ReadonlyArray<readonly [RegExp, ReadonlyArray<readonly [SpellingTarget, SpellingTable]>]>

export interface Spellings {
  readonly target: SpellingTarget
  /** Best first, without the word itself. */ readonly spellings: ReadonlyArray<string>
}
/**
 * Spellings of a word in each script in which it may have been meant; none if its script is mixed or unknown.
 *
 * @example
 * ```ts
 * import { spellingsOf } from "@dowser/engine-sdk/understanding"
 *
 * spellingsOf("privet", 2).map(({ spellings, target }) => [target, spellings])
 * ```
 */
export const spellingsOf = (word: string, most: number): ReadonlyArray<Spellings> => {
  const text = word.normalize("NFC")
  const own = SCRIPTS.filter(([script]) => script.test(text))
  if (own.length !== 1) return []
  return own[0]![1].flatMap(([target, table]) => {
    const paths = spelled(text, table, most).map((path) => ({
      ...path,
      cost: target === "greek" && !path.hasAccent ? path.cost + NO_ACCENT_COST : path.cost
    }))
    const spellings = paths
      .sort(byCost)
      .map((path) => path.text)
      .filter((each) => each !== "" && each !== text.toLowerCase())
      .slice(0, most)
    return spellings.length === 0 ? [] : [{ target, spellings }]
  })
}
