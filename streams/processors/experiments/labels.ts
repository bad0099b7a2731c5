/**
 * The dimensions of units, with a bounded number of values for each run, because shops may send any surface. The first
 * values have counts of their own; all later ones share one.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { type Dimension, DIMENSIONS, type RunChange } from "./emitted.ts"

/** Maximum number of values for each dimension of a run. */
export const VALUES_MAX = 50
export const OTHERS = "(others)"

/** Merges the known values with those of the change; values beyond the limit count as others. Pure. */
export const labelUnits = (
  { units }: Pick<RunChange, "units">,
  known: ReadonlyMap<Dimension, ReadonlySet<string>>
): void => {
  for (const dimension of DIMENSIONS) {
    const names = new Set([...(known.get(dimension) ?? []), "", OTHERS])
    for (const { split } of units.values()) {
      if (names.has(split[dimension])) continue
      // The values for "unknown" and "others" do not count towards the limit.
      if (names.size < VALUES_MAX + 2) names.add(split[dimension])
      else split[dimension] = OTHERS
    }
  }
}

/** Call while holding the run's lock. */
export const labelled = (change: RunChange): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { id, organizationId, run, units } = change
    if (units.size === 0) return
    const rows = yield* sql<{
      dimension: Dimension
      values: ReadonlyArray<string>
    }>`SELECT dimension, array_agg(DISTINCT value) AS values
      FROM experiment_splits WHERE organization_id = ${organizationId} AND experiment_id = ${id} AND run = ${run}::int4 GROUP BY dimension`
    labelUnits(change, new Map(rows.map(({ dimension, values }) => [dimension, new Set(values)])))
  })
