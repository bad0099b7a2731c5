/** Entries of one record and organization in a mailbox, and the place of the one that is stepped. */
import type { LogRecord } from "@dowser/log/event-log/event-log"
import type { Entries, Place } from "../processor/processor.ts"

/**
 * Entries have no object of their own, of which the collector would copy most before it is over: this one is moved from
 * one to the next.
 */
export class Delivered<Body> implements Place {
  readonly topic: string
  readonly offset: number
  readonly appendedAt: number
  readonly cost: number
  readonly organizationId: string
  readonly entries: Entries<Body>
  /** Those in the record that these are; undefined for all. */
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
  /** Its numbers are the record's. */
  get isWhole(): boolean {
    return this.#indexes === undefined
  }
  get length(): number {
    return this.#indexes === undefined ? this.entries.length : this.#indexes.length
  }
  /** Makes it the place of the entry with this number. */
  moveTo(number: number): void {
    this.index = this.#indexes === undefined ? number : this.#indexes[number]!
  }
  /** Of the entry it stands at, for good. */
  get place(): Place {
    const { appendedAt, index, offset, topic } = this
    return { topic, offset, index, appendedAt }
  }
}
