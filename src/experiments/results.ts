/**
 * The results of a run, computed purely from its sums and earlier evaluations. The API and the watch both use this,
 * so they agree.
 */
import {
  addSums,
  compare,
  type Comparison,
  cupedEstimates,
  type Estimate,
  halfWidth,
  holm,
  NO_UNITS,
  ratioEstimate,
  SAMPLE_RATIO_ALPHA,
  sampleRatioP,
  type UnitSums
} from "@dowser/engine-sdk/experiments"
import type { Definition } from "./definition.ts"
import { type Guardrail, latencyGuardrail, leastOf, metricGuardrail, slowOf } from "./guardrails.ts"
import type { ExposuresRow, LatencyRow, SplitRow, StoredRun, SumsRow } from "./runs-repository.ts"
import type { ExperimentResults, Metric } from "./schema.ts"
import { type Preference, preferenceOf } from "./preference.ts"
import { splitsOf } from "./split.ts"

const CONFIDENCE = 0.95
const ALPHA = 1 - CONFIDENCE
/** The smallest difference worth detecting, relative to the control; a smaller one is irrelevant. */
const MIN_EFFECT = 0.1
const MULTIPLE_SHARE_MAX = 0.01
const DAY_MS = 86_400_000
/** The most days in the series, newest first. */
const DAYS_SHOWN_MAX = 120

type Results = typeof ExperimentResults.Type
interface Counted {
  readonly sums: ReadonlyArray<SumsRow>
  readonly exposures: ReadonlyArray<ExposuresRow>
  readonly latencies: ReadonlyArray<LatencyRow>
  readonly splits: ReadonlyArray<SplitRow>
  /** Days of users that were dropped for lack of room. */ readonly droppedDays: number
}

const sumsOf = (rows: ReadonlyArray<SumsRow>): UnitSums => rows.reduce(addSums, NO_UNITS)
const ofMetric = (rows: ReadonlyArray<SumsRow>, metric: Metric): ReadonlyArray<SumsRow> =>
  rows.filter((row) => row.metric === metric)
/** Sums of each variant, in the order of the variants. */
const byVariant = ({ variants }: Definition, rows: ReadonlyArray<SumsRow>): ReadonlyArray<UnitSums> =>
  variants.map((_, i) => sumsOf(rows.filter(({ variant }) => variant === i)))

/** The guardrail that no winner may violate; if the metric is that guardrail itself, clicks. */
const guardrailOf = (metric: Metric): Metric => (metric === "zero_result_rate" ? "ctr" : "zero_result_rate")
const isBetter = (metric: Metric, z: number): boolean => (metric === "zero_result_rate" ? z < 0 : z > 0)

/** Each variant against the control; undefined for the control itself and if nothing can be compared. */
const comparisons = (
  estimates: ReadonlyArray<Estimate | undefined>,
  alpha: number
): ReadonlyArray<Comparison | undefined> =>
  estimates.map((one, i) =>
    i === 0 || one === undefined || estimates[0] === undefined ? undefined : compare(estimates[0], one, alpha)
  )

interface Estimated {
  /** Adjusted for the units' past if that explains variance, otherwise unadjusted. */
  readonly estimates: ReadonlyArray<Estimate | undefined>
  readonly raw: ReadonlyArray<Estimate | undefined>
  /** Null if both are the same. */ readonly reduction: number | null
}
const estimated = (sums: ReadonlyArray<UnitSums>): Estimated => {
  const raw = sums.map(ratioEstimate)
  const cuped = cupedEstimates(sums)
  return cuped === undefined
    ? { estimates: raw, raw, reduction: null }
    : { estimates: cuped.estimates, raw, reduction: cuped.reduction }
}

interface Judged extends Estimated {
  readonly sums: ReadonlyArray<UnitSums>
  readonly compared: ReadonlyArray<Comparison | undefined>
  /** For each variant but the control, the smallest p-value so far, corrected for several variants. */
  readonly p: ReadonlyArray<number>
  /** For an interleaved run, neither split nor guardrails are meaningful, because all units see both variants. */
  readonly preference: Preference | undefined
  readonly guardrails: ReadonlyArray<Guardrail>
  readonly split_p: number
  readonly multipleShare: number
  readonly units: number
  /** State for the next evaluation. */ readonly least_p: StoredRun["least_p"]
}

const guardrailsOf = ({ definition, least_p: before }: StoredRun, { latencies, sums }: Counted) => {
  const { metric, variants } = definition
  const others = variants.slice(1),
    rail = guardrailOf(metric)
  const railed = comparisons(byVariant(definition, ofMetric(sums, rail)).map(ratioEstimate), ALPHA / others.length)
  return [
    metricGuardrail(rail, before, others, railed.slice(1), (z) => isBetter(rail, z), ALPHA),
    latencyGuardrail(before, others, latencies, ALPHA)
  ]
}

