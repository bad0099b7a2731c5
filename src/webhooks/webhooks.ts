/**
 * Endpoints and their deliveries as a caller manages them. Sending is `dispatcher.ts`; the two share the tables and the
 * signal that something is due. `make` is a list of one use case per name, however long.
 *
 * States of a delivery: pending → success | failed, moved by attempts; success | failed → pending by a redelivery or a
 * recovery; pending → failed when its endpoint is disabled or deleted.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Seal } from "../access/seal.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeOutboxSettling } from "../outbox/outbox-settling.ts"
import { Identifiers } from "@dowser/log/identifiers"
import { makeDeliveriesRepository } from "./deliveries-repository.ts"
import type { EndpointFields } from "./endpoint-input.ts"
import { makeEndpointsRepository, type StoredEndpoint } from "./endpoints-repository.ts"
import { envelopeOf } from "./envelope.ts"
import { DeliveryNotFound, SecretsExhausted, WebhookDisabled, WebhookNotFound, WebhooksExhausted } from "./errors.ts"
import { DELIVERIES_LISTED, ENDPOINTS_MAX, type WebhookDelivery, type WebhookEndpoint } from "./schema.ts"
import { previousValidUntil, rotatedSecrets, SECRETS_MAX } from "./secrets.ts"
import { SECRET_LENGTH, secretPrefix } from "./signature.ts"
import { signalDue } from "./signals.ts"
import { testEvent } from "./subscribable-events.ts"
import type { RowReaders } from "../identity/row-readers.ts"

/** Failed deliveries of one statement of a recovery. */
const RECOVER_ROWS = 5_000
const disabledByCaller = "The endpoint was disabled while this delivery waited."

interface Page {
  readonly cursor: string | undefined
  readonly limit: number
}
type Shown<T, E = never> = Effect.Effect<T, E | WebhookNotFound>

const shownAt =
  (now: number) =>
  ({
    created_at,
    disabled_at,
    disabled_reason,
    enabled,
    events,
    failing_since,
    id,
    name,
    secrets,
    updated_at,
    url
  }: StoredEndpoint): WebhookEndpoint => {
    const previous_secret_valid_until = previousValidUntil(secrets, now)
    return {
      id,
      name,
      url,
      events,
      enabled,
      created_at,
      updated_at,
      ...(failing_since === undefined ? {} : { failing_since }),
      ...(disabled_at === undefined ? {} : { disabled_at }),
      ...(disabled_reason === undefined ? {} : { disabled_reason }),
      ...(previous_secret_valid_until === undefined ? {} : { previous_secret_valid_until })
    }
  }
