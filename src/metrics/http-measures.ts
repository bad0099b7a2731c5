/** Requests and connections, as metrics. */
import { Effect } from "effect"
import { type Measure, single, spreadOver } from "./measure.ts"
import { RequestFigures } from "../http/request-figures.ts"

export const httpMeasures = Effect.map(RequestFigures, (figures): ReadonlyArray<Measure> => {
  const now = (name: Measure["name"], type: "counter" | "gauge", help: string, read: () => number): Measure => ({
    name,
    type,
    help,
    read: Effect.sync(() => single(read()))
  })
  return [
    {
      name: "dowser_http_requests_total",
      type: "counter",
      help: "Requests that were answered, by operation and status.",
      read: Effect.sync(() =>
        [...figures.answers.counts].map(([kind, value]) => {
          const [operation, status] = kind.split(" ") as [string, string]
          return { labels: { operation, status }, value }
        })
      )
    },
    {
      name: "dowser_http_request_seconds",
      type: "histogram",
      help: "Time from a request's head to the beginning of its answer, by operation.",
      read: Effect.sync(() => spreadOver("operation", figures.times))
    },
    now("dowser_http_connections", "gauge", "Connections that are open.", () => figures.connections.open),
    now(
      "dowser_http_connections_refused_total",
      "counter",
      "Connections beyond what one network or all together may open.",
      () => figures.connections.refused
    ),
    now("dowser_http_held_bytes", "gauge", "What bodies and unread answers hold in memory.", () =>
      [...figures.memories].reduce((sum, { bytes }) => sum + bytes, 0)
    ),
    now(
      "dowser_http_answers_cut_off_total",
      "counter",
      "Answers that nobody read and that were cut off for what they held.",
      () => figures.cutOff
    )
  ]
})
