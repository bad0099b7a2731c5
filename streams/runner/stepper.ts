/**
 * What a partition holds between fetching and flushing, and how that is stepped: records are delivered to mailboxes
 * by organization, mailboxes are stepped in fair turns, and the results wait for the flush. Entirely synchronous.
 */
import { Data } from "effect"
import type { LogRecord } from "@dowser/log/event-log/event-log"
import { openRecord } from "@dowser/log/record"
import type { Topic } from "@dowser/log/topics"
import type { Erasures } from "../erasure/erasures.ts"
import { Mailboxes } from "./actor.ts"
import { Delivered } from "./delivered.ts"
import { deadLetter, type Outcome } from "../processor/outcome.ts"
import type { Letter, Partition } from "./partition.ts"
import type { Entries, Place } from "../processor/processor.ts"
import { placeKey, type Skipped, WHOLE_RECORD } from "../reading/skipped.ts"

const ENTRIES_MAX = 50_000
/** Bytes of a common event in its record; larger ones are charged in proportion. */
const BYTES_PER_COST = 512
const THROWS_MAX = 2

export class StepFailed extends Data.TaggedError("StepFailed")<{ readonly place: string; readonly cause: unknown }> {}

export class Stepper<Body, State, Emitted, Sink> {
  readonly #partition: Partition<Body, State, Emitted, Sink>
  readonly #state: State
  /** Reasons by place, for entries that the group skips. */
  readonly #skipped: Map<string, string>
  readonly mailboxes: Mailboxes<Delivered<Body>>
  erasures: Erasures
  emitted: Emitted
  letters: Array<Letter> = []
  readonly redirects: Array<{ readonly topic: string; readonly partition: number; readonly value: Uint8Array }> = []
  /** Records taken since the last flush, and the last of them. */
  records = 0
  lastRecord = ""
  #aheadFailure: unknown

  constructor(
    partition: Partition<Body, State, Emitted, Sink>,
    state: State,
    skipped: Map<string, string>,
    erasures: Erasures
  ) {
    const { options, processor } = partition
    this.#partition = partition
    this.#state = state
    this.#skipped = skipped
    this.erasures = erasures
    this.emitted = processor.newEmitted(state)
    this.mailboxes = new Mailboxes<Delivered<Body>>({
      entriesMax: options.entriesMax ?? ENTRIES_MAX,
      weightOf: options.weightOf
    })
  }

  skipReasonOf(key: string): string | undefined {
    const { refused } = this.#partition
    return this.#skipped.size + refused.size === 0 ? undefined : (this.#skipped.get(key) ?? refused.get(key))
  }

  /** Delivers a record's entries to their mailboxes, except those that are erased or skipped. */
  deliver(topic: Topic, logged: LogRecord): void {
    const { appendedAt, offset, value } = logged
    let organizationId = ""
    let entries: Entries<Body>
    let hidden: ReadonlySet<number> | undefined
    const whole = { topic: topic.name, offset, index: WHOLE_RECORD, appendedAt }
    const giveUp = (reason: string) =>
      void this.letters.push({ topic, place: whole, organizationId, reason, body: value, isSkipped: true })
    this.records++
    this.lastRecord = `${topic.name}/${offset}`
    try {
      const envelope = openRecord(value)
      organizationId = envelope.organization_id
      const reason = this.skipReasonOf(placeKey(whole))
      if (reason !== undefined) return giveUp(reason)
      entries = this.#partition.processor.entriesOf(topic.name, envelope)
      if (!this.erasures.isEmpty)
        hidden = this.erasures.hiddenIn(topic.name, this.#partition.unit.partition, offset, envelope)
    } catch (error) {
      return giveUp(`unreadable record: ${String(error)}`)
    }
    // The cost depends on the bytes: stepping and writing a purchase of a hundred items takes longer than a view.
    const cost = Math.max(1, value.length / entries.length / BYTES_PER_COST)
    if (entries.key !== undefined && hidden === undefined)
      return this.#put(new Delivered(logged, topic.name, cost, entries.key, entries, undefined))
    const byKey = new Map<string, Array<number>>()
    for (let index = 0; index < entries.length; index++) {
      const key = entries.keyAt(index)
      if (key === undefined || (hidden !== undefined && hidden.has(index))) continue
      const indexes = byKey.get(key)
      if (indexes === undefined) byKey.set(key, [index])
      else indexes.push(index)
    }
    for (const [key, indexes] of byKey) this.#put(new Delivered(logged, topic.name, cost, key, entries, indexes))
  }
  #put(batch: Delivered<Body>): void {
    if (this.mailboxes.deliver(batch.organizationId, batch)) return
    // The mailboxes are full, so they are stepped first. A record has the entries of one request or some 500, so this
    // is rare.
    while (this.mailboxes.takeTurn(this.#stepRange)) {
      // Repeats until nothing is waiting.
    }
    this.mailboxes.deliver(batch.organizationId, batch)
  }

  #settle(outcome: Outcome, delivered: Delivered<Body>, isSkipped = false): void {
    const { counters, topics } = this.#partition
    counters.entries++
    if (outcome.kind === "drop") counters.dropped++
    else if (outcome.kind === "dead_letter") {
      this.letters.push({
        topic: topics.get(delivered.topic)!,
        place: delivered.place,
        organizationId: delivered.organizationId,
        reason: outcome.reason,
        body: delivered.entries.keptAt(delivered.index),
        isSkipped
      })
    }
  }

