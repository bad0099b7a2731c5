/**
 * The second stage of rollups: adds packed instants to the rows of minutes, hours and days. A row that a thousand views
 * touch within seconds is written once, and the flush, which everything waits for, writes no row at all.
 *
 * `analytics_unfolded` lists what is not folded yet, and readers add that to the rows in one snapshot; so figures are
 * as exact and as fresh as their flush, whoever folds and whenever. Any process may fold anything, and skips what
 * another has locked.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { DAY_MS, GRAINS, HOUR_MS, MINUTE_MS } from "../../figures/grain.ts"
import { MinuteReader } from "../../figures/instants.ts"
import { STANDSTILL_MAX_MS } from "../../offsets/postgres.ts"
import { isRefused } from "../../reading/refusal.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { millionths } from "../../facts/money.ts"
import type { Key } from "../../facts/subjects.ts"
import { INSTANTS_TABLE, ROLLUP_TABLES, type RollupTable, UNFOLDED_TABLE } from "./tables.ts"

/** Packed bytes read per fold; a single value may be larger. */
const BYTES_MAX = 512 * 1024
/** Maximum number of rows of one fold, some 300 bytes each: a few values may cover as many minutes as many values. */
const ROWS_MAX = 150_000
/** Maximum number of values of one fold; they are small for shops that send little. */
const VALUES_MAX = 20_000
/** Name of the lock that folds share, and that an exchange of rows holds exclusively. */
const FOLDING = "analytics fold"

interface Row {
  readonly key: Key
  /** Plain sums first, then integer units and millionths of each amount. */ readonly sums: Array<number>
}
interface GrainRow extends Row {
  readonly grain: number
  readonly bucket_at: number
}
type Bucket = Map<string, Row>

const addTo = (bucket: Bucket, id: string, key: () => Key, sums: ReadonlyArray<number>): void => {
  const row = bucket.get(id)
  if (row === undefined) return void bucket.set(id, { key: key(), sums: [...sums] })
  for (let i = 0; i < sums.length; i++) row.sums[i] = row.sums[i]! + sums[i]!
}

/**
 * One table's rows of every grain, built from minutes in order of organization and time: larger buckets are built from
 * smaller ones.
 */
class Grains {
  readonly #rows: Array<GrainRow> = []
  readonly #open: ReadonlyArray<{ readonly grain: number; readonly size: number; bucket: Bucket; at: number }>
  #organizationId = ""

  constructor() {
    this.#open = (
      [
        [GRAINS.minute, MINUTE_MS],
        [GRAINS.hour, HOUR_MS],
        [GRAINS.day, DAY_MS]
      ] as const
    ).map(([grain, size]) => ({ grain, size, bucket: new Map<string, Row>(), at: -1 }))
  }

  /** Call before adding the rows of a minute. */
  enter(organizationId: string, minute_at: number): void {
    const isOther = organizationId !== this.#organizationId
    this.#organizationId = organizationId
    for (let i = 0; i < this.#open.length; i++) {
      const open = this.#open[i]!,
        at = Math.floor(minute_at / open.size) * open.size
      if (isOther || at !== open.at) this.#close(i)
      open.at = at
    }
  }
  add(key: ReadonlyArray<string>, sums: ReadonlyArray<number>): void {
    const organizationId = this.#organizationId
    // NUL separates the parts of a key, none of which contains it.
    addTo(this.#open[0]!.bucket, key.join("\u0000"), () => [organizationId, ...key], sums)
  }
  /** Adds a bucket to the rows and to the next larger bucket, which closes after it. */
  #close(place: number): void {
    const open = this.#open[place]!,
      larger = this.#open[place + 1]
    for (const [id, row] of open.bucket) {
      if (larger !== undefined) addTo(larger.bucket, id, () => row.key, row.sums)
      if (row.sums.some((sum) => sum !== 0)) this.#rows.push({ ...row, grain: open.grain, bucket_at: open.at })
    }
    open.bucket = new Map()
  }
  /** Rows so far; larger buckets that are still open may add some. */
  get size(): number {
    let size = this.#rows.length
    for (const { bucket } of this.#open) size += bucket.size
    return size
  }
  /** Always in the same order, so that two writers never deadlock. */
  rows(): ReadonlyArray<GrainRow> {
    for (let i = 0; i < this.#open.length; i++) this.#close(i)
    return this.#rows.sort(byPrimaryKey)
  }
}

const byPrimaryKey = (a: GrainRow, b: GrainRow): number => {
  if (a.grain !== b.grain) return a.grain - b.grain
  if (a.bucket_at !== b.bucket_at) return a.bucket_at - b.bucket_at
  for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i]! < b.key[i]! ? -1 : 1
  return 0
}

