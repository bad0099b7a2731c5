/** Whether a stage gave back what it got. */
import type { Candidate } from "../stage/stage.ts"

/**
 * For each candidate of `answer` where it stood in `given`; undefined unless each occurs exactly once. Found by ranks,
 * which are those of a window and lie below its size: a map of objects would cost more than most stages. O(candidates).
 */
export const permutationOf = (
  given: ReadonlyArray<Candidate>,
  answer: ReadonlyArray<Candidate>
): ReadonlyArray<number> | undefined => {
  if (answer.length !== given.length) return undefined
  const ranks = given.reduce((most, { rank }) => Math.max(most, rank), -1) + 1
  /** By rank: a place and one more, 0 for none or for one that was found already. */
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