  /** Steps the current entry of `delivered`. Throws StepFailed if the step throws. */
  #stepOne(delivered: Delivered<Body>): void {
    const { processor, refused, throws } = this.#partition
    const failures = throws.size === 0 ? 0 : (throws.get(placeKey(delivered)) ?? 0)
    if (failures >= THROWS_MAX) return this.#settle(deadLetter("the step keeps failing on this entry"), delivered, true)
    const reason = this.#skipped.size + refused.size === 0 ? undefined : this.skipReasonOf(placeKey(delivered))
    if (reason !== undefined) return this.#settle(deadLetter(reason), delivered, true)
    let outcome: Outcome
    try {
      outcome = processor.step(this.#state, delivered.entries.bodyAt(delivered.index), delivered, this.emitted)
    } catch (cause) {
      const key = placeKey(delivered)
      throws.set(key, failures + 1)
      throw new StepFailed({ place: key, cause })
    }
    if (outcome.kind === "redirect") this.redirects.push(outcome)
    this.#settle(outcome, delivered)
  }

  #lookAhead(entries: Entries<Body>, from: number, to: number): void {
    try {
      this.#partition.processor.ahead?.(this.#state, entries, from, to)
    } catch (error) {
      // An entry with unreadable bytes fails, with its place, when it is stepped. Logged in any case.
      this.#aheadFailure ??= error
    }
  }
  readonly #stepRange = (delivered: Delivered<Body>, from: number, to: number): void => {
    if (delivered.isWhole) this.#lookAhead(delivered.entries, from, to)
    for (let number = from; number < to; number++) {
      delivered.moveTo(number)
      this.#stepOne(delivered)
    }
  }

  /** Steps until the mailboxes are empty or `isOver` returns true; returns true if they are empty. */
  stepSlice(isOver: () => boolean): boolean {
    for (;;) {
      if (!this.mailboxes.takeTurn(this.#stepRange)) return true
      if (isOver()) return this.mailboxes.size === 0
    }
  }
  /** Returns and resets the error with which looking ahead failed, if it did. */
  takeAheadFailure(): unknown {
    const failure = this.#aheadFailure
    this.#aheadFailure = undefined
    return failure
  }

  /** Steps everything that is waiting, each entry with emissions of its own. */
  stepApart(): ReadonlyArray<{ readonly place: Place; readonly emitted: Emitted }> {
    const parts: Array<{ readonly place: Place; readonly emitted: Emitted }> = []
    const stepRange = (delivered: Delivered<Body>, from: number, to: number): void => {
      for (let number = from; number < to; number++) {
        this.emitted = this.#partition.processor.newEmitted(this.#state)
        delivered.moveTo(number)
        this.#stepOne(delivered)
        parts.push({ place: delivered.place, emitted: this.emitted })
      }
    }
    while (this.mailboxes.takeTurn(stepRange)) {
      // Steps the entire record.
    }
    return parts
  }

  /** Places that the group skips from the next flush on. */
  get passed(): ReadonlyArray<Skipped> {
    return this.letters
      .filter(({ isSkipped }) => isSkipped)
      .map(({ place: { index, offset, topic }, reason }) => ({ topic, offset, index, reason }))
  }
  /** Called when everything that was stepped is written. Returns the number of instants or rows written. */
  flushed(passed: ReadonlyArray<Skipped>): number {
    this.#partition.settled(this.letters)
    // A later reader of these places skips them as well.
    for (const place of passed) this.#skipped.set(placeKey(place), place.reason)
    const size = this.#partition.processor.sizeOf(this.emitted)
    this.discard()
    return size
  }
  /** Discards the results of what was stepped: only the state continues. */
  discard(): void {
    this.letters = []
    this.redirects.length = 0
    this.emitted = this.#partition.processor.newEmitted(this.#state, this.emitted)
    this.records = 0
  }
}
