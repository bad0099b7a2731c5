/** Entries of one record and organization in a mailbox, and the place of the one that is being stepped. */
import type { LogRecord } from "@dowser/log/event-log/event-log"
import type { Entries, Place } from "../processor/processor.ts"

/**
 * Entries have no objects of their own, most of which the garbage collector would copy before they die; this one object
 * moves from one entry to the next.
 */
export class Delivered<Body> implements Place {
  readonly topic: string
  readonly offset: number
  readonly appendedAt: number
  readonly cost: number
  readonly organizationId: string
  readonly entries: Entries<Body>
  /** Which entries of the record these are; undefined for all. */
  readonly #indexes: ReadonlyArray<number> | undefined
  index = 0

  constructor(
    { appendedAt, offset }: LogRecord,
    topic: string,
    cost: number,
    organizationId: string,
    entries: Entries<Body>,
    indexes: ReadonlyArray<number> | undefined
  ) {
    this.topic = topic
    this.offset = offset
    this.appendedAt = appendedAt
    this.cost = cost
    this.organizationId = organizationId
    this.entries = entries
    this.#indexes = indexes
  }
  /** Whether the numbers of entries are the record's own indexes. */
  get isWhole(): boolean {
    return this.#indexes === undefined
  }
  get length(): number {
    return this.#indexes === undefined ? this.entries.length : this.#indexes.length
  }
  /** Moves to the entry with this number. */
  moveTo(number: number): void {
    this.index = this.#indexes === undefined ? number : this.#indexes[number]!
  }
  /** The place of the current entry, which may be kept. */
  get place(): Place {
    const { appendedAt, index, offset, topic } = this
    return { topic, offset, index, appendedAt }
  }
}
