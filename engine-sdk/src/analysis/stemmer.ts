/**
 * Snowball stemmers by field locale, loaded on first use and kept. English is written out here, the other languages come
 * from one library; this file knows which locales have one and bounds the memory of repeated words.
 */
import { createRequire } from "node:module"
import { stemEnglish } from "./english-stemmer.ts"

const LANGUAGES: Readonly<Record<string, string>> = {
  "": "english", en: "english", de_en: "english", ar: "arabic", hy: "armenian", da: "danish", nl: "dutch", fi: "finnish", fr: "french", de: "german", el: "greek",
  hu: "hungarian", id: "indonesian", ga: "irish", it: "italian", lt: "lithuanian", ne: "nepali", no: "norwegian", pt: "portuguese", ro: "romanian",
  ru: "russian", sr: "serbian", es: "spanish", sv: "swedish", ta: "tamil", tr: "turkish", bg: "bulgarian", uk: "ukrainian",
}
const CACHED_WORDS_MAX = 65_536

export type Stem = (word: string) => string
const require = createRequire(import.meta.url)
const loaded = new Map<string, Stem>()

/** Whether `stem: true` is allowed for a field of this locale. */
export const hasStemmer = (locale: string): boolean => LANGUAGES[locale] !== undefined

/** The stemmer of a locale; the first call per language loads it synchronously (about 2 ms). Throws for an unknown locale, which schemas cannot hold. */
export const stemmerOf = (locale: string): Stem => {
  const language = LANGUAGES[locale]
  if (language === undefined) throw new Error(`no stemmer for locale ${locale}`)
  const known = loaded.get(language)
  if (known !== undefined) return known
  const stemmer = language === "english" ? stemEnglish : (require(`@orama/stemmers/${language}`) as { stemmer: Stem }).stemmer
  const words = new Map<string, string>()
  const stem = (word: string): string => {
    const cached = words.get(word)
    if (cached !== undefined) return cached
    const root = stemmer(word)
    if (words.size >= CACHED_WORDS_MAX) words.clear()
    words.set(word, root)
    return root
  }
  loaded.set(language, stem)
  return stem
}