const judge = (run: StoredRun, counted: Counted): Judged => {
  const { sums: rows } = counted
  const { definition, least_p: before } = run
  const { metric, variants } = definition
  const others = variants.length - 1
  const sums = byVariant(definition, ofMetric(rows, metric))
  const figures = estimated(sums)
  const compared = comparisons(figures.estimates, ALPHA / others)
  const least = compared.slice(1).map((one, i) => leastOf(before, variants[i + 1]!.id, one?.p ?? 1))
  const preference = preferenceOf(run, rows)
  const guardrails = preference === undefined ? guardrailsOf(run, counted) : []
  const units = sums.reduce((sum, { n }) => sum + n, 0)
  const several = sumsOf(ofMetric(rows, metric).filter(({ variant }) => variant < 0)).n
  const split = sampleRatioP(
    sums.map(({ n }) => n),
    variants.map(({ weight }) => weight)
  )
  const split_p = preference === undefined ? Math.min(run.split_p, split) : 1
  return {
    ...figures,
    sums,
    compared,
    p: holm(least),
    preference,
    guardrails,
    split_p,
    multipleShare: units + several === 0 ? 0 : several / (units + several),
    units,
    least_p: Object.fromEntries([
      ...least.map((p, i) => [variants[i + 1]!.id, p] as const),
      ...guardrails.flatMap((one) => Object.entries(one.least_p)),
      ...Object.entries(preference?.least_p ?? {})
    ])
  }
}

const isHealthy = ({ multipleShare, split_p }: Judged): boolean =>
  split_p >= SAMPLE_RATIO_ALPHA && multipleShare <= MULTIPLE_SHARE_MAX
/** In an interleaved run all units belong to the first variant. */
const hasEnough = (
  { definition, started_at, stopped_at }: StoredRun,
  { preference, sums }: Judged,
  now: number
): boolean =>
  (preference === undefined ? sums : sums.slice(0, 1)).every(({ n }) => n >= definition.min_sample) &&
  (stopped_at ?? now) - started_at >= definition.minimum_days * DAY_MS

/** The best of the variants that are significantly better; the control if all others are significantly worse. */
const bestOf = ({ definition: { metric, variants } }: StoredRun, { compared, estimates, p, preference }: Judged) => {
  if (preference !== undefined)
    return preference.p < ALPHA ? variants[preference.wins > preference.losses ? 1 : 0]!.id : null
  const sure = p.map((one, i) => (one < ALPHA ? compared[i + 1] : undefined))
  let best: number | undefined
  sure.forEach((one, i) => {
    if (one === undefined || !isBetter(metric, one.z)) return
    const mean = estimates[i + 1]!.mean
    if (best === undefined || isBetter(metric, mean - estimates[best]!.mean)) best = i + 1
  })
  const isControl = sure.every((one) => one !== undefined && !isBetter(metric, one.z))
  return best !== undefined ? variants[best]!.id : isControl ? variants[0]!.id : null
}

/** The announcement of a winner. */
interface Winner {
  readonly variant_id: string
  readonly metric: Metric
  /** Relative to the control; null for the control itself, and if both rankings are in one list. */
  readonly lift: number | null
  /** For the control, the largest p-value of the others, because all of them are worse. */ readonly p_value: number
}
const announcementOf = (
  { definition: { metric, variants } }: StoredRun,
  { compared, p, preference }: Judged,
  variant_id: string
): Winner => {
  if (preference !== undefined) return { variant_id, metric, lift: null, p_value: preference.p }
  const at = variants.findIndex(({ id }) => id === variant_id)
  return { variant_id, metric, lift: compared[at]?.lift ?? null, p_value: at === 0 ? Math.max(...p) : p[at - 1]! }
}
/** The winner of this evaluation; null if there is none. */
export const winnerOf = (run: StoredRun, counted: Counted, now: number): Winner | null => {
  const judged = judge(run, counted)
  const isWorse = judged.guardrails.some((one) => one.isWorse)
  if (!isHealthy(judged) || !hasEnough(run, judged, now) || isWorse) return null
  const best = bestOf(run, judged)
  return best === null ? null : announcementOf(run, judged, best)
}
/** The state that this evaluation stores for the next one. */
export const lookedAt = (run: StoredRun, counted: Counted): Pick<StoredRun, "least_p" | "split_p"> => {
  const { least_p, split_p } = judge(run, counted)
  return { least_p, split_p }
}

const isWithin = (interval: Comparison["interval"]): boolean =>
  interval !== null && interval[0] > -MIN_EFFECT && interval[1] < MIN_EFFECT
const isNoEffect = ({ compared }: Judged): boolean => compared.slice(1).every((one) => isWithin(one?.interval ?? null))

const stateOf = (run: StoredRun, judged: Judged, now: number): Results["state"] => {
  if (!isHealthy(judged)) return "unhealthy"
  if (run.winner_variant_id !== null) return "winner"
  if (!hasEnough(run, judged, now)) return "collecting"
  return isNoEffect(judged) ? "no_effect" : "ready"
}

