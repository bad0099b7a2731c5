/** `dowser streams [names…]`: runs processors in a separate process, alongside any number of others. */
import { join } from "node:path"
import { Effect } from "effect"
import { parseWeights } from "@dowser/streams/runner/weights"
import { assertPortFree } from "./assert-port-free.ts"
import type { DistributedConfig } from "../config.ts"
import { dataVersion } from "../migrations/index.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { openDataFolder, StartRefused } from "../runtime/data-folder.ts"

export const streams = Effect.fn("cli.streams")(function* (flags: {
  readonly dataDir: string
  readonly json: boolean
  readonly lease_ms: number
  readonly names: ReadonlyArray<string>
  readonly config: DistributedConfig
  readonly weights: string
  readonly adminHost: string
  readonly adminPort: number
}) {
  if (flags.adminPort !== 0) yield* assertPortFree(flags.adminHost, flags.adminPort, "--admin-port")
  // Holds the snapshots of its state; locked like any data folder, because two processes would overwrite each other's.
  const folder = yield* Effect.acquireRelease(
    Effect.try({
      try: () => openDataFolder(flags.dataDir, dataVersion),
      catch: (error) => (error instanceof StartRefused ? error : new StartRefused(String(error)))
    }),
    (opened) => Effect.sync(opened.release)
  )
  const weights = parseWeights(flags.weights)
  if (typeof weights === "string") return yield* Effect.fail(new StartRefused(`--weights: ${weights}`))
  const identifiers = yield* Identifiers
  const member = yield* identifiers.make("strm")
  // Loaded on demand, like the benches.
  const { runStreamsProcess } = yield* Effect.promise(() => import("../runtime/distributed.ts"))
  const ready = Effect.sync(() => {
    if (flags.json) process.stdout.write(`${JSON.stringify({ ready: true, member })}\n`)
    else process.stderr.write(`Processors run here as ${member}.\n`)
  })
  return yield* runStreamsProcess({
    config: flags.config,
    names: flags.names,
    statePath: join(folder.path, "streams"),
    member,
    weights,
    lease_ms: flags.lease_ms,
    admin: flags.adminPort === 0 ? undefined : { host: flags.adminHost, port: flags.adminPort },
    ready
  })
}, Effect.provide(Identifiers.layer))
