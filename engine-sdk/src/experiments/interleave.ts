/**
 * Interleaves two rankings in one list (team draft, Radlinski et al. 2008) and determines whose hits visitors take.
 * This compares rankings with far fewer visitors than showing separate lists to two groups; it does not measure how
 * much more is sold.
 */
import { shareOf } from "./assignment.ts"
import { logBeta } from "./log-gamma.ts"

/** Which ranking a hit is credited to: the one it was taken from, or both if both proposed it in the same round. */
export type Team = "a" | "b" | "both"
export interface Drafted {
  readonly id: string
  readonly team: Team
}

/**
 * Merges the first `length` of both rankings (fewer if they are shorter), without duplicates. A seeded coin decides who
 * picks first in a round; a document that both would take next is credited to both. O(length), and one hash per round.
 *
 * @example
 * ```ts
 * import { teamDraft } from "@dowser/engine-sdk/experiments"
 *
 * teamDraft(["p1", "p2"], ["p2", "p3"], "query-7", 3).map(({ id, team }) => `${team}: ${id}`)
 * ```
 */
export const teamDraft = (
  a: ReadonlyArray<string>,
  b: ReadonlyArray<string>,
  seed: string,
  length: number
): ReadonlyArray<Drafted> => {
  const taken = new Set<string>(),
    drafted: Array<Drafted> = []
  const at = { a: 0, b: 0 }
  const next = (team: "a" | "b"): string | undefined => {
    const ranking = team === "a" ? a : b
    while (at[team] < ranking.length && taken.has(ranking[at[team]]!)) at[team]++
    return ranking[at[team]]
  }
  const put = (id: string | undefined, team: Team): void => {
    if (id === undefined || drafted.length >= length) return
    taken.add(id)
    drafted.push({ id, team })
  }
  for (let round = 0; drafted.length < length; round++) {
    const [fromA, fromB] = [next("a"), next("b")]
    if (fromA === undefined && fromB === undefined) break
    if (fromA === fromB) put(fromA, "both")
    else if (shareOf(seed, String(round)) < 0.5) {
      put(fromA, "a")
      put(next("b"), "b")
    } else {
      put(fromB, "b")
      put(next("a"), "a")
    }
  }
  return drafted
}

/**
 * Identifies a document in a report of credits: 32 bits of its id (FNV-1a), never 0.
 *
 * @example
 * ```ts
 * import { documentPrint } from "@dowser/engine-sdk/experiments"
 *
 * documentPrint("p1") // 32 bits, never 0
 * ```
 */
export const documentPrint = (id: string): number => {
  let print = 0x811c9dc5
  for (let i = 0; i < id.length; i++) print = Math.imul(print ^ id.charCodeAt(i), 0x01000193)
  return print >>> 0 || 1
}
/** The documents that only one team proposed, for each team. */
export interface Teams {
  readonly a: ReadonlyArray<number>
  readonly b: ReadonlyArray<number>
}
/**
 * The documents of each team in a drafted list.
 *
 * @example
 * ```ts
 * import { teamDraft, teamsOf } from "@dowser/engine-sdk/experiments"
 *
 * const { a, b } = teamsOf(teamDraft(["p1", "p2"], ["p2", "p3"], "query-7", 3))
 * ```
 */
export const teamsOf = (drafted: ReadonlyArray<Drafted>): Teams => {
  const of = (team: Team) => drafted.filter((one) => one.team === team).map(({ id }) => documentPrint(id))
  return { a: of("a"), b: of("b") }
}

/**
 * One visitor's vote: the ranking from which more documents were taken.
 *
 * @example
 * ```ts
 * import { voteOf } from "@dowser/engine-sdk/experiments"
 *
 * voteOf(2, 1) // "win"
 * ```
 */
export const voteOf = (takenFromA: number, takenFromB: number): "win" | "loss" | "tie" =>
  takenFromA === takenFromB ? "tie" : takenFromA > takenFromB ? "win" : "loss"

/**
 * Tests whether wins and losses fit a fair coin, at any number of looks: 1 over the e-value of a uniform mixture of
 * coins against the fair one. The least value over all looks is the p-value. Ties carry no information.
 *
 * @example
 * ```ts
 * import { preferenceP } from "@dowser/engine-sdk/experiments"
 *
 * preferenceP(90, 30) // small: hardly a fair coin
 * ```
 */
export const preferenceP = (wins: number, losses: number): number =>
  wins === losses ? 1 : Math.min(1, Math.exp(-(logBeta(wins + 1, losses + 1) + (wins + losses) * Math.LN2)))
