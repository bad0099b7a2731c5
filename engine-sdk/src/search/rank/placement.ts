/**
 * Where placed hits stand among ranked ones. Positions count from 1. Used by the engine for its pages and by the
 * pipeline after it has put a window into another order, so that both place alike.
 */

/**
 * Each claim gets its position if no earlier claim has it; the others then the next free one behind theirs. Ascending.
 * O(claims · log claims).
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
  /** Where to look next from a position known to be taken: keeps many claims for one position linear. */
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
 * Placed items at their positions, ranked ones around them; positions behind the end go to the end. At most `end`
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
