/**
 * Histories of visitors in Postgres, one row for each visitor of a collection: a flush appends to the row in the
 * transaction that moves the offsets, so that each interaction is stored once. A row that grew too long is cut in the
 * same transaction. Visitors are stored as keyed fingerprints, like those of queries.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { narrowKey, shortPrint, type FingerprintKey } from "@dowser/log/fingerprint"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { DAY_MS } from "../../figures/grain.ts"
import { hexOfTake, HISTORY_BYTES_MAX, packSeenAs, type Take, trimmed } from "../../figures/history.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import type { Takes, Visitor } from "./emitted.ts"

interface HistoryRow {
  readonly organizationId: string
  readonly visitor: number
  readonly collection: string
  /** Unix ms, of the newest event. */
  at: number
  /** As hex, because most of the cost of writing rows is building the text. */
  recent: string
  /** Prints that also belong to the user, and when each was last seen so (seconds); most rows have none. */
  seenAs: Map<number, number> | undefined
  /** For rows of a shadow: the start of the day, ms. */ readonly day: number
}
/** Rows of one organization, collection and day, by visitor. */
interface Group {
  readonly organizationId: string
  readonly collection: string
  readonly day: number
  readonly key: FingerprintKey
  readonly rows: Map<number, HistoryRow>
}

const textOrder = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1)
const compare = (a: HistoryRow, b: HistoryRow): number =>
  textOrder(a.organizationId, b.organizationId) ||
  a.visitor - b.visitor ||
  textOrder(a.collection, b.collection) ||
  a.day - b.day

/** `dayOf`: returns 0 if days do not matter. */
class HistoryRows {
  readonly #key: FingerprintKey
  readonly #dayOf: (at: number) => number
  readonly #groups = new Map<string, Group>()
  // Interactions of a collection are adjacent, and mostly those of a visitor too.
  #group: Group | undefined
  #last: Visitor | undefined
  #print = 0

