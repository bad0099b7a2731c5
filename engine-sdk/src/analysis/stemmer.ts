/**
 * Snowball stemmers by field locale, loaded on first use and kept. English is implemented here; the other languages
 * come from one optional library. This file knows which locales have one and bounds the memory of repeated words.
 */
import { hasOptionalPackage, optionalPackage } from "../optional-package.ts"
import { stemEnglish } from "./english-stemmer.ts"

const LANGUAGES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "": "english",
    en: "english",
    de_en: "english",
    ar: "arabic",
    hy: "armenian",
    da: "danish",
    nl: "dutch",
    fi: "finnish",
    fr: "french",
    de: "german",
    el: "greek",
    hu: "hungarian",
    id: "indonesian",
    ga: "irish",
    it: "italian",
    lt: "lithuanian",
    ne: "nepali",
    no: "norwegian",
    pt: "portuguese",
    ro: "romanian",
    ru: "russian",
    sr: "serbian",
    es: "spanish",
    sv: "swedish",
    ta: "tamil",
    tr: "turkish",
    bg: "bulgarian",
    uk: "ukrainian"
  })
)
const CACHED_WORDS_MAX = 65_536

export type Stem = (word: string) => string
const loaded = new Map<string, Stem>()

const STEMMERS = "@orama/stemmers"

/** Whether the language of a locale has a stemmer; `false` refuses `stem: true` for it. */
export const hasStemmer = (locale: string): boolean => LANGUAGES.has(locale)
/** Why words of a locale that has a stemmer cannot be stemmed in this program; undefined if they can. */
export const stemmerMissing = (locale: string): string | undefined =>
  LANGUAGES.get(locale) === "english" || hasOptionalPackage(`${STEMMERS}/${LANGUAGES.get(locale)}`)
    ? undefined
    : `Stemming for the locale \`${locale}\` needs the package \`${STEMMERS}\`.`

/**
 * The stemmer of a locale; the first call per language loads it synchronously (about 2 ms). Throws for an unknown
 * locale, which schemas cannot contain, and PackageMissing without the library.
 */
export const stemmerOf = (locale: string): Stem => {
  const language = LANGUAGES.get(locale)
  if (language === undefined) throw new Error(`no stemmer for locale ${locale}`)
  const known = loaded.get(language)
  if (known !== undefined) return known
  const stemmer =
    language === "english"
      ? stemEnglish
      : (optionalPackage(`${STEMMERS}/${language}`, `Stemming for the locale \`${locale}\``) as { stemmer: Stem })
          .stemmer
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
