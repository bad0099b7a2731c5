/** Waiting webhooks for the operator, counted with their partial indexes, at most `FIGURES_MAX` rows each. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { FIGURES_MAX } from "./verdict.ts"

export interface WebhookFigures {
  readonly deliveries_pending: number
  readonly deliveries_failed: number
  /** Events that have not been distributed to their endpoints yet. */
  readonly outbox_waiting: number
}

export const countWebhooks = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const atMost = String(FIGURES_MAX)
  const [row] = yield* sql<WebhookFigures>`SELECT
    (SELECT count(*)::float8 FROM (SELECT 1 FROM webhook_deliveries WHERE status = 'pending' LIMIT ${atMost}::text::int8) AS waiting) AS deliveries_pending,
    (SELECT count(*)::float8 FROM (SELECT 1 FROM webhook_deliveries WHERE status = 'failed' LIMIT ${atMost}::text::int8) AS waiting) AS deliveries_failed,
    (SELECT count(*)::float8 FROM (SELECT 1 FROM outbox WHERE fanned_out_at IS NULL LIMIT ${atMost}::text::int8) AS waiting) AS outbox_waiting`
  return row!
})
