/** Erases a person from what analytics rules store. Counts stay, because they identify nobody. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { EVENT_AHEAD_MAX_MS } from "@dowser/log/event-schema"
import { GRAINS } from "../../figures/grain.ts"
import type { ErasedRows } from "../../processor/erasing.ts"
import { removePages, ROWS_PER_PAGE } from "../../erasure/rows.ts"

/** Removes events that `log` rules store. Returns the number of rows. */
export const removeRuleEvents = Effect.fnUntraced(function* ({ erasedAt, isTheirs, organizationId }: ErasedRows) {
  const sql = yield* SqlClient.SqlClient
  // Senders choose the times of events, which may be minutes in the future.
  const analytics_rule_events = yield* removePages(
    (after) => sql<{
      rule: string
      id: string
      event: string
    }>`SELECT rule, id::text AS id, event::text AS event FROM analytics_rule_events
      WHERE organization_id = ${organizationId} AND occurred_at <= ${String(erasedAt + EVENT_AHEAD_MAX_MS)}::text::int8 AND (${after} = '' OR id > nullif(${after}, '')::int8) ORDER BY analytics_rule_events.id LIMIT ${ROWS_PER_PAGE}::int4`,
    ({ id }) => id,
    (rows) => {
      const ids = rows.filter(({ event }) => isTheirs(event)).map(({ id }) => id)
      return ids.length === 0
        ? Effect.succeed(0)
        : Effect.map(
            sql`DELETE FROM analytics_rule_events WHERE organization_id = ${organizationId} AND id = ANY(${ids}::text[]::int8[]) RETURNING id`,
            (gone) => gone.length
          )
    }
  )
  return { analytics_rule_events }
})

/**
 * Removes texts of queries that nobody else made, according to the rebuilt rollups: immediately, or, if they were
 * published, at the publisher's next pass. Call with the partitions locked. Returns the rows changed.
 */
export const forgetQueries = Effect.fnUntraced(function* (organizationId: string) {
  const sql = yield* SqlClient.SqlClient
  const asked = sql`(SELECT q FROM analytics_query_rollup WHERE organization_id = ${organizationId} AND grain = ${GRAINS.day}::int2 GROUP BY q HAVING sum(searches) <> 0)`
  // The publisher removes the document of a query without a count, and then forgets the query.
  const published =
    yield* sql`UPDATE analytics_rule_queries SET count = 0 WHERE organization_id = ${organizationId} AND published_as IS NOT NULL AND count <> 0 AND q NOT IN ${asked} RETURNING q`
  const unpublished =
    yield* sql`DELETE FROM analytics_rule_queries WHERE organization_id = ${organizationId} AND published_as IS NULL AND q NOT IN ${asked} RETURNING q`
  return { analytics_rule_queries: published.length + unpublished.length }
})
