/** Rows that are no longer used are removed in bounded statements; rows that may still be requested stay. */
import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it as plain } from "vitest"
import { DAY_MS, MINUTE_MS } from "../../../streams/figures/grain.ts"
import { MinutePacker } from "../../../streams/figures/instants.ts"
import { expireInstants, instantsKeptFrom, withoutOldInstants } from "../../../src/analytics/instants-retention.ts"
import { Rollups } from "../../../src/analytics/rollups-repository.ts"
import { expireJobs } from "../../../src/jobs/jobs-retention.ts"
import { expireOutbox } from "../../../src/outbox/outbox-retention.ts"
import { layerHousekeeping, sweep } from "../../../src/runtime/housekeeping.ts"
import { weightOf } from "../../../streams/figures/recency.ts"
import { expireQueries } from "../../../src/suggestions/queries-retention.ts"
import { atTime } from "../../support/clock.ts"
import { layerTestSql } from "../../support/postgres.ts"

const NOW = Date.UTC(2026, 5, 10, 13, 14, 15)
const organization = (id: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`INSERT INTO organizations (id, name, status, plan, created_at) VALUES (${id}, ${id}, 'active', 'standard', 0)`
  )

describe("the ends of a range", () => {
  plain("before the kept instants are moved outwards to whole minutes, later ones stay", () => {
    const kept = instantsKeptFrom(NOW)
    expect(kept).toBe(Date.UTC(2026, 5, 10) - 400 * DAY_MS)
    expect(withoutOldInstants({ from: kept - 1, before: kept + 1 }, kept)).toEqual({
      from: kept - MINUTE_MS,
      before: kept + 1
    })
    expect(withoutOldInstants({ from: kept - 90_001, before: kept - 1 }, kept)).toEqual({
      from: kept - 120_000,
      before: kept
    })
    expect(withoutOldInstants({ from: kept, before: kept + 5 }, kept)).toEqual({ from: kept, before: kept + 5 })
  })
})

it.live("instants are removed once no range can need them, and figures of old and new ranges stay right", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const kept = instantsKeptFrom(NOW)
    for (const id of ["org_a", "org_b", "org_c"]) yield* organization(id)
    /** One event at each of the two ends of a minute, written as by a flush. */
    const minute = (organizationId: string, minute_at: number) =>
      Effect.gen(function* () {
        const packer = new MinutePacker()
        for (const after_ms of [10, 50_000]) packer.add("events", ["c", "view"], 0, after_ms, [1], 0, 1)
        const packed = packer.pack()
        yield* sql`INSERT INTO analytics_instants (organization_id, minute_at, packed) VALUES (${organizationId}, ${String(minute_at)}::text::int8, decode(${Buffer.from(packed).toString("hex")}, 'hex'))`
        yield* sql`INSERT INTO analytics_event_rollup (organization_id, collection, type, grain, bucket_at, events) VALUES (${organizationId}, 'c', 'view', 1, ${String(minute_at)}::text::int8, 2)
          ON CONFLICT (organization_id, grain, bucket_at, collection, type) DO UPDATE SET events = analytics_event_rollup.events + 2`
      })
    const old = kept - 10 * DAY_MS
    for (let i = 0; i < 30; i++) for (const id of ["org_a", "org_b"]) yield* minute(id, old + i * MINUTE_MS)
    yield* minute("org_a", kept - DAY_MS - MINUTE_MS)
    yield* minute("org_a", kept - DAY_MS)
    yield* minute("org_c", kept + DAY_MS)

    // A statement removes no more than its bound.
    expect(yield* atTime(NOW)(expireInstants(25))).toBe(25)
    expect(yield* atTime(NOW)(sweep(25))).toBe(36)
    expect(yield* atTime(NOW)(expireInstants(25))).toBe(0)
    const left = yield* sql<{
      organization_id: string
      minute_at: number
    }>`SELECT organization_id, minute_at::float8 AS minute_at FROM analytics_instants ORDER BY minute_at`
    expect(left.map((row) => [row.organization_id, row.minute_at])).toEqual([
      ["org_a", kept - DAY_MS],
      ["org_c", kept + DAY_MS]
    ])

    const rollups = yield* atTime(NOW)(Effect.provide(Rollups, Layer.fresh(Rollups.layerSql)))
    const events = (organizationId: string, from: number, before: number) =>
      rollups.events({ organizationId, range: { from, before }, collection: undefined })
    // Exact to the millisecond within the kept time; before it to the minute, and never empty.
    expect(yield* events("org_c", kept + DAY_MS + 11, kept + DAY_MS + 50_001)).toBe(1)
    expect(yield* events("org_b", old + 11, old + 3 * MINUTE_MS + 1)).toBe(8)
  }).pipe(Effect.provide(layerTestSql), Effect.scoped)
)

