/** What an event log stored, and the calls it received, as metrics. */
import { Effect } from "effect"
import type { LogFigures } from "@dowser/log/event-log/measured"
import { type Measure, spreadOver, tallied } from "./measure.ts"

export const logMeasures = ({ bytes, calls, failures, records }: LogFigures): ReadonlyArray<Measure> => [
  {
    name: "dowser_log_records_total",
    type: "counter",
    help: "Records that this process appended to the event log, by topic.",
    read: Effect.sync(() => tallied("topic", records))
  },
  {
    name: "dowser_log_bytes_total",
    type: "counter",
    help: "Bytes of their values.",
    read: Effect.sync(() => tallied("topic", bytes))
  },
  {
    name: "dowser_log_call_seconds",
    type: "histogram",
    help: "Time until the event log answered an append or a read.",
    read: Effect.sync(() => spreadOver("call", calls))
  },
  {
    name: "dowser_log_failures_total",
    type: "counter",
    help: "Appends and reads that the event log did not serve, by reason.",
    read: Effect.sync(() => tallied("reason", failures))
  }
]
