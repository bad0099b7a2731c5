/** Wraps any event log and counts what it stored and which calls it received since this process started. */
import { Context, Effect, Layer } from "effect"
import { Tally, Timings } from "../process/timings.ts"
import { EventLog, type EventLogShape } from "./event-log.ts"

export interface LogFigures {
  /** By topic. */ readonly records: Tally
  readonly bytes: Tally
  /** Durations of appends and reads until any answer. */ readonly calls: Timings
  /** Calls that the log did not serve, by the error's name. */ readonly failures: Tally
}
export class MeasuredLog extends Context.Service<MeasuredLog, LogFigures>()("dowser/log/MeasuredLog") {}

const timed =
  ({ calls, failures }: LogFigures, call: string) =>
  <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const began = performance.now()
      return Effect.ensuring(
        Effect.tapError(effect, ({ _tag }) => Effect.sync(() => failures.add(_tag))),
        Effect.sync(() => calls.note(call, (performance.now() - began) / 1_000))
      )
    })

const measured = (log: EventLogShape, figures: LogFigures): EventLogShape => ({
  ...log,
  append: (records) =>
    Effect.tap(timed(figures, "append")(log.append(records)), () =>
      Effect.sync(() => {
        for (const { topic, value } of records) {
          figures.records.add(topic)
          figures.bytes.add(topic, value.byteLength)
        }
      })
    ),
  read: (request) => timed(figures, "read")(log.read(request))
})

/** Costs two clock readings a call and two additions a record. */
export const layerMeasured = Layer.effectContext(
  Effect.map(EventLog, (log) => {
    const figures: LogFigures = {
      records: new Tally(),
      bytes: new Tally(),
      calls: new Timings(),
      failures: new Tally()
    }
    return Context.make(MeasuredLog, figures).pipe(Context.add(EventLog, EventLog.of(measured(log, figures))))
  })
)
