/** Metrics of pushes for operators. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type Measure, single } from "../metrics/measure.ts"

const COUNTED_MAX = 10_000

export const metrics = Effect.map(SqlClient.SqlClient, (sql): ReadonlyArray<Measure> => [
  {
    name: "dowser_pushes_waiting",
    type: "gauge",
    help: "Accepted pushes of connectors that are not applied yet, counted up to 10,000.",
    read: Effect.orDie(
      Effect.map(
        sql<{
          n: number
        }>`SELECT count(*)::int4 AS n FROM (SELECT 1 FROM connector_pushes WHERE is_stored AND cardinality(done) < records LIMIT ${COUNTED_MAX}::int4) AS waiting`,
        ([row]) => single(row!.n)
      )
    )
  }
])
