/**
 * EASE (Steck, Embarrassingly Shallow Autoencoders, WWW 2019) as a baseline: the closed-form linear item-item model,
 * B = -P / diag(P) with P = (X'X + lambda)^-1 and a zero diagonal. O(items^3 / 2) once, so only the most common
 * `itemsMax` items take part. The largest 100 weights of each item are kept.
 */
export interface Ease {
  /** Adds to `scores` what `item` with `weight` predicts about other items. */
  readonly addTo: (scores: Float64Array, item: number, weight: number) => void
  readonly items: number
  readonly train_s: number
}
const KEPT = 100

/** `lists`: items (numbers below `items`) of each session, basket or user. */
export const trainEase = (
  lists: ReadonlyArray<ReadonlyArray<number>>,
  items: number,
  lambda: number,
  itemsMax: number
): Ease => {
  const began = performance.now()
  const counts = new Float64Array(items)
  const sets = lists.map((list) => [...new Set(list)])
  for (const set of sets) for (const item of set) counts[item]++
  const common = Array.from(counts.keys()).sort((a, b) => counts[b] - counts[a])
  const taken = common.slice(0, itemsMax)
  const place = new Int32Array(items).fill(-1)
  taken.forEach((item, i) => (place[item] = i))
  const matrix = taken.map((_, i) => new Float64Array(i + 1))
  for (const set of sets) {
    const own = set.map((item) => place[item]).filter((i) => i >= 0)
    for (const a of own) for (const b of own) if (b <= a) matrix[a][b]++
  }
  matrix.forEach((row, i) => (row[i] += lambda))
  sweep(matrix)
  const partners = taken.map((_, i) => largest(matrix, i))
  return {
    items: taken.length,
    train_s: (performance.now() - began) / 1_000,
    addTo: (scores, item, weight) => {
      const own = place[item]
      if (own < 0) return
      for (const [j, b] of partners[own]) scores[taken[j]] += weight * b
    }
  }
}
/**
 * Applies the sweep operator to every row of a symmetric positive definite matrix, of which only the lower triangle
 * is stored. The result is the negative of its inverse.
 */
const sweep = (matrix: ReadonlyArray<Float64Array>): void => {
  const n = matrix.length
  const column = new Float64Array(n)
  for (let k = 0; k < n; k++) {
    const pivot = matrix[k][k]
    for (let i = 0; i < n; i++) column[i] = i < k ? matrix[k][i] : matrix[i][k]
    for (let i = 0; i < n; i++) {
      const factor = column[i] / pivot
      if (i === k || factor === 0) continue
      const row = matrix[i]
      for (let j = 0; j <= i; j++) row[j] -= factor * column[j]
    }
    for (let i = 0; i < n; i++) {
      if (i < k) matrix[k][i] = column[i] / pivot
      else if (i > k) matrix[i][k] = column[i] / pivot
    }
    matrix[k][k] = -1 / pivot
  }
}
/** The largest weights from item i to others: row i of B. */
const largest = (swept: ReadonlyArray<Float64Array>, i: number): ReadonlyArray<readonly [number, number]> => {
  const row: Array<readonly [number, number]> = []
  for (let j = 0; j < swept.length; j++) {
    if (j === i) continue
    const p = i > j ? swept[i][j] : swept[j][i]
    // The sign is the same above and below the diagonal: the swept matrix is -P.
    row.push([j, -p / swept[j][j]])
  }
  return row.sort((a, b) => b[1] - a[1]).slice(0, KEPT)
}
