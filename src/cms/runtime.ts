/**
 * What a module does at run time, using only its installation's key: it reads its configuration, reports its state,
 * and pushes changes of its sources.
 */
import { createHash } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Connectors } from "../connectors/connectors.ts"
import type { ConnectorDisabled, PushesUnavailable } from "../connectors/errors.ts"
import { Pushes } from "../connectors/pushes.ts"
import type { PushAnswer } from "../connectors/schema.ts"
import { notStorable } from "../api/read-input.ts"
import { unstorablePath } from "../http/body.ts"
import { type InputInvalid, inputInvalid, type Throttled } from "../http/errors.ts"
import { ConfigRevisionMismatch, InstallationNotFound } from "./errors.ts"
import { noInstallation } from "./installations.ts"
import { makeInstallationsRepository } from "./installations-repository.ts"
import { readReport } from "./read-report.ts"
import type { CmsConfig, RuntimeConfig } from "./schema.ts"

interface Module {
  readonly organizationId: string
  readonly installationId: string
}
interface RuntimeShape {
  /** `isServed`: whether the module already has the identical response. */
  readonly config: (
    module: Module
  ) => Effect.Effect<{ readonly answer: RuntimeConfig; readonly isServed: boolean }, InstallationNotFound>
  readonly report: (
    module: Module,
    body: unknown
  ) => Effect.Effect<
    { readonly desired_revision: number },
    ConfigRevisionMismatch | InputInvalid | InstallationNotFound
  >
  readonly push: (
    module: Module,
    source: { readonly store: string; readonly source: string; readonly events: unknown }
  ) => Effect.Effect<
    PushAnswer,
    ConnectorDisabled | InputInvalid | InstallationNotFound | PushesUnavailable | Throttled
  >
}

const sourceOf = ({ stores }: CmsConfig, store: string, source: string) =>
  stores.find(({ local_id }) => local_id === store)?.sources.find(({ local_id }) => local_id === source)

const make = Effect.gen(function* () {
  const connectors = yield* Connectors
  const pushes = yield* Pushes
  const repository = yield* makeInstallationsRepository
  const sql = yield* SqlClient.SqlClient

  /** The desired configuration; also records that the module was seen. */
  const seen = Effect.fnUntraced(function* ({ installationId, organizationId }: Module) {
    const now = yield* Clock.currentTimeMillis
    const row = yield* Effect.orDie(repository.runtime(organizationId, installationId, now))
    return row === undefined ? yield* noInstallation(installationId) : row
  })
  const own = ({ organizationId }: Module, id: string | undefined) => {
    const connector = id === undefined ? undefined : connectors.byId(id)
    return connector?.organization_id === organizationId ? connector : undefined
  }
  const secretsOf = (module: Module, { stores }: CmsConfig, now: number): RuntimeConfig["connectors"] =>
    stores.flatMap(({ local_id: store, sources }) =>
      sources.flatMap(({ connector_id, local_id }) => {
        const connector = own(module, connector_id)
        const secret = connector === undefined ? undefined : connectors.secretsOf(connector, now)[0]
        return secret === undefined
          ? []
          : [{ store, local_id, webhook_path: `/v1/connectors/${connector!.id}/webhook`, secret }]
      })
    )
  return CmsRuntime.of({
    config: Effect.fn("CmsRuntime.config")(function* (module) {
      const { config, desired_revision, served_hash } = yield* seen(module)
      const answer: RuntimeConfig = {
        installation_id: module.installationId,
        desired_revision,
        config,
        connectors: secretsOf(module, config, yield* Clock.currentTimeMillis)
      }
      // A secret may be rotated without a new revision, so a module with the current revision may still miss something.
      const hash = createHash("sha256").update(JSON.stringify(answer)).digest("base64url")
      if (hash !== served_hash) yield* Effect.orDie(repository.served(module.installationId, hash))
      return { answer, isServed: hash === served_hash }
    }),
    report: Effect.fn("CmsRuntime.report")(function* (module, body) {
      const unstorable = unstorablePath(body)
      if (unstorable !== undefined) return yield* inputInvalid(unstorable === "" ? "body" : unstorable, notStorable)
      const read = readReport(body)
      const report = yield* read.report
      return yield* Effect.catchTag(
        sql.withTransaction(
          Effect.gen(function* () {
            const { desired_revision } = yield* seen(module)
            const { applied_revision } = report
            if (applied_revision !== undefined && applied_revision > desired_revision)
              return yield* new ConfigRevisionMismatch({
                message: `Revision ${applied_revision} is not published; the last is ${desired_revision}.`,
                current_revision: desired_revision
              })
            const { discovery, last_error, metadata, sync_health } = report
            const given = { applied_revision, discovery, sync_health, metadata, last_error, unknown: read.unknown }
            yield* repository.report(module.installationId, given)
            return { desired_revision }
          })
        ),
        "SqlError",
        Effect.die
      )
    }),
    push: Effect.fn("CmsRuntime.push")(function* (module, { events, source, store }) {
      const { config } = yield* seen(module)
      const named = sourceOf(config, store, source)
      if (named === undefined) return yield* inputInvalid("source", "The configuration has no such store and source")
      const connector = own(module, named.connector_id)
      if (connector === undefined) return yield* inputInvalid("source", "The source has no connector")
      return yield* pushes.takeOf(connector, { events })
    })
  })
})

export class CmsRuntime extends Context.Service<CmsRuntime, RuntimeShape>()("dowser/cms/CmsRuntime") {
  static readonly layer: Layer.Layer<CmsRuntime, never, Connectors | Pushes | SqlClient.SqlClient> = Layer.effect(
    CmsRuntime,
    make
  )
}
