/** Outcomes of entries, as metrics. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { DedupeWindow } from "../ports/dedupe/dedupe-window.ts"
import { Events } from "./intake/service.ts"

export const metrics = Effect.map(
  Effect.all([Events, DedupeWindow]),
  ([{ verdicts }, { bytes }]): ReadonlyArray<Measure> => [
    {
      name: "dowser_dedupe_bytes",
      type: "gauge",
      help: "Memory of the window of known event ids.",
      read: Effect.map(bytes, single)
    },
    {
      name: "dowser_events_total",
      type: "counter",
      help: "Events that shops sent, by verdict.",
      read: Effect.map(verdicts, (counts) =>
        Object.entries(counts).map(([verdict, value]) => ({ labels: { verdict }, value }))
      )
    }
  ]
)
