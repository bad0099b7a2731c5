/**
 * The first stage of rollups: a flush writes only its sums, packed by minute; seconds later `fold.ts` adds them to rows
 * of three grains (minute, hour, day), so that any span of time is answered exactly from few rows, and a row that many
 * events touch is written once for all of them. A retraction is a negative count; sums that cancel out are not written.
 */
import { Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Deltas } from "../../facts/deltas.ts"
import { MINUTE_MS } from "../../figures/grain.ts"
import { MinutePacker } from "../../figures/instants.ts"
import { numbersLiteral, ROWS_PER_STATEMENT, textsLiteral } from "../literals.ts"
import type { RollupSums } from "./emitted.ts"
import { INSTANTS_TABLE, ROLLUP_TABLES, UNFOLDED_TABLE } from "./tables.ts"

/** Where rows are written: to the tables, or to their shadows with a single organization under another name. */
interface Destination {
  readonly prefix: "" | "shadow_"
  /** Returns undefined for organizations to leave out. */
  readonly nameOf: ((organizationId: string) => string | undefined) | undefined
}

/** A minute of an organization on its way to Postgres. */
interface PackedMinute {
  readonly organizationId: string
  readonly minute_at: number
  readonly packer: MinutePacker
}

const packed = (rollups: RollupSums, { nameOf }: Destination): ReadonlyArray<PackedMinute> => {
  const minutes = new Map<string, Map<number, PackedMinute>>()
  const minuteOf = (name: string, minute_at: number): PackedMinute => {
    let own = minutes.get(name)
    if (own === undefined) minutes.set(name, (own = new Map()))
    let minute = own.get(minute_at)
    if (minute === undefined)
      own.set(minute_at, (minute = { organizationId: name, minute_at, packer: new MinutePacker() }))
    return minute
  }
  for (const { of } of ROLLUP_TABLES) {
    const deltas: Deltas = rollups[of],
      { slots } = deltas
    // Cached, because most instants belong to the same minute and organization as the previous one.
    let organizationId: string | undefined, minute: PackedMinute | undefined
    deltas.eachInstant((key, instant, sums, from) => {
      const minute_at = Math.floor(instant / MINUTE_MS) * MINUTE_MS
      if (minute === undefined || minute.minute_at !== minute_at || organizationId !== key[0]) {
        organizationId = key[0]!
        const name = nameOf === undefined ? organizationId : nameOf(organizationId)
        minute = name === undefined ? undefined : minuteOf(name, minute_at)
      }
      minute?.packer.add(of, key, 1, instant - minute_at, sums, from, slots)
    })
  }
  return [...minutes.values()].flatMap((own) => [...own.values()])
}

const writeInstants = (rollups: RollupSums, destination: Destination) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const table = `${destination.prefix}${INSTANTS_TABLE}`
    // The values are sent end to end as one binary parameter: as texts, each would be written and read three times.
    const insert = `INSERT INTO ${table} (organization_id, minute_at, packed) SELECT o, m, substring($3::bytea FROM f FOR n) FROM unnest($1::text::text[], $2::text::int8[], $4::text::int4[], $5::text::int4[]) AS t (o, m, f, n)`
    const all = packed(rollups, destination)
    for (let from = 0; from < all.length; from += ROWS_PER_STATEMENT) {
      const part = all.slice(from, from + ROWS_PER_STATEMENT),
        values = part.map(({ packer }) => packer.pack())
      let behind = 1
      const starts = values.map(({ length }) => (behind += length) - length)
      yield* sql.unsafe(
        // The rows of a shadow are created when it is exchanged.
        destination.prefix === ""
          ? `WITH written AS (${insert} RETURNING organization_id, minute_at, flush) INSERT INTO ${UNFOLDED_TABLE} (organization_id, minute_at, flush) SELECT * FROM written`
          : insert,
        [
          textsLiteral(part.map((minute) => minute.organizationId)),
          numbersLiteral(part.map((minute) => minute.minute_at)),
          Buffer.concat(values),
          numbersLiteral(starts),
          numbersLiteral(values.map(({ length }) => length))
        ]
      )
    }
  })

/** Packed instants only; rollup rows are written by `fold.ts`. One statement per 10,000 minutes. */
export const writeRollups = (rollups: RollupSums): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  writeInstants(rollups, { prefix: "", nameOf: undefined })

/** Adds one organization's part to the shadow of its instants, under the shadow's name. */
export const writeShadow = (
  rollups: RollupSums,
  organizationId: string,
  shadow: string
): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> =>
  writeInstants(rollups, { prefix: "shadow_", nameOf: (id) => (id === organizationId ? shadow : undefined) })
