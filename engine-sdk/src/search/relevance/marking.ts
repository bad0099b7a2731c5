/** Which words of a shown text the relevance ranking matched: by root, as in its index, not by the engine's tokens. */
import type { Marker, MarkedWord } from "../highlight/highlight-text.ts"
import type { QueryTerms } from "./query-terms.ts"
import { wordAnalyzerOf } from "./words.ts"

const WHOLE: MarkedWord = { typedLength: Infinity, typos: 0, isPrefix: false }
/** Cached result for a word that is not marked. */
const NONE: MarkedWord = { typedLength: 0, typos: 0, isPrefix: false }
/** A single word as the analyzer would produce it. */
const PLAIN = /^[a-z]+$/
const CACHED_MAX = 4_096
/** What words with this root start with. In short ones only the first letter is certain: "dying" has the root "die". */
const startOf = (root: string): string => (root.length <= 3 ? root.slice(0, 1) : root)

/**
 * `written`: a token of the text, in lower case. A token that holds several words (`dv7-1211ea`) is marked for any of
 * them.
 */
export const markerOf = (asked: ReadonlyArray<QueryTerms>, locale: string): Marker => {
  const analyzer = wordAnalyzerOf(locale)
  const whole = new Set<string>(),
    started = new Set<string>()
  const prefixes: string[] = []
  for (const { compounds, terms } of asked) {
    for (const { joined } of compounds) whole.add(joined.stems[0])
    for (const { stems, typed } of terms) {
      if (typed !== undefined) {
        prefixes.push(typed)
        for (const stem of stems) started.add(stem)
      } else
        for (const stem of stems) {
          whole.add(stem)
          for (const part of analyzer.words(stem)[0]?.parts ?? []) whole.add(part)
        }
    }
  }
  const known = new Map<string, MarkedWord>()
  const markOf = (surface: string, written: string): MarkedWord | undefined => {
    const stem = analyzer.stem(surface)
    if (whole.has(stem)) return WHOLE
    if (!started.has(stem)) return undefined
    const prefix = prefixes.find((typed) => written.startsWith(typed))
    return prefix === undefined ? WHOLE : { typedLength: prefix.length, typos: 0, isPrefix: true }
  }
  const look = (written: string): MarkedWord | undefined => {
    if (PLAIN.test(written)) return markOf(written, written)
    for (const { surface } of analyzer.words(written)) {
      const mark = markOf(surface, written)
      if (mark !== undefined) return mark
    }
    return undefined
  }
  const find = (written: string): MarkedWord | undefined => {
    let mark = known.get(written)
    if (mark === undefined) {
      if (known.size >= CACHED_MAX) known.clear()
      known.set(written, (mark = look(written) ?? NONE))
    }
    return mark === NONE ? undefined : mark
  }
  return analyzer.keepsFirstLetters ? { find, roots: [...whole, ...started].map(startOf) } : { find }
}
