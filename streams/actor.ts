/**
 * Mailboxes of actors: one per key, bounded together, sequential within a key and fair between keys. An actor that has
 * much waiting gets a turn of at most `TURN_MAX` entries before the next key has one, so that one organization's burst
 * delays the others by a turn and not by the burst. An empty mailbox does not exist: an idle actor costs nothing here.
 */

export const TURN_MAX = 256

export class Mailboxes<Entry> {
  readonly #entriesMax: number
  readonly #boxes = new Map<string, { entries: Array<Entry>; taken: number }>()
  #size = 0

  /** `entriesMax` over all keys: past it `deliver` refuses and the runner stops fetching. */
  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax
  }

  get size(): number {
    return this.#size
  }
  get isFull(): boolean {
    return this.#size >= this.#entriesMax
  }

  /** False, and nothing delivered, when the mailboxes are full. */
  deliver(key: string, entry: Entry): boolean {
    if (this.isFull) return false
    const box = this.#boxes.get(key)
    if (box === undefined) this.#boxes.set(key, { entries: [entry], taken: 0 })
    else box.entries.push(entry)
    this.#size++
    return true
  }

  /** The next key's turn, its oldest entries first; undefined when nothing waits. O(entries of the turn). */
  takeTurn(): { readonly key: string; readonly entries: ReadonlyArray<Entry> } | undefined {
    for (const [key, box] of this.#boxes) {
      const entries = box.entries.slice(box.taken, box.taken + TURN_MAX)
      box.taken += entries.length
      this.#size -= entries.length
      // Back to the end of the round, or gone: a Map keeps insertion order.
      this.#boxes.delete(key)
      if (box.taken < box.entries.length) this.#boxes.set(key, box)
      return { key, entries }
    }
    return undefined
  }

  clear(): void {
    this.#boxes.clear()
    this.#size = 0
  }
}
