/**
 * Mailboxes of actors: one per key, bounded together, sequential within a key and fair between keys by weighted deficit
 * round robin: a key that has something waiting gets credit for `TURN_MAX` times its weight each round and spends an
 * entry's cost on each entry, so that one organization's burst delays the others by its share and not by its size. An
 * empty mailbox does not exist: an idle actor costs nothing here, and saves no credit.
 */

/** Entries of one turn at most, whatever the weight: between turns the runner looks at its clock. */
export const TURN_MAX = 256

export const WEIGHT_MIN = 0.01
export const WEIGHT_MAX = 100
export const WEIGHT_DEFAULT = 1

export interface MailboxOptions<Entry> {
  /** Over all keys: past it `deliver` refuses and the runner stops fetching. */
  readonly entriesMax: number
  /** Of a key, from `WEIGHT_MIN` to `WEIGHT_MAX`; 1 when absent. */
  readonly weightOf?: (key: string) => number
  /** At least 1, about how much dearer than a small entry this one is; 1 when absent. */
  readonly costOf?: (entry: Entry) => number
}

interface Box<Entry> {
  readonly entries: Array<Entry>
  taken: number
  /** Cost that it may still take this round; below 0 when an entry cost more than was left. */
  credit: number
}

export class Mailboxes<Entry> {
  readonly #options: MailboxOptions<Entry>
  /** The first is the one whose round it is. */
  readonly #boxes = new Map<string, Box<Entry>>()
  #size = 0

  constructor(options: MailboxOptions<Entry>) {
    this.#options = options
  }

  get size(): number {
    return this.#size
  }
  get isFull(): boolean {
    return this.#size >= this.#options.entriesMax
  }

  /** False, and nothing delivered, when the mailboxes are full. */
  deliver(key: string, entry: Entry): boolean {
    if (this.isFull) return false
    const box = this.#boxes.get(key)
    if (box === undefined) this.#boxes.set(key, { entries: [entry], taken: 0, credit: this.#quantum(key) })
    else box.entries.push(entry)
    this.#size++
    return true
  }

  #quantum(key: string): number {
    return TURN_MAX * Math.min(WEIGHT_MAX, Math.max(WEIGHT_MIN, this.#options.weightOf?.(key) ?? WEIGHT_DEFAULT))
  }

  /** The next turn, a key's oldest entries first; undefined when nothing waits. O(entries of the turn + keys whose debt is paid off first). */
  takeTurn(): { readonly key: string; readonly entries: ReadonlyArray<Entry> } | undefined {
    for (const [key, box] of this.#boxes) {
      const { costOf } = this.#options
      const from = box.taken
      const until = Math.min(box.entries.length, from + TURN_MAX)
      let to = from
      for (; to < until && box.credit > 0; to++) box.credit -= costOf === undefined ? 1 : costOf(box.entries[to]!)
      const entries = box.entries.slice(from, to)
      box.taken = to
      this.#size -= entries.length
      if (to === box.entries.length) this.#boxes.delete(key)
      else if (box.credit <= 0) {
        // To the end of the round: a Map keeps insertion order, and goes on to what is set again while it is walked.
        this.#boxes.delete(key)
        box.credit += this.#quantum(key)
        this.#boxes.set(key, box)
      }
      if (entries.length > 0) return { key, entries }
    }
    return undefined
  }

  clear(): void {
    this.#boxes.clear()
    this.#size = 0
  }
}
