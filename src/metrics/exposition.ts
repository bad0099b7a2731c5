/** All measures of all rooms as Prometheus text, which Effect's own exporter writes. */
import { Effect, Metric } from "effect"
import { PrometheusMetrics } from "effect/observability"
import type { Measure } from "./measure.ts"

const metricOf = ({ help, name, type }: Measure): Metric.Metric<number, unknown> =>
  type === "counter"
    ? Metric.counter(name, { description: help, incremental: true })
    : Metric.gauge(name, { description: help })

/**
 * Into a registry of its own each time: a label that is gone (a partition that another process took) is gone from the
 * next answer. A measure that cannot be read is left out and told to the log; the others are answered.
 */
export const exposition = (measures: ReadonlyArray<Measure>): Effect.Effect<string> =>
  Effect.gen(function* () {
    for (const measure of measures) {
      const metric = metricOf(measure)
      yield* Effect.catchCause(
        Effect.flatMap(measure.read, (samples) =>
          Effect.forEach(
            samples,
            ({ labels = {}, value }) => Metric.update(Metric.withAttributes(metric, labels), value),
            { discard: true }
          )
        ),
        (cause) => Effect.logWarning(`The measure ${measure.name} cannot be read`, cause)
      )
    }
    return yield* PrometheusMetrics.format()
  }).pipe(
    Effect.provideServiceEffect(
      Metric.MetricRegistry,
      Effect.sync(() => new Map())
    )
  )
