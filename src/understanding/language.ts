/**
 * The language of a query (ISO 639-1), if it can be detected: by a script used by a single language, or, from two words
 * on, by n-grams, if one language leads clearly, or the searched field's own language is close to the best. A wrong
 * language is worse than none. The library is loaded once, before the program reports that it is ready, or when the
 * first query needs it: a quarter of a second of the thread, some 20 MB.
 */
import type { Awaitable } from "@dowser/engine-sdk"
import { BoundedMap } from "@dowser/engine-sdk/host"

/** Scripts that identify a language. Cyrillic, Latin, Arabic and Han are shared by many. */
const SCRIPTS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\p{Script=Greek}/u, "el"],
  [/\p{Script=Hebrew}/u, "he"],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, "ja"],
  [/\p{Script=Hangul}/u, "ko"],
  [/\p{Script=Thai}/u, "th"],
  [/\p{Script=Georgian}/u, "ka"],
  [/\p{Script=Armenian}/u, "hy"]
]
/**
 * Letters that distinguish the languages of a script whose scores are too close together: Belarusian has both ы and і,
 * Kazakh both and more.
 */
const LETTERS: ReadonlyArray<readonly [has: RegExp, hasNot: RegExp, language: string]> = [
  [/[ыэё]/iu, /[іўїєґәғқңөұүһ]/iu, "ru"],
  [/[іїєґ]/iu, /[ыэёўәғқңөұүһ]/iu, "uk"]
]
/** More adds cost but no information. */
const CHARACTERS_MAX = 200
const WORD = /\p{L}{2}/u
const LATIN = /\p{Script=Latin}/u
const ASCII = /^[\0-\x7f]*$/

interface Detection {
  readonly isReliable: () => boolean
  /** By language, most likely first. */ readonly getScores: () => Readonly<Record<string, number>>
}
interface Detector {
  readonly detect: (text: string) => Detection
}
/**
 * How far a language must lead the next, as a share of its score. Measured on snippets of encyclopedia articles (en,
 * de, es, ar, 400 each): of two words 42-65 % are detected, 89-99 % of those correctly (without a lead 77-100 % and
 * 78-96 %); of four 73-94 % and 97-100 %. Product names ("winter coat") are detected less often and less reliably.
 */
const LEAD = 0.05,
  LEAD_OF_TWO = 0.08
/** Recently detected queries, since many are repeated. `UNKNOWN` for a query without a clear language. */
const recent = new BoundedMap<string, string>({ bytes_max: 2_000_000, bytesOf: (text) => 100 + 2 * text.length })
const UNKNOWN = ""
let detector: Detector | undefined
let loading: Promise<Detector> | undefined
/** Rejects for all waiters if it cannot be loaded. */
export const loadLanguages = (): Promise<Detector> =>
  (loading ??= import("eld/extrasmall").then(
    ({ eld }) => (detector = eld),
    (error: unknown) => {
      // Present waiters report the failure; later queries get no language.
      detector = { detect: () => ({ isReliable: () => false, getScores: () => ({}) }) }
      throw error
    }
  ))

/**
 * `own`: language of the searched field, "" if it names none. Undefined if nothing decides. Some 20 µs; answers later
 * only for the first query of the process. Rejects if the library cannot be loaded.
 */
export const languageOf = (q: string, words: ReadonlyArray<string>, own = ""): Awaitable<string | undefined> => {
  // Anything more needs two words.
  const isPlain = ASCII.test(q)
  if (isPlain && words.length < 2) return undefined
  const text = q.slice(0, CHARACTERS_MAX).toWellFormed()
  const script = isPlain ? undefined : languageOfScript(text)
  if (script !== undefined) return script
  const count = words.filter((word) => WORD.test(word)).length
  if (count < 2) return undefined
  const lettered = isPlain ? undefined : LETTERS.find(([has, hasNot]) => has.test(text) && !hasNot.test(text))
  if (lettered !== undefined) return lettered[2]
  const key = `${own} ${text}`
  const known = recent.get(key)
  if (known !== undefined) return known === UNKNOWN ? undefined : known
  const detected = ({ detect }: Detector): string | undefined => {
    const language = clearOf(detect(text), count === 2 ? LEAD_OF_TWO : LEAD, own)
    recent.set(key, language ?? UNKNOWN)
    return language
  }
  return detector === undefined ? loadLanguages().then(detected) : detected(detector)
}
/** Fewer are not reliable: for four of five product queries of one to four words the language is correct. */
const WORDS_OF_AMONG = 3
const WORDS = /\p{L}{2,}/gu
/** How far behind the likeliest of all languages a candidate may be: further behind, the text is in none of them. */
const AMONG_LEAD = 0.15
/**
 * Which of `candidates` a text is written in, such as the languages of a collection, or of a model; undefined if that
 * is unclear, or for fewer than three words. Rejects if the library cannot be loaded.
 */
export const languageAmong = (text: string, candidates: ReadonlyArray<string>): Awaitable<string | undefined> => {
  const begin = text.slice(0, CHARACTERS_MAX).toWellFormed()
  const script = languageOfScript(begin)
  if (script !== undefined) return candidates.includes(script) ? script : undefined
  if ((begin.match(WORDS) ?? []).length < WORDS_OF_AMONG) return undefined
  const among = ({ detect }: Detector): string | undefined => {
    const detection = detect(begin)
    if (!detection.isReliable()) return undefined
    const scores = Object.entries(detection.getScores()).toSorted(([, a], [, b]) => b - a)
    const [first, second] = scores.filter(([language]) => candidates.includes(language))
    if (first === undefined || first[1] < scores[0]![1] * (1 - AMONG_LEAD)) return undefined
    return second === undefined || second[1] <= first[1] * (1 - LEAD) ? first[0] : undefined
  }
  return detector === undefined ? loadLanguages().then(among) : among(detector)
}

const clearOf = (detection: Detection, lead: number, own: string): string | undefined => {
  if (!detection.isReliable()) return undefined
  const scores = Object.entries(detection.getScores()).toSorted(([, a], [, b]) => b - a)
  const [first, second] = scores
  if (first === undefined) return undefined
  const close = first[1] * (1 - lead)
  if (scores.some(([language, score]) => language === own && score >= close)) return own
  return second === undefined || second[1] <= close ? first[0] : undefined
}
const languageOfScript = (text: string): string | undefined => {
  const deciding = SCRIPTS.filter(([script]) => script.test(text))
  return deciding.length === 1 && !LATIN.test(text) ? deciding[0]![1] : undefined
}
