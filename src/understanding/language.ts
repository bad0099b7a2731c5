/**
 * The language of a query (ISO 639-1), where it can be told: by a script that one language is written in, or from two
 * words on by n-grams. The library is loaded once, before a program says that it is ready, or when the first query
 * needs it: half a second of the thread, some 45 MB.
 */
import type { Awaitable } from "@dowser/engine-sdk"
import { BoundedMap } from "@dowser/engine-sdk/host"

/** Scripts that decide. Cyrillic, Latin, Arabic and Han serve many languages. */
const SCRIPTS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\p{Script=Greek}/u, "el"],
  [/\p{Script=Hebrew}/u, "he"],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "ja"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Thai}/u, "th"],
  [/\p{Script=Georgian}/u, "ka"],
  [/\p{Script=Armenian}/u, "hy"]
]
/** More says nothing new, and costs. */
const CHARACTERS_MAX = 200
const WORD = /\p{L}{2}/u
const LATIN = /\p{Script=Latin}/u
const ASCII = /^[\0-\x7f]*$/

interface Detector {
  readonly detect: (text: string) => { readonly language: string; readonly isReliable: () => boolean }
}
/** Queries that were told lately: many ask the same. Of one that nothing tells, `UNKNOWN`. */
const told = new BoundedMap<string, string>({ bytes_max: 2_000_000, bytesOf: (text) => 100 + 2 * text.length })
const UNKNOWN = ""
let detector: Detector | undefined
let loading: Promise<Detector> | undefined
/** Rejects where it cannot be loaded, for all who wait. */
export const loadLanguages = (): Promise<Detector> =>
  (loading ??= import("eld/small").then(
    ({ eld }) => (detector = eld),
    (error: unknown) => {
      // Those who wait for it tell; whoever comes later is told no language.
      detector = { detect: () => ({ language: "", isReliable: () => false }) }
      throw error
    }
  ))

/**
 * undefined where nothing decides it. Some 20 µs; later only for the first query of the process. Rejects where the
 * library cannot be loaded.
 */
export const languageOf = (q: string, words: ReadonlyArray<string>): Awaitable<string | undefined> => {
  // Two words are needed for anything more.
  const isPlain = ASCII.test(q)
  if (isPlain && words.length < 2) return undefined
  const text = q.slice(0, CHARACTERS_MAX).toWellFormed()
  const script = isPlain ? undefined : languageOfScript(text)
  if (script !== undefined) return script
  if (words.filter((word) => WORD.test(word)).length < 2) return undefined
  const known = told.get(text)
  if (known !== undefined) return known === UNKNOWN ? undefined : known
  const detected = ({ detect }: Detector): string | undefined => {
    const found = detect(text)
    const language = found.language !== "" && found.isReliable() ? found.language : undefined
    told.set(text, language ?? UNKNOWN)
    return language
  }
  return detector === undefined ? loadLanguages().then(detected) : detected(detector)
}
const languageOfScript = (text: string): string | undefined => {
  const deciding = SCRIPTS.filter(([script]) => script.test(text))
  return deciding.length === 1 && !LATIN.test(text) ? deciding[0]![1] : undefined
}