  constructor(key: FingerprintKey, dayOf: (at: number) => number) {
    this.#key = key
    this.#dayOf = dayOf
  }
  #groupOf({ collection, organizationId }: Visitor, day: number): Group {
    const last = this.#group
    if (last?.organizationId === organizationId && last.collection === collection && last.day === day) return last
    const id = `${organizationId}\n${day}\n${collection}`
    let group = this.#groups.get(id)
    if (group === undefined) {
      group = { organizationId, collection, day, key: narrowKey(this.#key, organizationId), rows: new Map() }
      this.#groups.set(id, group)
    }
    return (this.#group = group)
  }
  #of(visitor: Visitor, at_s: number): HistoryRow {
    const at = Math.floor(at_s * 1_000)
    const { collection, day, key, organizationId, rows } = this.#groupOf(visitor, this.#dayOf(at))
    if (visitor !== this.#last) {
      this.#last = visitor
      this.#print = printOf(key, visitor)
    }
    let row = rows.get(this.#print)
    if (row === undefined) {
      row = { organizationId, visitor: this.#print, collection, at, recent: "", seenAs: undefined, day }
      rows.set(this.#print, row)
    } else if (at > row.at) row.at = at
    return row
  }
  take(visitor: Visitor, take: Take): void {
    const hex = hexOfTake(take)
    if (hex !== "") this.#of(visitor, take.at_s).recent += hex
  }
  see(user: Visitor, as: Visitor, at_s: number): void {
    const row = this.#of(user, at_s)
    const seenAs = (row.seenAs ??= new Map<number, number>()),
      print = printOf(this.#group!.key, as)
    seenAs.set(print, Math.max(at_s, seenAs.get(print) ?? 0))
  }
  /** Sorted by key, so that two writers never deadlock. */
  get sorted(): ReadonlyArray<HistoryRow> {
    return Array.from(this.#groups.values(), ({ rows }) => [...rows.values()])
      .flat()
      .sort(compare)
  }
}
const printOf = (key: FingerprintKey, { id, kind }: Visitor): number => shortPrint(key, `${kind} `, id)
const rowsOf = (
  takes: Takes,
  fingerprintKey: FingerprintKey,
  dayOf: (at: number) => number,
  isWanted: (organizationId: string) => boolean
): ReadonlyArray<HistoryRow> => {
  const rows = new HistoryRows(fingerprintKey, dayOf)
  takes.each((visitor, take) => {
    if (isWanted(visitor.organizationId)) rows.take(visitor, take)
  })
  takes.eachSeen((user, as, at_s) => {
    if (isWanted(user.organizationId)) rows.see(user, as, at_s)
  })
  return rows.sorted
}

const hexOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")
const recentOf = ({ recent, seenAs }: HistoryRow): string => {
  const ids = Array.from(seenAs ?? [], ([visitor, at_s]) => hexOf(packSeenAs({ visitor, at_s })))
  const all = ids.length === 0 ? recent : ids.join("") + recent
  return all.length <= 2 * HISTORY_BYTES_MAX ? all : hexOf(trimmed(Buffer.from(all, "hex")))
}

interface LongRow {
  readonly organization_id: string
  readonly visitor: string
  readonly collection: string
  readonly recent: Uint8Array
}
const GIVEN =
  "unnest($1::text::text[], $2::text::int8[], $3::text::text[], $4::text::text[], $5::text::int8[]) AS t (o, v, c, r, at)"
const APPEND = `WITH put AS (
    INSERT INTO visitor_histories AS h (organization_id, visitor, collection, recent, updated_at)
    SELECT o, v, c, decode(r, 'hex'), at FROM ${GIVEN}
    ON CONFLICT (organization_id, visitor, collection) DO UPDATE
      SET recent = h.recent || EXCLUDED.recent, updated_at = greatest(h.updated_at, EXCLUDED.updated_at)
    RETURNING organization_id, visitor, collection, recent
  ) SELECT organization_id, visitor::text AS visitor, collection, recent FROM put WHERE octet_length(recent) > ${HISTORY_BYTES_MAX}`
const CUT = `UPDATE visitor_histories h SET recent = decode(t.r, 'hex')
  FROM unnest($1::text::text[], $2::text::int8[], $3::text::text[], $4::text::text[]) AS t (o, v, c, r)
  WHERE h.organization_id = t.o AND h.visitor = t.v AND h.collection = t.c`

/** Runs in the flush's transaction. At most three statements for 10,000 visitors, none if nothing was touched. */
export const writeHistories = Effect.fnUntraced(function* (takes: Takes) {
  if (takes.size === 0) return
  const sql = yield* SqlClient.SqlClient
  const rows = rowsOf(
    takes,
    yield* readFingerprintKey,
    () => 0,
    () => true
  )
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
    const part = rows.slice(from, from + ROWS_PER_STATEMENT)
    const long = yield* sql.unsafe<LongRow>(APPEND, [
      textsLiteral(part.map(({ organizationId }) => organizationId)),
      numbersLiteral(part.map(({ visitor }) => visitor)),
      textsLiteral(part.map(({ collection }) => collection)),
      textsLiteral(part.map(recentOf)),
      numbersLiteral(part.map(({ at }) => at))
    ])
    if (long.length === 0) continue
    yield* sql.unsafe(CUT, [
      textsLiteral(long.map(({ organization_id }) => organization_id)),
      numbersLiteral(long.map(({ visitor }) => visitor)),
      textsLiteral(long.map(({ collection }) => collection)),
      textsLiteral(long.map(({ recent }) => hexOf(trimmed(recent))))
    ])
  }
})

interface LongShadow {
  readonly visitor: string
  readonly collection: string
  readonly day: string
  readonly recent: Uint8Array
}
const APPEND_SHADOW = `WITH put AS (
    INSERT INTO shadow_visitor_histories AS h (organization_id, visitor, collection, day, recent)
    SELECT $1, v, c, d, decode(r, 'hex') FROM unnest($2::text::int8[], $3::text::text[], $4::text::int8[], $5::text::text[]) AS t (v, c, d, r)
    ON CONFLICT (organization_id, visitor, collection, day) DO UPDATE SET recent = h.recent || EXCLUDED.recent
    RETURNING visitor, collection, day, recent
  ) SELECT visitor::text AS visitor, collection, day::text AS day, recent FROM put WHERE octet_length(recent) > ${HISTORY_BYTES_MAX}`
const CUT_SHADOW = `UPDATE shadow_visitor_histories h SET recent = decode(t.r, 'hex')
  FROM unnest($2::text::int8[], $3::text::text[], $4::text::int8[], $5::text::text[]) AS t (v, c, d, r)
  WHERE h.organization_id = $1 AND h.visitor = t.v AND h.collection = t.c AND h.day = t.d`

/** One organization's part, by day, under the shadow's name. A day is cut like a row, because no history holds more. */
export const writeShadowHistories = Effect.fnUntraced(function* (takes: Takes, organizationId: string, shadow: string) {
  if (takes.size === 0) return
  const sql = yield* SqlClient.SqlClient
  const dayOf = (at: number) => Math.floor(at / DAY_MS) * DAY_MS
  const rows = rowsOf(takes, yield* readFingerprintKey, dayOf, (of) => of === organizationId)
  const put = <Row extends Omit<LongShadow, "recent" | "day" | "visitor"> & Record<"visitor" | "day", string | number>>(
    statement: string,
    some: ReadonlyArray<Row>,
    recent: (row: Row) => string
  ) =>
    sql.unsafe<LongShadow>(statement, [
      shadow,
      numbersLiteral(some.map(({ visitor }) => visitor)),
      textsLiteral(some.map(({ collection }) => collection)),
      numbersLiteral(some.map(({ day }) => day)),
      textsLiteral(some.map(recent))
    ])
  for (let from = 0; from < rows.length; from += ROWS_PER_STATEMENT) {
    const long = yield* put(APPEND_SHADOW, rows.slice(from, from + ROWS_PER_STATEMENT), recentOf)
    if (long.length > 0) yield* put(CUT_SHADOW, long, ({ recent }) => hexOf(trimmed(recent)))
  }
})
