/** Decides which sealed runs to merge, and what to forget when there are too many ids. Pure, on counts. */
export interface RunSize {
  readonly from: number
  readonly to: number
  readonly count: number
}

export interface CompactionLimits {
  /** How many neighbours of similar size become one run; an id is rewritten log_fanout(run / seal) times. */
  readonly fanout: number
  /** Maximum number of ids in a merged run: bounds the memory and the duration of a merge. */
  readonly runIdsMax: number
  /** More runs than this are merged whatever their size, because a look-up queries every run's filter. */
  readonly runsMax: number
}

/** How much the largest neighbour may exceed their mean, so that three runs of one size do not absorb a small one. */
const LIKE_SIZED = 1.2

/**
 * The first and the number of the runs to merge next; `runs` is sorted oldest first. Only neighbours without a gap are
 * merged, because a run must cover its entire range.
 */
export const chooseMerge = (
  runs: ReadonlyArray<RunSize>,
  limits: CompactionLimits
): { readonly first: number; readonly length: number } | undefined => {
  const joined = (first: number, length: number) => {
    for (let i = first + 1; i < first + length; i++) if (runs[i - 1]!.to !== runs[i]!.from) return undefined
    let sum = 0,
      largest = 0
    for (let i = first; i < first + length; i++) {
      sum += runs[i]!.count
      largest = Math.max(largest, runs[i]!.count)
    }
    return { sum, largest }
  }
  for (let first = runs.length - 2; first >= 0; first--) {
    const emptied = joined(first, 2)
    if (emptied?.sum === 0) return { first, length: 2 }
  }
  for (let first = runs.length - limits.fanout; first >= 0; first--) {
    const found = joined(first, limits.fanout)
    if (found !== undefined && found.sum <= limits.runIdsMax && found.largest * limits.fanout <= LIKE_SIZED * found.sum)
      return { first, length: limits.fanout }
  }
  if (runs.length <= limits.runsMax) return undefined
  let best: { readonly first: number; readonly length: number } | undefined
  let bestSum = Infinity
  for (let first = 0; first + 1 < runs.length; first++) {
    const found = joined(first, 2)
    if (found === undefined || found.sum >= bestSum) continue
    best = { first, length: 2 }
    bestSum = found.sum
  }
  return best
}

/** How many ids each organization may keep at most so that all together keep `total`: those with fewer lose none. */
export const fairLevel = (held: ReadonlyArray<number>, total: number): number => {
  const ascending = [...held].sort((a, b) => a - b)
  let left = total
  for (let i = 0; i < ascending.length; i++) {
    const share = left / (ascending.length - i)
    if (ascending[i]! > share) return Math.floor(share)
    left -= ascending[i]!
  }
  return Infinity
}

/** Pruning goes below the bound, so that the next seal does not rewrite the oldest run again. */
const KEPT_SHARE = 15 / 16

/**
 * By run (oldest first), the share of each organization's ids to drop so that at most `idsMax` remain; empty if there
 * are no more than that. The organizations with the most ids lose, down to a common level, from their oldest runs
 * first; within the last affected run, ids are dropped evenly.
 */
export const choosePrune = (
  runs: ReadonlyArray<ReadonlyMap<number, number>>,
  idsMax: number
): ReadonlyMap<number, ReadonlyMap<number, number>> => {
  const held = new Map<number, number>()
  let total = 0
  for (const organizations of runs) {
    for (const [tag, count] of organizations) {
      held.set(tag, (held.get(tag) ?? 0) + count)
      total += count
    }
  }
  const chosen = new Map<number, Map<number, number>>()
  if (total <= idsMax) return chosen
  const level = fairLevel([...held.values()], Math.floor(idsMax * KEPT_SHARE))
  for (const [tag, count] of held) {
    let excess = count - level
    for (let i = 0; i < runs.length && excess > 0; i++) {
      const here = runs[i]!.get(tag) ?? 0
      if (here === 0) continue
      const shares = chosen.get(i) ?? new Map<number, number>()
      chosen.set(i, shares.set(tag, Math.min(1, excess / here)))
      excess -= here
    }
  }
  return chosen
}

/** The parts of `[from, to)` that no run covers, in order. */
export const gapsOf = (
  runs: ReadonlyArray<{ readonly from: number; readonly to: number }>,
  from: number,
  to: number
): ReadonlyArray<{ readonly from: number; readonly to: number }> => {
  const gaps: Array<{ from: number; to: number }> = []
  let at = from
  for (const run of [...runs].sort((a, b) => a.from - b.from)) {
    if (run.from > at && at < to) gaps.push({ from: at, to: Math.min(run.from, to) })
    at = Math.max(at, run.to)
  }
  if (at < to) gaps.push({ from: at, to })
  return gaps
}

/**
 * Runs that are replaced by another of the same or a wider range: left behind by a crash between a merge and the
 * removal of its inputs.
 */
export const replacedRuns = <Run extends { readonly from: number; readonly to: number; readonly generation: number }>(
  runs: ReadonlyArray<Run>
): ReadonlyArray<Run> =>
  runs.filter((run) =>
    runs.some(
      (other) =>
        other !== run &&
        other.from <= run.from &&
        other.to >= run.to &&
        (other.to - other.from > run.to - run.from || other.generation > run.generation)
    )
  )