const amountsOf = ({ measures }: RollupTable): number =>
  measures.filter((measure) => measure.endsWith("_micros")).length

/** One upsert per 10,000 rows. */
const upsert = (target: RollupTable, rows: ReadonlyArray<GrainRow>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { keys, measures, table } = target
    const plain = measures.length - amountsOf(target)
    const columns = ["organization_id", ...keys, "grain", "bucket_at", ...measures]
    const types = [
      "text",
      ...keys.map(() => "text"),
      "int2",
      "int8",
      ...measures.map((_, i) => (i < plain ? "int8" : "numeric"))
    ]
    const statement = [
      `INSERT INTO ${table} (${columns.join(", ")}) SELECT * FROM unnest(${types.map((type, i) => `$${i + 1}::text::${type}[]`).join(", ")})`,
      `ON CONFLICT (${["organization_id", "grain", "bucket_at", ...keys].join(", ")}) DO UPDATE SET`,
      measures.map((measure) => `${measure} = ${table}.${measure} + EXCLUDED.${measure}`).join(", ")
    ].join(" ")
    for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
      const part = rows.slice(from, from + ROWS_PER_STATEMENT)
      yield* sql.unsafe(statement, [
        ...["organization_id", ...keys].map((_, i) => textsLiteral(part.map(({ key }) => key[i] ?? ""))),
        numbersLiteral(part.map(({ grain }) => grain)),
        numbersLiteral(part.map(({ bucket_at }) => bucket_at)),
        ...measures.map((_, i) =>
          numbersLiteral(
            part.map(({ sums }) =>
              i < plain ? sums[i]! : millionths(sums[plain + 2 * (i - plain)]!, sums[plain + 2 * (i - plain) + 1]!)
            )
          )
        )
      ])
    }
  })

interface Named {
  readonly organization_id: string
  readonly minute_at: string
  readonly flush: string
  readonly bytes: number
}

const IDS = "unnest($1::text::text[], $2::text::int8[], $3::text::int8[]) AS k (organization_id, minute_at, flush)"
const idsOf = (values: ReadonlyArray<Named>): ReadonlyArray<string> => [
  textsLiteral(values.map((value) => value.organization_id)),
  numbersLiteral(values.map(({ minute_at }) => minute_at)),
  numbersLiteral(values.map(({ flush }) => flush))
]

/**
 * Locks the next values, of one organization or of all, and folds them in the caller's transaction. Returns whether
 * there are more.
 */
