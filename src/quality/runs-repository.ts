/** Rows of runs. One function per statement. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { QualityRun } from "./schema.ts"

type RunRow = Omit<QualityRun, "profile"> & { readonly profile: string | null }
const runOf = ({ profile, ...row }: RunRow): QualityRun => ({ ...row, ...(profile === null ? {} : { profile }) })

/** nDCG@10 by query. */
type PerQuery = ReadonlyArray<readonly [q: string, ndcg_at_10: number]>
export type LastStored = NonNullable<QualityRun["previous"]> & { readonly per_query: PerQuery }
export interface NewRun extends QualityRun {
  /** Whether it used the suite's own parameters: later runs are compared with it. */ readonly is_stored: boolean
  readonly per_query: PerQuery
}
/** Per suite; older ones are deleted when a new one is stored. */
const RUNS_KEPT = 200

export const makeRunsRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const time = (at: number) => sql`${String(at)}::text::int8`
  const figures = "ndcg_at_10, mrr, recall_at_100, judged_at_10"
  return {
    /** The newest run with the suite's own parameters. */
    previous: (organizationId: string, suiteId: string) =>
      Effect.map(
        sql<LastStored>`SELECT id AS run_id, finished_at::float8 AS finished_at, ${sql.literal(figures)}, per_query FROM quality_runs
          WHERE organization_id = ${organizationId} AND suite_id = ${suiteId} AND is_stored ORDER BY id DESC LIMIT 1`,
        ([row]) => row
      ),
    insertRun: (organizationId: string, run: NewRun) =>
      sql`INSERT INTO quality_runs (id, organization_id, suite_id, job_id, is_stored, params, profile, queries, ndcg_at_10, mrr, recall_at_100, judged_at_10, previous, per_query, finished_at)
        VALUES (${run.id}, ${organizationId}, ${run.suite_id}, ${run.job_id}, ${run.is_stored}, ${JSON.stringify(run.params)}::text::json, ${run.profile ?? null}, ${run.queries}::int4, ${String(run.ndcg_at_10)}::text::float8,
          ${String(run.mrr)}::text::float8, ${String(run.recall_at_100)}::text::float8, ${String(run.judged_at_10)}::text::float8, ${JSON.stringify(run.previous)}::text::json, ${JSON.stringify(run.per_query)}::text::json, ${time(run.finished_at)})`,
    pruneRuns: (organizationId: string, suiteId: string) =>
      sql`DELETE FROM quality_runs WHERE organization_id = ${organizationId} AND suite_id = ${suiteId}
        AND id < (SELECT id FROM quality_runs WHERE organization_id = ${organizationId} AND suite_id = ${suiteId} ORDER BY id DESC OFFSET ${RUNS_KEPT}::int4 LIMIT 1)`,
    /** Newest first. */
    runs: (organizationId: string, suiteId: string, before: string | undefined, limit: number) =>
      Effect.map(
        sql<RunRow>`SELECT id, suite_id, job_id, params, profile, queries, ${sql.literal(figures)}, previous, finished_at::float8 AS finished_at FROM quality_runs
          WHERE organization_id = ${organizationId} AND suite_id = ${suiteId} AND (${before ?? null}::text IS NULL OR id < ${before ?? null}) ORDER BY id DESC LIMIT ${limit}::int4`,
        (rows) => rows.map(runOf)
      )
  }
})
