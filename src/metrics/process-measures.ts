/** What the operating system knows about this process. */
import { Effect } from "effect"
import { type Measure, single } from "./measure.ts"

export const processMeasures: ReadonlyArray<Measure> = [
  {
    name: "dowser_process_resident_bytes",
    type: "gauge",
    help: "Memory of this process, all of its threads.",
    read: Effect.sync(() => single(process.memoryUsage.rss()))
  },
  {
    name: "dowser_process_cpu_seconds_total",
    type: "counter",
    help: "Processor time of this process, all of its threads.",
    read: Effect.sync(() => {
      const { system, user } = process.cpuUsage()
      return single((system + user) / 1_000_000)
    })
  },
  {
    name: "dowser_process_uptime_seconds",
    type: "gauge",
    help: "Time since this process started.",
    read: Effect.sync(() => single(process.uptime()))
  }
]
