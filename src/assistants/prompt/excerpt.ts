/** Selects the part of a long text that relates to a question, for a model's prompt. Pure. */
import { sentencesOf } from "../extractive/extract.ts"
import type { Terms } from "../extractive/terms.ts"
import { isInstruction } from "../extractive/hostile.ts"

const GAP = " … "

/**
 * At most this many characters: the first sentence and those most relevant to the question, in their original order,
 * without sentences that instruct a model. O(text).
 */
export const excerptOf = (
  text: string,
  question: string,
  terms: Terms,
  weightOf: (term: string) => number,
  charactersMax: number
): string => {
  const asked = new Map(terms.asked(question).map((term) => [term, weightOf(term)]))
  const all = sentencesOf(text, terms.language).filter((sentence) => !isInstruction(sentence.text))
  const worth = all.map(({ text: sentence }, place) => {
    let sum = place === 0 ? Number.MIN_VALUE : 0
    for (const term of new Set(terms.all(sentence))) sum += asked.get(term) ?? 0
    return { place, sum }
  })
  let left = charactersMax
  const kept = new Set<number>()
  for (const { place } of worth.toSorted((a, b) => b.sum - a.sum || a.place - b.place)) {
    const length = all[place]!.text.length + GAP.length
    if (length > left) {
      if (kept.size === 0) return all[place]!.text.slice(0, charactersMax).toWellFormed()
      continue
    }
    left -= length
    kept.add(place)
  }
  return [...kept]
    .toSorted((a, b) => a - b)
    .map(
      (place, at, places) => `${at > 0 && places[at - 1] !== place - 1 ? GAP : at > 0 ? " " : ""}${all[place]!.text}`
    )
    .join("")
}
