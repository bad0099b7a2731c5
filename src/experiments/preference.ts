/**
 * How units chose between two interleaved rankings: each unit that chose has one vote. Wins are those of the second
 * variant. Pure.
 */
import { preferenceP } from "@dowser/engine-sdk/experiments"
import { leastOf } from "./guardrails.ts"
import type { StoredRun, SumsRow } from "./runs-repository.ts"

/** Its key in `least_p`; never the id of a variant, because these contain no spaces. */
const PREFERENCE = "the preference"

export interface Preference {
  readonly wins: number
  readonly losses: number
  readonly ties: number
  /** The smallest p-value of all evaluations. */ readonly p: number
  readonly least_p: StoredRun["least_p"]
}

/** Undefined for a run whose units see one variant each. */
export const preferenceOf = (
  { definition: { metric, mode }, least_p: before }: StoredRun,
  rows: ReadonlyArray<SumsRow>
): Preference | undefined => {
  if (mode !== "interleave") return undefined
  // The number of votes, wins minus losses, and wins plus losses.
  const votes = { n: 0, x: 0, xx: 0 }
  for (const { metric: of, n, variant, x, xx } of rows) {
    if (of !== `vote_${metric}` || variant !== 0) continue
    votes.n += n
    votes.x += x
    votes.xx += xx
  }
  const [wins, losses] = [(votes.xx + votes.x) / 2, (votes.xx - votes.x) / 2]
  const p = leastOf(before, PREFERENCE, preferenceP(wins, losses))
  return { wins, losses, ties: votes.n - votes.xx, p, least_p: { [PREFERENCE]: p } }
}
