/** Metrics of ingest jobs for operators. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Measure, single } from "../metrics/measure.ts"

const COUNTED_MAX = 10_000

export const metrics = Effect.map(SqlClient.SqlClient, (sql): ReadonlyArray<Measure> => [
  {
    name: "dowser_ingest_jobs_unfinished",
    type: "gauge",
    help: "Ingest jobs that wait or are at work, counted up to 10,000.",
    read: Effect.orDie(
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM (SELECT 1 FROM ingest_jobs WHERE finished_at IS NULL LIMIT ${COUNTED_MAX}::int4) AS unfinished`,
        ([row]) => single(row!.n)
      )
    )
  }
])
