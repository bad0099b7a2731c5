/** What the cluster keeps of a collection: a document of its directory, changed only by who read it as it is. */
import type { Namespace } from "../engine.ts"
import type { CollectionSchema } from "../schema.ts"
import type { Placement } from "./placement.ts"
import type { SlotTable } from "./slots.ts"

export type MoveReason = "promotion" | "schema"
export interface Move {
  readonly to: Placement
  readonly reason: MoveReason
  /** Documents when it began. */ readonly total: number
  /** Nobody may acknowledge a write to the old placement. */ readonly isFenced: boolean
}
/** Where a collection was before. */
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
  /** Of the schema, one more with each change. */ readonly version: number
  /** Dropped: kept so that every process hears of it. */ readonly isGone: boolean
  /** Where it is on its way to. */ readonly move?: Move
  /** Where it was, oldest first. */ readonly moved?: ReadonlyArray<Moved>
}
export const identityOf = ({ identity, placement }: CollectionRecord): string => identity ?? placement.key
/** What the cluster says of the record that was read: it is only replaced while that holds. */
export interface Revision {
  readonly _seq_no: number
  readonly _primary_term: number
}