/** What a failing or disabled endpoint remembers of that. */
const well = { failing_since: undefined, disabled_at: undefined, disabled_reason: undefined }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const seal = yield* Seal
  const identifiers = yield* Identifiers
  const endpoints = yield* makeEndpointsRepository
  const deliveries = yield* makeDeliveriesRepository
  const outbox = yield* makeOutboxSettling
  const audit = yield* makeAuditRecorder
  const signal = (endpointId: string) => Effect.provideService(signalDue(endpointId), SqlClient.SqlClient, sql)

  const newSecret = Effect.map(identifiers.secret(SECRET_LENGTH), (letters) => {
    const secret = secretPrefix + letters
    return { secret, sealed: seal.seal(Buffer.from(secret)) }
  })
  const shown = (endpoint: StoredEndpoint) => Effect.map(Clock.currentTimeMillis, (now) => shownAt(now)(endpoint))
  const present = (id: string) => (endpoint: StoredEndpoint | undefined) =>
    endpoint === undefined
      ? Effect.fail(new WebhookNotFound({ message: `Webhook ${id} does not exist.` }))
      : Effect.succeed(endpoint)
  const found = (organizationId: string, id: string) =>
    Effect.flatMap(Effect.orDie(endpoints.get(organizationId, id)), present(id))
  /** Changes one endpoint with its row locked; statements that fail are defects, what the change fails with is told. */
  const changing = <A, E extends { readonly _tag: string }>(
    organizationId: string,
    id: string,
    change: (endpoint: StoredEndpoint, now: number) => Effect.Effect<A, E>
  ) =>
    sql
      .withTransaction(
        Effect.gen(function* () {
          const endpoint = yield* Effect.flatMap(Effect.orDie(endpoints.lock(organizationId, id)), present(id))
          return yield* audit.recorded(
            { kind: "webhook", organizationId, id },
            change(endpoint, yield* Clock.currentTimeMillis)
          )
        })
      )
      .pipe(Effect.catchTag("SqlError", Effect.die))
  /** What waits has failed for a reason; its events are settled by that. */
  const giveUp = (endpointId: string, reason: string, now: number) =>
    Effect.orDie(
      Effect.flatMap(deliveries.failPending(endpointId, reason, now), (outboxIds) => outbox.settle(outboxIds, now))
    )
  const sendable = (endpoint: StoredEndpoint) =>
    endpoint.enabled
      ? Effect.succeed(endpoint)
      : Effect.fail(
          new WebhookDisabled({
            message: `Webhook ${endpoint.id} is disabled; replace it with \`enabled\`: true first.`
          })
        )

  const deliveryOf = Effect.fnUntraced(function* (endpointId: string, id: string) {
    const delivery = yield* Effect.orDie(deliveries.get(endpointId, id))
    return delivery === undefined
      ? yield* new DeliveryNotFound({ message: `Delivery ${id} does not exist.` })
      : delivery
  })

  return Webhooks.of({
    list: (organizationId, { cursor, limit }) =>
      Effect.flatMap(Effect.orDie(endpoints.page(organizationId, cursor, limit)), (page) =>
        Effect.forEach(page, shown)
      ),
    get: (organizationId, id) => Effect.flatMap(found(organizationId, id), shown),
    create: Effect.fn("Webhooks.create")(function* (organizationId, fields, atMost = Infinity) {
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
    replace: Effect.fn("Webhooks.replace")(function* (organizationId, id, fields) {
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (endpoint, now) {
          // Whoever enables it, or points it elsewhere, has repaired it: the five days begin anew.
          const isRepaired = fields.enabled && (!endpoint.enabled || fields.url !== endpoint.url)
          const next: StoredEndpoint = { ...endpoint, ...fields, ...(isRepaired ? well : {}), updated_at: now }
          yield* Effect.orDie(endpoints.save(next))
          if (endpoint.enabled && !next.enabled) yield* giveUp(id, disabledByCaller, now)
          return shownAt(now)(next)
        })
      )
    }),
    remove: Effect.fn("Webhooks.remove")(function* (organizationId, id) {
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
    rotateSecret: Effect.fn("Webhooks.rotateSecret")(function* (organizationId, id) {
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (endpoint, now) {
          const { sealed, secret } = yield* newSecret
          const secrets = rotatedSecrets(endpoint.secrets, sealed, now)
          if (secrets === undefined)
            return yield* new SecretsExhausted({
              message: `${SECRETS_MAX} secrets of webhook ${id} are still valid; the next rotation is possible when the oldest ends.`
            })
          const next: StoredEndpoint = { ...endpoint, secrets, updated_at: now }
          yield* Effect.orDie(endpoints.save(next))
          return { ...shownAt(now)(next), secret }
        })
      )
    }),
    sendTest: Effect.fn("Webhooks.sendTest")(function* (organizationId, id) {
      // Decision: also to a disabled endpoint, because a test is how one finds out whether to enable it.
      const now = yield* Clock.currentTimeMillis
      const delivery = {
        id: yield* identifiers.make("dlv"),
        event: testEvent,
        created_at: now,
        organization_id: organizationId
      }
      return yield* sql
        .withTransaction(
          Effect.gen(function* () {
            // Locked, so that it is not deleted before its delivery is there.
            const { name } = yield* Effect.flatMap(Effect.orDie(endpoints.lock(organizationId, id)), present(id))
            const body = envelopeOf({
              ...delivery,
              data: { webhook_id: id, name, message: "This is a test delivery." }
            })
            yield* Effect.orDie(
              Effect.andThen(
                deliveries.insert([{ ...delivery, endpoint_id: id, outbox_id: undefined, body }]),
                signal(id)
              )
            )
            return yield* Effect.orDie(deliveryOf(id, delivery.id))
          })
        )
        .pipe(Effect.catchTag("SqlError", Effect.die))
    }),
    deliveries: (organizationId, id, { cursor, limit }) =>
      Effect.flatMap(found(organizationId, id), () => Effect.orDie(deliveries.page(id, cursor, limit))),
    newestDeliveries: (endpointId) => Effect.orDie(deliveries.page(endpointId, undefined, DELIVERIES_LISTED)),
    delivery: (organizationId, id, deliveryId) =>
      Effect.flatMap(found(organizationId, id), () => deliveryOf(id, deliveryId)),
    redeliver: Effect.fn("Webhooks.redeliver")(function* (organizationId, id, deliveryId) {
      yield* Effect.flatMap(found(organizationId, id), () => deliveryOf(id, deliveryId))
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (endpoint, now) {
          yield* sendable(endpoint)
          yield* Effect.orDie(Effect.andThen(deliveries.redeliver(id, deliveryId, now), signal(id)))
          yield* Effect.orDie(
            audit.noted({
              organizationId,
              kind: "webhook",
              id,
              action: "redelivered",
              after: { delivery_id: deliveryId }
            })
          )
          return yield* deliveryOf(id, deliveryId)
        })
      )
    }),
    recover: Effect.fn("Webhooks.recover")(function* (organizationId, id, since) {
      return yield* changing(
        organizationId,
        id,
        Effect.fnUntraced(function* (endpoint, now) {
          yield* sendable(endpoint)
          let recovered = 0
          for (let taken = RECOVER_ROWS; taken === RECOVER_ROWS; recovered += taken)
            taken = yield* Effect.orDie(deliveries.recover(id, since, now, RECOVER_ROWS))
          yield* Effect.orDie(signal(id))
          yield* Effect.orDie(
            audit.noted({ organizationId, kind: "webhook", id, action: "recovered", after: { since, recovered } })
          )
          return { recovered }
        })
      )
    })
  })
})

