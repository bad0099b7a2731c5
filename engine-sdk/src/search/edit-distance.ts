/** Edit distance of two short words, adjacent transposition counting one (optimal string alignment). */
export const damerauWithin = (a: string, b: string, most: number): boolean => editDistance(a, b, most) <= most

/** The distance, or something above `most` once it is certain to exceed it. O(|a| · |b|). */
export const editDistance = (a: string, b: string, most: number): number => {
  if (Math.abs(a.length - b.length) > most) return most + 1
  let before: number[] = [], above: number[] = Array.from({ length: b.length + 1 }, (_cell, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    let least = i
    for (let j = 1; j <= b.length; j++) {
      let value = Math.min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) value = Math.min(value, before[j - 2] + 1)
      row.push(value)
      if (value < least) least = value
    }
    if (least > most) return most + 1
    before = above
    above = row
  }
  return above[b.length]
}
