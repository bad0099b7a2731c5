/**
 * The grains of a rollup row, and the plan that answers a span of time from them exactly: complete days, hours and
 * minutes from their own rows, and the remainders at both ends from the instants stored alongside. All in UTC ms.
 */

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
/** `instant` is not the grain of a row: instants are stored packed by minute (see instants.ts). */
export const GRAINS = { instant: 0, minute: 1, hour: 2, day: 3 } as const
const SIZES = [1, MINUTE_MS, HOUR_MS, DAY_MS] as const

/** Rows of one grain with `from` ≤ bucket_at < `before`; for grain `instant`, instants within one minute. */
export interface Span {
  readonly grain: number
  readonly from: number
  readonly before: number
}

/** Disjoint spans that cover exactly [from, before); at most seven. */
export const spansOf = (from: number, before: number): ReadonlyArray<Span> => {
  const cover = (grain: number, start: number, end: number): ReadonlyArray<Span> => {
    if (start >= end) return []
    if (grain === GRAINS.instant) return [{ grain, from: start, before: end }]
    const size = SIZES[grain]!
    const first = Math.ceil(start / size) * size
    const last = Math.floor(end / size) * size
    // No complete unit inside: one finer span, or two if a boundary lies between.
    if (first >= last)
      return first > start && first < end
        ? [...cover(grain - 1, start, first), ...cover(grain - 1, first, end)]
        : cover(grain - 1, start, end)
    return [...cover(grain - 1, start, first), { grain, from: first, before: last }, ...cover(grain - 1, last, end)]
  }
  return cover(GRAINS.day, from, before)
}
