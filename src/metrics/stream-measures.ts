/** Progress of processors, as metrics: of this process's own, or as other processes reported it. */
import { Effect } from "effect"
import type { Progress } from "@dowser/streams/runner/runner"
import type { Measure, Sample, Scalar } from "./measure.ts"

export const streamMeasures = (progress: Effect.Effect<ReadonlyArray<Progress>>): ReadonlyArray<Measure> => {
  const perPartition = (
    name: Scalar["name"],
    type: Scalar["type"],
    help: string,
    count: (progress: Progress) => number
  ): Measure => ({
    name,
    type,
    help,
    read: Effect.map(progress, (partitions) =>
      partitions.map((one): Sample => ({
        labels: { group: one.group, partition: String(one.partition) },
        value: count(one)
      }))
    )
  })
  return [
    perPartition("dowser_stream_entries_total", "counter", "Entries that a processor read.", ({ entries }) => entries),
    perPartition(
      "dowser_stream_records_behind",
      "gauge",
      "Records that a processor has not read yet.",
      ({ lag }) => lag
    ),
    perPartition(
      "dowser_stream_flushes_total",
      "counter",
      "Transactions that wrote figures and moved offsets.",
      ({ flushes = 0 }) => flushes
    ),
    perPartition(
      "dowser_stream_flush_seconds_total",
      "counter",
      "Time that these transactions took.",
      ({ flush_s = 0 }) => flush_s
    ),
    perPartition(
      "dowser_stream_dead_letters_total",
      "counter",
      "Entries that a processor set aside.",
      ({ deadLetters }) => deadLetters
    ),
    perPartition("dowser_stream_restarts_total", "counter", "Restarts of a processor.", ({ restarts }) => restarts),
    perPartition("dowser_stream_replaying", "gauge", "1 while the state is read again.", ({ isReplaying }) =>
      isReplaying ? 1 : 0
    )
  ]
}
