/**
 * A collection's record in the cluster: a document of the directory, replaced only by a writer that read its current
 * version.
 */
import type { Namespace } from "../engine.ts"
import type { CollectionSchema } from "../schema.ts"
import type { Placement } from "./placement.ts"
import type { SlotTable } from "./slots.ts"

export type MoveReason = "promotion" | "schema"
export interface Move {
  readonly to: Placement
  readonly reason: MoveReason
  /** Documents when it began. */ readonly total: number
  /** Writes to the old placement must not be acknowledged. */ readonly isFenced: boolean
}
/** A former placement of a collection. */
export interface Moved {
  readonly from: Placement
  /** Every change there up to this number was carried over, none beyond it. */ readonly fence: number
  /** Nothing of it is left. */ readonly isCleared: boolean
}
export interface CollectionRecord {
  readonly namespace: Namespace
  readonly schema: CollectionSchema
  readonly createdAt_s: number
  /** The first key it had, by which it is known wherever it lies. Absent: that of its placement. */
  readonly identity?: string
  readonly placement: Placement
  readonly slots: SlotTable
  /** Schema version, raised by each change. */ readonly version: number
  /** Dropped: the record stays so that every process learns of it. */ readonly isGone: boolean
  /** The move in progress. */ readonly move?: Move
  /** Former placements, oldest first. */ readonly moved?: ReadonlyArray<Moved>
}
export const identityOf = ({ identity, placement }: CollectionRecord): string => identity ?? placement.key
/** The version of the record that was read: it is only replaced while that is current. */
export interface Revision {
  readonly _seq_no: number
  readonly _primary_term: number
}
