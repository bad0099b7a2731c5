/**
 * The language of a query (ISO 639-1), where it can be told: by a script that one language is written in, or from two
 * words on by n-grams. The library is loaded once, when the first query needs it: half a second, some 45 MB.
 */
import type { Awaitable } from "@dowser/engine-sdk"

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

interface Detector {
  readonly detect: (text: string) => { readonly language: string; readonly isReliable: () => boolean }
}
let detector: Detector | undefined
let loading: Promise<Detector> | undefined
const load = (): Promise<Detector> =>
  (loading ??= import("eld/small").then(({ eld }) => {
    detector = eld
    return eld
  }))

/**
 * undefined where nothing decides it. Some 20 µs; later only for the first query of the process. Rejects where the
 * library cannot be loaded.
 */
export const languageOf = (q: string, words: ReadonlyArray<string>): Awaitable<string | undefined> => {
  const text = q.slice(0, CHARACTERS_MAX).toWellFormed()
  const deciding = SCRIPTS.filter(([script]) => script.test(text))
  if (deciding.length === 1 && !/\p{Script=Latin}/u.test(text)) return deciding[0]![1]
  if (words.filter((word) => WORD.test(word)).length < 2) return undefined
  const detected = ({ detect }: Detector): string | undefined => {
    const found = detect(text)
    return found.language !== "" && found.isReliable() ? found.language : undefined
  }
  return detector === undefined ? load().then(detected) : detected(detector)
}
