/** Values of metrics, from existing figures: rollups, minutes of searches, the quota, the processors' lag. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { StreamWorker } from "@dowser/streams/host/host"
import { Analytics } from "../analytics/service.ts"
import { Quota } from "../metering/quota.ts"
import { readSearchMinutes } from "./stored-minutes.ts"
import { knownValue, type Metric } from "./decision.ts"

const MINUTE_MS = 60_000

export interface AskedFigure {
  readonly organization_id: string
  readonly metric: Metric
  readonly window_minutes: number
  readonly collection?: string
}
interface Figure {
  readonly value: number | undefined
  readonly samples: number
}

export const makeFigures = Effect.gen(function* () {
  const analytics = yield* Analytics
  const quota = yield* Quota
  const streams = yield* StreamWorker
  const sql = yield* SqlClient.SqlClient

  const ofRollups = Effect.fnUntraced(function* (
    { collection, organization_id, window_minutes }: AskedFigure,
    metric: Exclude<Metric, "error_rate" | "p95_latency_ms" | "quota_used" | "events_lag_seconds">,
    now: number
  ) {
    const { events, totals } = yield* analytics.getOverviewMetrics({
      organizationId: organization_id,
      range: { from: now - window_minutes * MINUTE_MS, before: now },
      collection,
      segment: undefined
    })
    return { value: metric === "events" ? events : totals[metric], samples: totals.searches }
  })
  const ofMinutes = Effect.fnUntraced(function* (
    { organization_id, window_minutes }: AskedFigure,
    metric: "error_rate" | "p95_latency_ms",
    now: number
  ) {
    const { errors, p95_ms, searches } = yield* Effect.orDie(
      Effect.provideService(
        readSearchMinutes(organization_id, now - window_minutes * MINUTE_MS, now),
        SqlClient.SqlClient,
        sql
      )
    )
    return { value: metric === "p95_latency_ms" ? p95_ms : searches === 0 ? 0 : errors / searches, samples: searches }
  })
  const read = (asked: AskedFigure, now: number): Effect.Effect<Figure, { readonly message: string }> => {
    const { metric } = asked
    switch (metric) {
      case "error_rate":
      case "p95_latency_ms":
        return ofMinutes(asked, metric, now)
      case "quota_used":
        return Effect.map(quota.state(asked.organization_id), ({ limit, used }) => ({
          value: limit === Infinity ? undefined : limit === 0 ? 1 : used / limit,
          samples: 0
        }))
      case "events_lag_seconds":
        return Effect.map(streams.lag_ms, (lag_ms) => ({ value: lag_ms / 1_000, samples: 0 }))
      default:
        return ofRollups(asked, metric, now)
    }
  }
  /** Undefined if unknown: too few searches, no quota, or a figure that cannot be read now. */
  return (asked: AskedFigure, now: number): Effect.Effect<number | undefined> =>
    Effect.catch(
      Effect.map(read(asked, now), ({ samples, value }) => knownValue(asked.metric, value, samples)),
      ({ message }) =>
        Effect.as(
          Effect.logWarning(`The figure ${asked.metric} of ${asked.organization_id} cannot be read: ${message}`),
          undefined
        )
    )
})
