/**
 * Caps the number of hits per value, and ensures a number of values on the first page. Values are compared as texts; a
 * hit may have several or none.
 */
export type Values = ReadonlyArray<string>

/**
 * Hits that exceed the cap of one of their values move behind all others; ranks before `from` (counted from 1) stay and
 * are not counted. Hits without a value never exceed a cap. O(values).
 *
 * @example
 * ```ts
 * import { capPerValue } from "@dowser/engine-sdk/diversity"
 *
 * capPerValue([["Peak"], ["Peak"], ["Swift"]], 1, 1) // [0, 2, 1]: the second Peak moves back
 * ```
 */
export const capPerValue = (values: ReadonlyArray<Values>, max: number, from: number): number[] => {
  const head: number[] = [],
    within: number[] = [],
    over: number[] = []
  const counts = new Map<string, number>()
  values.forEach((own, i) => {
    if (i < from - 1) {
      head.push(i)
      return
    }
    if (own.some((value) => (counts.get(value) ?? 0) >= max)) {
      over.push(i)
      return
    }
    for (const value of own) counts.set(value, (counts.get(value) ?? 0) + 1)
    within.push(i)
  })
  return [...head, ...within, ...over]
}

/**
 * Ranks `from`..`page` get at least `min` different values, as far as later hits have them: the next hit with a new
 * value moves to the end of the page, in place of the last hit whose values all occur twice there, which moves directly
 * behind the page. O(hits + min · page).
 *
 * @example
 * ```ts
 * import { ensureValues } from "@dowser/engine-sdk/diversity"
 *
 * ensureValues([["Peak"], ["Peak"], ["Swift"]], 2, 1, 2) // [0, 2, 1]: two brands on a page of two
 * ```
 */
export const ensureValues = (values: ReadonlyArray<Values>, min: number, from: number, page: number): number[] => {
  const order = values.map((_own, i) => i)
  const shown = order.splice(from - 1, Math.max(0, page - (from - 1)))
  const rest = order.splice(from - 1)
  const counts = new Map<string, number>()
  const count = (i: number, by: number): void => {
    for (const value of values[i]) {
      const n = (counts.get(value) ?? 0) + by
      if (n === 0) counts.delete(value)
      else counts.set(value, n)
    }
  }
  for (const i of shown) count(i, 1)
  const isSpare = (i: number): boolean => values[i].every((value) => counts.get(value)! > 1)
  const brought: number[] = [],
    pushed: number[] = []
  for (const [at, i] of rest.entries()) {
    if (counts.size >= min) break
    if (values[i].length === 0 || values[i].every((value) => counts.has(value))) continue
    const spare = shown.findLastIndex(isSpare)
    if (spare < 0) break
    const [left] = shown.splice(spare, 1)
    count(left, -1)
    count(i, 1)
    pushed.unshift(left)
    brought.push(i)
    rest[at] = -1
  }
  return [...order, ...shown, ...brought, ...pushed, ...rest.filter((i) => i >= 0)]
}
