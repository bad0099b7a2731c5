/**
 * Positions of placed hits among ranked ones, counted from 1. The engine uses this for its pages and the pipeline for a
 * reordered window, so that both place hits alike.
 */

/**
 * Each claim gets its position unless an earlier claim has it; the remaining claims then get the next free position
 * after theirs. Ascending. O(claims · log claims).
 */
export const settlePositions = <A extends { readonly position: number }>(claims: ReadonlyArray<A>): A[] => {
  const taken = new Set<number>()
  const settled: A[] = [],
    contested: A[] = []
  for (const claim of claims) {
    if (taken.has(claim.position)) {
      contested.push(claim)
      continue
    }
    taken.add(claim.position)
    settled.push(claim)
  }
  /** The next position to try from a taken one, which keeps many claims for one position linear. */
  const next = new Map<number, number>()
  for (const claim of contested) {
    let position = next.get(claim.position) ?? claim.position + 1
    while (taken.has(position)) position = next.get(position) ?? position + 1
    taken.add(position)
    next.set(claim.position, position + 1)
    settled.push({ ...claim, position })
  }
  return settled.sort((a, b) => a.position - b.position)
}

/**
 * Places items at their positions with ranked ones around them; positions past the end move to the end. At most `end`
 * items.
 */
export const interleave = <A, B extends { readonly position: number }>(
  ranked: ReadonlyArray<A>,
  placed: ReadonlyArray<B>,
  end: number
): Array<A | B> => {
  const all: Array<A | B> = []
  let r = 0,
    p = 0
  while ((r < ranked.length || p < placed.length) && all.length < end) {
    if (p < placed.length && (placed[p].position <= all.length + 1 || r >= ranked.length)) all.push(placed[p++])
    else all.push(ranked[r++])
  }
  return all
}
