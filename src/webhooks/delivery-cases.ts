/**
 * The use cases for deliveries. States: pending → success | failed, by attempts; success | failed → pending, by a
 * redelivery or a recovery; pending → failed when the endpoint is disabled or deleted.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeDeliveriesRepository } from "./deliveries-repository.ts"
import { envelopeOf } from "./envelope.ts"
import { DeliveryNotFound } from "./errors.ts"
import { makeFoundEndpoint, type Page, sendable } from "./found-endpoint.ts"
import { DELIVERIES_LISTED } from "./schema.ts"
import { signalDue } from "./signals.ts"
import { testEvent } from "./subscribable-events.ts"

/** Failed deliveries per statement of a recovery. */
const RECOVER_ROWS = 5_000

const makeDeliveryOf = Effect.gen(function* () {
  const deliveries = yield* makeDeliveriesRepository
  return Effect.fnUntraced(function* (endpointId: string, id: string) {
    const delivery = yield* Effect.orDie(deliveries.get(endpointId, id))
    return delivery === undefined
      ? yield* new DeliveryNotFound({ message: `Delivery ${id} does not exist.` })
      : delivery
  })
})
const makeSignal = Effect.map(
  SqlClient.SqlClient,
  (sql) => (endpointId: string) => Effect.provideService(signalDue(endpointId), SqlClient.SqlClient, sql)
)
const makeSendingTest = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const deliveries = yield* makeDeliveriesRepository
  const { locked } = yield* makeFoundEndpoint
  const signal = yield* makeSignal
  const deliveryOf = yield* makeDeliveryOf
  return Effect.fn("Webhooks.sendTest")(function* (organizationId: string, id: string) {
    // Decision: also sent to a disabled endpoint, because a test is how one finds out whether to enable it.
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
          // Locked, so that it is not deleted before its delivery is inserted.
          const { name } = yield* locked(organizationId, id)
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
  })
})

export const makeDeliveryCases = Effect.gen(function* () {
  const deliveries = yield* makeDeliveriesRepository
  const audit = yield* makeAuditRecorder
  const { changing, found } = yield* makeFoundEndpoint
  const signal = yield* makeSignal
  const deliveryOf = yield* makeDeliveryOf

  return {
    sendTest: yield* makeSendingTest,
    deliveries: (organizationId: string, id: string, { cursor, limit }: Page) =>
      Effect.flatMap(found(organizationId, id), () => Effect.orDie(deliveries.page(id, cursor, limit))),
    newestDeliveries: (endpointId: string) => Effect.orDie(deliveries.page(endpointId, undefined, DELIVERIES_LISTED)),
    delivery: (organizationId: string, id: string, deliveryId: string) =>
      Effect.flatMap(found(organizationId, id), () => deliveryOf(id, deliveryId)),
    redeliver: Effect.fn("Webhooks.redeliver")(function* (organizationId: string, id: string, deliveryId: string) {
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
    recover: Effect.fn("Webhooks.recover")(function* (organizationId: string, id: string, since: number) {
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
  }
})
