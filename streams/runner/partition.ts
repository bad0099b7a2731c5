/**
 * What a partition keeps across restarts: which entries cannot be counted, which dead letters have been sent, the
 * flush mode, and the counters that are reported.
 */
import { Effect } from "effect"
import type { EventLog } from "@dowser/log/event-log/event-log"
import { encodeRecord } from "@dowser/log/record"
import { deadLettersOf, type Topic } from "@dowser/log/topics"
import type { OffsetStore } from "../offsets/offset-store.ts"
import type { Positions } from "../state/state.ts"
import type { RunnerOptions } from "./options.ts"
import type { Place, Processor } from "../processor/processor.ts"
import { type FlushMode, NORMAL } from "../reading/refusal.ts"
import { placeKey } from "../reading/skipped.ts"
import { backoff } from "../reading/until-answered.ts"

/** What is appended to `<topic>.dlq`. */
export interface Letter {
  readonly topic: Topic
  readonly place: Place
  readonly organizationId: string
  readonly reason: string
  readonly body: unknown
  /**
   * If true, the state never saw the entry, so a replay must not either. Otherwise its step made it a dead letter, and
   * will again.
   */
  readonly isSkipped: boolean
}

/** Logs every failed attempt of an endless retry. */
export const logged =
  (what: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapError(effect, (error) => Effect.logError(`${what}; tried again until it works`, error))

/** Whether the offsets have passed a place (`placeKey`). */
const isPassed = (key: string, committed: Positions): boolean => {
  const [topic, offset] = key.split("/")
  return Number(offset) < (committed[topic!] ?? 0)
}

export class Partition<Body, State, Emitted, Sink> {
  readonly processor: Processor<Body, State, Emitted, Sink>
  readonly options: RunnerOptions
  readonly log: EventLog["Service"]
  readonly offsets: OffsetStore["Service"]
  readonly unit: { readonly group: string; readonly partition: number }
  readonly topics: ReadonlyMap<string, Topic>
  readonly counters = { entries: 0, dropped: 0, deadLetters: 0, restarts: 0, lost: 0, flushes: 0, flush_s: 0 }
  /** Number of times that the step threw at each place. */
  readonly throws = new Map<string, number>()
  /** Reasons for entries that Postgres refused, until the transaction that passes them has stored those. */
  readonly refused = new Map<string, string>()
  /** Dead letters appended for a batch whose commit was not confirmed: they are not sent again when it is retried. */
  readonly #sent = new Set<string>()
  flushMode: FlushMode = NORMAL

  constructor(
    processor: Processor<Body, State, Emitted, Sink>,
    options: RunnerOptions,
    log: EventLog["Service"],
    offsets: OffsetStore["Service"]
  ) {
    this.processor = processor
    this.options = options
    this.log = log
    this.offsets = offsets
    this.unit = { group: processor.name, partition: options.partition }
    this.topics = new Map(processor.inputs.map((topic) => [topic.name, topic]))
  }

  /** Forgets what the offsets have passed: entries in a commit whose answer was lost are not retried. */
  forgetPassed(committed: Positions): void {
    for (const key of this.#sent) if (isPassed(key, committed)) this.#sent.delete(key)
    for (const key of this.refused.keys()) if (isPassed(key, committed)) this.refused.delete(key)
  }
  /** Called when the offsets have passed these letters. */
  settled(letters: ReadonlyArray<Letter>): void {
    for (const { place } of letters) {
      this.#sent.delete(placeKey(place))
      this.refused.delete(placeKey(place))
    }
  }

  /** Appends a dead letter once, retrying until that succeeds. */
  sendDeadLetter({ body, organizationId, place, reason, topic }: Letter) {
    const { group, partition } = this.unit
    const key = placeKey(place)
    const append = Effect.suspend(() => {
      if (this.#sent.has(key)) return Effect.void
      const value = encodeRecord({
        schema_version: 1,
        organization_id: organizationId,
        occurred_at: place.appendedAt,
        payload: { group, partition, topic: place.topic, offset: place.offset, index: place.index, reason, body }
      })
      return Effect.tap(this.log.append([{ topic: deadLettersOf(topic).name, partition: 0, key, value }]), () =>
        Effect.sync(() => {
          this.counters.deadLetters++
          this.#sent.add(key)
        })
      )
    })
    return append.pipe(logged("A dead letter could not be appended"), Effect.retry(backoff), Effect.asVoid)
  }
}
