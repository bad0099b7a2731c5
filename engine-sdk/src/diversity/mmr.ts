/**
 * Maximal marginal relevance (Carbonell and Goldstein 1998): greedy picks that weigh relevance against the largest
 * similarity to what has been picked. The only implementation, used for curation items
 * (`docs/contract/curation.md#diversity`) and for rules.
 */
export interface MmrInputs {
  readonly size: number
  /** 1 = relevance only. */ readonly lambda: number
  /** Number of positions to pick; the rest follows in its order. Default: all. */ readonly picks?: number
  /** Relevance in any unit; it is scaled to 0..1 over the candidates. */ relevance(i: number): number
  /** 0..1; must always be the same for the same pair. */ similarity(i: number, j: number): number
  /** Called once per pick; if true, the rest follows in its order. */ readonly isLate?: () => boolean
}
export interface MmrOutcome {
  /** Every candidate once; the picked ones come first, in picking order. */ readonly order: ReadonlyArray<number>
  readonly picked: number
}

/**
 * Candidates with equal values keep the order of relevance. A value can only fall as more is picked, so a candidate is
 * compared with picks only until it has fallen below the best one found: the result of the naive O(size · picks²)
 * definition with at most O(size · picks) similarities, usually a tenth to a fifth of them.
 *
 * @example
 * ```ts
 * import { greedyMmr, textSimilarity } from "@dowser/engine-sdk/diversity"
 *
 * const similarity = textSimilarity(["red mug", "red mug", "oak board"])
 * greedyMmr({ size: 3, lambda: 0.5, relevance: (i) => 3 - i, similarity }).order // the board before the second mug
 * ```
 */
export const greedyMmr = ({ size, lambda, picks = size, relevance, similarity, isLate }: MmrInputs): MmrOutcome => {
  const relevant = scaledOf(size, relevance).map((scaled) => lambda * scaled)
  const closest = new Float64Array(size),
    compared = new Int32Array(size),
    isPicked = new Uint8Array(size)
  const picked: number[] = []
  const wanted = Math.min(picks, size)
  while (picked.length < wanted && isLate?.() !== true) {
    let best = -1,
      bestValue = -Infinity
    for (let i = 0; i < size; i++) {
      if (isPicked[i] === 1) continue
      let value = relevant[i] - (1 - lambda) * closest[i]
      while (value > bestValue && compared[i] < picked.length) {
        const near = similarity(i, picked[compared[i]++])
        if (near > closest[i]) {
          closest[i] = near
          value = relevant[i] - (1 - lambda) * near
        }
      }
      if (value > bestValue) {
        best = i
        bestValue = value
      }
    }
    isPicked[best] = 1
    picked.push(best)
  }
  const order = picked.slice()
  for (let i = 0; i < size; i++) if (isPicked[i] === 0) order.push(i)
  return { order, picked: picked.length }
}
/** Indexes in picking order. */
export const diversify = (inputs: MmrInputs): ReadonlyArray<number> => greedyMmr(inputs).order

const scaledOf = (size: number, relevance: (i: number) => number): Float64Array => {
  const scaled = new Float64Array(size)
  let low = Infinity,
    high = -Infinity
  for (let i = 0; i < size; i++) {
    scaled[i] = relevance(i)
    low = Math.min(low, scaled[i])
    high = Math.max(high, scaled[i])
  }
  for (let i = 0; i < size; i++) scaled[i] = high > low ? (scaled[i] - low) / (high - low) : 1
  return scaled
}
