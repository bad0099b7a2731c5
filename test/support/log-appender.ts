/**
 * A child process that appends to an embedded event log from several fibers and writes the offset and fill byte of
 * every acknowledged record to the file `acknowledged`. Arguments: log folder, that file, records, `waiting` or `lying`.
 */
import { Effect } from "effect"
import { openSync, writeSync } from "node:fs"
import { layerEmbedded } from "../../src/ports/event-log-lmdb.ts"
import { openLogEnvironment } from "../../src/ports/event-log-lmdb-environment.ts"
import { EventLog } from "../../src/ports/event-log.ts"

const [path, acknowledgedPath, count, mode] = process.argv.slice(2)
const acknowledged = openSync(acknowledgedPath!, "a")
const program = Effect.gen(function*() {
  const log = yield* EventLog
  let made = 0
  const writer = (id: number) =>
    Effect.gen(function*() {
      while (made < Number(count)) {
        made++
        const fill = (id * 31 + made) % 251
        const [offset] = yield* log.append([{ topic: "t.v1", partition: 0, value: new Uint8Array(100 + (made * 7919) % 9_000).fill(fill) }])
        writeSync(acknowledged, `${offset} ${fill}\n`)
        if (made % 40 === 0) yield* log.trim("t.v1", 0, 0)
      }
    })
  yield* Effect.all(Array.from({ length: 6 }, (_, id) => writer(id)), { concurrency: "unbounded" })
})
await Effect.runPromise(program.pipe(
  Effect.provide(layerEmbedded({
    path: path!,
    open: (at) => {
      const real = openLogEnvironment(at)
      return mode === "lying" ? { ...real, synced: () => Promise.resolve() } : real
    }
  }))
))
