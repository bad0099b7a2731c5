/**
 * Outbound events are written in the transaction that causes them, so that an event exists exactly if its cause does.
 * The webhooks room turns them into deliveries and sets `settled_at` when an event is delivered or given up for every
 * webhook (`outbox-retention.ts` describes how long rows stay).
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "./identifiers.ts"

export type OutboundEvent =
  | "api_key.created"
  | "api_key.revoked"
  | "event.replayed"
  | "experiment.started"
  | "experiment.stopped"
  | "experiment.promoted"
  | "experiment.winner_detected"
  | "conversation.completed"
  | "hosting.enabled"
  | "hosting.updated"
  | "hosting.disabled"
  | "media.uploaded"
  | "quality.regression"
  | "alert.fired"
  | "support.thread.created"
  | "support.message.created"
  | "quota.warning"
  | "quota.exhausted"

export class Outbox extends Context.Service<
  Outbox,
  {
    /** Call inside `sql.withTransaction`; one insert. */
    readonly put: (
      organizationId: string,
      event: OutboundEvent,
      data: Readonly<Record<string, unknown>>
    ) => Effect.Effect<void, SqlError.SqlError>
  }
>()("dowser/outbox/Outbox") {
  static readonly layer = Layer.effect(
    Outbox,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const identifiers = yield* Identifiers
      return Outbox.of({
        put: Effect.fnUntraced(function* (organizationId, event, data) {
          const now = yield* Clock.currentTimeMillis
          const deliveryId = yield* identifiers.make("dlv")
          yield* sql`INSERT INTO outbox (organization_id, delivery_id, event, data, created_at)
          VALUES (${organizationId}, ${deliveryId}, ${event}, ${JSON.stringify(data)}::text::jsonb, ${now})`
        })
      })
    })
  )
}
