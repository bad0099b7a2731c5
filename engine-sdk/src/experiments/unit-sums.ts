/**
 * The sums kept for a variant's units, from which every figure is computed: eleven of them for any number of units. A
 * unit has a numerator `x` (its searches with a click, its revenue), a denominator `y` (its searches) and, if it was
 * known before the experiment, a covariate `c` (the same figure for that time).
 */
export interface UnitSums {
  /** Number of units. */ readonly n: number
  readonly x: number
  readonly xx: number
  readonly y: number
  readonly yy: number
  readonly xy: number
  readonly c: number
  readonly cc: number
  readonly xc: number
  readonly yc: number
  /** Number of units with a covariate; for the others it counts as 0. */ readonly known: number
}

/**
 * The sums of no units, the starting value of an addition.
 *
 * @example
 * ```ts
 * import { addSums, NO_UNITS, unitSums } from "@dowser/engine-sdk/experiments"
 *
 * [unitSums(1, 4), unitSums(0, 2)].reduce(addSums, NO_UNITS).n // 2
 * ```
 */
export const NO_UNITS: UnitSums = { n: 0, x: 0, xx: 0, y: 0, yy: 0, xy: 0, c: 0, cc: 0, xc: 0, yc: 0, known: 0 }

/**
 * The combined sums of two groups of units.
 *
 * @example
 * ```ts
 * import { addSums, unitSums } from "@dowser/engine-sdk/experiments"
 *
 * addSums(unitSums(1, 4), unitSums(0, 2)).y // 6
 * ```
 */
export const addSums = (a: UnitSums, b: UnitSums): UnitSums => ({
  n: a.n + b.n,
  x: a.x + b.x,
  xx: a.xx + b.xx,
  y: a.y + b.y,
  yy: a.yy + b.yy,
  xy: a.xy + b.xy,
  c: a.c + b.c,
  cc: a.cc + b.cc,
  xc: a.xc + b.xc,
  yc: a.yc + b.yc,
  known: a.known + b.known
})

/**
 * The sums of one unit. `c` undefined: nothing is known about the unit before the experiment.
 *
 * @example
 * ```ts
 * import { unitSums } from "@dowser/engine-sdk/experiments"
 *
 * unitSums(1, 4) // a unit with 1 click in 4 searches
 * ```
 */
export const unitSums = (x: number, y: number, c?: number): UnitSums => {
  const before = c ?? 0
  return {
    n: 1,
    x,
    xx: x * x,
    y,
    yy: y * y,
    xy: x * y,
    c: before,
    cc: before * before,
    xc: x * before,
    yc: y * before,
    known: c === undefined ? 0 : 1
  }
}