it.live("jobs are removed 400 days after they finished, and never before", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* organization("org_j")
    const finished = (daysAgo: number | undefined) => (daysAgo === undefined ? null : String(NOW - daysAgo * DAY_MS))
    for (const [id, daysAgo] of [
      ["old", 401],
      ["older", 900],
      ["kept", 399],
      ["under way", undefined]
    ] as const) {
      yield* sql`INSERT INTO jobs (id, organization_id, type, status, config, created_at, updated_at, finished_at) VALUES (${id}, 'org_j', 'subject_erasure', 'ready', '{}', 0, 0, ${finished(daysAgo)}::text::int8)`
      yield* sql`INSERT INTO ingest_jobs (id, organization_id, name, collection, source, status, config, stats, created_at, updated_at, finished_at) VALUES (${id}, 'org_j', 'n', ${id}, 'reindex', 'ready', '{}', '{}', 0, 0, ${finished(daysAgo)}::text::int8)`
    }
    expect(yield* atTime(NOW)(expireJobs(1))).toBe(2)
    expect(yield* atTime(NOW)(expireJobs(10))).toBe(2)
    for (const table of ["jobs", "ingest_jobs"])
      expect((yield* sql<{ id: string }>`SELECT id FROM ${sql(table)} ORDER BY id`).map(({ id }) => id)).toEqual([
        "kept",
        "under way"
      ])
  }).pipe(Effect.provide(layerTestSql), Effect.scoped)
)

it.live("outbound events are removed a week after they were settled, or unsettled after thirty days", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* organization("org_o")
    const put = (id: string, createdDaysAgo: number, settledDaysAgo?: number) =>
      sql`INSERT INTO outbox (organization_id, delivery_id, event, data, created_at, settled_at) VALUES ('org_o', ${id}, 'api_key.created', '{}',
        ${String(NOW - createdDaysAgo * DAY_MS)}::text::int8, ${settledDaysAgo === undefined ? null : String(NOW - settledDaysAgo * DAY_MS)}::text::int8)`
    for (let i = 0; i < 7; i++) yield* put(`waiting too long ${i}`, 40 - i)
    for (let i = 0; i < 7; i++) yield* put(`settled long ago ${i}`, 20, 8 + i)
    yield* put("waiting", 29)
    yield* put("settled of late", 35, 6)
    yield* put("new", 0)
    expect(yield* atTime(NOW)(expireOutbox(3))).toBe(6)
    // The program's own housekeeping does it as well, in statements of three.
    yield* Effect.scoped(
      Effect.gen(function* () {
        yield* Layer.build(layerHousekeeping({ rowsMax: 3, firstAfter_ms: 0 }))
        for (let waited = 0; waited < 60_000 && (yield* sql`SELECT 1 FROM outbox`).length > 3; waited += 20)
          yield* Effect.sleep(20)
      })
    ).pipe(atTime(NOW))
    expect(
      (yield* sql<{ delivery_id: string }>`SELECT delivery_id FROM outbox ORDER BY id`).map(
        ({ delivery_id }) => delivery_id
      )
    ).toEqual(["waiting", "settled of late", "new"])
  }).pipe(Effect.provide(layerTestSql), Effect.scoped)
)

it.live("queries are removed when their use has faded or was taken back, and beyond a bound the least used first", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const put = (organizationId: string, collection: string, q: string, searches: number, daysAgo: number) =>
      Effect.gen(function* () {
        yield* sql`INSERT INTO query_popularity (organization_id, collection, q, searches, weight, zero_weight, click_weight, changed)
          VALUES (${organizationId}, ${collection}, ${q}, ${searches}, ${String(searches * weightOf(NOW - daysAgo * DAY_MS))}::text::float8, 0, 0, 1)`
        yield* sql`INSERT INTO query_makers (organization_id, collection, q, person, anonymous, session, searches) VALUES (${organizationId}, ${collection}, ${q}, 1, 0, 0, 1)`
      })
    yield* put("org_q", "c", "faded", 1, 57)
    yield* put("org_q", "c", "faded slowly", 50, 100)
    yield* put("org_q", "c", "old and still used", 50, 80)
    yield* put("org_q", "c", "taken back", 0, 0)
    for (let i = 1; i <= 5; i++) yield* put("org_q", "full", `q${i}`, i, 0)
    expect(yield* atTime(NOW)(expireQueries(2, 3))).toBe(4)
    while ((yield* atTime(NOW)(expireQueries(2, 3))) > 0);
    const left = (table: string) =>
      Effect.map(sql.unsafe<{ q: string }>(`SELECT q FROM ${table} ORDER BY q`), (rows) => rows.map(({ q }) => q))
    expect(yield* left("query_popularity")).toEqual(["old and still used", "q3", "q4", "q5"])
    expect(yield* left("query_makers")).toEqual(yield* left("query_popularity"))
  }).pipe(Effect.provide(layerTestSql), Effect.scoped)
)
