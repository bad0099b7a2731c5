/** What became of entries, as measures. */
import { Effect } from "effect"
import type { Measure } from "../metrics/measure.ts"
import { Events } from "./intake/service.ts"

export const metrics = Effect.map(Events, ({ verdicts }): ReadonlyArray<Measure> => [
  {
    name: "dowser_events_total",
    type: "counter",
    help: "Events that shops sent, by verdict.",
    read: Effect.map(verdicts, (counts) =>
      Object.entries(counts).map(([verdict, value]) => ({ labels: { verdict }, value }))
    )
  }
])
