/**
 * Rows of deliveries, which are also the queue by due time: one function per statement, however long the list, batches
 * first.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { decodeSecrets } from "./endpoints-repository.ts"
import type { WebhookDelivery } from "./schema.ts"
import type { StoredSecret } from "./secrets.ts"

export interface NewDelivery {
  readonly endpoint_id: string
  readonly id: string
  readonly organization_id: string
  /** Undefined for a test delivery. */ readonly outbox_id: number | undefined
  readonly event: string
  readonly body: string
  readonly created_at: number
}
/** A delivery that this process may send until the claim ends, with what sending needs. */
export interface ClaimedDelivery {
  readonly endpoint_id: string
  readonly id: string
  /** Increases with every claim: a result is recorded only for the newest. */ readonly claim: number
  readonly round_attempts: number
  readonly event: string
  readonly body: string
  readonly url: string
  readonly secrets: ReadonlyArray<StoredSecret>
  readonly isEndpointFailing: boolean
}
/** The result of an attempt at a delivery. */
export interface DeliveryResult {
  readonly endpoint_id: string
  readonly id: string
  readonly claim: number
  readonly status: WebhookDelivery["status"]
  readonly http_code: number | undefined
  readonly error: string | undefined
  readonly ended_at: number
  /** Only while pending. */ readonly due_at: number | undefined
}
type DeliveryRow = {
  readonly [K in keyof Required<WebhookDelivery>]:
    | Required<WebhookDelivery>[K]
    | (undefined extends WebhookDelivery[K] ? null : never)
}
type ClaimedRow = Omit<ClaimedDelivery, "secrets"> & { readonly secrets: unknown }

const deliveryOf = (row: DeliveryRow): WebhookDelivery =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as unknown as WebhookDelivery
/** For arrays of texts: the driver cannot infer the type of an array of nulls, so an absent value is the empty text. */
const text = (value: number | string | undefined): string => (value === undefined ? "" : String(value))

