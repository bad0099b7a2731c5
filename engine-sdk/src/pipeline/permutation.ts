/** Checks that a stage returned exactly the candidates that it was given. */
import type { Candidate } from "../stage/stage.ts"

/**
 * For each candidate of `answer`, its index in `given`; undefined unless each occurs exactly once. Looked up by rank,
 * which is below the size of the window: a map of objects would cost more than most stages. O(candidates).
 */
export const permutationOf = (
  given: ReadonlyArray<Candidate>,
  answer: ReadonlyArray<Candidate>
): ReadonlyArray<number> | undefined => {
  if (answer.length !== given.length) return undefined
  const ranks = given.reduce((most, { rank }) => Math.max(most, rank), -1) + 1
  /** By rank: index plus one, 0 if there is none or it was found already. */
  const places = new Uint32Array(ranks)
  for (let i = 0; i < given.length; i++) places[given[i].rank] = i + 1
  const order = new Array<number>(answer.length)
  for (let i = 0; i < answer.length; i++) {
    const { rank } = answer[i],
      place = places[rank] ?? 0
    if (place === 0 || given[place - 1] !== answer[i]) return undefined
    places[rank] = 0
    order[i] = place - 1
  }
  return order
}
