/** Similarity of two candidates, 0..1, for MMR: cosine of vectors, or Jaccard of words. */
import { productTable } from "./dot-kernel.ts"
import { textWords } from "../rules/condition-index.ts"

export type Similarity = (i: number, j: number) => number

/**
 * Norms are computed once. A candidate without a vector, or with one of another length, has similarity 0; opposite
 * directions count as 0, not as negative. The result is valid until the next call, because all vectors share one table.
 *
 * @example
 * ```ts
 * import { vectorSimilarity } from "@dowser/engine-sdk/diversity"
 *
 * const similarity = vectorSimilarity([Float32Array.of(1, 0), Float32Array.of(1, 1)])
 * similarity(0, 1) // some 0.71
 * ```
 */
export const vectorSimilarity = (vectors: ReadonlyArray<Float32Array | undefined>): Similarity => {
  const dimensions = vectors.find((vector) => vector !== undefined)?.length ?? 0
  const product = productTable(
    vectors.map((vector) => (vector?.length === dimensions ? vector : undefined)),
    dimensions
  )
  const scales = Float64Array.from(vectors, (_vector, i) => {
    const squares = product(i, i)
    return squares > 0 ? 1 / Math.sqrt(squares) : 0
  })
  return (i, j) => Math.min(1, Math.max(0, product(i, j) * scales[i] * scales[j]))
}

const NO_WORDS = new Int32Array(0)
/**
 * The share of words that two texts have in common, each counted once; empty texts are similar to nothing, and so are
 * those compared after time has run out.
 *
 * @example
 * ```ts
 * import { textSimilarity } from "@dowser/engine-sdk/diversity"
 *
 * const similarity = textSimilarity(["red mug", "blue mug"])
 * similarity(0, 1) // one word of three
 * ```
 */
export const textSimilarity = (texts: ReadonlyArray<string>, isLate: () => boolean = () => false): Similarity => {
  const numbers = new Map<string, number>()
  const sets = texts.map((text) =>
    isLate()
      ? NO_WORDS
      : Int32Array.from(
          new Set(
            textWords(text).map((word) => {
              let number = numbers.get(word)
              if (number === undefined) numbers.set(word, (number = numbers.size))
              return number
            })
          )
        ).sort()
  )
  return (i, j) => {
    const a = sets[i],
      b = sets[j]
    let common = 0
    for (let x = 0, y = 0; x < a.length && y < b.length;) {
      if (a[x] === b[y]) {
        common++
        x++
        y++
      } else if (a[x] < b[y]) x++
      else y++
    }
    return common === 0 ? 0 : common / (a.length + b.length - common)
  }
}
