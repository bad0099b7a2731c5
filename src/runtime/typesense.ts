/** A server of the Typesense API as the engine of a process, configured by `TYPESENSE_*` variables. */
import { Effect, Layer } from "effect"
import { TypesenseEngine, type TypesenseOptions } from "@dowser/engine-sdk/typesense"
import { CurrentChanges, CurrentRemovals, type Engine } from "../ports/engine/engine.ts"
import { StartRefused } from "./data-folder.ts"
import { layerGuarded } from "./embedded.ts"

type Environment = Readonly<Record<string, string | undefined>>

const PREFIX = /^[A-Za-z0-9_-]{1,64}$/
/** The syntax of header names. */
const HEADER = /^[A-Za-z0-9-]{1,64}$/
const isAddress = (node: string): boolean => {
  const url = URL.parse(node)
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.search === "" &&
    url.hash === ""
  )
}

/** Returns a sentence that names everything that is missing or invalid. */
export const typesenseOptionsOf = (environment: Environment): TypesenseOptions | string => {
  const given = (name: string): string | undefined => environment[name] || undefined
  const nodes = (given("TYPESENSE_NODES") ?? "")
    .split(",")
    .map((node) => node.trim())
    .filter((node) => node !== "")
  const apiKey = given("TYPESENSE_API_KEY")
  const prefix = given("TYPESENSE_PREFIX")
  const keyHeader = given("TYPESENSE_KEY_HEADER")
  const wrong: Array<string> = []
  if (nodes.length === 0)
    wrong.push("TYPESENSE_NODES must name nodes of a server: https://host:8108, separated by commas.")
  for (const node of nodes)
    if (!isAddress(node))
      wrong.push(
        `TYPESENSE_NODES: \`${node}\` is no address like https://host:8108 or https://host/v1 (a key goes into TYPESENSE_API_KEY).`
      )
  if (apiKey === undefined) wrong.push("TYPESENSE_API_KEY must be a key of the server that may do everything.")
  if (prefix !== undefined && !PREFIX.test(prefix)) wrong.push("TYPESENSE_PREFIX: 1 to 64 letters, digits, - and _.")
  if (keyHeader !== undefined && !HEADER.test(keyHeader))
    wrong.push("TYPESENSE_KEY_HEADER: the name of a header, as X-TYPESENSE-API-KEY.")
  if (wrong.length > 0 || apiKey === undefined) return wrong.join(" ")
  return {
    nodes,
    apiKey,
    ...(prefix === undefined ? {} : { prefix }),
    ...(keyHeader === undefined ? {} : { keyHeader })
  }
}

/** Makes cached answers unusable, because this process is not notified of deletions by others. */
const removals = (): (() => number) => {
  let asked = 0
  return () => ++asked
}

export const layerTypesense = (environment: Environment): Layer.Layer<Engine, StartRefused> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const services = yield* Effect.context<never>()
      const options = typesenseOptionsOf(environment)
      if (typeof options === "string") return yield* Effect.fail(new StartRefused(options))
      const opened = yield* Effect.promise(() => TypesenseEngine.open(options))
      if (!opened.ok)
        return yield* Effect.fail(
          new StartRefused(
            `The server at TYPESENSE_NODES (${options.nodes.join(", ")}) cannot be used: ${opened.error.message}`
          )
        )
      const engine = yield* Effect.acquireRelease(Effect.succeed(opened.value), (own) =>
        Effect.promise(() => own.close())
      )
      const guarded = layerGuarded(engine, {
        onChange: (circuit, state) =>
          Effect.runSyncWith(services)(Effect.logWarning(`The engine's circuit for ${circuit} is ${state}`))
      })
      return Layer.mergeAll(
        guarded,
        Layer.succeed(CurrentChanges, () => Number.NaN),
        Layer.succeed(CurrentRemovals, removals())
      )
    })
  )
