/**
 * Query ids (`qry_` + ULID) carry the visitor's partition in the first ten of their random bits, so that every event
 * naming the id is routed to the partition of that search, whatever else the event contains.
 */
import { Effect } from "effect"
import type { Identifiers } from "./identifiers.ts"

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const minted = /^qry_[0-7][0-9A-HJKMNP-TV-Z]{25}$/
/** Position of the ten bits: after `qry_` and ten characters of time, two characters of partition. */
const PARTITION_AT = 14
/**
 * The number of partitions that ten bits can name. With more, two would have the same mark, so `SearchServed` refuses
 * to start.
 */
export const QUERY_ID_PARTITIONS_MAX = 1_024

export const markPartition = (queryId: string, partition: number): string =>
  queryId.slice(0, PARTITION_AT) +
  crockford[(partition >> 5) & 31]! +
  crockford[partition & 31]! +
  queryId.slice(PARTITION_AT + 2)

/** A new id for a search of a visitor in `partition` (see `partitionOfVisitor` in log/routing.ts). */
export const mintQueryId = (identifiers: Identifiers["Service"], partition: number): Effect.Effect<string> =>
  Effect.map(identifiers.make("qry"), (id) => markPartition(id, partition))

/** The partition inside one of our ids; undefined for a foreign id. */
export const partitionOfQueryId = (queryId: string): number | undefined =>
  minted.test(queryId)
    ? crockford.indexOf(queryId[PARTITION_AT]!) * 32 + crockford.indexOf(queryId[PARTITION_AT + 1]!)
    : undefined
