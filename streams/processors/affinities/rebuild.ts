/**
 * Rebuilds histories from the log, without an erased person if there is one. A replay covers complete days; for each
 * visitor that it contains, a day's interactions are replaced by the replayed ones. Other visitors keep theirs, because
 * the log may begin later than their history.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makerOf } from "../../erasure/erasures.ts"
import { DAY_MS } from "../../figures/grain.ts"
import { replaced, unpackSeenAs } from "../../figures/history.ts"
import { numbersLiteral, textsLiteral } from "../literals.ts"

const PAGE_ROWS = 2_000

export const emptyShadowHistories = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.asVoid(sql`TRUNCATE shadow_visitor_histories`)
)

export const firstShadowDay = Effect.fnUntraced(function* (
  _organizationId: string,
  shadows: ReadonlyArray<string>,
  from: number,
  before: number
) {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{
    day: number | null
  }>`SELECT min(day)::float8 AS day FROM shadow_visitor_histories WHERE organization_id = ANY(${[...shadows]}::text[])
    AND day >= ${String(from)}::text::int8 AND day < ${String(before)}::text::int8`
  return row?.day ?? undefined
})

interface ReplayedRow {
  readonly visitor: string
  readonly collection: string
  readonly told: Uint8Array
  readonly recent: Uint8Array | null
}
const REPLAYED = `SELECT s.visitor::text AS visitor, s.collection, s.told, h.recent FROM (
    SELECT visitor, collection, string_agg(recent, ''::bytea ORDER BY organization_id) AS told FROM shadow_visitor_histories
    WHERE organization_id = ANY($1::text::text[]) AND day = $2::text::int8 AND (visitor, collection) > ($3::text::int8, $4)
    GROUP BY visitor, collection ORDER BY visitor, collection LIMIT ${PAGE_ROWS}) s
  LEFT JOIN visitor_histories h ON h.organization_id = $5 AND h.visitor = s.visitor AND h.collection = s.collection
  ORDER BY s.visitor, s.collection`
const PUT = `INSERT INTO visitor_histories AS h (organization_id, visitor, collection, recent, updated_at)
  SELECT $1, v, c, decode(r, 'hex'), $5::text::int8 FROM unnest($2::text::int8[], $3::text::text[], $4::text::text[]) AS t (v, c, r)
  ON CONFLICT (organization_id, visitor, collection) DO UPDATE SET recent = EXCLUDED.recent, updated_at = greatest(h.updated_at, EXCLUDED.updated_at)`

/** Returns the rows changed. Works in pages of 2,000 visitors. */
export const swapHistoryDay = Effect.fnUntraced(function* (
  organizationId: string,
  shadows: ReadonlyArray<string>,
  day: number
) {
  const sql = yield* SqlClient.SqlClient
  const isOfDay = (at_s: number): boolean => at_s * 1_000 >= day && at_s * 1_000 < day + DAY_MS
  let visitor_histories = 0
  for (let after: Pick<ReplayedRow, "visitor" | "collection"> = { visitor: "0", collection: "" }; ;) {
    const rows = yield* sql.unsafe<ReplayedRow>(REPLAYED, [
      textsLiteral(shadows),
      String(day),
      after.visitor,
      after.collection,
      organizationId
    ])
    const last = rows[rows.length - 1]
    if (last === undefined) return { visitor_histories }
    yield* sql.unsafe(PUT, [
      organizationId,
      numbersLiteral(rows.map(({ visitor }) => visitor)),
      textsLiteral(rows.map(({ collection }) => collection)),
      textsLiteral(
        rows.map(({ recent, told }) =>
          Buffer.from(replaced(recent ?? new Uint8Array(0), isOfDay, told)).toString("hex")
        )
      ),
      String(day)
    ])
    visitor_histories += rows.length
    after = last
  }
})

/**
 * Removes an erased person's histories: those of the user, and of sessions and anonymous ids seen with it, including
 * those that only the user's rows still mention.
 */
export const forgetHistories = Effect.fnUntraced(function* (organizationId: string, prints: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const makers = prints.map(makerOf)
  const own = yield* sql<{
    recent: Uint8Array
  }>`SELECT recent FROM visitor_histories WHERE organization_id = ${organizationId} AND visitor = ANY(${numbersLiteral(makers)}::text::int8[])`
  const seenAs = own.flatMap(({ recent }) => unpackSeenAs(recent)).map(({ visitor }) => visitor)
  const gone = yield* sql<{
    n: number
  }>`DELETE FROM visitor_histories WHERE organization_id = ${organizationId} AND visitor = ANY(${numbersLiteral([...makers, ...seenAs])}::text::int8[]) RETURNING 1 AS n`
  return { visitor_histories: gone.length }
})
