/**
 * Erases a person from experiments unit by unit: each session, anonymous id or user of that person is removed with
 * everything it contributed, including its earlier days, so that the remaining sums are exactly those of everybody
 * else. The numbers of exposures stay, because they are not personal.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { makerOf } from "../../erasure/erasures.ts"
import type { RowCounts } from "../../processor/erasing.ts"
import { numbersLiteral } from "../literals.ts"
import { TAKE_OUT } from "../../figures/experiment-sums.ts"
import { lockRun } from "./write.ts"

export const forgetUnits = (
  organizationId: string,
  prints: ReadonlyArray<string>
): Effect.Effect<RowCounts, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const units = numbersLiteral(prints.map(makerOf))
    const runs = yield* sql<{ experiment_id: string; run: number; units: number }>`
      SELECT experiment_id, run, count(*)::int4 AS units FROM experiment_units WHERE organization_id = ${organizationId} AND unit = ANY(${units}::text::int8[])
      GROUP BY experiment_id, run ORDER BY experiment_id, run`
    let gone = 0
    for (const { experiment_id, run, units: count } of runs) {
      const found = yield* lockRun(organizationId, experiment_id, run)
      yield* sql.unsafe(TAKE_OUT, [organizationId, experiment_id, run, found?.cap ?? null, units])
      gone += count
    }
    const days = yield* sql<{ n: number }>`WITH gone AS (
        DELETE FROM experiment_histories WHERE organization_id = ${organizationId} AND unit = ANY(${units}::text::int8[]) RETURNING 1
      ), left_over AS (
        UPDATE experiment_history_use SET rows = rows - (SELECT count(*) FROM gone) WHERE organization_id = ${organizationId}
      ) SELECT count(*)::int4 AS n FROM gone`
    return { experiment_units: gone, experiment_histories: days[0]!.n }
  })
