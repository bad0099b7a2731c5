/**
 * Turns one outbox row into one delivery per subscribed endpoint, in one transaction that also marks the row, so that
 * it happens exactly once however many processes do it and whenever one of them dies.
 *
 * Decision: an event has the same delivery id at every endpoint that gets it. An endpoint that is disabled when the
 * event is fanned out does not get it.
 */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeOutboxSettling } from "../outbox/outbox-settling.ts"
import { type DeliveriesRepository, makeDeliveriesRepository, type NewDelivery } from "./deliveries-repository.ts"
import { makeEndpointsRepository } from "./endpoints-repository.ts"
import { envelopeOf } from "./envelope.ts"
import { subscribes } from "./subscribable-events.ts"

/** Outbox rows per transaction. */
export const FAN_OUT_ROWS = 100

export const makeFanOut = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const endpoints = yield* makeEndpointsRepository
  const deliveries: DeliveriesRepository = yield* makeDeliveriesRepository
  const outbox = yield* makeOutboxSettling
  /** One transaction: returns the number of rows, and the endpoints that got something. */
  return sql.withTransaction(
    Effect.gen(function* () {
      const events = yield* outbox.waiting(FAN_OUT_ROWS)
      if (events.length === 0) return { taken: 0, endpointIds: [] as ReadonlyArray<string> }
      const enabled = yield* endpoints.enabledOf([...new Set(events.map(({ organization_id }) => organization_id))])
      const made: Array<NewDelivery> = []
      for (const { created_at, data, delivery_id: id, event, id: outbox_id, organization_id } of events) {
        const subscribed = enabled.filter(
          (endpoint) => endpoint.organization_id === organization_id && subscribes(endpoint.events, event)
        )
        if (subscribed.length === 0) continue
        const body = envelopeOf({ id, event, created_at, organization_id, data })
        for (const endpoint of subscribed)
          made.push({ endpoint_id: endpoint.id, id, organization_id, outbox_id, event, body, created_at })
      }
      if (made.length > 0) yield* deliveries.insert(made)
      const withDeliveries = new Set(made.map(({ outbox_id }) => outbox_id))
      yield* outbox.markFannedOut(
        events.map(({ id }) => id),
        events.flatMap(({ id }) => (withDeliveries.has(id) ? [] : [id])),
        yield* Clock.currentTimeMillis
      )
      return {
        taken: events.length,
        endpointIds: [...new Set(made.map(({ endpoint_id }) => endpoint_id))] as ReadonlyArray<string>
      }
    })
  )
})
