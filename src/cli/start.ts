/** `dowser start`: boots the embedded stack, prints where it listens, and runs until it is told to stop. */
import { Effect, Layer } from "effect"
import { createServer } from "node:net"
import { openDataFolder, StartRefused } from "../runtime/data-folder.ts"
import type { ServerConfig } from "../config.ts"
import { createWithKeys } from "../organizations/routes.ts"
import { dataVersion } from "../migrations/index.ts"
import { layerEmbedded } from "../runtime/embedded.ts"
import { layerServer } from "../server.ts"

/** Asked before anything starts, so that a taken port costs no time and leaves nothing behind. */
const assertPortFree = (host: string, port: number) =>
  Effect.callback<void, StartRefused>((resume) => {
    const probe = createServer()
    probe.once("error", (error: Error & { readonly code?: string }) =>
      resume(Effect.fail(new StartRefused(error.code === "EADDRINUSE" ? `Port ${port} on ${host} is taken; choose another with --port.` : `Cannot listen on ${host}:${port}: ${error.message}.`))))
    probe.listen(port, host, () => probe.close(() => resume(Effect.void)))
  })

const say = (text: string) => Effect.sync(() => process.stderr.write(`${text}\n`))

const readyLine = (config: ServerConfig, base: string, keys: { readonly organization_id: string; readonly full_key?: string; readonly search_key?: string }) =>
  JSON.stringify({
    ready: true,
    base_url: `${base}/v1`,
    gateway_url: `${base}/api/v1`,
    console_url: `${base}/console`,
    ...keys,
    ...(keys.full_key === undefined ? { keys_hint: `dowser keys create --organization ${keys.organization_id} --scope full --data-dir ${config.dataDir}` } : {})
  })

export const start = Effect.fn("start")(function*(config: ServerConfig) {
  yield* assertPortFree(config.host, config.port)
  const folder = yield* Effect.acquireRelease(
    Effect.try({ try: () => openDataFolder(config.dataDir, dataVersion), catch: (error) => error instanceof StartRefused ? error : new StartRefused(String(error)) }),
    (opened) => Effect.sync(opened.release)
  )
  const stack = yield* Layer.build(layerServer(config).pipe(Layer.provideMerge(layerEmbedded(folder))))
  const base = `http://${config.host === "0.0.0.0" ? "127.0.0.1" : config.host}:${config.port}`
  folder.announce(base)
  const keys = yield* Effect.provide(Effect.gen(function*() {
    if (!folder.isFresh()) return undefined
    const made = yield* createWithKeys("Demo", "unlimited", 0)
    folder.markInitialized()
    return made
  }), stack)
  if (config.json) process.stdout.write(`${readyLine(config, base, keys ?? { organization_id: "" })}\n`)
  else yield* say(`Dowser listens on ${base}${keys === undefined ? "" : `\n  full key   ${keys.full_key}\n  search key ${keys.search_key}`}`)
  return yield* Effect.never
})
