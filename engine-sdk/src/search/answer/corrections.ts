/**
 * Which words of a query matched only through typo tolerance, and what the first hit has in their place. It is derived
 * from the combinations that matching recorded; if every word matched as typed, it costs one pass over them.
 */
import { analyzerOf } from "../../analysis/analyzer.ts"
import { hasBit } from "../../index/bits.ts"
import { encodeUtf8 } from "../../index/bytes.ts"
import type { FieldValue, WordCorrection } from "../../plan.ts"
import { fieldNamed } from "../../query/query-context.ts"
import { spend } from "../../budget/cutoff.ts"
import type { Execution } from "../execution/execution.ts"
import type { Placed } from "../execution/placed.ts"
import { wordAnalyzerOf } from "../relevance/words.ts"
import { firstFrom } from "../text/candidates.ts"
import type { Combination, MatchedWord } from "../text/word-matcher.ts"
import type { HitRenderer } from "./hit-renderer.ts"

/** Number of hits that are examined: a pinned hit, or one found by its vector, may contain none of the words. */
const HITS_MAX = 10
/** Cost of one lookup in a list of documents, in steps. */
const LOOK_STEPS = 16

/** `placed`: hits in the order in which they are shown. Empty if every word is indexed as typed or none matched. */
export const correctionsOf = (
  execution: Execution,
  placed: ReadonlyArray<Placed>,
  render: HitRenderer
): ReadonlyArray<WordCorrection> => {
  const { text } = execution.plan
  if (text === undefined) return []
  const { relevance } = execution.matched
  if (relevance !== undefined) return spelledIn(execution, placed, render, relevance.misspelt())
  const mistyped = mistypedOf(execution)
  if (mistyped.size === 0) return []
  for (const one of placed.slice(0, HITS_MAX)) {
    const combination = combinationOf(execution, one)
    if (combination === undefined) continue
    return combination.words.flatMap(({ cost, typed, word }) => {
      const surface = mistyped.get(typed)
      const indexed = cost === 0 || surface === undefined ? undefined : writtenAs(execution, one, render, word)
      return indexed === undefined ? [] : [{ typed: surface!, indexed }]
    })
  }
  return []
}

/** From tokens that matched only with typos, and that no document has, to the word as typed. */
const mistypedOf = ({ matched, matches, plan: { pinnedFilter, text } }: Execution): ReadonlyMap<string, string> => {
  const mistyped = new Map<string, string>()
  const surfaceOf = (token: string): string | undefined => {
    const at = text!.tokens.indexOf(token)
    return at < 0 ? undefined : (text!.surface[at] ?? token)
  }
  for (const { words } of matched.combinations)
    for (const { cost, typed } of words) {
      if (cost === 0 || mistyped.has(typed)) continue
      const surface = surfaceOf(typed)
      if (surface !== undefined && !isIndexed(typed)) mistyped.set(typed, surface)
    }
  return mistyped

  function isIndexed(word: string): boolean {
    const bytes = encodeUtf8(word)
    return matches.some(({ allowed, view }) =>
      text!.fields.some(({ field }) => {
        const column = view.segment.text(field)
        const term = column?.terms.find(bytes) ?? -1
        if (term < 0) return false
        const { deleted } = view
        // Documents that a key cannot see must not affect the answer.
        const isRestricted = pinnedFilter !== undefined && allowed !== undefined
        if (!isRestricted && deleted === undefined) return true
        const { docs, starts } = column!
        for (let p = starts[term]; p < starts[term + 1]; p++)
          if (spend(1) || (isRestricted ? hasBit(allowed, docs[p]) : !hasBit(deleted!, docs[p]))) return true
        return false
      })
    )
  }
}

/** The words by which the document was found. If several combinations found it, the one with the fewest typos. */
const combinationOf = (execution: Execution, one: Placed): Combination | undefined => {
  let best: Combination | undefined,
    bestCost = Infinity
  for (const combination of execution.matched.combinations) {
    if (combination.words.length === 0) continue
    let cost = 0
    for (const word of combination.words) cost += 2 * word.cost + (word.isPrefix ? 1 : 0)
    if (cost < bestCost && combination.words.every((word) => holds(execution, one, word))) {
      best = combination
      bestCost = cost
    }
  }
  return best
}
const holds = ({ matches, plan: { text } }: Execution, { doc, s }: Placed, word: MatchedWord): boolean => {
  const bytes = encodeUtf8(word.word)
  return text!.fields.some(({ field, numTypos, prefix }) => {
    if (spend(LOOK_STEPS) || word.cost > numTypos || (word.isPrefix && !prefix)) return false
    const column = matches[s].view.segment.text(field)
    const term = column?.terms.find(bytes) ?? -1
    if (term < 0) return false
    const { docs, starts } = column!
    const at = firstFrom(docs, starts[term], starts[term + 1], doc)
    return at < starts[term + 1] && docs[at] === doc
  })
}

/** A root as the document writes it; the word itself if no field uses roots. */
const writtenAs = (execution: Execution, one: Placed, render: HitRenderer, word: string): string | undefined => {
  const { plan, reader, scope } = execution
  let stems = false
  for (const { field: name } of plan.text!.fields) {
    const field = fieldNamed(reader.schema, name)
    const analyzer = field === undefined ? undefined : analyzerOf(reader.schema, field, scope.dictionaries)
    if (analyzer?.stems !== true) continue
    stems = true
    for (const value of textsOf(one, render, name))
      for (const token of analyzer.unstemmed.tokenize(value)) if (analyzer.stem(token) === word) return token
  }
  return stems ? undefined : word
}
const textsOf = (one: Placed, render: HitRenderer, field: string): ReadonlyArray<string> => {
  const stored = render.stored(one)
  const value: FieldValue | undefined = stored === undefined ? undefined : render.value(one, field, stored)
  if (typeof value === "string") return [value]
  return Array.isArray(value) ? (value as ReadonlyArray<unknown>).filter((each) => typeof each === "string") : []
}

/** For a named ranking, which corrects words to roots: the words of the first hit that have these roots. */
const spelledIn = (
  execution: Execution,
  placed: ReadonlyArray<Placed>,
  render: HitRenderer,
  misspelt: ReadonlyMap<string, ReadonlyArray<string>>
): ReadonlyArray<WordCorrection> => {
  if (misspelt.size === 0) return []
  const { text } = execution.plan
  const analyzer = wordAnalyzerOf(text!.relevance!.units[0].locale)
  for (const one of placed.slice(0, HITS_MAX)) {
    const written = new Map<string, string>()
    for (const { field } of text!.fields)
      for (const value of textsOf(one, render, field))
        for (const { surface } of analyzer.words(value)) {
          const stem = analyzer.stem(surface)
          if (!written.has(stem)) written.set(stem, surface)
        }
    const corrections = [...misspelt].flatMap(([typed, stems]) => {
      const stem = stems.find((each) => written.has(each))
      return stem === undefined ? [] : [{ typed, indexed: written.get(stem)! }]
    })
    if (corrections.length > 0) return corrections
  }
  return []
}
