/**
 * Mailboxes of actors: one per key, bounded together, sequential within a key and fair between keys by weighted deficit
 * round robin. A key with waiting entries gets credit for `TURN_MAX` times its weight each round and spends an entry's
 * cost on each entry, so that one organization's burst delays the others by its share and not by its size. Empty
 * mailboxes do not exist: an idle actor costs nothing and saves no credit. Mailboxes hold batches, a key's entries of
 * one record, so that a waiting entry costs nothing either.
 */

/** Maximum number of entries of one turn, whatever the weight: the runner checks its clock between turns. */
export const TURN_MAX = 256

export const WEIGHT_MIN = 0.01
export const WEIGHT_MAX = 100
export const WEIGHT_DEFAULT = 1

/** Entries of one key that cost the same. */
interface Batch {
  readonly length: number
  /** Cost of an entry; at least 1, roughly its cost relative to a small entry. */
  readonly cost: number
}

interface MailboxOptions {
  /** Maximum number of entries over all keys. Beyond it a batch is refused unless nothing waits, and fetching stops. */
  readonly entriesMax: number
  /** Weight of a key, from `WEIGHT_MIN` to `WEIGHT_MAX`; 1 when absent. */
  readonly weightOf?: (key: string) => number
}

interface Box<B> {
  readonly batches: Array<B>
  /** Batches that are completely taken, and entries taken of the next one. */
  done: number
  taken: number
  /** Cost that it may still take this round; below 0 if an entry cost more than was left. */
  credit: number
}

export class Mailboxes<B extends Batch> {
  readonly #options: MailboxOptions
  /** The first box is the one whose turn it is. */
  readonly #boxes = new Map<string, Box<B>>()
  #size = 0

  constructor(options: MailboxOptions) {
    this.#options = options
  }

  /** Number of waiting entries. */
  get size(): number {
    return this.#size
  }
  get isFull(): boolean {
    return this.#size >= this.#options.entriesMax
  }

  /** Returns false, delivering nothing, if it does not fit with what is waiting. */
  deliver(key: string, batch: B): boolean {
    if (batch.length === 0) return true
    if (this.#size > 0 && this.#size + batch.length > this.#options.entriesMax) return false
    const box = this.#boxes.get(key)
    if (box === undefined) this.#boxes.set(key, { batches: [batch], done: 0, taken: 0, credit: this.#quantum(key) })
    else box.batches.push(batch)
    this.#size += batch.length
    return true
  }

  #quantum(key: string): number {
    return TURN_MAX * Math.min(WEIGHT_MAX, Math.max(WEIGHT_MIN, this.#options.weightOf?.(key) ?? WEIGHT_DEFAULT))
  }

  /**
   * Takes the next turn, a key's oldest entries first, at most `TURN_MAX`: `take` is called with each batch and the
   * range of its entries to step. False if nothing waits. O(batches of the turn + keys whose debt is paid off first).
   */
  takeTurn(take: (batch: B, from: number, to: number) => void): boolean {
    for (const [key, box] of this.#boxes) {
      let left = TURN_MAX
      while (left > 0 && box.credit > 0 && box.done < box.batches.length) {
        const batch = box.batches[box.done]!,
          from = box.taken
        const count = Math.min(left, batch.length - from, Math.ceil(box.credit / batch.cost)),
          to = from + count
        box.credit -= count * batch.cost
        left -= count
        this.#size -= count
        if (to === batch.length) {
          box.done++
          box.taken = 0
        } else box.taken = to
        take(batch, from, to)
      }
      if (box.done === box.batches.length) {
        this.#boxes.delete(key)
        // A Map's former tables may keep removed entries alive until a full collection (`ARCHITECTURE.md`).
        box.batches.length = 0
      } else if (box.credit <= 0) {
        // Moved to the end of the round: a Map keeps insertion order, and iteration reaches entries added during it.
        this.#boxes.delete(key)
        box.credit += this.#quantum(key)
        this.#boxes.set(key, box)
      }
      if (left < TURN_MAX) return true
    }
    return false
  }

  clear(): void {
    this.#boxes.clear()
    this.#size = 0
  }
}
