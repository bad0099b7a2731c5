/** Edit distance of two words; an adjacent transposition counts as one edit (optimal string alignment). */
export const damerauWithin = (a: string, b: string, most: number): boolean => editDistance(a, b, most) <= most

/** Rows of the table, reused because the words of a query are compared with thousands of others. */
let rows = [new Int32Array(64), new Int32Array(64), new Int32Array(64)]
const rowsFor = (length: number): typeof rows => {
  if (rows[0].length <= length) rows = rows.map(() => new Int32Array(2 * length))
  return rows
}
/** Longer rows are not kept. */
const KEPT_MAX = 65_536

/**
 * The distance, or a number above `most` once it is certain to exceed that. O(`most` · length), because only cells near
 * the diagonal can be within `most`.
 */
export const editDistance = (a: string, b: string, most: number): number => {
  const n = a.length,
    m = b.length
  if (Math.abs(n - m) > most) return most + 1
  if (a === b) return 0
  let [before, above, row] = rowsFor(m + 1)
  for (let j = 0; j <= Math.min(m, most + 1); j++) above[j] = j
  for (let i = 1; i <= n; i++) {
    const from = Math.max(1, i - most),
      to = Math.min(m, i + most),
      own = a.charCodeAt(i - 1),
      last = i > 1 ? a.charCodeAt(i - 2) : -1
    // Cells on both sides of the band contain a distance that is certainly too large.
    row[from - 1] = from === 1 ? i : most + 1
    if (to === i + most) above[to] = most + 1
    let least = row[from - 1]
    for (let j = from; j <= to; j++) {
      const other = b.charCodeAt(j - 1)
      let value = above[j - 1] + (own === other ? 0 : 1)
      if (above[j] + 1 < value) value = above[j] + 1
      if (row[j - 1] + 1 < value) value = row[j - 1] + 1
      if (j > 1 && other === last && own === b.charCodeAt(j - 2) && before[j - 2] + 1 < value) value = before[j - 2] + 1
      row[j] = value
      if (value < least) least = value
    }
    if (least > most) return most + 1
    const spare = before
    before = above
    above = row
    row = spare
  }
  const distance = above[m]
  if (rows[0].length > KEPT_MAX) rows = [new Int32Array(64), new Int32Array(64), new Int32Array(64)]
  return distance
}
