/** Webhook backlogs as the operator sees them. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { countWebhooks } from "../../../src/health/webhook-figures.ts"
import { FIGURES_MAX } from "../../../src/health/verdict.ts"
import { layerTestSql } from "../../support/postgres.ts"

it.live("waiting deliveries and events are counted, up to the bound", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    expect(yield* countWebhooks).toEqual({ deliveries_pending: 0, deliveries_failed: 0, outbox_waiting: 0 })
    yield* sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES ('org_a', 'A', 'active', 'standard', 0)`
    yield* sql`INSERT INTO webhook_endpoints (id, organization_id, name, url, events, enabled, secrets, created_at, updated_at) VALUES ('we_a', 'org_a', 'a', 'http://127.0.0.1', '[]', true, '[]', 0, 0)`
    yield* sql`INSERT INTO webhook_deliveries (endpoint_id, id, organization_id, event, body, created_at, due_at, status)
      SELECT 'we_a', 'd' || i, 'org_a', 'e', '{}', 0, 0, CASE WHEN i <= 3 THEN 'failed' WHEN i = 4 THEN 'success' ELSE 'pending' END FROM generate_series(1, ${String(FIGURES_MAX + 100)}::text::int4) AS i`
    expect(yield* countWebhooks).toEqual({ deliveries_pending: FIGURES_MAX, deliveries_failed: 3, outbox_waiting: 0 })
  }).pipe(Effect.provide(layerTestSql))
)
