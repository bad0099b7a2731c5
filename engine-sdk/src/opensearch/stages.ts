/** The ladder of a search for words, as queries: what is tried, when, and which of the tried queries is used. Pure. */
import type { SearchPlan, TextQuery } from "../plan.ts"
import { queryTokens } from "../search/text/candidate-words.ts"
import { fewerTokens } from "../search/text/fallbacks.ts"
import { EVERYTHING, type QueryScope } from "./compile-filter.ts"
import {
  infixQueries,
  isAboutWords,
  respelledQueries,
  spelledQuery,
  typosOf,
  union,
  wordsQuery,
  type Typos
} from "./compile-text.ts"

/** At most this many ways of dropping words are tried. */
const FEWER_MAX = 8

interface Tried {
  readonly query: object
  /** Whether this many matches are enough to skip the next one. */ readonly isEnough: (matches: number) => boolean
}
export interface Stage {
  /** Whether the matches found so far are too few. */ readonly isWanted: (matches: number) => boolean
  /** Each also finds what the ones before it find. Never empty. */ readonly tried: ReadonlyArray<Tried>
}
const always = () => true

export const stagesOf = (scope: QueryScope, { text }: SearchPlan): Stage[] => {
  if (!isAboutWords(text)) return [{ isWanted: always, tried: [{ query: EVERYTHING, isEnough: always }] }]
  const exact = spelledQuery(scope, text, 0)
  return [
    { isWanted: always, tried: [{ query: exact, isEnough: always }] },
    ...respelledStage(scope, text, exact),
    ...fewerStage(scope, text)
  ]
}
const respelledStage = (scope: QueryScope, text: TextQuery, exact: object): Stage[] => {
  const most = Math.max(0, ...text.fields.map(({ numTypos }) => numTypos), 0)
  const typos = Math.min(most, Math.max(0, ...text.tokens.map((word) => typosOf(text, word)))) as Typos
  const wanted = text.exhaustive ? Infinity : text.typoTokensThreshold
  const tried: Tried[] = []
  for (let edits = 1; edits <= typos; edits++)
    tried.push({ query: spelledQuery(scope, text, edits as Typos), isEnough: (matches) => matches >= wanted })
  const respelled = text.splitJoinTokens === "off" ? [] : respelledQueries(scope, text)
  if (respelled.length > 0) {
    const last = tried.at(-1)
    // Other spellings are only tried if nothing is found at all, unless they are always wanted.
    if (last !== undefined && text.splitJoinTokens === "fallback")
      tried[tried.length - 1] = { ...last, isEnough: (matches) => matches > 0 }
    tried.push({ query: union([last?.query ?? exact, ...respelled]), isEnough: always })
  }
  const least = typos > 0 ? wanted : 1
  const isWanted = (matches: number) => text.splitJoinTokens === "always" || matches < least
  return tried.length === 0 ? [] : [{ isWanted, tried }]
}
const fewerStage = (scope: QueryScope, text: TextQuery): Stage[] => {
  const wanted = text.exhaustive ? Infinity : text.dropTokensThreshold
  const typed = union([
    spelledQuery(scope, text, 2),
    ...(text.splitJoinTokens === "off" ? [] : respelledQueries(scope, text))
  ])
  const found: object[] = [typed]
  const tried: Tried[] = []
  for (const { kept } of fewerTokens(queryTokens(text.tokens), text.dropTokensMode, always)) {
    if (tried.length === 2 * FEWER_MAX) break
    const words = kept.map((token) => token.text)
    const mayContinue = kept.at(-1)?.isLast === true
    for (const typos of [0, 2] as const) {
      found.push(wordsQuery(scope, text, { words, typos, mayContinue }))
      const least = typos === 0 ? Math.max(wanted, text.typoTokensThreshold) : wanted
      tried.push({ query: union([...found]), isEnough: (matches) => matches >= least })
    }
  }
  const infix = infixQueries(scope, text, "fallback")
  if (infix.length > 0) tried.push({ query: union([...found, ...infix]), isEnough: always })
  return tried.length === 0
    ? []
    : [{ isWanted: (matches) => matches < Math.max(wanted, infix.length > 0 ? 1 : 0), tried }]
}
