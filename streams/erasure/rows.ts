/**
 * A person's rows outside the rollups: what was kept of his entries as he sent them. Pages of rows, each its own
 * transaction.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { EVENT_AHEAD_MAX_MS } from "@dowser/log/event-schema"
import type { Erasures, Tombstone } from "./erasures.ts"
import { subjectOfText } from "./subjects.ts"

const PAGE = 1_000

/** Before every offset: rows do not say where in the log they come from. */
const BEFORE_ALL = -1

const eachPage = Effect.fnUntraced(function* <Row, E, R>(
  page: (after: string) => Effect.Effect<ReadonlyArray<Row>, E, R>,
  cursorOf: (row: Row) => string,
  remove: (rows: ReadonlyArray<Row>) => Effect.Effect<number, E, R>
) {
  let removed = 0
  for (let after = ""; ;) {
    const rows = yield* page(after)
    if (rows.length === 0) return removed
    removed += yield* remove(rows)
    after = cursorOf(rows.at(-1)!)
  }
})

/** Rows removed by table. Call when all that the tombstone covers has been counted. Idempotent. */
export const removeRows = Effect.fnUntraced(function* (
  { ends, erasedAt, organizationId }: Tombstone,
  erasures: Erasures,
  userId: string
) {
  const sql = yield* SqlClient.SqlClient
  const places = Object.keys(ends)
  const isHis = (text: string) =>
    places.some((place) => {
      const at = place.lastIndexOf("/")
      return erasures.hides(
        organizationId,
        place.slice(0, at),
        Number(place.slice(at + 1)),
        BEFORE_ALL,
        subjectOfText(text)
      )
    })
  const event_rejections = yield* eachPage(
    (after) =>
      sql<{
        id: string
        entry: string
      }>`SELECT id, entry FROM event_rejections WHERE organization_id = ${organizationId} AND received_at <= ${String(erasedAt)}::text::int8 AND id > ${after} ORDER BY id LIMIT ${PAGE}::int4`,
    ({ id }) => id,
    (rows) => {
      const ids = rows.filter(({ entry }) => isHis(entry)).map(({ id }) => id)
      return ids.length === 0
        ? Effect.succeed(0)
        : Effect.map(
            sql`DELETE FROM event_rejections WHERE organization_id = ${organizationId} AND id = ANY(${ids}::text[]) RETURNING id`,
            (gone) => gone.length
          )
    }
  )
  // Times of events are their senders', who may be minutes ahead.
  const analytics_rule_events = yield* eachPage(
    (after) => sql<{
      rule: string
      id: string
      event: string
    }>`SELECT rule, id::text AS id, event::text AS event FROM analytics_rule_events
      WHERE organization_id = ${organizationId} AND occurred_at <= ${String(erasedAt + EVENT_AHEAD_MAX_MS)}::text::int8 AND (${after} = '' OR id > nullif(${after}, '')::int8) ORDER BY analytics_rule_events.id LIMIT ${PAGE}::int4`,
    ({ id }) => id,
    (rows) => {
      const ids = rows.filter(({ event }) => isHis(event)).map(({ id }) => id)
      return ids.length === 0
        ? Effect.succeed(0)
        : Effect.map(
            sql`DELETE FROM analytics_rule_events WHERE organization_id = ${organizationId} AND id = ANY(${ids}::text[]::int8[]) RETURNING id`,
            (gone) => gone.length
          )
    }
  )
  const vars = JSON.stringify({ user: userId })
  const path = "$.**.user_id ? (@ == $user)"
  const webhook_deliveries =
    (yield* sql`DELETE FROM webhook_deliveries WHERE organization_id = ${organizationId} AND created_at <= ${String(erasedAt)}::text::int8 AND strpos(body, 'user_id') > 0
    AND jsonb_path_exists(body::jsonb, ${path}::text::jsonpath, ${vars}::text::jsonb) RETURNING id`).length
  const outbox =
    (yield* sql`DELETE FROM outbox WHERE organization_id = ${organizationId} AND created_at <= ${String(erasedAt)}::text::int8 AND jsonb_path_exists(data, ${path}::text::jsonpath, ${vars}::text::jsonb) RETURNING id`)
      .length
  return { event_rejections, analytics_rule_events, webhook_deliveries, outbox }
})
