/** Places that a consumer group steps over (`stream_skipped`): written in the transaction whose offsets pass them, read before a replay. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { storable } from "../src/analytics/normalize-query.ts"
import type { Place } from "./processor.ts"

export interface Skipped extends Pick<Place, "topic" | "offset" | "index"> {
  readonly reason: string
}

/** Reasons may quote what was read. */
const REASON_CHARACTERS_MAX = 500

/** `index` of a skip that means the whole record. */
export const WHOLE_RECORD = -1
export const placeKey = ({ index, offset, topic }: Pick<Place, "topic" | "offset" | "index">): string => `${topic}/${offset}/${index}`

/** Reasons by `placeKey`. Places that the log has forgotten (below `starts`, by topic) are removed first: no replay meets them. */
export const readSkipped = Effect.fnUntraced(function*(group: string, partition: number, starts: Readonly<Record<string, number>>) {
  const sql = yield* SqlClient.SqlClient
  for (const [topic, start] of Object.entries(starts)) {
    yield* sql`DELETE FROM stream_skipped WHERE consumer_group = ${group} AND partition = ${partition}::int4 AND topic = ${topic} AND record_offset < ${String(start)}::text::int8`
  }
  const rows = yield* sql<{ topic: string; record_offset: number; entry_index: number; reason: string }>`
    SELECT topic, record_offset::float8 AS record_offset, entry_index, reason FROM stream_skipped WHERE consumer_group = ${group} AND partition = ${partition}::int4`
  return new Map(rows.map(({ entry_index, reason, record_offset, topic }) => [placeKey({ topic, offset: record_offset, index: entry_index }), reason]))
})

/** Idempotent; call inside the transaction that moves the offsets. */
export const writeSkipped = Effect.fnUntraced(function*(group: string, partition: number, skipped: ReadonlyArray<Skipped>) {
  const sql = yield* SqlClient.SqlClient
  for (const { index, offset, reason, topic } of skipped) {
    yield* sql`INSERT INTO stream_skipped (consumer_group, topic, partition, record_offset, entry_index, reason)
      VALUES (${group}, ${topic}, ${partition}::int4, ${String(offset)}::text::int8, ${index}::int4, ${storable(reason).slice(0, REASON_CHARACTERS_MAX)}) ON CONFLICT DO NOTHING`
  }
})
