/** An OpenSearch cluster as the engine of a process, configured by `OPENSEARCH_*` variables. */
import { Effect, Layer } from "effect"
import { OpensearchEngine, type OpensearchOptions } from "@dowser/engine-sdk/opensearch"
import { CurrentChanges, CurrentRemovals, type Engine } from "../ports/engine/engine.ts"
import { StartRefused } from "./data-folder.ts"
import { layerGuarded } from "./embedded.ts"

type Environment = Readonly<Record<string, string | undefined>>
type Credentials = NonNullable<OpensearchOptions["credentials"]>

/** Allowed in the names of the cluster's indices, with room for suffixes. */
const PREFIX = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** Returns a sentence about the mistake if the variables are invalid. */
export const opensearchOptionsOf = (environment: Environment): OpensearchOptions | string => {
  const given = (name: string): string | undefined => environment[name] || undefined
  const nodes = (given("OPENSEARCH_NODES") ?? "")
    .split(",")
    .map((node) => node.trim())
    .filter((node) => node !== "")
  if (nodes.length === 0)
    return "OPENSEARCH_NODES must name nodes of a search cluster: https://host:9200, separated by commas."
  const wrong = nodes.find((node) => !isAddress(node))
  if (wrong !== undefined)
    return `OPENSEARCH_NODES: \`${wrong}\` is no address like https://host:9200 (a password goes into OPENSEARCH_PASSWORD).`
  const prefix = given("OPENSEARCH_PREFIX")
  if (prefix !== undefined && !PREFIX.test(prefix))
    return "OPENSEARCH_PREFIX: 1 to 64 small letters, digits, - and _, of which the first is a letter or a digit."
  const credentials = credentialsOf(
    given("OPENSEARCH_USERNAME"),
    given("OPENSEARCH_PASSWORD"),
    given("OPENSEARCH_API_KEY")
  )
  if (typeof credentials === "string") return credentials
  const replicas = wholeNumber(given("OPENSEARCH_REPLICAS"), 0, 9),
    poolShards = wholeNumber(given("OPENSEARCH_POOL_SHARDS"), 1, 1_000),
    poolDocuments_max = wholeNumber(given("OPENSEARCH_POOL_DOCUMENTS_MAX"), 1, 999_999_999)
  if (replicas === "wrong") return "OPENSEARCH_REPLICAS: a whole number from 0 to 9."
  if (poolShards === "wrong") return "OPENSEARCH_POOL_SHARDS: a whole number from 1 to 1000."
  if (poolDocuments_max === "wrong") return "OPENSEARCH_POOL_DOCUMENTS_MAX: a whole number from 1 to 999999999."
  return {
    nodes,
    ...(replicas === undefined ? {} : { replicas }),
    ...(poolShards === undefined ? {} : { poolShards }),
    ...(poolDocuments_max === undefined ? {} : { poolDocuments_max }),
    ...(prefix === undefined ? {} : { prefix }),
    ...(credentials === undefined ? {} : { credentials })
  }
}
const wholeNumber = (text: string | undefined, least: number, most: number): number | "wrong" | undefined => {
  if (text === undefined) return undefined
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return number >= least && number <= most ? number : "wrong"
}
const isAddress = (node: string): boolean => {
  const url = URL.parse(node)
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "" && url.hash === ""
}
const credentialsOf = (
  username: string | undefined,
  password: string | undefined,
  apiKey: string | undefined
): Credentials | string | undefined => {
  if ((username === undefined) !== (password === undefined))
    return `${username === undefined ? "OPENSEARCH_USERNAME" : "OPENSEARCH_PASSWORD"} is missing: the two go together.`
  if (apiKey !== undefined && username !== undefined)
    return "OPENSEARCH_API_KEY is given beside OPENSEARCH_USERNAME; one of them is enough."
  if (apiKey !== undefined) return { apiKey }
  return username === undefined || password === undefined ? undefined : { username, password }
}

/** Makes cached answers unusable, because this process is not notified of deletions by others. */
const removals = (): (() => number) => {
  let asked = 0
  return () => ++asked
}

export const layerOpensearch = (environment: Environment): Layer.Layer<Engine, StartRefused> =>
  Layer.unwrap(
    Effect.gen(function* () {
      const services = yield* Effect.context<never>()
      const options = opensearchOptionsOf(environment)
      if (typeof options === "string") return yield* Effect.fail(new StartRefused(options))
      const opened = yield* Effect.promise(() => OpensearchEngine.open(options))
      if (!opened.ok)
        return yield* Effect.fail(
          new StartRefused(
            `The search cluster at OPENSEARCH_NODES (${options.nodes.join(", ")}) cannot be used: ${opened.error.message}`
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
