/**
 * The stage that reorders the first 250 hits by (1 - s) · position + s · affinity. Pure and deterministic: equal scores
 * keep the engine's order.
 */
import type { WindowColumn } from "@dowser/engine-sdk"
import type { Candidate, Stage, StageContext } from "@dowser/engine-sdk/pipeline"
import { type FieldAffinity, affinitiesWith, strongest } from "./affinities.ts"

/** Longer than it ever takes, because it uses data that the engine has in memory. */
const BUDGET_MS = 20
/** Affinities that an explanation names. */
const SHOWN_MAX = 10

/**
 * Decision: affinities are scaled over the hits, from the least to the most liked, because what all hits share does not
 * affect their order; and only in proportion to how much is known of the visitor, so that one click moves little. The
 * score of a position is its reciprocal: the first hits, which the engine is surest of, are harder to move than the
 * fiftieth.
 */
const positionScore = (position: number): number => 1 / (position + 1)

/** Values of a field by position of the candidates: earlier stages may have moved them from their ranks. */
const columnOf = (
  candidates: ReadonlyArray<Candidate>,
  context: Pick<StageContext, "column">,
  field: string
): WindowColumn => {
  const places = new Uint32Array(candidates.length)
  const known = context.column?.(field)
  if (known === undefined) {
    const values = candidates.map((candidate, at) => {
      places[at] = at
      return candidate.value(field)
    })
    return { values, places }
  }
  for (let at = 0; at < places.length; at++) places[at] = known.places[candidates[at]!.rank]!
  return { values: known.values, places }
}

const rangeOf = (numbers: Float64Array) => {
  let least = Infinity,
    most = -Infinity
  for (let at = 0; at < numbers.length; at++) {
    least = Math.min(least, numbers[at]!)
    most = Math.max(most, numbers[at]!)
  }
  return { least, span: most - least }
}
/**
 * Positions ordered by their scores, highest first, equal ones in their original order. Only the numbers are sorted,
 * which takes a fifth of the time of sorting positions with a comparison function; each position then looks up its
 * place. O(n log n).
 */
const placesByScore = (scores: Float64Array): ReadonlyArray<number> => {
  const ascending = Float64Array.from(scores).sort(),
    taken = new Uint32Array(scores.length),
    places = new Array<number>(scores.length)
  for (let at = 0; at < scores.length; at++) {
    const score = scores[at]!
    // Finds the end of the run of equal scores, from which its places are assigned.
    let low = 0,
      high = ascending.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (ascending[middle]! <= score) low = middle + 1
      else high = middle
    }
    const first = scores.length - low
    places[first + taken[first]!++] = at
  }
  return places
}

/** `strength` above 0, at most 1; `affinities` not empty. O(hits · (fields + log hits)). */
export const affinityStage = (affinities: ReadonlyArray<FieldAffinity>, strength: number): Stage => ({
  name: "personalization",
  budget_ms: BUDGET_MS,
  fallback: "keep_order",
  fields: affinities.map(({ field }) => field.name),
  run: (candidates, context) => {
    const raw = affinitiesWith(affinities, candidates.length, (field) => columnOf(candidates, context, field))
    const { least, span } = rangeOf(raw)
    // All hits fit the visitor equally well.
    if (span === 0) return candidates
    const trust = 1 - affinities[0]!.rest
    const scores = new Float64Array(candidates.length)
    for (let at = 0; at < scores.length; at++)
      scores[at] = (1 - strength) * positionScore(at) + (strength * trust * (raw[at]! - least)) / span
    if (context.scored !== undefined) {
      context.note(
        `strength ${strength}; ${strongest(affinities, SHOWN_MAX)
          .map(({ field, value, weight }) => `${field}=${value} ${weight}`)
          .join(", ")}`
      )
      for (const [at, { id }] of candidates.entries())
        context.scored(id, "affinity", (trust * (raw[at]! - least)) / span)
    }
    return placesByScore(scores).map((at) => candidates[at]!)
  }
})
