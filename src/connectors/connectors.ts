/**
 * Connectors of all organizations: rows in Postgres, cached in memory and re-read after a write by any process
 * (`Configuration`), so that the next push sees every acknowledged change.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { SqlClient, type SqlError } from "effect/sql"
import { Seal } from "../access/seal.ts"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import type { ConfigurationUnavailable } from "../http/errors.ts"
import { nextRunAt } from "../job-rows/cron.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { rotatedSecrets, SECRETS_MAX, validSecrets } from "../webhooks/secrets.ts"
import { makeConnectorsRepository, type StoredConnector } from "./connectors-repository.ts"
import { type Creation, makeCreate } from "./create-connector.ts"
import { ConnectorNotFound, ConnectorSecretsExhausted, type IdempotencyKeyReused } from "./errors.ts"
import { keepConnectors } from "./kept.ts"
import { makePullsRepository } from "./pulling/pulls-repository.ts"
import type { Connector, ConnectorWithSecret, UpdateConnector } from "./schema.ts"
import { newSecretOf, previewOf, shownAs } from "./shown.ts"

interface ConnectorsShape {
  /** O(1), from memory; across organizations, because pushes name none. */
  readonly byId: (id: string) => StoredConnector | undefined
  readonly secretsOf: (connector: StoredConnector, now: number) => ReadonlyArray<string>
  readonly list: (
    organizationId: string,
    page: { readonly cursor: string | undefined; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<Connector>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<Connector, ConnectorNotFound>
  readonly create: (
    organizationId: string,
    creation: Creation
  ) => Effect.Effect<ConnectorWithSecret, ConfigurationUnavailable | FeatureNotInPlan | IdempotencyKeyReused>
  readonly update: (
    organizationId: string,
    id: string,
    changes: UpdateConnector
  ) => Effect.Effect<Connector, ConfigurationUnavailable | ConnectorNotFound>
  readonly rotate: (
    organizationId: string,
    id: string
  ) => Effect.Effect<ConnectorWithSecret, ConfigurationUnavailable | ConnectorNotFound | ConnectorSecretsExhausted>
  readonly remove: (
    organizationId: string,
    id: string
  ) => Effect.Effect<void, ConfigurationUnavailable | ConnectorNotFound>
}

export const noConnector = (id: string) => new ConnectorNotFound({ message: `Connector ${id} does not exist.` })
/** An omitted field keeps its value; `null` removes it. */
const changed = <A>(given: A | null | undefined, before: A | undefined): A | undefined =>
  given === undefined ? before : (given ?? undefined)

const changedFields = (
  before: StoredConnector,
  fields: UpdateConnector,
  sealed: (text: string) => string,
  now: number
): StoredConnector => ({
  ...before,
  name: fields.name?.trim() ?? before.name,
  mapping: changed(fields.mapping, before.mapping),
  schedule_cron: changed(fields.schedule_cron, before.schedule_cron),
  pull_url: fields.pull_url ?? before.pull_url,
  pull_token: changed(
    typeof fields.pull_token === "string" ? sealed(fields.pull_token) : fields.pull_token,
    before.pull_token
  ),
  enabled: fields.enabled ?? before.enabled,
  updated_at: now
})
/** The newest secret is `text`; earlier ones stay valid for another day. */
const rotated = (before: StoredConnector, text: string, sealed: string, now: number) => {
  const secrets = rotatedSecrets(before.secrets, sealed, now)
  return secrets === undefined
    ? Effect.fail(
        new ConnectorSecretsExhausted({
          message: `${SECRETS_MAX} secrets of this connector are valid; an older one ends 24 hours after its rotation.`
        })
      )
    : Effect.succeed({ ...before, secrets, secret_preview: previewOf(text), updated_at: now })
}

const make = Effect.gen(function* () {
  const configuration = yield* Configuration
  const repository = yield* makeConnectorsRepository
  const pulls = yield* makePullsRepository
  const identifiers = yield* Identifiers
  const seal = yield* Seal
  const kept = yield* keepConnectors
  const change = (organizationId: string, id: string) => ({ kind: "connector", organizationId, id })
  const sealed = (text: string): string => seal.seal(Buffer.from(text))
  const newSecret = newSecretOf(identifiers)
  const shown = (own: StoredConnector) =>
    Effect.flatMap(Effect.orDie(repository.states([own.id])), (states) =>
      Effect.map(Clock.currentTimeMillis, (now) => shownAs(own, states.get(own.id), now))
    )
  const found = (organizationId: string, id: string) =>
    Effect.suspend(() => {
      const own = kept.get(id)
      return own === undefined || own.organization_id !== organizationId
        ? Effect.fail(noConnector(id))
        : Effect.succeed(own)
    })
  /** Changes the row while holding its lock. */
  const changing = <E extends { readonly _tag: string } = never>(
    organizationId: string,
    id: string,
    next: (own: StoredConnector, now: number) => Effect.Effect<StoredConnector, E>
  ): Effect.Effect<StoredConnector, ConfigurationUnavailable | ConnectorNotFound | Exclude<E, SqlError.SqlError>> =>
    stored(
      configuration.write(
        change(organizationId, id),
        Effect.gen(function* () {
          const own = yield* repository.lockOne(organizationId, id)
          if (own === undefined) return yield* noConnector(id)
          const replaced = yield* next(own, yield* Clock.currentTimeMillis)
          yield* repository.replace(replaced)
          if (replaced.sync_mode === "pull")
            yield* pulls.schedule(id, nextRunAt(replaced.schedule_cron, replaced.updated_at))
          return replaced
        })
      )
    )
  return Connectors.of({
    byId: (id) => kept.get(id),
    secretsOf: ({ secrets }, now) => validSecrets(secrets, now).map(({ sealed }) => seal.open(sealed).toString()),
    list: Effect.fn("Connectors.list")(function* (organizationId, { cursor = "", limit }) {
      const page = kept
        .of(organizationId)
        .filter(({ id }) => id > cursor)
        .slice(0, limit)
      const states = yield* Effect.orDie(repository.states(page.map(({ id }) => id)))
      const now = yield* Clock.currentTimeMillis
      return page.map((own) => shownAs(own, states.get(own.id), now))
    }),
    get: (organizationId, id) => Effect.flatMap(found(organizationId, id), shown),
    create: yield* makeCreate,
    update: Effect.fn("Connectors.update")(function* (organizationId, id, fields) {
      const own = yield* changing(organizationId, id, (before, now) =>
        Effect.succeed(changedFields(before, fields, sealed, now))
      )
      return yield* shown(own)
    }),
    rotate: Effect.fn("Connectors.rotate")(function* (organizationId, id) {
      const secret = yield* newSecret
      const own = yield* changing(organizationId, id, (before, now) => rotated(before, secret, sealed(secret), now))
      return { ...(yield* shown(own)), secret }
    }),
    remove: Effect.fn("Connectors.remove")(function* (organizationId, id) {
      yield* found(organizationId, id)
      yield* stored(configuration.write(change(organizationId, id), repository.remove(organizationId, id)))
    })
  })
})
export class Connectors extends Context.Service<Connectors, ConnectorsShape>()("dowser/connectors/Connectors") {
  static readonly layer: Layer.Layer<
    Connectors,
    never,
    Configuration | Entitlements | Identifiers | Seal | SqlClient.SqlClient
  > = Layer.effect(Connectors, make)
}
