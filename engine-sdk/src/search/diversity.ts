/**
 * Maximal marginal relevance (Carbonell and Goldstein 1998) over the top hits, as a curation item asks (engine-contract
 * 11.6). Incremental: the largest similarity to what was already picked is carried along, so picking is O(n²) in all.
 */
export interface DiversityInputs {
  readonly size: number
  readonly lambda: number
  /** Relevance in any unit; it is scaled to 0..1 over the candidates. */ relevance(i: number): number
  /** 0..1. */ similarity(i: number, j: number): number
}

/** Positions in picking order. Equal values keep the order of relevance. */
export const diversify = ({ size, lambda, relevance, similarity }: DiversityInputs): number[] => {
  if (size === 0) return []
  let low = Infinity, high = -Infinity
  const raw = new Float64Array(size)
  for (let i = 0; i < size; i++) { raw[i] = relevance(i); low = Math.min(low, raw[i]); high = Math.max(high, raw[i]) }
  const scaled = raw.map((value) => high > low ? (value - low) / (high - low) : 1)
  const closest = new Float64Array(size)
  const isPicked = new Uint8Array(size)
  const picked: number[] = []
  for (let n = 0; n < size; n++) {
    let best = -1, bestValue = -Infinity
    for (let i = 0; i < size; i++) {
      if (isPicked[i] === 1) continue
      const value = lambda * scaled[i] - (1 - lambda) * (n === 0 ? 0 : closest[i])
      if (value > bestValue) { best = i; bestValue = value }
    }
    isPicked[best] = 1
    picked.push(best)
    for (let i = 0; i < size; i++) if (isPicked[i] === 0) closest[i] = Math.max(closest[i], similarity(i, best))
  }
  return picked
}
