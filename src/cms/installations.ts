/**
 * CMS installations: rows in Postgres, read when their owner or their module requests them. An installation is never
 * deleted: its key is revoked, and its data is kept for the audit.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { Access, NEVER_EXPIRES } from "../access/access.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import type { CatalogNames } from "../catalog/names.ts"
import type { Connectors } from "../connectors/connectors.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import { type Issue, refused } from "../http/checks.ts"
import type { ConfigurationUnavailable, InputInvalid } from "../http/errors.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import type { RecommendationModels } from "../recommendation-models/models.ts"
import { makeCheckConfig } from "./check-config.ts"
import { ConfigRevisionMismatch, InstallationNotFound, InstallationRevoked } from "./errors.ts"
import { makeInstallationsRepository } from "./installations-repository.ts"
import type { CmsConfig, CreateInstallation, Installation } from "./schema.ts"

type Created = Installation & { readonly installation_key: string }
interface InstallationsShape {
  readonly list: (
    organizationId: string,
    page: { readonly cursor: string | undefined; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<Installation>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<Installation, InstallationNotFound>
  readonly create: (
    organizationId: string,
    fields: CreateInstallation
  ) => Effect.Effect<Created, ConfigurationUnavailable | FeatureNotInPlan>
  readonly publish: (
    organizationId: string,
    id: string,
    expected: number,
    config: CmsConfig
  ) => Effect.Effect<Installation, ConfigRevisionMismatch | InputInvalid | InstallationNotFound | InstallationRevoked>
  /** The row keeps its other data; a second call changes nothing. */
  readonly revoke: (
    organizationId: string,
    id: string
  ) => Effect.Effect<Installation, ConfigurationUnavailable | InstallationNotFound>
}

export const noInstallation = (id: string) =>
  new InstallationNotFound({ message: `CMS installation ${id} does not exist.` })
const NOTHING_YET: CmsConfig = { protocol_version: 1, stores: [] }
/** A driver failure is a defect, because no caller can handle it. */
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

/** Limit per module: each call is a write, and a push has up to 500 events. */
const CALLS_PER_MINUTE_MAX = 600
const keyOf = (organization_id: string, installation_id: string, name: string) => ({
  organization_id,
  scope: "installation" as const,
  installation_id,
  description: `CMS installation ${name}`,
  actions: [],
  collections: ["*"],
  isGateway: false,
  cidrs: [],
  origins: [],
  filter_by: {},
  rate_limit_per_minute: CALLS_PER_MINUTE_MAX,
  expires_at: NEVER_EXPIRES
})

const makeWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const access = yield* Access
  const audit = yield* makeAuditRecorder
  const check = yield* makeCheckConfig
  const entitlements = yield* Entitlements
  const identifiers = yield* Identifiers
  const repository = yield* makeInstallationsRepository
  const recorded = <A, E>(organizationId: string, id: string, change: Effect.Effect<A, E>) =>
    orDie(sql.withTransaction(audit.recorded({ kind: "cms_installation", organizationId, id }, change)))
  const present = (id: string) => (found: Installation | undefined) =>
    found === undefined ? Effect.fail(noInstallation(id)) : Effect.succeed(found)
  const get: InstallationsShape["get"] = (organizationId, id) =>
    Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), present(id))

  const create: InstallationsShape["create"] = Effect.fn("CmsInstallations.create")(function* (organizationId, fields) {
    const id = yield* identifiers.make("cms")
    const now = yield* Clock.currentTimeMillis
    const insert = Effect.gen(function* () {
      const count = yield* repository.lockCount(organizationId)
      yield* entitlements.requireRoom(organizationId, "cms_installations", count + 1)
      yield* repository.insert(organizationId, id, fields, NOTHING_YET, now)
    })
    yield* recorded(organizationId, id, insert)
    // The key has a transaction of its own; without a key, the row would be useless.
    const { value } = yield* access.createKey(keyOf(organizationId, id, fields.name)).pipe(
      // The key's value is generated, and the organization existed a moment ago, so neither failure is expected.
      Effect.catchTag(["KeyValueTaken", "NotFound"], Effect.die),
      Effect.onError(() => Effect.ignore(repository.remove(organizationId, id)))
    )
    return { ...(yield* Effect.orDie(get(organizationId, id))), installation_key: value }
  })
  const publish: InstallationsShape["publish"] = Effect.fn("CmsInstallations.publish")(
    function* (organizationId, id, expected, config) {
      yield* get(organizationId, id)
      const issues: ReadonlyArray<Issue> = check(organizationId, config)
      yield* refused(issues)
      const change = Effect.gen(function* () {
        const { desired_revision, revoked_at } = yield* Effect.flatMap(repository.lock(organizationId, id), present(id))
        if (revoked_at !== undefined)
          return yield* new InstallationRevoked({ message: `The key of CMS installation ${id} is revoked.` })
        if (desired_revision !== expected)
          return yield* new ConfigRevisionMismatch({
            message: `CMS installation ${id} has the revision ${desired_revision}.`,
            current_revision: desired_revision
          })
        yield* repository.publish(id, desired_revision + 1, config, yield* Clock.currentTimeMillis)
        return yield* Effect.flatMap(repository.get(organizationId, id), present(id))
      })
      return yield* recorded(organizationId, id, change)
    }
  )
  const revoke: InstallationsShape["revoke"] = Effect.fn("CmsInstallations.revoke")(function* (organizationId, id) {
    const found = yield* get(organizationId, id)
    if (found.revoked_at !== undefined) return found
    // Revokes the key first, so that a row marked as revoked never has a valid key.
    yield* Effect.catchTag(access.revokeInstallationKey(organizationId, id), "KeyNotFound", () => Effect.void)
    const now = yield* Clock.currentTimeMillis
    yield* recorded(organizationId, id, repository.revoke(organizationId, id, now))
    return yield* get(organizationId, id)
  })
  return { get, create, publish, revoke }
})

const make = Effect.gen(function* () {
  const repository = yield* makeInstallationsRepository
  return CmsInstallations.of({
    ...(yield* makeWrites),
    list: (organizationId, { cursor, limit }) => Effect.orDie(repository.page(organizationId, cursor, limit))
  })
})

export class CmsInstallations extends Context.Service<CmsInstallations, InstallationsShape>()(
  "dowser/cms/CmsInstallations"
) {
  static readonly layer: Layer.Layer<
    CmsInstallations,
    never,
    | Access
    | CatalogNames
    | CatalogResources
    | Connectors
    | Entitlements
    | Identifiers
    | RecommendationModels
    | RowReaders
    | SqlClient.SqlClient
  > = Layer.effect(CmsInstallations, make)
}
