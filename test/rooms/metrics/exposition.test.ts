/** What Prometheus reads: every sample in its family, and nothing that is gone or unreadable. */
import { Effect } from "effect"
import { expect, it } from "vitest"
import { exposition } from "../../../src/metrics/exposition.ts"
import { type Measure, type Sample, type Scalar, spreadOver } from "../../../src/metrics/measure.ts"
import { Timings } from "../../../log/process/timings.ts"
import { rooms } from "../../../src/rooms.ts"
import { defineRoom, RoomList } from "../../../src/room.ts"

const gauge = (read: Scalar["read"]): Scalar => ({ name: "dowser_parts", type: "gauge", help: "Parts.", read })
const read = (...measures: ReadonlyArray<Measure>) => Effect.runPromise(exposition(measures))

it("writes families with help, type, labels and values", async () => {
  const counter: Measure = {
    name: "dowser_events_total",
    type: "counter",
    help: "Events.",
    read: Effect.succeed([
      { labels: { verdict: 'odd "one"' }, value: 3 },
      { labels: { verdict: "accepted" }, value: 2_500_000 }
    ])
  }
  expect(await read(counter, gauge(Effect.succeed([{ value: 0 }])))).toBe(
    [
      "# HELP dowser_events_total Events.",
      "# TYPE dowser_events_total counter",
      'dowser_events_total{verdict="odd \\"one\\""} 3',
      'dowser_events_total{verdict="accepted"} 2500000',
      "# HELP dowser_parts Parts.",
      "# TYPE dowser_parts gauge",
      "dowser_parts 0",
      ""
    ].join("\n")
  )
})
it("writes times as a histogram with cumulative buckets", async () => {
  const times = new Timings()
  for (const seconds of [0.0001, 0.0005, 0.003, 99]) times.note('a "b"', seconds)
  const text = await read({
    name: "dowser_work_seconds",
    type: "histogram",
    help: "Work.",
    read: Effect.sync(() => spreadOver("task", times))
  })
  const lines = text.trimEnd().split("\n")
  expect(lines.slice(0, 6)).toEqual([
    "# HELP dowser_work_seconds Work.",
    "# TYPE dowser_work_seconds histogram",
    'dowser_work_seconds_bucket{task="a \\"b\\"",le="0.0005"} 2',
    'dowser_work_seconds_bucket{task="a \\"b\\"",le="0.001"} 2',
    'dowser_work_seconds_bucket{task="a \\"b\\"",le="0.0025"} 2',
    'dowser_work_seconds_bucket{task="a \\"b\\"",le="0.005"} 3'
  ])
  expect(lines.slice(-4)).toEqual([
    'dowser_work_seconds_bucket{task="a \\"b\\"",le="30"} 3',
    'dowser_work_seconds_bucket{task="a \\"b\\"",le="+Inf"} 4',
    'dowser_work_seconds_sum{task="a \\"b\\""} 99.0036',
    'dowser_work_seconds_count{task="a \\"b\\""} 4'
  ])
})
it("drops a label that is gone, and counts nothing twice", async () => {
  let samples: ReadonlyArray<Sample> = [{ labels: { partition: "1" }, value: 5 }]
  const partitions: Measure = { ...gauge(Effect.sync(() => samples)), type: "counter" }
  await read(partitions)
  samples = [{ labels: { partition: "2" }, value: 7 }]
  const text = await read(partitions)
  expect(text).toContain('dowser_parts{partition="2"} 7')
  expect(text).not.toContain('partition="1"')
})
it("answers the other metrics if one cannot be read", async () => {
  const text = await read(gauge(Effect.die("gone")), { ...gauge(Effect.succeed([{ value: 1 }])), name: "dowser_well" })
  expect(text).toContain("dowser_well 1")
  expect(text).not.toContain("dowser_parts ")
})
it("refuses two rooms with the same metric", async () => {
  const metrics = Effect.succeed([gauge(Effect.succeed([]))])
  const list = RoomList.over<never>()
    .with(defineRoom({ name: "a", metrics }))
    .with(defineRoom({ name: "b", metrics }))
  await expect(Effect.runPromise(list.metrics)).rejects.toThrow("Two rooms measure dowser_parts.")
  expect(rooms.all.filter(({ metrics: own }) => own !== undefined).length).toBeGreaterThanOrEqual(3)
})
