/**
 * Reads a range of time from the database: rows for minutes and longer units (`grain.ts` plans them), the packed
 * instants of the two minutes at the bounds of the range, and those of the last seconds, which are not folded into
 * rows yet.
 */
import { type Clock, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { DAY_MS, GRAINS, MINUTE_MS, type Span, spansOf } from "@dowser/streams/figures/grain"
import { type InstantTable, MinuteReader } from "@dowser/streams/figures/instants"
import type { DateRange } from "./date-range.ts"
import { instantsKeptFrom, withoutOldInstants } from "./instants-retention.ts"
import { storedOf, type Table } from "./rollup-tables.ts"
import type { Segment } from "./schema.ts"

export interface RollupFilter {
  readonly organizationId: string
  readonly range: DateRange
  readonly collection: string | undefined
  readonly segment: Segment | undefined
}

/** Whether an instant's key matches the filter's collection and segment. */
export const keeps = ({ keys }: Table, { collection, segment }: RollupFilter) => {
  const at = segment?.value === undefined ? -1 : keys.indexOf(segment.dimension)
  // Data packed before products had dimensions does not contain them.
  return (key: ReadonlyArray<string>): boolean =>
    (collection === undefined || key[0] === collection) && (at < 0 || (key[at] ?? "") === segment!.value)
}

/** First instant of the UTC day of an instant. */
export const dayOf = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS

/** The spans of a parameter, as rows to join with. */
export const SPANS = "json_to_recordset($1::text::json) AS s (grain int2, first int8, behind int8)"
export const spanParameter = (spans: ReadonlyArray<Span>): string =>
  JSON.stringify(spans.map(({ before, from, grain }) => ({ grain, first: from, behind: before })))

export class RollupSource {
  readonly #sql: SqlClient.SqlClient
  readonly #clock: Clock.Clock

  constructor(sql: SqlClient.SqlClient, clock: Clock.Clock) {
    this.#sql = sql
    this.#clock = clock
  }

  /** The part of a range for which instants are kept. */
  rangeOf(range: DateRange): DateRange {
    return withoutOldInstants(range, instantsKeptFrom(this.#clock.currentTimeMillisUnsafe()))
  }
  planOf(range: DateRange): ReadonlyArray<Span> {
    const { before, from } = this.rangeOf(range)
    return spansOf(from, before)
  }
  /** A driver failure is a defect here, because no caller can handle it. */
  all<A extends object>(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<A>> {
    return Effect.orDie(this.#sql.unsafe<A>(text, parameters) as Effect.Effect<ReadonlyArray<A>, SqlError.SqlError>)
  }
  one<A extends object>(text: string, parameters: ReadonlyArray<unknown>): Effect.Effect<A> {
    return Effect.map(this.all<A>(text, parameters), (rows) => rows[0]!)
  }

  /**
   * Iterates over what no row covers in a range: at most two partial minutes at its bounds, and minutes inside it
   * that are not folded yet. Sums of a minute may be combined.
   */
  readonly eachUnrolled = Effect.fnUntraced(
    { self: this },
    function* (
      organizationId: string,
      range: DateRange,
      table: InstantTable,
      each: (key: ReadonlyArray<string>, at: number, sums: ReadonlyArray<number>) => void
    ) {
      const spans = this.planOf(range)
      const whole = spans.filter(({ grain }) => grain !== GRAINS.instant)
      if (whole.length > 0) {
        // Single instants are only at the bounds, so full minutes are contiguous.
        const rows = yield* this.all<{ minute_at: number; packed: Uint8Array }>(
          `SELECT minute_at::float8 AS minute_at, packed FROM analytics_unfolded JOIN analytics_instants USING (organization_id, minute_at, flush)
      WHERE organization_id = $1 AND minute_at >= $2::text::int8 AND minute_at < $3::text::int8`,
          [
            organizationId,
            String(Math.min(...whole.map(({ from }) => from))),
            String(Math.max(...whole.map(({ before }) => before)))
          ]
        )
        for (const { minute_at, packed } of rows)
          new MinuteReader(packed).eachKey(table, (key, sums) => each(key, minute_at, sums))
      }
      for (const span of spans) {
        if (span.grain !== GRAINS.instant) continue
        const minute_at = Math.floor(span.from / MINUTE_MS) * MINUTE_MS
        const rows = yield* this.all<{ packed: Uint8Array }>(
          "SELECT packed FROM analytics_instants WHERE organization_id = $1 AND minute_at = $2::text::int8",
          [organizationId, String(minute_at)]
        )
        for (const { packed } of rows) {
          new MinuteReader(packed).each(table, (key, after_ms, sums) => {
            const at = minute_at + after_ms
            if (at >= span.from && at < span.before) each(key, at, sums)
          })
        }
      }
    }
  )

  /** Sums of uncovered instants, grouped by all key columns. */
  readonly #unrolledOf = Effect.fnUntraced({ self: this }, function* (table: Table, filter: RollupFilter) {
    const isKept = keeps(table, filter)
    const plain = table.measures.length
    const stored = storedOf(table)
    const rows = new Map<
      string,
      { readonly key: ReadonlyArray<string>; readonly day: number; readonly sums: Array<number> }
    >()
    yield* this.eachUnrolled(filter.organizationId, filter.range, table.instants, (key, at, values) => {
      if (!isKept(key)) return
      const day = dayOf(at)
      const id = `${day}\u0000${key.join("\u0000")}`
      let row = rows.get(id)
      if (row === undefined) rows.set(id, (row = { key, day, sums: new Array<number>(stored.length).fill(0) }))
      for (let i = 0; i < stored.length; i++) {
        // Amounts arrive as units and millionths; their sums stay far below what a double counts exactly.
        row.sums[i] =
          row.sums[i]! +
          (i < plain ? values[i]! : values[plain + 2 * (i - plain)]! * 1_000_000 + values[plain + 2 * (i - plain) + 1]!)
      }
    })
    return [...rows.values()].map(({ day, key, sums: values }) => ({
      day,
      ...Object.fromEntries(table.keys.map((name, i) => [name, key[i] ?? ""])),
      ...Object.fromEntries(stored.map((name, i) => [name, values[i]!]))
    }))
  })

  /** `FROM …` with a table's rows over the entire range as `r`, and its parameters. */
  readonly sourceOf = (table: Table, filter: RollupFilter) =>
    Effect.map(this.#unrolledOf(table, filter), (unrolled) => {
      const { collection, organizationId, range, segment } = filter
      const spans = this.planOf(range).filter(({ grain }) => grain !== GRAINS.instant)
      const parameters: Array<unknown> = [spanParameter(spans), organizationId]
      const conditions = [
        "t.organization_id = $2",
        "t.grain = s.grain",
        "t.bucket_at >= s.first",
        "t.bucket_at < s.behind",
        ...(collection === undefined ? [] : [`t.collection = $${parameters.push(collection)}`]),
        ...(segment?.value === undefined ? [] : [`t.${segment.dimension} = $${parameters.push(segment.value)}`])
      ]
      const keys = table.keys.slice(1),
        stored = storedOf(table)
      const columns = [...keys, ...stored]
      const rows = `SELECT t.bucket_at - t.bucket_at % ${DAY_MS} AS day, ${columns.map((name) => `t.${name}`).join(", ")} FROM ${SPANS} JOIN ${table.name} t ON ${conditions.join(" AND ")}`
      const others =
        unrolled.length === 0
          ? ""
          : ` UNION ALL SELECT day, ${columns.join(", ")} FROM json_to_recordset($${parameters.push(JSON.stringify(unrolled))}::text::json)
    AS e (day int8, ${[...keys.map((name) => `${name} text`), ...stored.map((name) => `${name} numeric`)].join(", ")})`
      return { parameters, text: `FROM (${rows}${others}) r` }
    })
}
