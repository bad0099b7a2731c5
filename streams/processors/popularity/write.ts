/**
 * Rows of queries that may be suggested: one per query, with its recent use and number of visitors.
 *
 * One visitor per network is kept: otherwise a client that invents visitors could be all eight. Fewer than three
 * visitors are never counted as three: a row of `query_makers` stands for a visitor with at least one counted search.
 * When one of the eight retracts a search, a ninth visitor who was not kept is missing until the next visit.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Key } from "../../facts/subjects.ts"
import { personOf } from "../../facts/who.ts"
import { isCandidate, MAKERS_MAX, VISITORS_MIN } from "../../figures/candidate-queries.ts"
import { DAY_MS } from "../../figures/grain.ts"
import { weightOf } from "../../figures/recency.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import { CONVERTED, type QueryUses, SEARCHES, ZERO_RESULTS } from "./emitted.ts"

interface PopularityRow {
  readonly organizationId: string
  readonly collection: string
  readonly q: string
  searches: number
  weight: number
  zeroWeight: number
  clickWeight: number
}
interface MakerRow extends Pick<PopularityRow, "organizationId" | "collection" | "q"> {
  person: number
  anonymous: number
  session: number
  network: number
  searches: number
}

// Indexes of the parts of a query's key.
const ORGANIZATION = 0,
  COLLECTION = 1,
  QUERY = 2

const byKey = (a: MakerRow | PopularityRow, b: MakerRow | PopularityRow): number =>
  a.organizationId !== b.organizationId
    ? a.organizationId < b.organizationId
      ? -1
      : 1
    : a.collection !== b.collection
      ? a.collection < b.collection
        ? -1
        : 1
      : a.q !== b.q
        ? a.q < b.q
          ? -1
          : 1
        : 0

const idOf = (organizationId: string, collection: string, q: string): string => `${organizationId}\n${collection}\n${q}`

/** Which visitors of a query to read. */
interface Asked {
  readonly id: string
  readonly asked: "all" | "takers" | "none"
  takers: ReadonlySet<number> | undefined
}
const NOBODY: ReadonlySet<number> = new Set()
const askedOf = (key: Key, isAsked: (id: string) => Asked["asked"]): Asked => {
  const id = idOf(key[ORGANIZATION]!, key[COLLECTION]!, key[QUERY]!)
  return { id, asked: isCandidate(key[QUERY]!) ? isAsked(id) : "none", takers: undefined }
}

/**
 * The sum of each person's searches of queries that `isAsked`, per query over all devices. With `takers`, only for
 * visitors who retract a search.
 */
const netMakers = (
  { makers, subjects }: QueryUses,
  isAsked: (id: string) => Asked["asked"]
): ReadonlyMap<string, ReadonlyMap<number, MakerRow>> => {
  const known: Array<Asked | undefined> = []
  const queryOf = (row: number): Asked => (known[row] ??= askedOf(subjects.keyAt(row), isAsked))
  /** By query: visitors who retracted a search. Only keystrokes do so, so they are few. */
  const takers = new Map<string, Set<number>>()
  makers.each((row, who, sign) => {
    if (sign > 0) return
    const { asked, id } = queryOf(row)
    if (asked !== "takers") return
    const persons = takers.get(id)
    if (persons === undefined) takers.set(id, new Set([personOf(who)]))
    else persons.add(personOf(who))
  })
  const net = new Map<string, Map<number, MakerRow>>()
  makers.each((row, who, sign) => {
    const query = queryOf(row)
    if (query.asked === "none") return
    const { id } = query,
      person = personOf(who)
    if (query.asked === "takers") {
      query.takers ??= takers.get(id) ?? NOBODY
      if (!query.takers.has(person)) return
    }
    let persons = net.get(id)
    if (persons === undefined) net.set(id, (persons = new Map()))
    const one = persons.get(person)
    if (one !== undefined) one.searches += sign
    else {
      const key = subjects.keyAt(row)
      persons.set(person, {
        organizationId: key[ORGANIZATION]!,
        collection: key[COLLECTION]!,
        q: key[QUERY]!,
        person,
        anonymous: who[1],
        session: who[2],
        network: who[3],
        searches: sign
      })
    }
  })
  return net
}

