/**
 * The order in which the reference engine lists documents that refer to a hit: it notes which document each of them
 * refers to, in the order in which they were inserted, and sorts the notes by the document referred to alone, unstably
 * (`introsort.ts`). So the order depends on everything that the join's filter lets through, not on the hit.
 */
import { introsort } from "./introsort.ts"
import { spend } from "../budget/cutoff.ts"

/** Beyond as many the order is that of insertion: finding and sorting them would take longer than the search. */
export const REFERRING_ORDERED_MAX = 1_024

/** Places of `referred` (insertion numbers, by the insertion of those that refer), ordered by what is referred to. */
export const referringOrder = (referred: ReadonlyArray<number>): number[] => {
  const places = referred.map((_number, place) => place)
  if (places.length > REFERRING_ORDERED_MAX || spend(places.length * 64)) return places
  return introsort(places, (a, b) => referred[a] < referred[b])
}
