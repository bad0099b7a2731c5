/**
 * Rows of suites and of their judgments. One function per statement. Judgments are in a table of their own, one text
 * per suite, so that lists and schedules never read them.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { QualitySuiteSummary } from "./schema.ts"
import type { Params, StoredJudgment } from "./suite-input.ts"

export interface StoredSuite extends QualitySuiteSummary {
  readonly organization_id: string
  readonly params: Params
}
interface SuiteRow extends Omit<StoredSuite, "schedule_cron" | "last_run"> {
  readonly schedule_cron: string | null
  readonly last_run: QualitySuiteSummary["last_run"] | null
}
const suiteOf = ({ last_run, schedule_cron, ...row }: SuiteRow): StoredSuite => ({
  ...row,
  ...(schedule_cron === null ? {} : { schedule_cron }),
  ...(last_run === null || last_run === undefined ? {} : { last_run })
})
export const makeSuitesRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number | undefined) => (at === undefined ? sql`NULL::int8` : sql`${String(at)}::text::int8`)
  const lastRun = `(SELECT json_build_object('run_id', r.id, 'finished_at', r.finished_at, 'ndcg_at_10', r.ndcg_at_10, 'mrr', r.mrr, 'recall_at_100', r.recall_at_100, 'judged_at_10', r.judged_at_10)
    FROM quality_runs r WHERE r.organization_id = s.organization_id AND r.suite_id = s.id AND r.is_stored ORDER BY r.id DESC LIMIT 1)`
  const columns = sql.literal(
    `s.id, s.organization_id, s.name, s.collection, s.params, s.tolerance, s.schedule_cron, s.judgments_count, s.created_at::float8 AS created_at, s.updated_at::float8 AS updated_at, ${lastRun} AS last_run`
  )
  const first = (rows: ReadonlyArray<SuiteRow>) => (rows[0] === undefined ? undefined : suiteOf(rows[0]))
  return {
    lockCount: (organizationId: string) =>
      Effect.map(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(hashtextextended(${`quality suites of ${organizationId}`}, 0))`,
          sql<{ n: number }>`SELECT count(*)::int4 AS n FROM quality_suites WHERE organization_id = ${organizationId}`
        ),
        ([row]) => row!.n
      ),
    put: (suite: StoredSuite, next_run_at: number | undefined) =>
      sql`INSERT INTO quality_suites (id, organization_id, name, collection, params, tolerance, schedule_cron, next_run_at, judgments_count, created_at, updated_at)
        VALUES (${suite.id}, ${suite.organization_id}, ${suite.name}, ${suite.collection}, ${JSON.stringify(suite.params)}::text::json, ${String(suite.tolerance)}::text::float8, ${suite.schedule_cron ?? null},
          ${time(next_run_at)}, ${suite.judgments_count}::int4, ${time(suite.created_at)}, ${time(suite.updated_at)})
        ON CONFLICT (organization_id, id) DO UPDATE SET name = EXCLUDED.name, collection = EXCLUDED.collection, params = EXCLUDED.params, tolerance = EXCLUDED.tolerance, schedule_cron = EXCLUDED.schedule_cron,
          next_run_at = EXCLUDED.next_run_at, judgments_count = EXCLUDED.judgments_count, updated_at = EXCLUDED.updated_at`,
    putJudgments: (organizationId: string, id: string, judgments: ReadonlyArray<StoredJudgment>) =>
      sql`INSERT INTO quality_judgments (organization_id, suite_id, judgments) VALUES (${organizationId}, ${id}, ${JSON.stringify(judgments)}::text::json)
        ON CONFLICT (organization_id, suite_id) DO UPDATE SET judgments = EXCLUDED.judgments`,
    countJudgments: (organizationId: string, id: string, count: number, now: number) =>
      sql`UPDATE quality_suites SET judgments_count = ${count}::int4, updated_at = ${time(now)} WHERE organization_id = ${organizationId} AND id = ${id}`,
    judgments: (organizationId: string, id: string) =>
      Effect.map(
        sql<{
          judgments: ReadonlyArray<StoredJudgment>
        }>`SELECT judgments FROM quality_judgments WHERE organization_id = ${organizationId} AND suite_id = ${id}`,
        ([row]) => row?.judgments ?? []
      ),
    get: (organizationId: string, id: string) =>
      Effect.map(
        sql<SuiteRow>`SELECT ${columns} FROM quality_suites s WHERE s.organization_id = ${organizationId} AND s.id = ${id}`,
        first
      ),
    /** Locks it until the transaction ends. */
    lock: (organizationId: string, id: string) =>
      Effect.map(
        sql<SuiteRow>`SELECT ${columns} FROM quality_suites s WHERE s.organization_id = ${organizationId} AND s.id = ${id} FOR UPDATE OF s`,
        first
      ),
    /** Sorted by id. `collections`: LIKE patterns, one of which must match; all if absent. */
    page: (
      organizationId: string,
      after: string | undefined,
      limit: number,
      collections: ReadonlyArray<string> | undefined
    ) =>
      Effect.map(
        sql<SuiteRow>`SELECT ${columns} FROM quality_suites s WHERE s.organization_id = ${organizationId} AND (${after ?? null}::text IS NULL OR s.id > ${after ?? null})
          AND (${collections === undefined} OR s.collection LIKE ANY(${collections ?? []}::text[])) ORDER BY s.id LIMIT ${limit}::int4`,
        (rows) => rows.map(suiteOf)
      ),
    /** Its judgments and runs are deleted with it. */
    remove: (organizationId: string, id: string) =>
      sql`DELETE FROM quality_suites WHERE organization_id = ${organizationId} AND id = ${id}`,
    ofCollection: (organizationId: string, collection: string) =>
      Effect.map(
        sql<{
          id: string
        }>`SELECT id FROM quality_suites WHERE organization_id = ${organizationId} AND collection = ${collection}`,
        (rows) => rows.map(({ id }) => id)
      ),
    /** Suites that are due, locked; those locked by another process are skipped. */
    due: (now: number, limit: number) =>
      Effect.map(
        sql<SuiteRow>`SELECT ${columns} FROM quality_suites s WHERE s.next_run_at <= ${time(now)}
          AND s.organization_id NOT IN (SELECT id FROM organizations WHERE status = 'paused') ORDER BY s.next_run_at LIMIT ${limit}::int4 FOR UPDATE OF s SKIP LOCKED`,
        (rows) => rows.map(suiteOf)
      ),
    schedule: (organizationId: string, id: string, next_run_at: number | undefined) =>
      sql`UPDATE quality_suites SET next_run_at = ${time(next_run_at)} WHERE organization_id = ${organizationId} AND id = ${id}`
  }
})