/** Rows in key order, so that two writers never deadlock. O(queries of the flush, and their days). */
const popularityOf = (uses: QueryUses): ReadonlyArray<PopularityRow> => {
  const rows = new Map<string, PopularityRow>()
  const rowOf = (organizationId: string, collection: string, q: string): PopularityRow => {
    const id = idOf(organizationId, collection, q)
    let row = rows.get(id)
    if (row === undefined)
      rows.set(id, (row = { organizationId, collection, q, searches: 0, weight: 0, zeroWeight: 0, clickWeight: 0 }))
    return row
  }
  // A query's days are adjacent.
  let last: Key | undefined, row: PopularityRow | undefined
  uses.byDay.eachInstant((key, day, sums, from) => {
    const searches = sums[from + SEARCHES]!,
      zero = sums[from + ZERO_RESULTS]!,
      converted = sums[from + CONVERTED]!
    if (!isCandidate(key[QUERY]!)) return
    if (row === undefined || key !== last) row = rowOf(key[ORGANIZATION]!, key[COLLECTION]!, key[QUERY]!)
    last = key
    const weight = weightOf(day * DAY_MS)
    row.searches += searches
    row.weight += (searches - zero) * weight
    row.zeroWeight += zero * weight
    row.clickWeight += converted * weight
  })
  // A visitor joining and another leaving does not change the number of searches, but the row must be locked while they
  // are counted.
  for (const persons of netMakers(uses, (id) => (rows.has(id) ? "none" : "all")).values()) {
    for (const { collection, organizationId, q, searches } of persons.values())
      if (searches !== 0) rowOf(organizationId, collection, q)
  }
  return [...rows.values()].sort(byKey)
}

/**
 * Rows in key order; for queries that are `full` of visitors, only visitors who retract a search. O(visitors of the
 * flush).
 */
const makersOf = (uses: QueryUses, full: ReadonlySet<string>): ReadonlyArray<MakerRow> => {
  const rows: Array<MakerRow> = []
  for (const [id, persons] of netMakers(uses, (id) => (full.has(id) ? "takers" : "all"))) {
    const isFull = full.has(id)
    for (const row of persons.values()) if (isFull ? row.searches < 0 : row.searches !== 0) rows.push(row)
  }
  return rows.sort((a, b) => byKey(a, b) || a.person - b.person)
}

const keyLiterals = (
  rows: ReadonlyArray<Pick<PopularityRow, "organizationId" | "collection" | "q">>
): ReadonlyArray<string> => [
  textsLiteral(rows.map((row) => row.organizationId)),
  textsLiteral(rows.map((row) => row.collection)),
  textsLiteral(rows.map((row) => row.q))
]
const KEYS = "$1::text::text[], $2::text::text[], $3::text::text[]"
const SAME_QUERY = (a: string, b: string): string =>
  `${a}.organization_id = ${b}.organization_id AND ${a}.collection = ${b}.collection AND ${a}.q = ${b}.q`

/** Also locks the rows, so that two partitions never count one query's visitors at the same time. */
const UPSERT = `INSERT INTO query_popularity (organization_id, collection, q, searches, weight, zero_weight, click_weight, changed)
  SELECT o, c, q, n, w, z, k, pg_current_xact_id()::text::int8 FROM unnest(${KEYS}, $4::text::int8[], $5::text::float8[], $6::text::float8[], $7::text::float8[]) AS t (o, c, q, n, w, z, k)
  ON CONFLICT (organization_id, collection, q) DO UPDATE SET searches = query_popularity.searches + EXCLUDED.searches, weight = query_popularity.weight + EXCLUDED.weight,
    zero_weight = query_popularity.zero_weight + EXCLUDED.zero_weight, click_weight = query_popularity.click_weight + EXCLUDED.click_weight, changed = EXCLUDED.changed
  RETURNING organization_id, collection, q, makers`
