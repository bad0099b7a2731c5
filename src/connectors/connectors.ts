/**
 * Connectors of every organization: rows in Postgres, kept in memory, read again where a write of any process changed
 * them (`Configuration`), so that the next push meets what was answered before it.
 */
import { createHash } from "node:crypto"
import { Clock, Context, Effect, Layer } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { SqlClient, type SqlError } from "effect/sql"
import { Seal } from "../access/seal.ts"
import { Configuration } from "../configuration/configuration.ts"
import { stored } from "../configuration/stored.ts"
import type { ConfigurationUnavailable } from "../http/errors.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { previousValidUntil, rotatedSecrets, SECRETS_MAX, validSecrets } from "../webhooks/secrets.ts"
import { type ConnectorState, makeConnectorsRepository, type StoredConnector } from "./connectors-repository.ts"
import { ConnectorNotFound, ConnectorSecretsExhausted, IdempotencyKeyReused } from "./errors.ts"
import { keepConnectors } from "./kept.ts"
import {
  CONNECTORS_MAX,
  type Connector,
  type ConnectorWithSecret,
  type CreateConnector,
  type UpdateConnector
} from "./schema.ts"

const SECRET_PREFIX = "cns_"
const SECRET_CHARACTERS = 40
/** How long a creation is answered again (contract part 11). */
const CREATION_KEPT_MS = 24 * 3_600_000

