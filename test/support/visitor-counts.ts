/**
 * A fact processor that only tests have, with every feature a processor may have: rows by day, shadows of those, its
 * own state in the partition's store, and rows that hold what a person sent. It counts events and searches, and is
 * independent of the other processors.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { BehaviouralEvent } from "../../log/event-schema.ts"
import { removePages, ROWS_PER_PAGE } from "../../streams/erasure/rows.ts"
import type { FactProcessor } from "../../streams/facts/fact-processor.ts"
import type { FactSink, SearchFacts, Sign } from "../../streams/facts/facts.ts"
import type { Subject } from "../../streams/facts/subjects.ts"
import { DAY_MS } from "../../streams/figures/grain.ts"
import type { StateStore } from "../../streams/state/state.ts"

/** Its migrations. */
export const makeVisitorTables = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of ["visitor_counts", "shadow_visitor_counts"])
    yield* sql.unsafe(
      `CREATE TABLE ${table} (organization_id text, day int8, events int8, searches int8, PRIMARY KEY (organization_id, day))`
    )
  yield* sql`CREATE TABLE visitor_totals (organization_id text PRIMARY KEY, events int8)`
  yield* sql`CREATE TABLE visitor_events (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, organization_id text, event text)`
})

/** Events ever counted, by organization. */
class Totals {
  readonly #store: StateStore
  readonly #section: string
  readonly #known = new Map<string, number>()
  readonly #changed = new Set<string>()

  constructor(store: StateStore, section: string) {
    this.#store = store
    this.#section = section
  }
  of(organizationId: string): number {
    const known = this.#known.get(organizationId)
    if (known !== undefined) return known
    const stored = this.#store.get(`${this.#section}${organizationId}|`)
    return stored === undefined ? 0 : Number(Buffer.from(stored).toString())
  }
  raise(organizationId: string): void {
    this.#known.set(organizationId, this.of(organizationId) + 1)
    this.#changed.add(organizationId)
  }
  forget(organizationId: string): void {
    this.#known.delete(organizationId)
    this.#changed.delete(organizationId)
  }
  takeWrites(): ReadonlyArray<readonly [string, Uint8Array]> {
    const writes = [...this.#changed].map((id) => [`${this.#section}${id}|`, Buffer.from(String(this.of(id)))] as const)
    this.#changed.clear()
    return writes
  }
}

interface Row {
  readonly organizationId: string
  readonly day: number
  events: number
  searches: number
}
class VisitorCounts implements FactSink {
  readonly totals: Totals
  readonly rows = new Map<string, Row>()
  readonly texts: Array<readonly [organizationId: string, event: string]> = []

  constructor(totals: Totals) {
    this.totals = totals
  }
  #rowOf(organizationId: string, at: number): Row {
    const day = Math.floor(at / DAY_MS) * DAY_MS,
      id = `${day} ${organizationId}`
    const row = this.rows.get(id) ?? { organizationId, day, events: 0, searches: 0 }
    this.rows.set(id, row)
    return row
  }
  event(organizationId: string, _collection: string, { session_id, timestamp, user_id }: BehaviouralEvent): void {
    this.#rowOf(organizationId, timestamp).events++
    this.totals.raise(organizationId)
    this.texts.push([organizationId, JSON.stringify({ user_id, session_id })])
  }
  search({ key }: Subject, { at }: SearchFacts, sign: Sign): void {
    this.#rowOf(key[0]!, at).searches += sign
  }
}

const addRows = (table: string, rows: Iterable<Row>, nameOf: (id: string) => string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const { day, events, organizationId, searches } of rows)
      yield* sql.unsafe(
        `INSERT INTO ${table} AS c VALUES ($1, $2::text::int8, $3::text::int8, $4::text::int8) ON CONFLICT (organization_id, day) DO UPDATE SET events = c.events + EXCLUDED.events, searches = c.searches + EXCLUDED.searches`,
        [nameOf(organizationId), String(day), String(events), String(searches)]
      )
  })
const write = ({ rows, texts, totals }: VisitorCounts) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* addRows("visitor_counts", rows.values(), (id) => id)
    for (const id of new Set(texts.map(([organizationId]) => organizationId)))
      yield* sql`INSERT INTO visitor_totals VALUES (${id}, ${String(totals.of(id))}::text::int8) ON CONFLICT (organization_id) DO UPDATE SET events = EXCLUDED.events`
    for (const [id, event] of texts)
      yield* sql`INSERT INTO visitor_events (organization_id, event) VALUES (${id}, ${event})`
  })

export const visitorCounts: FactProcessor<Totals, VisitorCounts> = {
  name: "visitor-counts",
  open: (store, section) => new Totals(store, section),
  newEmitted: (totals) => new VisitorCounts(totals),
  sizeOf: ({ rows, texts }) => rows.size + texts.length,
  write,
  snapshot: (totals) => ({ writes: totals.takeWrites(), stored: () => {} }),
  statePart: {
    prefixesOf: (section, organizationId) => [`${section}${organizationId}|`],
    forget: (totals, organizationId) => totals.forget(organizationId)
  },
  rebuilding: {
    emptyShadows: Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.asVoid(sql`TRUNCATE shadow_visitor_counts`)),
    writeShadow: ({ rows }, organizationId, shadow) =>
      addRows(
        "shadow_visitor_counts",
        [...rows.values()].filter((row) => row.organizationId === organizationId),
        () => shadow
      ),
    firstDay: Effect.fnUntraced(function* (organizationId, shadows, from, before) {
      const sql = yield* SqlClient.SqlClient
      const [row] = yield* sql<{ day: number | null }>`SELECT min(day)::float8 AS day FROM (
        SELECT day FROM visitor_counts WHERE organization_id = ${organizationId} UNION ALL SELECT day FROM shadow_visitor_counts WHERE organization_id = ANY(${[...shadows]}::text[])) d
        WHERE day >= ${String(from)}::text::int8 AND day < ${String(before)}::text::int8`
      return row?.day ?? undefined
    }),
    swapDay: Effect.fnUntraced(function* (organizationId, shadows, day) {
      const sql = yield* SqlClient.SqlClient
      const gone =
        yield* sql`DELETE FROM visitor_counts WHERE organization_id = ${organizationId} AND day = ${String(day)}::text::int8 RETURNING day`
      yield* sql`INSERT INTO visitor_counts SELECT ${organizationId}, day, sum(events), sum(searches) FROM shadow_visitor_counts
        WHERE organization_id = ANY(${[...shadows]}::text[]) AND day = ${String(day)}::text::int8 GROUP BY day`
      return { visitor_counts: gone.length }
    })
  },
  erasing: {
    outcome: "removed",
    removeRows: Effect.fnUntraced(function* ({ isTheirs, organizationId }) {
      const sql = yield* SqlClient.SqlClient
      const visitor_events = yield* removePages(
        (after) =>
          sql<{ id: string; event: string }>`SELECT id::text AS id, event FROM visitor_events
            WHERE organization_id = ${organizationId} AND id > coalesce(nullif(${after}, ''), '0')::int8 ORDER BY visitor_events.id LIMIT ${ROWS_PER_PAGE}::int4`,
        ({ id }) => id,
        (rows) => {
          const ids = rows.filter(({ event }) => isTheirs(event)).map(({ id }) => id)
          return Effect.map(
            sql`DELETE FROM visitor_events WHERE id = ANY(${ids}::text[]::int8[]) RETURNING id`,
            (gone) => gone.length
          )
        }
      )
      return { visitor_events }
    })
  }
}