export const makeDeliveriesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  // While a delivery is claimed, `due_at` is the end of the claim, at which nothing is sent.
  const columns =
    sql.literal(`id, event, status, http_code, attempts, error, body, created_at::float8 AS created_at, last_attempt_at::float8 AS last_attempt_at,
    CASE WHEN NOT is_claimed THEN due_at::float8 END AS next_attempt_at, finished_at::float8 AS finished_at`)
  const many = Effect.map((rows: ReadonlyArray<DeliveryRow>) => rows.map(deliveryOf))
  const pairs = (rows: ReadonlyArray<{ readonly endpoint_id: string; readonly id: string; readonly claim: number }>) =>
    sql`unnest(${rows.map(({ endpoint_id }) => endpoint_id)}::text[], ${rows.map(({ id }) => id)}::text[], ${rows.map(({ claim }) => claim)}::int4[])`
  return {
    /** Inserts deliveries that are due immediately. An event that already has a row at the endpoint keeps that one. */
    insert: (rows: ReadonlyArray<NewDelivery>) =>
      sql`INSERT INTO webhook_deliveries (endpoint_id, id, organization_id, outbox_id, event, body, created_at, due_at)
        SELECT endpoint_id, id, organization_id, nullif(outbox_id, '')::int8, event, body, created_at, created_at FROM unnest(${rows.map(({ endpoint_id }) => endpoint_id)}::text[], ${rows.map(({ id }) => id)}::text[],
          ${rows.map(({ organization_id }) => organization_id)}::text[], ${rows.map(({ outbox_id }) => text(outbox_id))}::text[], ${rows.map(({ event }) => event)}::text[],
          ${rows.map(({ body }) => body)}::text[], ${rows.map(({ created_at }) => String(created_at))}::text[]::int8[]) AS new (endpoint_id, id, organization_id, outbox_id, event, body, created_at)
        ON CONFLICT DO NOTHING`,
    /** Newest first: an id begins with its time. */
    page: (endpointId: string, before: string | undefined, limit: number) =>
      many(
        sql<DeliveryRow>`SELECT ${columns} FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND (${before ?? null}::text IS NULL OR id < ${before ?? null}) ORDER BY id DESC LIMIT ${limit}::int4`
      ),
    get: (endpointId: string, id: string) =>
      Effect.map(
        many(
          sql<DeliveryRow>`SELECT ${columns} FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND id = ${id}`
        ),
        (rows) => rows[0] as WebhookDelivery | undefined
      ),
    /**
     * Makes a delivery due now: a settled one in a new round, a waiting one earlier; one in progress is not sent again.
     */
    redeliver: (endpointId: string, id: string, now: number) =>
      sql`UPDATE webhook_deliveries SET status = 'pending', due_at = ${String(now)}::text::int8, finished_at = NULL, round_attempts = CASE WHEN status = 'pending' THEN round_attempts ELSE 0 END
        WHERE endpoint_id = ${endpointId} AND id = ${id} AND NOT is_claimed`,
    /** At most `rowsMax`, the oldest failure first; returns how many. */
    recover: (endpointId: string, since: number, now: number, rowsMax: number) =>
      Effect.map(
        sql`UPDATE webhook_deliveries SET status = 'pending', due_at = ${String(now)}::text::int8, finished_at = NULL, round_attempts = 0
          WHERE endpoint_id = ${endpointId} AND id IN (SELECT id FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND status = 'failed' AND finished_at >= ${String(since)}::text::int8 ORDER BY finished_at LIMIT ${rowsMax}::int4)
          RETURNING id`,
        (rows) => rows.length
      ),
    /** Gives up all deliveries that wait or are in progress; returns their outbox rows. */
    failPending: (endpointId: string, error: string, now: number) =>
      Effect.map(
        sql<{
          outbox_id: number | null
        }>`WITH locked AS (SELECT id FROM webhook_deliveries WHERE endpoint_id = ${endpointId} AND status = 'pending' ORDER BY id FOR UPDATE)
          UPDATE webhook_deliveries AS d SET status = 'failed', error = ${error}, due_at = NULL, is_claimed = false, finished_at = ${String(now)}::text::int8 FROM locked
          WHERE d.endpoint_id = ${endpointId} AND d.id = locked.id RETURNING d.outbox_id::float8 AS outbox_id`,
        (rows) => rows.flatMap(({ outbox_id }) => (outbox_id === null ? [] : [outbox_id]))
      ),

    /**
     * Claims up to `places` due deliveries of each endpoint, the longest due first, until `claimEnd`; rows locked by
     * another process are skipped.
     */
    claim: (
      wanted: ReadonlyArray<{ readonly endpointId: string; readonly places: number }>,
      now: number,
      claimEnd: number
    ) =>
      Effect.map(
        sql<ClaimedRow>`WITH picked AS (
            SELECT due.endpoint_id, due.id FROM unnest(${wanted.map(({ endpointId }) => endpointId)}::text[], ${wanted.map(({ places }) => places)}::int4[]) AS wanted (endpoint_id, places) CROSS JOIN LATERAL (
              SELECT endpoint_id, id FROM webhook_deliveries WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' AND due_at <= ${String(now)}::text::int8 ORDER BY due_at, id LIMIT wanted.places FOR UPDATE SKIP LOCKED) AS due)
          UPDATE webhook_deliveries AS d SET due_at = ${String(claimEnd)}::text::int8, is_claimed = true, claim = d.claim + 1 FROM picked, webhook_endpoints AS e
          WHERE d.endpoint_id = picked.endpoint_id AND d.id = picked.id AND e.id = picked.endpoint_id
          RETURNING d.endpoint_id, d.id, d.claim, d.round_attempts, d.event, d.body, e.url, e.secrets, e.failing_since IS NOT NULL AS "isEndpointFailing"`,
        (rows) => rows.map((row): ClaimedDelivery => ({ ...row, secrets: decodeSecrets(row.secrets) }))
      ),
    /** The next due time of each endpoint that has one. One index probe per endpoint. */
    nextDueOf: (endpointIds: ReadonlyArray<string>) =>
      sql<{
        endpoint_id: string
        due_at: number
      }>`SELECT wanted.endpoint_id, next.due_at::float8 AS due_at FROM unnest(${[...endpointIds]}::text[]) AS wanted (endpoint_id) CROSS JOIN LATERAL (
        SELECT due_at FROM webhook_deliveries WHERE endpoint_id = wanted.endpoint_id AND status = 'pending' ORDER BY due_at, id LIMIT 1) AS next`,
    /** The same for every endpoint; skips through the index from endpoint to endpoint, however much waits at each. */
    nextDue: sql<{ endpoint_id: string; due_at: number }>`WITH RECURSIVE queue AS (
        (SELECT endpoint_id, due_at FROM webhook_deliveries WHERE status = 'pending' ORDER BY endpoint_id, due_at, id LIMIT 1)
        UNION ALL
        SELECT next.endpoint_id, next.due_at FROM queue CROSS JOIN LATERAL (
          SELECT endpoint_id, due_at FROM webhook_deliveries WHERE status = 'pending' AND endpoint_id > queue.endpoint_id ORDER BY endpoint_id, due_at, id LIMIT 1) AS next
      ) SELECT endpoint_id, due_at::float8 AS due_at FROM queue`,
    /**
     * Writes results of claims that are still held; returns the outbox rows of deliveries that are settled. Rows are
     * locked in the order of their ids, as in `failPending`.
     */
    record: (results: ReadonlyArray<DeliveryResult>) =>
      Effect.map(
        sql<{
          outbox_id: number | null
          status: string
        }>`WITH r AS (SELECT * FROM unnest(${results.map(({ endpoint_id }) => endpoint_id)}::text[], ${results.map(({ id }) => id)}::text[], ${results.map(({ claim }) => claim)}::int4[], ${results.map(({ status }) => status)}::text[],
            ${results.map(({ http_code }) => text(http_code))}::text[], ${results.map(({ error }) => text(error))}::text[], ${results.map(({ ended_at }) => String(ended_at))}::text[]::int8[], ${results.map(({ due_at }) => text(due_at))}::text[])
            AS result (endpoint_id, id, claim, status, http_code, error, ended_at, due_at)),
          locked AS (SELECT d.endpoint_id, d.id FROM webhook_deliveries AS d JOIN r ON d.endpoint_id = r.endpoint_id AND d.id = r.id AND d.claim = r.claim WHERE d.status = 'pending' AND d.is_claimed ORDER BY d.endpoint_id, d.id FOR UPDATE OF d)
          UPDATE webhook_deliveries AS d SET status = r.status, attempts = d.attempts + 1, round_attempts = d.round_attempts + 1, http_code = nullif(r.http_code, '')::int4, error = nullif(r.error, ''),
            last_attempt_at = r.ended_at, due_at = nullif(r.due_at, '')::int8, is_claimed = false, finished_at = CASE WHEN r.status <> 'pending' THEN r.ended_at END
          FROM r JOIN locked ON locked.endpoint_id = r.endpoint_id AND locked.id = r.id
          WHERE d.endpoint_id = r.endpoint_id AND d.id = r.id RETURNING d.outbox_id::float8 AS outbox_id, d.status`,
        (rows) =>
          rows.flatMap(({ outbox_id, status }) => (outbox_id === null || status === "pending" ? [] : [outbox_id]))
      ),
    /** Releases claims that will not be used: due immediately, for any process. */
    giveBack: (claims: ReadonlyArray<Pick<ClaimedDelivery, "endpoint_id" | "id" | "claim">>, now: number) =>
      sql`UPDATE webhook_deliveries AS d SET due_at = ${String(now)}::text::int8, is_claimed = false FROM ${pairs(claims)} AS c (endpoint_id, id, claim)
        WHERE d.endpoint_id = c.endpoint_id AND d.id = c.id AND d.claim = c.claim AND d.status = 'pending' AND d.is_claimed`,
    /** For a process that knows that it is alone: every claim was made before it started. */
    giveBackAll: (now: number) =>
      sql`UPDATE webhook_deliveries SET due_at = ${String(now)}::text::int8, is_claimed = false WHERE status = 'pending' AND is_claimed`
  }
})
export type DeliveriesRepository = Effect.Success<typeof makeDeliveriesRepository>
