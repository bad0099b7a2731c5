/** The lexicons of all languages, prepared once: the function of a word or a phrase, and its language. */
import type { Concept } from "./concepts.ts"
import { de } from "./lexicon/de.ts"
import { en } from "./lexicon/en.ts"
import { es } from "./lexicon/es.ts"
import { fr } from "./lexicon/fr.ts"
import type { Lexicon } from "./lexicon/lexicon.ts"
import { ru } from "./lexicon/ru.ts"
import { Phrases, phrasesIn } from "./phrases.ts"
import { folded } from "./tokens.ts"

export const LANGUAGES = ["en", "de", "es", "fr", "ru"] as const
export type Language = (typeof LANGUAGES)[number]
const lexicons: ReadonlyArray<readonly [Language, Lexicon]> = [
  ["en", en],
  ["de", de],
  ["es", es],
  ["fr", fr],
  ["ru", ru]
]

export type Operator = "<" | "<=" | ">" | ">=" | "=" | "between" | "around"
export interface Comparison {
  readonly operator: Operator
  /** Counts only with a quantity that has a unit or name. */ readonly isWeak: boolean
}
interface Sorting {
  readonly concepts: ReadonlyArray<Concept>
  readonly order: "asc" | "desc"
}
interface Flag {
  readonly concept: Concept
  readonly value: boolean
}

const COMPARED: ReadonlyArray<readonly [keyof Lexicon, Operator, boolean]> = [
  ["below", "<", false],
  ["atMost", "<=", false],
  ["above", ">", false],
  ["atLeast", ">=", false],
  ["exactly", "=", false],
  ["between", "between", false],
  ["around", "around", false],
  ["weakBetween", "between", true],
  ["weakAtLeast", ">=", true],
  ["weakAtMost", "<=", true]
]
const SORTED: ReadonlyArray<readonly [keyof Lexicon, ReadonlyArray<Concept>, "asc" | "desc"]> = [
  ["cheapest", ["price"], "asc"],
  ["dearest", ["price"], "desc"],
  ["newest", ["date", "year"], "desc"],
  ["oldest", ["date", "year"], "asc"],
  ["bestRated", ["rating"], "desc"],
  ["mostPopular", ["popularity"], "desc"],
  ["lightest", ["weight"], "asc"],
  ["heaviest", ["weight"], "desc"]
]
const FLAGS: ReadonlyArray<readonly [keyof Lexicon, Concept, boolean]> = [
  ["inStock", "in_stock", true],
  ["outOfStock", "in_stock", false],
  ["onSale", "on_sale", true],
  ["freeShipping", "free_shipping", true]
]
/** Signs mean the same in every language. */
const SIGNS: ReadonlyArray<readonly [string, Operator, boolean]> = [
  ["< #", "<", false],
  ["< = # | ≤ #", "<=", false],
  ["> #", ">", false],
  ["> = # | ≥ #", ">=", false],
  ["= #", "=", true],
  ["# +", ">=", true],
  ["# - #", "between", true]
]

const wordsIn = (text: string): ReadonlyArray<string> => text.split(/[\s|]+/).filter((word) => word !== "")
/** Called once, when the module is loaded. */
const make = () => {
  const comparisons = new Phrases<Comparison>()
  const negations = new Phrases<true>()
  const sortings = new Phrases<Sorting>()
  const orderings = new Phrases<true>()
  const ordered = new Phrases<true>()
  const directions = new Phrases<"asc" | "desc">()
  const flags = new Phrases<Flag>()
  const asking = new Phrases<true>()
  const polite = new Phrases<true>()
  const functionWords = new Set<string>()
  const orWords = new Set<string>(["/"])
  const andWords = new Set<string>()
  const peopleWords = new Set<string>()
  const magnitudes = new Map<string, number>()
  const writtenNumbers = new Map<string, number>()
  /** Languages in which a word has one of these functions. */
  const languagesOf = new Map<string, Set<Language>>()

  const learn = (language: Language, text: string): void => {
    for (const word of wordsIn(text).map(folded)) {
      if (word === "#" || word.includes("=")) continue
      const own = languagesOf.get(word) ?? new Set<Language>()
      languagesOf.set(word, own.add(language))
    }
  }
  for (const [text, operator, isWeak] of SIGNS)
    for (const phrase of phrasesIn(text)) comparisons.add(phrase, { operator, isWeak })
  for (const [language, lexicon] of lexicons) {
    for (const text of Object.values(lexicon)) learn(language, text)
    for (const [part, operator, isWeak] of COMPARED)
      for (const phrase of phrasesIn(lexicon[part])) comparisons.add(phrase, { operator, isWeak })
    for (const phrase of phrasesIn(lexicon.not)) negations.add(phrase, true)
    for (const [part, concepts, order] of SORTED)
      for (const phrase of phrasesIn(lexicon[part])) sortings.add(phrase, { concepts, order })
    for (const [part, concept, value] of FLAGS)
      for (const phrase of phrasesIn(lexicon[part])) flags.add(phrase, { concept, value })
    for (const phrase of phrasesIn(lexicon.orderBy)) orderings.add(phrase, true)
    for (const phrase of phrasesIn(lexicon.ordered)) ordered.add(phrase, true)
    for (const phrase of phrasesIn(lexicon.ascending)) directions.add(phrase, "asc")
    for (const phrase of phrasesIn(lexicon.descending)) directions.add(phrase, "desc")
    for (const phrase of phrasesIn(lexicon.asking)) asking.add(phrase, true)
    for (const phrase of phrasesIn(lexicon.polite)) polite.add(phrase, true)
    for (const word of wordsIn(lexicon.function)) functionWords.add(folded(word))
    for (const [word] of phrasesIn(lexicon.or)) orWords.add(word!)
    for (const [word] of phrasesIn(lexicon.and)) andWords.add(word!)
    for (const word of wordsIn(lexicon.people)) peopleWords.add(folded(word))
    for (const [word] of phrasesIn(lexicon.thousand)) magnitudes.set(word!, 1_000)
    for (const [word] of phrasesIn(lexicon.million)) magnitudes.set(word!, 1_000_000)
    for (const pair of wordsIn(lexicon.numbers)) {
      const [word = "", value = ""] = pair.split("=")
      if (!writtenNumbers.has(folded(word))) writtenNumbers.set(folded(word), Number(value))
    }
  }
  return {
    comparisons,
    negations,
    sortings,
    orderings,
    ordered,
    directions,
    flags,
    asking,
    polite,
    functionWords,
    orWords,
    andWords,
    peopleWords,
    magnitudes,
    writtenNumbers,
    languagesOf
  }
}
const made = make()
export const {
  comparisons,
  negations,
  sortings,
  orderings,
  ordered,
  directions,
  flags,
  asking,
  polite,
  functionWords,
  orWords,
  andWords,
  peopleWords,
  magnitudes,
  writtenNumbers
} = made
const languagesOf: ReadonlyMap<string, ReadonlySet<Language>> = made.languagesOf

/** Whether any language uses the word for a constraint, or as a function word. */
export const isLexical = (word: string): boolean => languagesOf.has(word)

/** By words that express constraints; undefined if there are none. O(words). */
export const languageOfWords = (words: Iterable<string>): Language | undefined => {
  const votes = new Map<Language, number>()
  for (const word of words) {
    const own = languagesOf.get(word)
    if (own === undefined) continue
    for (const language of own) votes.set(language, (votes.get(language) ?? 0) + 1 / own.size)
  }
  let best: Language | undefined
  for (const [language, count] of votes) if (best === undefined || count > votes.get(best)!) best = language
  return best
}
