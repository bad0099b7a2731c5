/**
 * A collection on its way to another placement, as pure decisions over its record. Documents are copied beside the old
 * ones while everybody goes on with those; a fence keeps further writes back while what is left is copied; then one
 * conditional write of the record makes the copy the collection. Whatever ends in between, the record says which of
 * both counts, and what does not count is a leftover.
 *
 *   settled ──begin──> copying ──fence──> fenced ──switch──> settled elsewhere
 *                         └─────────abandon─────────┘  settled where it was
 */
import type { CollectionRecord, Move, Moved } from "./record.ts"
import type { Placement } from "./placement.ts"
import type { SlotTable } from "./slots.ts"
import type { CollectionSchema } from "../schema.ts"

/** What a move consists of, in order; it may end behind each of them without a word. */
export const STEPS = ["make", "begin", "copy", "fence", "catch_up", "switch"] as const
export type Step = (typeof STEPS)[number]

/** Placements that are remembered for writers that come from one of them. */
const MOVED_MAX = 8

export const begunMove = (record: CollectionRecord, move: Omit<Move, "isFenced">): CollectionRecord => ({
  ...record,
  move: { ...move, isFenced: false }
})
export const fencedMove = (record: CollectionRecord, isFenced: boolean): CollectionRecord =>
  record.move === undefined ? record : { ...record, move: { ...record.move, isFenced } }
/** The old placement counts on; what was copied is a leftover. */
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
/** The newest, and all that are not cleared. */
const keptMoves = (moved: ReadonlyArray<Moved>): ReadonlyArray<Moved> =>
  moved.filter(({ isCleared }, i) => !isCleared || i >= moved.length - MOVED_MAX)
export const clearedMove = (record: CollectionRecord, key: string): CollectionRecord => ({
  ...record,
  moved: keptMoves((record.moved ?? []).map((one) => (one.from.key === key ? { ...one, isCleared: true } : one)))
})
export const isMovingTo = ({ move, isGone }: CollectionRecord, key: string): boolean => !isGone && move?.to.key === key

/**
 * What becomes of a change that was made at `from` with this number, by a record that was read after it: it counts, it
 * waits for what a fence decides, it was carried along, or it is to be made again where the collection is now.
 */
type Fate = "counts" | "waits" | "carried" | "again" | "unknown"
export const fateOf = (record: CollectionRecord, from: Placement, number: number): Fate => {
  if (record.placement.key === from.key) return record.move?.isFenced === true ? "waits" : "counts"
  const left = record.moved?.find((one) => one.from.key === from.key)
  return left === undefined ? "unknown" : number <= left.fence ? "carried" : "again"
}

/**
 * Checksum of the documents in a range of insertion numbers: the sum of the numbers and of the changes that made them.
 */
export interface Sums {
  readonly count: number
  readonly seqs: number
  readonly changes: number
}
/** By the first insertion number of each range. */
export type SumsByRange = ReadonlyMap<number, Sums>
/** Ranges that are not alike, in order. */
export const differingRanges = (old: SumsByRange, copy: SumsByRange): number[] =>
  [...new Set([...old.keys(), ...copy.keys()])]
    .filter((range) => {
      const a = old.get(range),
        b = copy.get(range)
      return a?.count !== b?.count || a?.seqs !== b?.seqs || a?.changes !== b?.changes
    })
    .sort((a, b) => a - b)

/** A document by its id, with the number of the change that made it as it is (in a copy: of what was copied). */
export interface Row {
  readonly id: string
  readonly change: number
}
/** The rows missing from a copy, and those it has too many. */
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

/** Insertion numbers of a range: some hundred documents are compared one by one where their sums differ. */
const RANGE_MIN = 500,
  RANGE_MAX = 10_000,
  RANGES = 5_000
export const rangeOf = (lastSeq: number): number =>
  Math.min(RANGE_MAX, Math.max(RANGE_MIN, Math.ceil((lastSeq + 1) / RANGES)))

/** Whether a collection is too large for an index that it shares. */
export const isToBePromoted = (
  { isGone, move, placement }: CollectionRecord,
  documents: number,
  most: number
): boolean => !isGone && move === undefined && placement.kind === "pool" && documents > most
