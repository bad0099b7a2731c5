/**
 * All metrics of all rooms as Prometheus text: numbers by Effect's own exporter; histograms here, since that would
 * count them again.
 */
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import type { Histogram, Measure, Scalar, SpreadSample } from "./measure.ts"

const metricOf = ({ help, name, type }: Scalar): Metric.Metric<number, unknown> =>
  type === "counter"
    ? Metric.counter(name, { description: help, incremental: true })
    : Metric.gauge(name, { description: help })

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")
const labelled = (name: string, labels: ReadonlyArray<readonly [string, string]>): string =>
  labels.length === 0 ? name : `${name}{${labels.map(([key, value]) => `${key}="${escaped(value)}"`).join(",")}}`

const linesOf = (name: string, { bounds, counts, labels = {}, sum }: SpreadSample): ReadonlyArray<string> => {
  const own = Object.entries(labels)
  let below = 0
  const buckets = counts.map((count, i) => {
    below += count
    return `${labelled(`${name}_bucket`, [...own, ["le", i < bounds.length ? String(bounds[i]) : "+Inf"]])} ${below}`
  })
  return [...buckets, `${labelled(`${name}_sum`, own)} ${sum}`, `${labelled(`${name}_count`, own)} ${below}`]
}
const histogramText = ({ help, name }: Histogram, samples: ReadonlyArray<SpreadSample>): string =>
  samples.length === 0
    ? ""
    : `# HELP ${name} ${help}\n# TYPE ${name} histogram\n${samples.flatMap((one) => linesOf(name, one)).join("\n")}\n`

const unread = (name: string) => (cause: unknown) => Effect.logWarning(`The measure ${name} cannot be read`, cause)

/**
 * Uses a new registry each time: a label that no longer exists (a partition that another process took) is missing from
 * the next answer. A metric that cannot be read is omitted and logged; the others are answered.
 */
export const exposition = (measures: ReadonlyArray<Measure>): Effect.Effect<string> =>
  Effect.gen(function* () {
    let histograms = ""
    for (const measure of measures) {
      if (measure.type === "histogram") {
        const text = Effect.map(measure.read, (samples) => histogramText(measure, samples))
        histograms += yield* Effect.catchCause(text, (cause) => Effect.as(unread(measure.name)(cause), ""))
        continue
      }
      const metric = metricOf(measure)
      yield* Effect.catchCause(
        Effect.flatMap(measure.read, (samples) =>
          Effect.forEach(
            samples,
            ({ labels = {}, value }) => Metric.update(Metric.withAttributes(metric, labels), value),
            { discard: true }
          )
        ),
        unread(measure.name)
      )
    }
    return (yield* PrometheusMetrics.format()) + histograms
  }).pipe(
    Effect.provideServiceEffect(
      Metric.MetricRegistry,
      Effect.sync(() => new Map())
    )
  )
