/**
 * Sums of entire ranges, cached in memory after a first slow read, and updated with what was written since: Postgres
 * takes a second to sum and sort a month of a shop with 100,000 queries, for every page, and reading the new instants
 * takes milliseconds. A response shows the moment of its transaction, cached or not.
 *
 * Limited to `BYTES_MAX` over all tables, evicting the least recently used first. A range with more rows than
 * `ROWS_MAX`, or one that was not read while too much was written, is read from Postgres.
 */
import { Duration, Effect, FiberSet, type Scope, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { DateRange } from "./date-range.ts"
import { nextTurn } from "@dowser/log/process/next-turn"
import { MINUTE_MS } from "@dowser/streams/figures/grain"
import { type InstantTable, MinuteReader } from "@dowser/streams/figures/instants"
import { RankedTable, type Ranking } from "./ranked-table.ts"
import { parseSnapshot, seesAllOf, type Snapshot } from "./snapshot.ts"

/** Sums by key for one range: how to read them, and how they change. */
export interface KeptSource {
  /** The cache key: sources with equal ids have equal sums. */ readonly id: string
  readonly organizationId: string
  readonly instants: InstantTable
  readonly range: DateRange
  readonly width: number
  readonly rankings: ReadonlyArray<Ranking>
  /** The row that an instant belongs to; undefined if it is not in this table. */
  readonly keyOf: (key: ReadonlyArray<string>, at: number) => ReadonlyArray<string> | undefined
  /** A `SELECT` of one column: JSON arrays of key parts, then sums. */
  readonly rows: Effect.Effect<{ readonly text: string; readonly parameters: ReadonlyArray<unknown> }>
  /** Number of key parts in a row of `rows`. */ readonly keyParts: number
}
interface TableEntry {
  readonly table: RankedTable
  readonly lock: Semaphore.Semaphore
  snapshot: Snapshot
  readonly rewrites: number
}

export interface KeptTablesOptions {
  /** A read is cached if it took Postgres at least this long. */ readonly worth_ms?: number
  readonly bytesMax?: number
}
export interface KeptTables {
  /** Runs `use` on the cached table, or else `fallback`, both in the caller's transaction, which sees one moment. */
  readonly read: <A>(source: KeptSource, use: (table: RankedTable) => A, fallback: Effect.Effect<A>) => Effect.Effect<A>
  /** Resolves when nothing is loading. For tests and benches. */
  readonly settled: Effect.Effect<void>
  readonly bytes: () => number
}

const WORTH_MS = 10
const BYTES_MAX = 128 * 1024 * 1024
const ROWS_MAX = 300_000
const FETCHED = 2_000
/** Limit of packed minutes written since the last update; beyond it, the table is read again. */
const CHANGES_MAX = 5_000

/** A driver failure is a defect here, because no caller can handle it. */
type Database = <A extends object>(text: string, parameters: ReadonlyArray<unknown>) => Effect.Effect<ReadonlyArray<A>>

/** The snapshot that a transaction sees. */
const momentOf = (database: Database, organizationId: string) =>
  Effect.map(
    database<{ snapshot: string; rewrites: string }>(
      "SELECT pg_current_snapshot()::text AS snapshot, coalesce((SELECT rewrites FROM analytics_rewrites WHERE organization_id = $1), 0)::text AS rewrites",
      [organizationId]
    ),
    ([row]) => ({ snapshot: parseSnapshot(row!.snapshot), rewrites: Number(row!.rewrites) })
  )

/** The cached tables, least recently used first. */
class TableCache {
  readonly #bytesMax: number
  readonly #tables = new Map<string, TableEntry>()

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }
  has(id: string): boolean {
    return this.#tables.has(id)
  }
  /** Counts as a use. */
  get(id: string): TableEntry | undefined {
    const kept = this.#tables.get(id)
    if (kept === undefined) return undefined
    this.#tables.delete(id)
    this.#tables.set(id, kept)
    return kept
  }
  put(id: string, kept: TableEntry): void {
    this.#tables.delete(id)
    this.#tables.set(id, kept)
    this.makeRoom()
  }
  /** Removes exactly this table, not one that was loaded in its place. */
  forget(id: string, kept: TableEntry): void {
    if (this.#tables.get(id) === kept) this.#tables.delete(id)
  }
  bytes(): number {
    let sum = 0
    for (const { table } of this.#tables.values()) sum += table.bytes
    return sum
  }
  makeRoom(): void {
    for (const [id] of this.#tables) {
      if (this.bytes() <= this.#bytesMax) return
      this.#tables.delete(id)
    }
  }
}

/**
 * Reads a table in slices, so that searches on this thread wait for milliseconds at most; undefined if it is too
 * large to be cached.
 */
const load = Effect.fnUntraced(function* (database: Database, source: KeptSource, bytesMax: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`
  const { rewrites, snapshot } = yield* momentOf(database, source.organizationId)
  const { parameters, text } = yield* source.rows
  yield* sql.unsafe(`DECLARE kept NO SCROLL CURSOR FOR ${text}`, parameters)
  const table = new RankedTable(source.width)
  for (let fetched = FETCHED; fetched === FETCHED;) {
    const rows = yield* database<{ row: ReadonlyArray<string | number> }>(`FETCH ${FETCHED} FROM kept`, [])
    fetched = rows.length
    for (const { row } of rows)
      table.add(row.slice(0, source.keyParts).map(String), row.slice(source.keyParts) as ReadonlyArray<number>)
    for (const ranking of source.rankings) table.page(ranking, 0, 0)
    if (table.size > ROWS_MAX || table.bytes > bytesMax) return undefined
    yield* nextTurn
  }
  const kept: TableEntry = { table, lock: yield* Semaphore.make(1), snapshot, rewrites }
  return kept
})

/** Adds the part of a packed minute that is in the range. */
const addMinute = (source: KeptSource, kept: TableEntry, minute_at: number, packed: Uint8Array): void => {
  const { before, from } = source.range
  if (minute_at + MINUTE_MS <= from || minute_at >= before) return
  new MinuteReader(packed).each(source.instants, (key, after_ms, sums) => {
    const at = minute_at + after_ms
    const row = at >= from && at < before ? source.keyOf(key, at) : undefined
    if (row !== undefined) kept.table.add(row, sums)
  })
}

/** Updates the table to the transaction's moment; false if that is impossible. */
const refresh = Effect.fnUntraced(function* (
  database: Database,
  cache: TableCache,
  source: KeptSource,
  kept: TableEntry
) {
  const { rewrites, snapshot } = yield* momentOf(database, source.organizationId)
  if (snapshot.text === kept.snapshot.text && rewrites === kept.rewrites) return true
  // A transaction that began before another reader's may see less than the table contains.
  if (!seesAllOf(snapshot, kept.snapshot)) return false
  if (rewrites !== kept.rewrites) {
    cache.forget(source.id, kept)
    return false
  }
  const rows = yield* database<{ minute_at: number; packed: Uint8Array }>(
    `SELECT minute_at::float8 AS minute_at, packed FROM analytics_instants WHERE organization_id = $1
          AND written_by >= pg_snapshot_xmin($2::text::pg_snapshot) AND NOT pg_visible_in_snapshot(written_by, $2::text::pg_snapshot) LIMIT ${CHANGES_MAX + 1}`,
    [source.organizationId, kept.snapshot.text]
  )
  if (rows.length > CHANGES_MAX) {
    cache.forget(source.id, kept)
    return false
  }
  for (const { minute_at, packed } of rows) addMinute(source, kept, minute_at, packed)
  kept.snapshot = snapshot
  cache.makeRoom()
  return true
})

export const makeKeptTables = ({ bytesMax = BYTES_MAX, worth_ms = WORTH_MS }: KeptTablesOptions = {}): Effect.Effect<
  KeptTables,
  never,
  SqlClient.SqlClient | Scope.Scope
> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const database: Database = <A extends object>(text: string, parameters: ReadonlyArray<unknown>) =>
      Effect.orDie(sql.unsafe<A>(text, parameters) as Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>)
    const loads = yield* FiberSet.make()
    // Not in the calling fiber, because the load would share its transaction.
    const outside = yield* FiberSet.runtime(loads)()
    const loading = yield* Semaphore.make(1)
    const cache = new TableCache(bytesMax)
    const pending = new Set<string>()
    const requestLoad = (source: KeptSource): void => {
      if (pending.has(source.id)) return
      pending.add(source.id)
      const loaded = Effect.map(load(database, source, bytesMax), (kept) => {
        if (kept !== undefined) cache.put(source.id, kept)
      })
      outside(
        loading
          .withPermits(1)(sql.withTransaction(Effect.provideService(loaded, SqlClient.SqlClient, sql)))
          .pipe(
            Effect.catchCause((cause) =>
              Effect.logWarning("Figures could not be kept in memory; they are read from the database", cause)
            ),
            Effect.ensuring(Effect.sync(() => pending.delete(source.id)))
          )
      )
    }
    return {
      read: Effect.fnUntraced(function* (source, use, fallback) {
        const kept = cache.get(source.id)
        if (kept !== undefined) {
          const answer = yield* kept.lock.withPermits(1)(
            Effect.map(refresh(database, cache, source, kept), (isCurrent) =>
              isCurrent ? { value: use(kept.table) } : undefined
            )
          )
          if (answer !== undefined) return answer.value
        }
        const [took, answer] = yield* Effect.timed(fallback)
        if (!cache.has(source.id) && Duration.toMillis(took) >= worth_ms) requestLoad(source)
        return answer
      }),
      settled: FiberSet.awaitEmpty(loads),
      bytes: () => cache.bytes()
    }
  })
