/**
 * A person's rows outside the rollups: entries that are stored as they were sent. Each processor removes its own
 * (`FigureErasing.removeRows`); this module decides whose a row is, walks rows in pages, each in its own transaction,
 * and removes what the streams passed on to others.
 */
import type { ErasedRows } from "../processor/erasing.ts"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { Erasures, Tombstone } from "./erasures.ts"
import { subjectOfText } from "./subjects.ts"

export const ROWS_PER_PAGE = 1_000

/** Before every offset: rows do not record their position in the log. */
const BEFORE_ALL = -1

export const erasedRows = (
  { ends, erasedAt, organizationId }: Tombstone,
  erasures: Erasures,
  userId: string
): ErasedRows => {
  const places = Object.keys(ends)
  return {
    organizationId,
    erasedAt,
    userId,
    isTheirs: (text) =>
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
  }
}

/** Walks rows in pages, from the cursor "", removing what `remove` selects. Returns the number of rows. */
export const removePages = Effect.fnUntraced(function* <Row, E, R>(
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

/**
 * Removes deliveries to a customer's endpoints that were still pending, and outbox rows, if they contain the user id.
 * Call this when everything below the tombstone has been counted. Idempotent. Returns the rows removed, by table.
 */
export const removeDeliveries = Effect.fnUntraced(function* ({ erasedAt, organizationId, userId }: ErasedRows) {
  const sql = yield* SqlClient.SqlClient
  const vars = JSON.stringify({ user: userId })
  const path = "$.**.user_id ? (@ == $user)"
  const webhook_deliveries =
    (yield* sql`DELETE FROM webhook_deliveries WHERE organization_id = ${organizationId} AND created_at <= ${String(erasedAt)}::text::int8 AND strpos(body, 'user_id') > 0
    AND jsonb_path_exists(body::jsonb, ${path}::text::jsonpath, ${vars}::text::jsonb) RETURNING id`).length
  const outbox =
    (yield* sql`DELETE FROM outbox WHERE organization_id = ${organizationId} AND created_at <= ${String(erasedAt)}::text::int8 AND jsonb_path_exists(data, ${path}::text::jsonpath, ${vars}::text::jsonb) RETURNING id`)
      .length
  return { webhook_deliveries, outbox }
})
