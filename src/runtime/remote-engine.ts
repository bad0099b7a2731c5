/**
 * Shares the engine of one process with several: it listens on a port of its own, and others connect. They authenticate
 * with the operator's key, which all processes of an installation have.
 */
import { connectEngine, shareEngine } from "@dowser/engine-sdk/remote"
import { createHmac } from "node:crypto"
import { Effect, Layer } from "effect"
import {
  CurrentCalls,
  CurrentChanges,
  CurrentCircuits,
  CurrentRemovals,
  Engine,
  EngineAbsence,
  OwnsEngine
} from "../ports/engine/engine.ts"
import { guardEngine } from "../ports/engine/guarded-engine.ts"
import { StartRefused } from "./data-folder.ts"

interface EngineAddress {
  readonly host: string
  readonly port: number
}
/** `host:port`, for IPv6 `[host]:port`; undefined if the text is neither. */
export const addressIn = (text: string): EngineAddress | undefined => {
  const [, six, four, port = ""] = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]+)):(\d{1,5})$/i.exec(text) ?? []
  const host = six ?? four
  return host === undefined || Number(port) < 1 || Number(port) > 65_535 ? undefined : { host, port: Number(port) }
}
const tokenOf = (operatorKey: Uint8Array): string =>
  createHmac("sha256", operatorKey).update("dowser engine of another process").digest("hex")

/** Shares the given engine, so that other processes can use it too. */
export const layerShared = ({ host, port }: EngineAddress, operatorKey: Uint8Array) =>
  Layer.effect(
    Engine,
    Effect.gen(function* () {
      const engine = yield* Engine
      const shared = yield* Effect.acquireRelease(
        Effect.tryPromise({
          try: () => shareEngine(engine, { host, port, token: tokenOf(operatorKey) }),
          catch: (error) => new StartRefused(`--engine-port ${port} on ${host} cannot be used: ${String(error)}.`)
        }),
        ({ close }) => Effect.promise(close)
      )
      yield* Effect.logInfo(`Other processes may use the engine at ${host}:${shared.port}.`)
      return shared.engine
    })
  )

/** Ready once the state of the other process's engine is known here; waits for that process to start. */
export const layerRemote = ({ host, port }: EngineAddress, operatorKey: Uint8Array) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const services = yield* Effect.context<never>()
      const log = (line: Effect.Effect<void>) => Effect.runSyncWith(services)(line)
      yield* Effect.logInfo(`The engine is that of ${host}:${port}.`)
      const remote = yield* Effect.acquireRelease(
        Effect.tryPromise({
          try: () =>
            connectEngine({
              host,
              port,
              token: tokenOf(operatorKey),
              onState: (state) =>
                log(state === undefined ? Effect.logInfo("The engine can be reached.") : Effect.logWarning(state))
            }),
          catch: (error) => new StartRefused(`The engine at ${host}:${port} refuses this process: ${String(error)}`)
        }),
        (engine) => Effect.promise(() => engine.close())
      )
      const guarded = guardEngine(remote, {
        onChange: (circuit, state) => log(Effect.logWarning(`The engine's circuit for ${circuit} is ${state}`))
      })
      return Layer.mergeAll(
        Layer.succeed(Engine, guarded),
        Layer.succeed(EngineAbsence, () => remote.absence),
        Layer.succeed(OwnsEngine, false),
        Layer.succeed(CurrentCalls, guarded.calls),
        Layer.succeed(CurrentCircuits, guarded.circuits),
        Layer.succeed(CurrentChanges, (organizationId: string) => remote.changes(organizationId)),
        Layer.succeed(CurrentRemovals, (organizationId: string) => remote.removals(organizationId))
      )
    })
  )
