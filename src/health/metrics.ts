/** Results of the last check of every part, as metrics. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { streamMeasures } from "../metrics/stream-measures.ts"
import type { CircuitState } from "../ports/engine/circuit.ts"
import { Health } from "./health.ts"

/** Reported as 0, 1, 2. */
const STATES: ReadonlyArray<CircuitState> = ["closed", "half_open", "open"]

export const metrics = Effect.map(Health, ({ latest }): ReadonlyArray<Measure> => {
  const loss = (name: keyof Effect.Success<typeof latest>["losses"], help: string): Measure => ({
    name: `dowser_${name}_total`,
    type: "counter",
    help,
    read: Effect.map(latest, ({ losses }) => single(losses[name]))
  })
  return [
    {
      name: "dowser_part_up",
      type: "gauge",
      help: "1 if the part works.",
      read: Effect.map(latest, ({ findings }) =>
        findings.map(({ ok, part }) => ({ labels: { part }, value: ok ? 1 : 0 }))
      )
    },
    {
      name: "dowser_engine_circuit",
      type: "gauge",
      help: "0 closed, 1 half open, 2 open: between this process and its engine.",
      read: Effect.map(latest, ({ circuits: { reads, writes } }) => [
        { labels: { calls: "reads" }, value: STATES.indexOf(reads) },
        { labels: { calls: "writes" }, value: STATES.indexOf(writes) }
      ])
    },
    {
      name: "dowser_streams_lag_seconds",
      type: "gauge",
      help: "Age of the oldest record that no figure shows yet; absent where it cannot be read.",
      read: Effect.map(latest, ({ lag_ms }) => (lag_ms === undefined ? [] : single(lag_ms / 1_000)))
    },
    ...streamMeasures(Effect.map(latest, ({ partitions }) => partitions)),
    loss("worker_restarts", "Restarts of the stream worker."),
    loss("processor_restarts", "Restarts of processors."),
    loss("dead_letters", "Entries set aside because they could not be counted."),
    loss("records_lost", "Records that retention removed before they were counted."),
    loss("reports_dropped", "Reports of answered searches that the log could not take."),
    {
      name: "dowser_webhooks_waiting",
      type: "gauge",
      help: "Deliveries and events of webhooks by what they are waiting for, each counted up to 10,000.",
      read: Effect.map(latest, ({ webhooks }) =>
        webhooks === undefined
          ? []
          : Object.entries(webhooks).map(([kind, value]) => ({ labels: { kind }, value: Number(value) }))
      )
    }
  ]
})
