/**
 * Metrics in which a winner must not be worse: finding something (or being clicked, if that is the metric itself),
 * and the latency of all but the slowest twentieth of responses. Pure.
 */
import { type Comparison, holm, quantileOf, type Sketch, slowerP } from "@dowser/engine-sdk/experiments"
import type { Variant } from "./definition.ts"
import type { LatencyRow, StoredRun } from "./runs-repository.ts"
import type { Metric } from "./schema.ts"

const SLOW_SHARE = 0.95
const LATENCY = "latency_p95"

export interface Guardrail {
  readonly metric: Metric | typeof LATENCY
  /** The smallest p-value of all evaluations, corrected for several variants. */ readonly p: number
  readonly isWorse: boolean
  /** State for the next evaluation. */ readonly least_p: StoredRun["least_p"]
}

/** The smallest p-value so far, including `p`. */
export const leastOf = (before: StoredRun["least_p"], name: string, p: number): number =>
  Math.min(p, Object.hasOwn(before, name) ? before[name]! : 1)

/** Ids of variants contain no spaces. */
const guardrail = (
  metric: Guardrail["metric"],
  prefix: string,
  before: StoredRun["least_p"],
  others: ReadonlyArray<Variant>,
  ps: ReadonlyArray<number>,
  alpha: number
): Guardrail => {
  const least = others.map(({ id }, i) => [`${prefix} ${id}`, leastOf(before, `${prefix} ${id}`, ps[i]!)] as const)
  const p = Math.min(1, ...holm(least.map(([, one]) => one)))
  return { metric, p, isWorse: p < alpha, least_p: Object.fromEntries(least) }
}

/** For a metric, from each variant's difference to the control. */
export const metricGuardrail = (
  metric: Metric,
  before: StoredRun["least_p"],
  others: ReadonlyArray<Variant>,
  compared: ReadonlyArray<Comparison | undefined>,
  isBetter: (z: number) => boolean,
  alpha: number
): Guardrail =>
  guardrail(
    metric,
    "guardrail",
    before,
    others,
    compared.map((one) => (one === undefined || isBetter(one.z) ? 1 : one.p)),
    alpha
  )

const sketchOf = (rows: ReadonlyArray<LatencyRow>, of: number): Sketch =>
  rows.filter(({ variant }) => variant === of).map(({ bucket, exposures }) => [bucket, exposures])

export const latencyGuardrail = (
  before: StoredRun["least_p"],
  others: ReadonlyArray<Variant>,
  rows: ReadonlyArray<LatencyRow>,
  alpha: number
): Guardrail => {
  const control = sketchOf(rows, 0)
  const ps = others.map((_, i) => slowerP(control, sketchOf(rows, i + 1), SLOW_SHARE))
  return guardrail(LATENCY, "latency", before, others, ps, alpha)
}

/** Milliseconds with two decimals, within 2.5 %; null if no response reported a latency. */
export const slowOf = (rows: ReadonlyArray<LatencyRow>, variant: number): number | null => {
  const took_us = quantileOf(sketchOf(rows, variant), SLOW_SHARE)
  return took_us === undefined ? null : Math.round(took_us / 10) / 100
}
