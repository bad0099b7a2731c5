/** What a running partition does next once everything it fetched is stepped. Pure, so that each case can be tested. */

/** How much the last read of the log returned. */
export interface Came {
  readonly any: boolean
  /** Whether it returned so much that the log may have more. */
  readonly much: boolean
}

export interface Standing {
  /** Records stepped since the last flush. */
  readonly records: number
  /** Maximum number of records of one flush (`refusal.ts`). */
  readonly recordsMax: number
  /** Enough emissions have accumulated, or the last flush was long ago, or the state has grown large. */
  readonly isFlushDue: boolean
  /** Nothing more can be fetched before a flush. */
  readonly isFull: boolean
  readonly came: Came
  /** Remaining pause between two flushes; 0 for none. */
  readonly pause_ms: number
}

/**
 * `continue`: fetch more. `look`: fetch more if the log has more, else flush. `gather`: wait for records that arrive
 * during the pause, then fetch. `flush`: write what there is, if anything.
 */
type Move = "continue" | "look" | "gather" | "flush"

/**
 * More is waiting, or may arrive: one larger transaction is cheaper than two, and the bounds keep figures fresh and
 * memory small.
 */
export const nextMove = ({ came, isFlushDue, isFull, pause_ms, records, recordsMax }: Standing): Move => {
  if (records === 0 || records >= recordsMax || isFlushDue || isFull) return "flush"
  if (pause_ms > 0) return came.any && came.much ? "continue" : "gather"
  return came.any ? "look" : "flush"
}