const GIVEN = `given AS (SELECT * FROM unnest(${KEYS}, $4::text::int8[], $5::text::int8[], $6::text::int8[], $7::text::int8[], $8::text::int8[]) AS t (organization_id, collection, q, person, anonymous, session, network, searches))`
const MAKE = `WITH ${GIVEN}, known AS (
    UPDATE query_makers m SET searches = m.searches + g.searches FROM given g WHERE ${SAME_QUERY("m", "g")} AND m.person = g.person
  ), unknown AS (
    SELECT g.*, p.makers, row_number() OVER (PARTITION BY g.organization_id, g.collection, g.q, g.network ORDER BY g.person) AS of_network
    FROM given g JOIN query_popularity p ON ${SAME_QUERY("p", "g")}
    WHERE g.searches > 0 AND NOT EXISTS (SELECT 1 FROM query_makers m WHERE ${SAME_QUERY("m", "g")} AND (m.person = g.person OR m.network = g.network))
  ), fresh AS (
    SELECT *, row_number() OVER (PARTITION BY organization_id, collection, q ORDER BY person) AS place FROM unknown WHERE of_network = 1
  )
  INSERT INTO query_makers (organization_id, collection, q, person, anonymous, session, network, searches)
  SELECT organization_id, collection, q, person, anonymous, session, network, searches FROM fresh WHERE makers + place <= ${MAKERS_MAX}`
const UNMAKE = `DELETE FROM query_makers m USING unnest(${KEYS}, $4::text::int8[]) AS g (organization_id, collection, q, person) WHERE ${SAME_QUERY("m", "g")} AND m.person = g.person AND m.searches <= 0`
const COUNT = `UPDATE query_popularity p SET makers = c.makers, visitors = c.visitors, is_known = p.is_known OR c.visitors >= ${VISITORS_MIN}, changed = pg_current_xact_id()::text::int8
  FROM (SELECT d.organization_id, d.collection, d.q, count(m.person)::int4 AS makers,
      least(count(m.person), count(DISTINCT coalesce(nullif(m.session, 0), -m.person)), count(DISTINCT coalesce(nullif(m.anonymous, 0), -m.person)))::int4 AS visitors
    FROM (SELECT DISTINCT * FROM unnest(${KEYS}) AS t (organization_id, collection, q)) d LEFT JOIN query_makers m ON ${SAME_QUERY("m", "d")} GROUP BY 1, 2, 3) c
  WHERE ${SAME_QUERY("p", "c")} AND (p.makers, p.visitors) IS DISTINCT FROM (c.makers, c.visitors)`

/** Counts the visitors of queries again from the remaining rows. */
export const recountMakers = (
  queries: ReadonlyArray<Pick<PopularityRow, "organizationId" | "collection" | "q">>
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (let from = 0; from < queries.length; from += ROWS_PER_STATEMENT)
      yield* sql.unsafe(COUNT, keyLiterals(queries.slice(from, from + ROWS_PER_STATEMENT)))
  })

/**
 * Runs in the flush's transaction. At most four statements per 10,000 queries, one if every query has enough visitors.
 */
export const writePopularity = (uses: QueryUses): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const popularity = popularityOf(uses)
    const full = new Set<string>()
    for (let from = 0; from < popularity.length; from += ROWS_PER_STATEMENT) {
      const part = popularity.slice(from, from + ROWS_PER_STATEMENT)
      const answered = yield* sql.unsafe<{ organization_id: string; collection: string; q: string; makers: number }>(
        UPSERT,
        [
          ...keyLiterals(part),
          numbersLiteral(part.map(({ searches }) => searches)),
          numbersLiteral(part.map(({ weight }) => weight)),
          numbersLiteral(part.map(({ zeroWeight }) => zeroWeight)),
          numbersLiteral(part.map(({ clickWeight }) => clickWeight))
        ]
      )
      for (const { makers, organization_id, ...row } of answered)
        if (makers >= MAKERS_MAX) full.add(idOf(organization_id, row.collection, row.q))
    }
    // Enough visitors are known: one more changes nothing, one who retracts a search does.
    const made = makersOf(uses, full)
    for (let from = 0; from < made.length; from += ROWS_PER_STATEMENT) {
      const part = made.slice(from, from + ROWS_PER_STATEMENT)
      const keys = keyLiterals(part)
      yield* sql.unsafe(MAKE, [
        ...keys,
        ...(["person", "anonymous", "session", "network", "searches"] as const).map((name) =>
          numbersLiteral(part.map((row) => row[name]))
        )
      ])
      const fewer = part.filter(({ searches }) => searches < 0)
      if (fewer.length > 0)
        yield* sql.unsafe(UNMAKE, [...keyLiterals(fewer), numbersLiteral(fewer.map(({ person }) => person))])
      yield* sql.unsafe(COUNT, keys)
    }
  })
