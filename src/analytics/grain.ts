/**
 * The three grains of a rollup row and the plan that answers a span of time from them exactly: whole days and hours from
 * their own rows, what is left at both ends from rows at single instants. All in UTC milliseconds.
 */

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
export const GRAINS = { instant: 0, hour: 1, day: 2 } as const

/** Rows of one grain with `from` ≤ bucket_at < `before`. */
export interface Span {
  readonly grain: number
  readonly from: number
  readonly before: number
}

/** Disjoint spans that cover exactly [from, before); at most five. */
export const spansOf = (from: number, before: number): ReadonlyArray<Span> => {
  const cover = (grain: 1 | 2, size: number, start: number, end: number): ReadonlyArray<Span> => {
    const first = Math.ceil(start / size) * size
    const last = Math.floor(end / size) * size
    const finer = (a: number, b: number): ReadonlyArray<Span> =>
      a >= b ? [] : grain === GRAINS.day ? cover(GRAINS.hour, HOUR_MS, a, b) : [{ grain: GRAINS.instant, from: a, before: b }]
    return first >= last ? finer(start, end) : [...finer(start, first), { grain, from: first, before: last }, ...finer(last, end)]
  }
  return from >= before ? [] : cover(GRAINS.day, DAY_MS, from, before)
}
