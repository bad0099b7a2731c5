/** The use cases for endpoints. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { Seal } from "../access/seal.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeOutboxSettling } from "../outbox/outbox-settling.ts"
import { makeDeliveriesRepository } from "./deliveries-repository.ts"
import type { EndpointFields } from "./endpoint-input.ts"
import { makeEndpointsRepository, type StoredEndpoint } from "./endpoints-repository.ts"
import { SecretsExhausted, WebhooksExhausted } from "./errors.ts"
import { makeFoundEndpoint, type Page, shownAt } from "./found-endpoint.ts"
import { ENDPOINTS_MAX } from "./schema.ts"
import { rotatedSecrets, SECRETS_MAX } from "./secrets.ts"
import { SECRET_LENGTH, secretPrefix } from "./signature.ts"

const disabledByCaller = "The endpoint was disabled while this delivery waited."
/** Resets what a failing or disabled endpoint remembers. */
const well = { failing_since: undefined, disabled_at: undefined, disabled_reason: undefined }

const secretsExhausted = (id: string): SecretsExhausted =>
  new SecretsExhausted({
    message: `${SECRETS_MAX} secrets of webhook ${id} are still valid; the next rotation is possible when the oldest ends.`
  })
const replaced = (endpoint: StoredEndpoint, fields: EndpointFields, now: number): StoredEndpoint => {
  // Enabling it, or changing its address, counts as a repair: the five days start again.
  const isRepaired = fields.enabled && (!endpoint.enabled || fields.url !== endpoint.url)
  return { ...endpoint, ...fields, ...(isRepaired ? well : {}), updated_at: now }
}

const makeNewSecret = Effect.gen(function* () {
  const seal = yield* Seal
  const identifiers = yield* Identifiers
  return Effect.map(identifiers.secret(SECRET_LENGTH), (letters) => {
    const secret = secretPrefix + letters
    return { secret, sealed: seal.seal(Buffer.from(secret)) }
  })
})
/** Pending deliveries fail for this reason, which settles their events. */
const makeGivingUp = Effect.gen(function* () {
  const deliveries = yield* makeDeliveriesRepository
  const outbox = yield* makeOutboxSettling
  return (endpointId: string, reason: string, now: number) =>
    Effect.orDie(
      Effect.flatMap(deliveries.failPending(endpointId, reason, now), (outboxIds) => outbox.settle(outboxIds, now))
    )
})

export const makeEndpointCases = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const endpoints = yield* makeEndpointsRepository
  const audit = yield* makeAuditRecorder
  const { changing, found } = yield* makeFoundEndpoint
  const newSecret = yield* makeNewSecret
  const giveUp = yield* makeGivingUp
  const shown = (endpoint: StoredEndpoint) => Effect.map(Clock.currentTimeMillis, (now) => shownAt(now)(endpoint))
  return {
    list: (organizationId: string, { cursor, limit }: Page) =>
      Effect.flatMap(Effect.orDie(endpoints.page(organizationId, cursor, limit)), (page) =>
        Effect.forEach(page, shown)
      ),
    get: (organizationId: string, id: string) => Effect.flatMap(found(organizationId, id), shown),
    create: Effect.fn("Webhooks.create")(function* (organizationId: string, fields: EndpointFields, atMost = Infinity) {
      const now = yield* Clock.currentTimeMillis
      const { sealed, secret } = yield* newSecret
      const endpoint: StoredEndpoint = {
        id: yield* identifiers.make("whk"),
        organization_id: organizationId,
        ...fields,
        ...well,
        secrets: [{ sealed }],
        created_at: now,
        updated_at: now
      }
      const most = Math.min(ENDPOINTS_MAX, atMost)
      if (
        !(yield* Effect.orDie(
          sql.withTransaction(
            audit.recorded({ kind: "webhook", organizationId, id: endpoint.id }, endpoints.insert(endpoint, most))
          )
        ))
      )
        return yield* new WebhooksExhausted({
          message: `The organization has ${most} webhooks, which is the limit; delete one first.`
        })
      return { ...shownAt(now)(endpoint), secret }
    }),
    replace: Effect.fn("Webhooks.replace")(function* (organizationId: string, id: string, fields: EndpointFields) {
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (endpoint, now) {
          const next = replaced(endpoint, fields, now)
          yield* Effect.orDie(endpoints.save(next))
          if (endpoint.enabled && !next.enabled) yield* giveUp(id, disabledByCaller, now)
          return shownAt(now)(next)
        })
      )
    }),
    remove: Effect.fn("Webhooks.remove")(function* (organizationId: string, id: string) {
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (_, now) {
          yield* giveUp(id, "The endpoint was deleted.", now)
          yield* Effect.orDie(endpoints.remove(organizationId, id))
          return { id }
        })
      )
    }),
    rotateSecret: Effect.fn("Webhooks.rotateSecret")(function* (organizationId: string, id: string) {
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (endpoint, now) {
          const { sealed, secret } = yield* newSecret
          const secrets = rotatedSecrets(endpoint.secrets, sealed, now)
          if (secrets === undefined) return yield* secretsExhausted(id)
          const next: StoredEndpoint = { ...endpoint, secrets, updated_at: now }
          yield* Effect.orDie(endpoints.save(next))
          return { ...shownAt(now)(next), secret }
        })
      )
    })
  }
})