const foldNext = Effect.fnUntraced(function* (organizationId: string | undefined, valuesMax: number) {
  const sql = yield* SqlClient.SqlClient
  const named = yield* sql.unsafe<Named>(
    `SELECT u.organization_id, u.minute_at::text AS minute_at, u.flush::text AS flush, coalesce(octet_length(i.packed), 0) AS bytes
      FROM ${UNFOLDED_TABLE} u LEFT JOIN ${INSTANTS_TABLE} i USING (organization_id, minute_at, flush)
      WHERE NOT u.is_refused ${organizationId === undefined ? "" : "AND u.organization_id = $1"}
      ORDER BY u.organization_id, u.minute_at, u.flush LIMIT ${valuesMax} FOR UPDATE OF u SKIP LOCKED`,
    organizationId === undefined ? [] : [organizationId]
  )
  const tables = ROLLUP_TABLES.map((table) => ({ table, grains: new Grains() }))
  let taken = 0
  for (
    let size = 0;
    taken < named.length && size < ROWS_MAX;
    size = tables.reduce((sum, { grains }) => sum + grains.size, 0)
  ) {
    let end = taken
    for (let bytes = 0; end < named.length && (end === taken || bytes + named[end]!.bytes <= BYTES_MAX); end++)
      bytes += named[end]!.bytes
    const values = yield* sql.unsafe<{ organization_id: string; minute_at: number; packed: Uint8Array }>(
      `SELECT organization_id, minute_at::float8 AS minute_at, packed FROM ${IDS} JOIN ${INSTANTS_TABLE} USING (organization_id, minute_at, flush) ORDER BY organization_id, minute_at, flush`,
      idsOf(named.slice(taken, end))
    )
    taken = end
    for (const { minute_at, organization_id, packed } of values) {
      const reader = new MinuteReader(packed)
      for (const {
        grains,
        table: { of }
      } of tables) {
        grains.enter(organization_id, minute_at)
        reader.eachKey(of, (key, sums) => grains.add(key, sums))
      }
    }
  }
  if (taken === 0) return false
  for (const { grains, table } of tables) yield* upsert(table, grains.rows())
  yield* sql.unsafe(
    `DELETE FROM ${UNFOLDED_TABLE} u USING ${IDS} WHERE (u.organization_id, u.minute_at, u.flush) = (k.organization_id, k.minute_at, k.flush)`,
    idsOf(named.slice(0, taken))
  )
  return taken < named.length || named.length === valuesMax
})

/** Waits for running folds and blocks others until the transaction ends, for an exchange of rows. */
export const holdFolds = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.asVoid(sql`SELECT pg_advisory_xact_lock(hashtext(${FOLDING}), 0)`)
)

/** Folds everything of an organization, in the caller's transaction, which blocks other folds. */
export const foldOrganization = (organizationId: string): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    while (yield* foldNext(organizationId, VALUES_MAX)) {
      // Folds in batches, to bound memory.
    }
  })

/**
 * Folds a bounded part of what waits, in a transaction of its own. Returns whether there is more. A value whose rows
 * Postgres refuses stays unfolded permanently; it is found by folding values one by one, and logged.
 */
export const foldSome: Effect.Effect<boolean, SqlError.SqlError, SqlClient.SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const fold = (valuesMax: number) =>
    sql.withTransaction(
      Effect.andThen(
        sql`SELECT set_config('idle_in_transaction_session_timeout', ${STANDSTILL_MAX_MS}, true), pg_advisory_xact_lock_shared(hashtext(${FOLDING}), 0)`,
        foldNext(undefined, valuesMax)
      )
    )
  return yield* Effect.catchIf(fold(VALUES_MAX), isRefused, () =>
    Effect.gen(function* () {
      const first = yield* Effect.result(fold(1))
      if (first._tag === "Success") return first.success
      if (!isRefused(first.failure)) return yield* first.failure
      const refused =
        yield* sql<Named>`UPDATE analytics_unfolded SET is_refused = true WHERE (organization_id, minute_at, flush) IN (
      SELECT organization_id, minute_at, flush FROM analytics_unfolded WHERE NOT is_refused ORDER BY organization_id, minute_at, flush LIMIT 1) RETURNING organization_id, minute_at::text AS minute_at, flush::text AS flush, 0 AS bytes`
      for (const { flush, minute_at, organization_id } of refused)
        yield* Effect.logError(
          `Postgres refuses rows of ${organization_id}, minute ${minute_at}, flush ${flush}; they stay as they were flushed, and are read from there`,
          first.failure
        )
      return true
    })
  )
})
