/**
 * An organization's media totals, in one row, changed in the transaction of what they count. One function per
 * statement.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

interface Amounts {
  readonly assets: number
  readonly bytes: number
}
/** More than any number of bytes, for a plan without a limit. */
const NO_BOUND = 9_000_000_000_000_000

export const makeUsageRepository = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const whole = (n: number) => sql`${String(n)}::text::int8`
  const bound = (max: number) => whole(Math.min(max, NO_BOUND))
  return {
    /** Locks the row until the transaction ends; false if there is not enough room. */
    use: (organizationId: string, { assets, bytes }: Amounts, max: Amounts) =>
      Effect.map(
        sql`INSERT INTO media_usage AS u (organization_id, assets, bytes)
          SELECT ${organizationId}, ${whole(assets)}, ${whole(bytes)} WHERE ${whole(assets)} <= ${bound(max.assets)} AND ${whole(bytes)} <= ${bound(max.bytes)}
          ON CONFLICT (organization_id) DO UPDATE SET assets = u.assets + ${whole(assets)}, bytes = u.bytes + ${whole(bytes)}
          WHERE u.assets + ${whole(assets)} <= ${bound(max.assets)} AND u.bytes + ${whole(bytes)} <= ${bound(max.bytes)}
          RETURNING organization_id`,
        (rows) => rows.length > 0
      ),
    used: (organizationId: string) =>
      Effect.map(
        sql<Amounts>`SELECT assets::float8 AS assets, bytes::float8 AS bytes FROM media_usage WHERE organization_id = ${organizationId}`,
        ([row]) => row ?? { assets: 0, bytes: 0 }
      ),
    /** Returns what was reserved. */
    free: (organizationId: string, { assets, bytes }: Amounts) =>
      sql`UPDATE media_usage SET assets = assets - ${whole(assets)}, bytes = bytes - ${whole(bytes)} WHERE organization_id = ${organizationId}`
  }
})
