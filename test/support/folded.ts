/** Rows including everything that is flushed: what tests that read the rollup tables wait for. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { foldOrganization, holdFolds } from "../../streams/processors/rollups/fold.ts"

export const folded = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* holdFolds
      const waiting = yield* sql<{
        organization_id: string
      }>`SELECT DISTINCT organization_id FROM analytics_unfolded WHERE NOT is_refused`
      for (const { organization_id } of waiting) yield* foldOrganization(organization_id)
    })
  )
})