/**
 * Days until, at the current pace, a difference of a tenth of the control's figure would be detected: 0 if it would
 * be already, null if that cannot be estimated.
 */
const daysToMinEffect = ({ started_at, stopped_at }: StoredRun, { estimates }: Judged, now: number): number | null => {
  const [control, ...others] = estimates
  const days = ((stopped_at ?? now) - started_at) / DAY_MS
  if (control === undefined || control.mean === 0 || days <= 0) return null
  const wanted = MIN_EFFECT * Math.abs(control.mean)
  let most = 0
  for (const other of others) {
    if (other === undefined) return null
    const n = control.units + other.units,
      error = Math.hypot(control.standardError, other.standardError)
    if (error === 0) return null
    let low = 1,
      high = 1
    const isFound = (times: number) => halfWidth(error / Math.sqrt(times), n * times, ALPHA / others.length) <= wanted
    while (!isFound(high) && high < 1e6) high *= 2
    if (high >= 1e6) return null
    for (let i = 0; i < 30; i++) {
      const middle = (low + high) / 2
      if (isFound(middle)) high = middle
      else low = middle
    }
    most = Math.max(most, isFound(1) ? 0 : (high - 1) * days)
  }
  return Math.ceil(most)
}

const dailyOf = ({ definition }: StoredRun, { exposures, sums }: Counted): Results["daily"] => {
  const rows = ofMetric(sums, definition.metric)
  const days = [...new Set([...rows, ...exposures].map(({ day }) => day))].sort((a, b) => a - b).slice(-DAYS_SHOWN_MAX)
  return days.map((day) => {
    const { estimates } = estimated(
      byVariant(
        definition,
        rows.filter((row) => row.day <= day)
      )
    )
    const compared = comparisons(estimates, ALPHA / (definition.variants.length - 1))
    return {
      date: new Date(day).toISOString().slice(0, 10),
      variants: definition.variants.map(({ id }, i) => ({
        id,
        exposures: exposuresOf(exposures, (row) => row.variant === i && row.day === day),
        mean: estimates[i]?.mean ?? null,
        interval: compared[i]?.interval ?? null
      }))
    }
  })
}
const exposuresOf = (rows: ReadonlyArray<ExposuresRow>, isMeant: (row: ExposuresRow) => boolean): number =>
  rows.filter(isMeant).reduce((sum, { exposures }) => sum + exposures, 0)

const variantsOf = (
  { definition }: StoredRun,
  { exposures, latencies, sums: rows }: Counted,
  { compared, estimates, p, raw, reduction, sums }: Judged
): Results["variants"] => {
  const rawly = comparisons(raw, ALPHA / (definition.variants.length - 1))
  const total = (metric: Metric, i: number) => sumsOf(ofMetric(rows, metric).filter(({ variant }) => variant === i)).x
  return definition.variants.map(({ id, name }, i) => ({
    id,
    name,
    units: sums[i]!.n,
    exposures: exposuresOf(exposures, ({ variant }) => variant === i),
    searches: sums[i]!.y,
    conversions: total("conversion_rate", i),
    revenue: total("revenue_per_search", i),
    mean: estimates[i]?.mean ?? null,
    lift: compared[i]?.lift ?? null,
    interval: compared[i]?.interval ?? null,
    p_value: i === 0 ? null : p[i - 1]!,
    latency_p95_ms: slowOf(latencies, i),
    raw: {
      mean: raw[i]?.mean ?? null,
      standard_error: raw[i]?.standardError ?? null,
      lift: rawly[i]?.lift ?? null,
      interval: rawly[i]?.interval ?? null
    },
    cuped: reduction === null ? null : { reduction }
  }))
}

export const resultsOf = (run: StoredRun, counted: Counted, now: number): Results => {
  const judged = judge(run, counted)
  const { guardrails, preference, multipleShare, split_p, units } = judged
  return {
    experiment_id: run.experiment_id,
    run: run.run,
    state: stateOf(run, judged, now),
    metric: run.definition.metric,
    confidence: CONFIDENCE,
    units,
    multiple_exposure_share: multipleShare,
    srm: {
      p_value: split_p,
      ok: split_p >= SAMPLE_RATIO_ALPHA,
      by: preference === undefined ? splitsOf(run.definition, counted.splits) : []
    },
    revenue_cap: run.revenue_cap === null ? null : Number(run.revenue_cap) / 1_000_000,
    history_days_dropped: counted.droppedDays,
    variants: variantsOf(run, counted, judged),
    guardrails: guardrails.map(({ isWorse, metric, p }) => ({ metric, ok: !isWorse, p_value: p })),
    interleaving:
      preference === undefined
        ? null
        : { wins: preference.wins, losses: preference.losses, ties: preference.ties, p_value: preference.p },
    winner_variant_id: run.winner_variant_id,
    days_to_min_effect: daysToMinEffect(run, judged, now),
    daily: dailyOf(run, counted)
  }
}
