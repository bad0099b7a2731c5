/**
 * A child process that admits and stores fresh ids endlessly, over a log and sealed runs in a folder, and prints the
 * range of each batch once it is stored. Arguments: folder, prefix of the ids.
 */
import { Effect, Layer } from "effect"
import { writeSync } from "node:fs"
import { join } from "node:path"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import { layerEmbedded } from "../../log/event-log/lmdb.ts"

const [folder, prefix] = process.argv.slice(2)
const program = Effect.gen(function* () {
  const log = yield* EventLog
  const window = yield* DedupeWindow
  for (let from = 0; ; from += 40) {
    const { block } = yield* window.admit([
      { organizationId: "one", eventIds: Array.from({ length: 40 }, (_, i) => `${prefix}-${from + i}`) }
    ])
    yield* log.append([{ topic: "blocks", partition: 0, value: block }])
    writeSync(1, `${from} ${from + 40}\n`)
  }
})
const layer = DedupeWindow.layerSealed({
  key: [11, 22, 33, 44],
  topic: "blocks",
  folder: join(folder!, "runs"),
  sealIds: 64,
  fanout: 2,
  runIdsMax: 1_500
})
await Effect.runPromise(
  Effect.provide(program, Layer.provideMerge(layer, layerEmbedded({ path: join(folder!, "log") })))
)