export class Webhooks extends Context.Service<
  Webhooks,
  {
    readonly list: (organizationId: string, page: Page) => Effect.Effect<ReadonlyArray<WebhookEndpoint>>
    readonly get: (organizationId: string, id: string) => Shown<WebhookEndpoint>
    /** The only moment, beside a rotation, at which the secret exists in plain. */
    readonly create: (
      organizationId: string,
      fields: EndpointFields,
      atMost?: number
    ) => Effect.Effect<WebhookEndpoint & { readonly secret: string }, WebhooksExhausted>
    readonly replace: (organizationId: string, id: string, fields: EndpointFields) => Shown<WebhookEndpoint>
    readonly remove: (organizationId: string, id: string) => Shown<{ readonly id: string }>
    /** Old and new secret sign for 24 h. */
    readonly rotateSecret: (
      organizationId: string,
      id: string
    ) => Shown<WebhookEndpoint & { readonly secret: string }, SecretsExhausted>
    readonly sendTest: (organizationId: string, id: string) => Shown<WebhookDelivery>
    /** Newest first. */
    readonly deliveries: (organizationId: string, id: string, page: Page) => Shown<ReadonlyArray<WebhookDelivery>>
    /** The 100 newest of an endpoint that was found. */
    readonly newestDeliveries: (endpointId: string) => Effect.Effect<ReadonlyArray<WebhookDelivery>>
    readonly delivery: (
      organizationId: string,
      id: string,
      deliveryId: string
    ) => Shown<WebhookDelivery, DeliveryNotFound>
    /** Due at once under its id, in a new round of attempts; one that is on its way right now is left alone. */
    readonly redeliver: (
      organizationId: string,
      id: string,
      deliveryId: string
    ) => Shown<WebhookDelivery, DeliveryNotFound | WebhookDisabled>
    /** All that failed at `since` (Unix milliseconds) or later is due at once. */
    readonly recover: (
      organizationId: string,
      id: string,
      since: number
    ) => Shown<{ readonly recovered: number }, WebhookDisabled>
  }
>()("dowser/webhooks/Webhooks") {
  static readonly layer: Layer.Layer<Webhooks, never, SqlClient.SqlClient | Identifiers | RowReaders | Seal> =
    Layer.effect(Webhooks, make)
}
