/**
 * Profiles in a process of an installation: commands as JSON lines on standard input, answers on standard output. Every
 * process has the same collection; they share only Postgres.
 */
import { createInterface } from "node:readline"
import { PgClient } from "@effect/sql-pg"
import { Effect, Exit, Layer, Redacted } from "effect"
import { Identifiers } from "../../log/identifiers.ts"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { Configuration } from "../../src/configuration/configuration.ts"
import { layerPostgres } from "../../src/configuration/configuration-postgres.ts"
import { Entitlements } from "../../src/metering/entitlements.ts"
import { layerRowReaders } from "../../src/migrations/index.ts"
import { SearchPolicies } from "../../src/policies/search-policies.ts"
import { Engine } from "../../src/ports/engine/engine.ts"
import { manifestOf } from "../../src/profiles/manifest.ts"
import { SearchProfiles } from "../../src/profiles/search-profiles.ts"
import type { Address } from "./configuration-room.ts"

export interface Command {
  readonly do: "create" | "replace" | "publish" | "read"
  readonly label?: string
  readonly expected_revision?: number
}
/** What a search would currently use; `version` of the active release. */
export interface Seen {
  readonly revision: number
  readonly label: string
  readonly version: number | null
  readonly active: string | null
}

const address = JSON.parse(process.argv[2]!) as Address
const ORGANIZATION = process.argv[3]!
const client = (applicationName: string, maxConnections: number) =>
  Layer.fresh(
    PgClient.layer({
      host: address.host,
      port: address.port,
      username: address.username,
      database: address.database,
      password: Redacted.make(address.password),
      applicationName,
      maxConnections
    })
  )
const engine = createEngine()
const made = await engine.createCollection(
  ORGANIZATION,
  {
    name: "goods",
    fields: [],
    default_sorting_field: "",
    token_separators: [],
    symbols_to_index: [],
    synonym_sets: [],
    curation_sets: [],
    enable_nested_fields: false
  },
  1_000
)
if (!made.ok) throw new Error(made.error.message)
const collection = made.value

const layer = Layer.provideMerge(
  SearchProfiles.layer,
  Layer.provideMerge(
    SearchPolicies.layer,
    Layer.provideMerge(
      Entitlements.layer,
      Layer.provideMerge(
        layerPostgres(client("configuration", 3)),
        Layer.mergeAll(Identifiers.layer, client("profiles", 4), layerRowReaders, Layer.succeed(Engine, engine))
      )
    )
  )
)

const answered = Effect.fnUntraced(function* ({ do: act, expected_revision = 1, label = "" }: Command) {
  const profiles = yield* SearchProfiles
  const configuration = yield* Configuration
  const draft = { manifest: manifestOf({ label, searchable_fields: ["title"] }), is_default: false }
  const nothing = () => []
  if (act === "create") yield* profiles.create(ORGANIZATION, collection, "listing", draft, nothing)
  else if (act === "replace") yield* profiles.replace(ORGANIZATION, collection, "listing", draft, nothing)
  else if (act === "publish")
    yield* profiles.publish(ORGANIZATION, collection, "listing", { expected_revision, note: "" }, nothing)
  if (!configuration.isCurrent()) yield* configuration.current
  const profile = profiles.get(ORGANIZATION, collection, "listing")
  return profile === undefined
    ? undefined
    : {
        revision: profile.revision,
        label: profile.draft.label,
        version: profile.active?.version ?? null,
        active: profile.active?.manifest.label ?? null
      }
})

const serve = Effect.flatMap(Effect.context<Configuration | SearchProfiles>(), (context) =>
  Effect.callback<never>(() => {
    const lines = createInterface({ input: process.stdin })
    lines.on("line", (line) => {
      Effect.runCallback(Effect.provideContext(answered(JSON.parse(line) as Command), context), {
        onExit: (exit) =>
          process.stdout.write(
            `${JSON.stringify(Exit.isSuccess(exit) ? { value: exit.value } : { failed: String(exit.cause) })}\n`
          )
      })
    })
    lines.on("close", () => process.exit(0))
    process.stdout.write('{"ready":true}\n')
  })
)
await Effect.runPromise(Effect.scoped(Effect.provide(serve, layer)))
