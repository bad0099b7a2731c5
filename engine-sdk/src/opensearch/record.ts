/**
 * A collection's record in the cluster: a document of the directory that only a writer that read its current version
 * may replace.
 */
import type { Namespace } from "../engine.ts"
import type { CollectionSchema } from "../schema.ts"
import type { Placement } from "./placement.ts"
import type { SlotTable } from "./slots.ts"

export type MoveReason = "promotion" | "schema"
export interface Move {
  readonly to: Placement
  readonly reason: MoveReason
  /** Number of documents when the move began. */ readonly total: number
  /** Writes to the old placement must not be acknowledged. */ readonly isFenced: boolean
}
/** A former placement of a collection. */
export interface Moved {
  readonly from: Placement
  /** Every change there up to this number was carried over, and none after it. */ readonly fence: number
  /** All of its documents have been removed. */ readonly isCleared: boolean
}
export interface CollectionRecord {
  readonly namespace: Namespace
  readonly schema: CollectionSchema
  readonly createdAt_s: number
  /** The collection's first key, which identifies it at any placement. Absent: the key of its placement. */
  readonly identity?: string
  readonly placement: Placement
  readonly slots: SlotTable
  /** Schema version, raised by each change. */ readonly version: number
  /** Dropped; the record stays so that every process learns of it. */ readonly isGone: boolean
  /** The move in progress. */ readonly move?: Move
  /** Former placements, oldest first. */ readonly moved?: ReadonlyArray<Moved>
}
export const identityOf = ({ identity, placement }: CollectionRecord): string => identity ?? placement.key
/** The version of a record that was read; the record is replaced only if this is still current. */
export interface Revision {
  readonly _seq_no: number
  readonly _primary_term: number
}
