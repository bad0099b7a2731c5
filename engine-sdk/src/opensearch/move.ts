/**
 * A collection's move to another placement, as pure decisions over its record. Documents are copied while everybody
 * continues to use the old ones; a fence holds back further writes while the rest is copied; then one conditional write
 * of the record makes the copy the collection. Wherever a process dies in between, the record says which of the two is
 * valid; the other is a leftover.
 *
 *   settled ──begin──> copying ──fence──> fenced ──switch──> settled elsewhere
 *                         └─────────abandon─────────┘  settled where it was
 */
import type { CollectionRecord, Move, Moved } from "./record.ts"
import type { Placement } from "./placement.ts"
import type { SlotTable } from "./slots.ts"
import type { CollectionSchema } from "../schema.ts"

/** The steps of a move, in order; a process may die after any of them without notice. */
export const STEPS = ["make", "begin", "copy", "fence", "catch_up", "switch"] as const
export type Step = (typeof STEPS)[number]

/** Number of former placements that are remembered for writers that still use one of them. */
const MOVED_MAX = 8

export const begunMove = (record: CollectionRecord, move: Omit<Move, "isFenced">): CollectionRecord => ({
  ...record,
  move: { ...move, isFenced: false }
})
export const fencedMove = (record: CollectionRecord, isFenced: boolean): CollectionRecord =>
  record.move === undefined ? record : { ...record, move: { ...record.move, isFenced } }
/** The old placement remains valid; the copy is a leftover. */
export const abandonedMove = ({ move: _move, ...record }: CollectionRecord): CollectionRecord => record
export const switchedMove = (
  { move, ...record }: CollectionRecord,
  target: { readonly schema: CollectionSchema; readonly slots: SlotTable; readonly fence: number }
): CollectionRecord => {
  if (move === undefined) throw new Error("a collection that is not moving cannot be switched")
  const left: Moved = { from: record.placement, fence: target.fence, isCleared: false }
  return {
    ...record,
    placement: move.to,
    schema: target.schema,
    slots: target.slots,
    version: record.version + 1,
    moved: keptMoves([...(record.moved ?? []), left])
  }
}
/** The newest former placements, and all that are not cleared. */
const keptMoves = (moved: ReadonlyArray<Moved>): ReadonlyArray<Moved> =>
  moved.filter(({ isCleared }, i) => !isCleared || i >= moved.length - MOVED_MAX)
export const clearedMove = (record: CollectionRecord, key: string): CollectionRecord => ({
  ...record,
  moved: keptMoves((record.moved ?? []).map((one) => (one.from.key === key ? { ...one, isCleared: true } : one)))
})
export const isMovingTo = ({ move, isGone }: CollectionRecord, key: string): boolean => !isGone && move?.to.key === key

/**
 * What happened to a change with this number made at `from`, according to a record read afterwards: it counts, it waits
 * for the outcome of a fence, it was carried over, or it must be repeated at the new placement.
 */
type Fate = "counts" | "waits" | "carried" | "again" | "unknown"
export const fateOf = (record: CollectionRecord, from: Placement, number: number): Fate => {
  if (record.placement.key === from.key) return record.move?.isFenced === true ? "waits" : "counts"
  const left = record.moved?.find((one) => one.from.key === from.key)
  return left === undefined ? "unknown" : number <= left.fence ? "carried" : "again"
}

/** Checksum of the documents in a range of insertion numbers: the sums of these numbers and of their change numbers. */
export interface Sums {
  readonly count: number
  readonly seqs: number
  readonly changes: number
}
/** Checksums by the first insertion number of each range. */
export type SumsByRange = ReadonlyMap<number, Sums>
/** Ranges whose checksums differ, in order. */
export const differingRanges = (old: SumsByRange, copy: SumsByRange): number[] =>
  [...new Set([...old.keys(), ...copy.keys()])]
    .filter((range) => {
      const a = old.get(range),
        b = copy.get(range)
      return a?.count !== b?.count || a?.seqs !== b?.seqs || a?.changes !== b?.changes
    })
    .sort((a, b) => a - b)

/** A document's id and the number of its last change (in a copy: of the original's last change). */
export interface Row {
  readonly id: string
  readonly change: number
}
/** Ids to copy because the copy lacks their current version, and ids to remove because only the copy has them. */
export const differenceOf = (
  old: ReadonlyArray<Row>,
  copy: ReadonlyArray<Row>
): { readonly copied: ReadonlyArray<string>; readonly removed: ReadonlyArray<string> } => {
  const had = new Map(copy.map(({ id, change }) => [id, change]))
  const has = new Set(old.map(({ id }) => id))
  return {
    copied: old.filter(({ id, change }) => had.get(id) !== change).map(({ id }) => id),
    removed: copy.filter(({ id }) => !has.has(id)).map(({ id }) => id)
  }
}

/** Insertion numbers per range; if sums differ, a few hundred documents are compared one by one. */
const RANGE_MIN = 500,
  RANGE_MAX = 10_000,
  RANGES = 5_000
export const rangeOf = (lastSeq: number): number =>
  Math.min(RANGE_MAX, Math.max(RANGE_MIN, Math.ceil((lastSeq + 1) / RANGES)))

/** Whether a collection is too large for the index that it shares. */
export const isToBePromoted = (
  { isGone, move, placement }: CollectionRecord,
  documents: number,
  most: number
): boolean => !isGone && move === undefined && placement.kind === "pool" && documents > most