export interface Creation {
  readonly fields: CreateConnector
  /** The body as it came: what makes two requests the same. */ readonly body: Uint8Array
  readonly idempotencyKey: string | undefined
}
interface ConnectorsShape {
  /** O(1), by memory; of any organization, for pushes, which say no other. */
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
const shownAs = (own: StoredConnector, state: ConnectorState | undefined, now: number): Connector => {
  const previous = previousValidUntil(own.secrets, now)
  const last_error = state?.last_error ?? undefined,
    last_sync_at = state?.last_sync_at ?? undefined
  return {
    id: own.id,
    name: own.name,
    collection: own.collection,
    provider: own.provider,
    sync_mode: own.sync_mode,
    ...(own.schedule_cron === undefined ? {} : { schedule_cron: own.schedule_cron }),
    ...(own.pull_url === undefined ? {} : { pull_url: own.pull_url }),
    pull_token_set: own.pull_token !== undefined,
    ...(own.mapping === undefined ? {} : { mapping: own.mapping }),
    status: !own.enabled ? "disabled" : last_error === undefined ? "idle" : "failed",
    ...(last_sync_at === undefined ? {} : { last_sync_at }),
    ...(last_error === undefined ? {} : { last_error }),
    enabled: own.enabled,
    secret_preview: own.secret_preview,
    ...(previous === undefined ? {} : { previous_secret_valid_until: previous }),
    created_at: own.created_at,
    updated_at: own.updated_at
  }
}
const previewOf = (secret: string): string => `${secret.slice(0, 8)}…${secret.slice(-4)}`
/** What is left out stays, `null` takes away. */
const changed = <A>(given: A | null | undefined, before: A | undefined): A | undefined =>
  given === undefined ? before : (given ?? undefined)

const make = Effect.gen(function* () {
  const configuration = yield* Configuration
  const repository = yield* makeConnectorsRepository
  const entitlements = yield* Entitlements
  const identifiers = yield* Identifiers
  const seal = yield* Seal
  const sql = yield* SqlClient.SqlClient
  const kept = yield* keepConnectors
  const change = (organizationId: string, id: string) => ({ kind: "connector", organizationId, id })
  const sealed = (text: string): string => seal.seal(Buffer.from(text))
  const newSecret = Effect.map(identifiers.secret(SECRET_CHARACTERS), (letters) => SECRET_PREFIX + letters)
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
  /** Changes the row with its lock held. */
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
          return replaced
        })
      )
    )
  const insert = Effect.fnUntraced(function* (own: StoredConnector) {
    yield* repository.lock(own.organization_id)
    const count = yield* repository.count(own.organization_id)
    yield* entitlements.requireRoom(own.organization_id, "connectors", Math.min(count + 1, CONNECTORS_MAX + 1))
    yield* repository.insert(own)
  })
  const creating = Effect.fnUntraced(function* (organizationId: string, { fields }: Creation) {
    const now = yield* Clock.currentTimeMillis
    const secret = yield* newSecret
    const own: StoredConnector = {
      id: yield* identifiers.make("con"),
      organization_id: organizationId,
      name: fields.name.trim(),
      collection: fields.collection,
      provider: fields.provider,
      sync_mode: fields.sync_mode,
      schedule_cron: fields.schedule_cron,
      pull_url: fields.pull_url,
      pull_token: fields.pull_token === undefined ? undefined : sealed(fields.pull_token),
      mapping: fields.mapping,
      secrets: [{ sealed: sealed(secret) }],
      secret_preview: previewOf(secret),
      enabled: fields.enabled ?? true,
      created_at: now,
      updated_at: now
    }
    return { own, answer: { ...shownAs(own, undefined, now), secret } }
  })
  /** The answer of a day ago or less, where the key is known; another body under it is a conflict. */
  const answeredBefore = Effect.fnUntraced(function* (organizationId: string, { body, idempotencyKey }: Creation) {
    if (idempotencyKey === undefined) return undefined
    const since = (yield* Clock.currentTimeMillis) - CREATION_KEPT_MS
    const known = yield* repository.creation(organizationId, idempotencyKey, since)
    if (known === undefined) return undefined
    if (known.body_hash !== hashOf(body))
      return yield* new IdempotencyKeyReused({
        message: "This `Idempotency-Key` was used within the last 24 hours with another body."
      })
    return JSON.parse(seal.open(known.answer).toString()) as ConnectorWithSecret
  })
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
    create: Effect.fn("Connectors.create")(function* (organizationId, creation) {
      const made = yield* creating(organizationId, creation)
      const { idempotencyKey } = creation
      return yield* stored(
        configuration.write(
          change(organizationId, made.own.id),
          Effect.gen(function* () {
            // Of two requests with one key the second finds what the first was answered.
            yield* repository.lock(organizationId)
            const before = yield* answeredBefore(organizationId, creation)
            if (before !== undefined) return before
            yield* insert(made.own)
            if (idempotencyKey !== undefined)
              yield* repository.keepCreation(
                organizationId,
                idempotencyKey,
                hashOf(creation.body),
                sealed(JSON.stringify(made.answer)),
                made.own.created_at
              )
            return made.answer
          })
        )
      )
    }),
    update: Effect.fn("Connectors.update")(function* (organizationId, id, fields) {
      const own = yield* changing(organizationId, id, (before, now) =>
        Effect.succeed({
          ...before,
          name: fields.name?.trim() ?? before.name,
          schedule_cron: changed(fields.schedule_cron, before.schedule_cron),
          pull_url: fields.pull_url ?? before.pull_url,
          pull_token:
            typeof fields.pull_token === "string"
              ? sealed(fields.pull_token)
              : changed(fields.pull_token, before.pull_token),
          mapping: changed(fields.mapping, before.mapping),
          enabled: fields.enabled ?? before.enabled,
          updated_at: now
        })
      )
      return yield* shown(own)
    }),
    rotate: Effect.fn("Connectors.rotate")(function* (organizationId, id) {
      const secret = yield* newSecret
      const own = yield* changing(organizationId, id, (before, now) => {
        const secrets = rotatedSecrets(before.secrets, sealed(secret), now)
        return secrets === undefined
          ? Effect.fail(
              new ConnectorSecretsExhausted({
                message: `${SECRETS_MAX} secrets of this connector are valid; an older one ends 24 hours after its rotation.`
              })
            )
          : Effect.succeed({ ...before, secrets, secret_preview: previewOf(secret), updated_at: now })
      })
      return { ...(yield* shown(own)), secret }
    }),
    remove: Effect.fn("Connectors.remove")(function* (organizationId, id) {
      yield* found(organizationId, id)
      yield* stored(configuration.write(change(organizationId, id), repository.remove(organizationId, id)))
    })
  })
})
const hashOf = (body: Uint8Array): string => createHash("sha256").update(body).digest("hex")

export class Connectors extends Context.Service<Connectors, ConnectorsShape>()("dowser/connectors/Connectors") {
  static readonly layer: Layer.Layer<
    Connectors,
    never,
    Configuration | Entitlements | Identifiers | Seal | SqlClient.SqlClient
  > = Layer.effect(Connectors, make)
}
