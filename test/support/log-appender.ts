/**
 * A child process that appends to an embedded event log from several fibers and writes the offset and fill byte of
 * every acknowledged record to the file `acknowledged`. Arguments: log folder, that file, records, and `waiting`, or
 * `lying` to acknowledge each record before its append has been answered.
 */
import { Effect } from "effect"
import { openSync, writeSync } from "node:fs"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"
import { EventLog } from "../../log/event-log/event-log.ts"

const [path, acknowledgedPath, count, mode] = process.argv.slice(2)
const acknowledged = openSync(acknowledgedPath!, "a")
const fibers = mode === "lying" ? 1 : 6
const program = Effect.gen(function* () {
  const log = yield* EventLog
  let made = 0
  const writer = (id: number) =>
    Effect.gen(function* () {
      while (made < Number(count)) {
        const expected = made++
        const fill = (id * 31 + made) % 251
        if (mode === "lying") writeSync(acknowledged, `${expected} ${fill}\n`)
        const [offset] = yield* log.append([
          { topic: "t.v1", partition: 0, value: new Uint8Array(100 + ((made * 7919) % 9_000)).fill(fill) }
        ])
        if (mode !== "lying") writeSync(acknowledged, `${offset} ${fill}\n`)
      }
    })
  yield* Effect.all(
    Array.from({ length: fibers }, (_, id) => writer(id)),
    { concurrency: "unbounded" }
  )
})
await Effect.runPromise(Effect.provide(program, layerEmbedded({ path: path! })))
