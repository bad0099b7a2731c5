/** What an alert evaluates, and when it fires. Pure. */
export const METRICS = [
  "searches",
  "events",
  "zero_result_rate",
  "ctr",
  "conversion_rate",
  "revenue",
  "revenue_per_search",
  "error_rate",
  "p95_latency_ms",
  "quota_used",
  "events_lag_seconds"
] as const
export type Metric = (typeof METRICS)[number]
/** Rates and averages over fewer than `MIN_SAMPLES` searches are unknown. */
const RATES: ReadonlySet<string> = new Set([
  "zero_result_rate",
  "ctr",
  "conversion_rate",
  "revenue_per_search",
  "error_rate",
  "p95_latency_ms"
])
const MIN_SAMPLES = 50
/** Metrics of the entire organization or installation, which cannot be split by collection. */
export const WITHOUT_COLLECTION: ReadonlySet<string> = new Set([
  "error_rate",
  "p95_latency_ms",
  "quota_used",
  "events_lag_seconds"
])

export interface Condition {
  readonly metric: Metric
  readonly op: ">" | "<"
  readonly threshold: number
}
type State = "ok" | "firing"

/** Undefined if it is unknown. */
export const knownValue = (metric: Metric, value: number | undefined, samples: number): number | undefined =>
  RATES.has(metric) && samples < MIN_SAMPLES ? undefined : value

/**
 * Fires once per crossing, and is armed again when the condition is false. Decision: an unknown value changes
 * nothing, so a quiet night neither fires nor arms an alert.
 */
export const judged = (
  { op, threshold }: Condition,
  state: State,
  value: number | undefined
): { readonly state: State; readonly hasFired: boolean } => {
  if (value === undefined) return { state, hasFired: false }
  const holds = op === ">" ? value > threshold : value < threshold
  return { state: holds ? "firing" : "ok", hasFired: holds && state === "ok" }
}
