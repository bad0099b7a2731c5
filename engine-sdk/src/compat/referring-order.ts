/**
 * The order in which the reference engine lists documents that refer to a hit: in insertion order it records which
 * document each of them refers to, and sorts these records by the referenced document alone, unstably (`introsort.ts`).
 * So the order depends on everything that passes the join's filter, not on the hit.
 */
import { introsort } from "./introsort.ts"
import { spend } from "../budget/cutoff.ts"

/** With more documents, insertion order is used, because finding and sorting them would take longer than the search. */
export const REFERRING_ORDERED_MAX = 1_024

/** Indexes into `referred` (insertion numbers, in the order of those that refer), by the referenced document. */
export const referringOrder = (referred: ReadonlyArray<number>): number[] => {
  const places = referred.map((_number, place) => place)
  if (places.length > REFERRING_ORDERED_MAX || spend(places.length * 64)) return places
  return introsort(places, (a, b) => referred[a] < referred[b])
}
