/**
 * The linear algebra that term vectors need: a sparse matrix by rows, a random basis of the range of a symmetric one,
 * and the eigenvectors of its projection onto that basis (Halko, Martinsson and Tropp, 2011). Deterministic: random
 * numbers come from a seed.
 */

/** Row `i` has `values[n]` in column `columns[n]`, for `n` from `starts[i]` to `starts[i + 1]`. */
export interface SparseRows {
  readonly starts: Int32Array
  readonly columns: Int32Array
  readonly values: Float32Array | Float64Array
}
/** A symmetric matrix, given by its product with a dense one of `width` columns, stored row by row. */
interface Symmetric {
  readonly rows: number
  readonly times: (dense: Float64Array, width: number) => Float64Array
}

/** Normally distributed numbers from a linear congruential generator (Box-Muller). */
const normals = (seed: number) => {
  let state = seed >>> 0
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return (state + 1) / 4_294_967_297
  }
  return (): number => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next())
}

/** `sparse × dense`; dense has `width` columns, row by row. */
const times = ({ columns, starts, values }: SparseRows, dense: Float64Array, width: number): Float64Array => {
  const rows = starts.length - 1
  const product = new Float64Array(rows * width)
  for (let i = 0; i < rows; i++)
    for (let n = starts[i]!; n < starts[i + 1]!; n++) {
      const value = values[n]!
      const from = columns[n]! * width
      for (let k = 0; k < width; k++) product[i * width + k]! += value * dense[from + k]!
    }
  return product
}
/** `sparseᵀ × dense`. */
const transposedTimes = (
  { columns, starts, values }: SparseRows,
  columnCount: number,
  dense: Float64Array,
  width: number
): Float64Array => {
  const product = new Float64Array(columnCount * width)
  for (let i = 0; i + 1 < starts.length; i++)
    for (let n = starts[i]!; n < starts[i + 1]!; n++) {
      const value = values[n]!
      const to = columns[n]! * width
      for (let k = 0; k < width; k++) product[to + k]! += value * dense[i * width + k]!
    }
  return product
}
/** `sparse` itself, which is symmetric. */
export const symmetric = (sparse: SparseRows): Symmetric => ({
  rows: sparse.starts.length - 1,
  times: (dense, width) => times(sparse, dense, width)
})
/** `sparseᵀ × sparse`, which is never computed explicitly. */
export const gramOf = (sparse: SparseRows, columnCount: number): Symmetric => ({
  rows: columnCount,
  times: (dense, width) => transposedTimes(sparse, columnCount, times(sparse, dense, width), width)
})

const transposed = (dense: Float64Array, rows: number, width: number): Float64Array => {
  const result = new Float64Array(dense.length)
  for (let i = 0; i < rows; i++) for (let k = 0; k < width; k++) result[k * rows + i] = dense[i * width + k]!
  return result
}
/**
 * Makes columns orthonormal (Gram-Schmidt, twice); a column that depends on the others becomes 0. It works column by
 * column in memory: 20,000 rows and 72 columns take 0.2 s, by rows 0.6.
 */
const orthonormal = (dense: Float64Array, rows: number, width: number): Float64Array => {
  const columns = transposed(dense, rows, width)
  for (let k = 0; k < width; k++) {
    const own = columns.subarray(k * rows, (k + 1) * rows)
    for (let pass = 0; pass < 2; pass++)
      for (let j = 0; j < k; j++) {
        const other = columns.subarray(j * rows, (j + 1) * rows)
        let dot = 0
        for (let i = 0; i < rows; i++) dot += own[i]! * other[i]!
        for (let i = 0; i < rows; i++) own[i]! -= dot * other[i]!
      }
    let square = 0
    for (let i = 0; i < rows; i++) square += own[i]! ** 2
    const scale = square < 1e-18 ? 0 : 1 / Math.sqrt(square)
    for (let i = 0; i < rows; i++) own[i]! *= scale
  }
  return transposed(columns, width, rows)
}
/** Eigenvalues of a small symmetric matrix, which is overwritten, and eigenvectors as columns (Jacobi rotations). */
const eigenOf = (
  matrix: Float64Array,
  n: number
): { readonly values: Float64Array; readonly vectors: Float64Array } => {
  const vectors = new Float64Array(n * n)
  for (let i = 0; i < n; i++) vectors[i * n + i] = 1
  const rotate = (target: Float64Array, i: number, j: number, c: number, s: number): void => {
    const [a, b] = [target[i]!, target[j]!]
    target[i] = c * a - s * b
    target[j] = s * a + c * b
  }
  for (let sweep = 0; sweep < 30; sweep++) {
    let off = 0
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += matrix[p * n + q]! ** 2
    if (off < 1e-20) break
    for (let p = 0; p < n; p++)
      for (let q = p + 1; q < n; q++) {
        const between = matrix[p * n + q]!
        if (Math.abs(between) < 1e-15) continue
        const theta = (matrix[q * n + q]! - matrix[p * n + p]!) / (2 * between)
        const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1))
        const c = 1 / Math.sqrt(t * t + 1)
        for (let k = 0; k < n; k++) rotate(matrix, k * n + p, k * n + q, c, t * c)
        for (let k = 0; k < n; k++) rotate(matrix, p * n + k, q * n + k, c, t * c)
        for (let k = 0; k < n; k++) rotate(vectors, k * n + p, k * n + q, c, t * c)
      }
  }
  return { values: Float64Array.from({ length: n }, (_, i) => matrix[i * n + i]!), vectors }
}

const OVERSAMPLED = 8,
  POWER_ITERATIONS = 2

/**
 * A vector of `width` numbers for each row, row by row: the strongest eigenvectors of the symmetric matrix, each
 * weighted by its eigenvalue to the power of `power` (randomized, with two power iterations); fewer if the matrix has
 * fewer. Cost: 4 × the product of the matrix with a dense one of `width` columns, and 12 × rows × width².
 */
export const strongestVectors = (
  { rows, times: applied }: Symmetric,
  width: number,
  { power, seed }: { readonly power: number; readonly seed: number }
): Float32Array => {
  const wide = Math.min(rows, width + OVERSAMPLED)
  const normal = normals(seed)
  let basis: Float64Array = Float64Array.from({ length: rows * wide }, normal)
  for (let pass = 0; pass <= POWER_ITERATIONS; pass++) basis = orthonormal(applied(basis, wide), rows, wide)
  const image = applied(basis, wide)
  const small = new Float64Array(wide * wide)
  for (let i = 0; i < rows; i++)
    for (let a = 0; a < wide; a++) {
      const value = basis[i * wide + a]!
      for (let b = 0; b < wide; b++) small[a * wide + b]! += value * image[i * wide + b]!
    }
  const { values, vectors } = eigenOf(small, wide)
  const strongest = Array.from({ length: wide }, (_, k) => k)
    .sort((a, b) => values[b]! - values[a]! || a - b)
    .slice(0, width)
  const result = new Float32Array(rows * width)
  for (const [place, k] of strongest.entries()) {
    const weight = Math.max(0, values[k]!) ** power
    for (let i = 0; i < rows; i++) {
      let sum = 0
      for (let a = 0; a < wide; a++) sum += basis[i * wide + a]! * vectors[a * wide + k]!
      result[i * width + place] = weight * sum
    }
  }
  return result
}
