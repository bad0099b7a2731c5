/** How many jobs wait or run, as a metric. */
import { Effect } from "effect"
import type { Measure } from "../metrics/measure.ts"
import { Jobs } from "./jobs.ts"

export const metrics = Effect.map(Jobs, ({ unfinished }): ReadonlyArray<Measure> => [
  {
    name: "dowser_jobs_unfinished",
    type: "gauge",
    help: "Jobs that wait or are at work, by their type; ingest jobs are not among them.",
    read: Effect.map(unfinished, (types) => types.map(({ n, type }) => ({ labels: { type }, value: n })))
  }
])
