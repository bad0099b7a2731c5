/**
 * The limits of this machine, for interpreting an events bench: each part alone, in one process, for about a second.
 * Parsing and the log count events of a batch, as `POST /events` does; a flush counts files of one batch's bytes.
 */
import { Effect } from "effect"
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import { encodeRecord } from "../../log/record.ts"
import { BEHAVIOUR_EVENTS } from "../../log/topics.ts"

const FOR_MS = 1_000
/** Appends that wait together, as requests of busy connections do. */
const APPENDS = 16

const perSecond = (run: () => void): number => {
  let done = 0
  const began = performance.now()
  let took = 0
  for (; took < FOR_MS; took = performance.now() - began, done++) run()
  return (done / took) * 1_000
}

/** `bodies` are JSON of `{events}`. */
export const rawLimits = async (bodies: ReadonlyArray<Buffer>, batch: number) => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-limits-"))
  try {
    let turn = 0
    const next = () => bodies[turn++ % bodies.length]!
    const parsed = perSecond(() => void JSON.parse(next().toString("utf8")))
    const values = bodies.map((body) =>
      encodeRecord({
        schema_version: 1,
        organization_id: "org_limits",
        occurred_at: 0,
        payload: JSON.parse(body.toString("utf8")) as unknown
      })
    )
    const file = openSync(join(folder, "synced"), "w")
    const synced = perSecond(() => {
      writeSync(file, values[0]!)
      fdatasyncSync(file)
    })
    closeSync(file)
    const appended = await Effect.runPromise(
      Effect.gen(function* () {
        const log = yield* EventLog
        const began = performance.now()
        let done = 0
        yield* Effect.all(
          Array.from({ length: APPENDS }, () =>
            Effect.gen(function* () {
              while (performance.now() - began < FOR_MS) {
                yield* log.append([
                  { topic: BEHAVIOUR_EVENTS.name, partition: 0, value: values[done++ % values.length]! }
                ])
              }
            })
          ),
          { concurrency: "unbounded" }
        )
        return (done / (performance.now() - began)) * 1_000
      }).pipe(Effect.provide(layerEmbedded({ path: join(folder, "log") })))
    )
    return {
      json_parse_events_per_s: Math.round(parsed * batch),
      fdatasync_per_s: Math.round(synced),
      log_alone_events_per_s: Math.round(appended * batch)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
