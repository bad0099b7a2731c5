/**
 * The shadow of one partition: the processor over the log from its start, for a single organization, with a state of
 * its own and emissions that are written to the shadow tables. It never passes what the group has committed, so that
 * once it gets there, its state and its rows are what the partition itself would have if it counted everything again
 * today.
 *
 * It skips what the partition skipped (dead letters, entries that Postgres refused), and what is erased. Holds in
 * memory: one read of each topic, emissions up to EMITTED_MAX, and state as bounded by the processor between snapshots.
 */
import { Clock, Data, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { EventLog, type EventLogUnavailable, type LogRecord } from "@dowser/log/event-log/event-log"
import type { Erasures } from "../erasure/erasures.ts"
import { fetchInto } from "../reading/fetch.ts"
import { Intake } from "../reading/intake.ts"
import type { Entries, Processor, Rebuilding } from "../processor/processor.ts"
import { openRecord, type Envelope } from "@dowser/log/record"
import { placeKey, WHOLE_RECORD } from "../reading/skipped.ts"
import type { Positions, StateStore } from "../state/state.ts"
import type { Run } from "./runs.ts"

/** Bounds one write to the shadow tables, for which the partition waits: some tenths of a second. */
const EMITTED_MAX = 8_000
const SNAPSHOT_ENTRIES_MAX = 50_000

/** The replay cannot succeed: reported to its requester. */
export class ShadowFailed extends Data.TaggedError("ShadowFailed")<{
  readonly message: string
  /** Place of the entry on which the step threw. */ readonly place: string
}> {}

interface ShadowOptions<Body, State, Emitted, Sink> {
  readonly processor: Processor<Body, State, Emitted, Sink>
  readonly rebuilding: Rebuilding<State, Emitted>
  readonly run: Run
  readonly partition: number
  /** Id of its rows in the shadow tables; never used twice. */ readonly name: string
  readonly store: StateStore
  readonly erasures: Erasures
  readonly isSkipped: (place: string) => boolean
}

export class Shadow<Body, State, Emitted, Sink> {
  readonly #options: ShadowOptions<Body, State, Emitted, Sink>
  readonly #log: EventLog["Service"]
  readonly #clock: Clock.Clock
  readonly #state: State
  readonly #intake: Intake
  #emitted: Emitted
  #entriesAtSnapshot = 0
  /** Entries stepped, and records read. */
  entries = 0
  recordsDone = 0

  /** The store must be empty. */
  constructor(options: ShadowOptions<Body, State, Emitted, Sink>, log: EventLog["Service"], clock: Clock.Clock) {
    const { processor, store } = options
    this.#options = options
    this.#log = log
    this.#clock = clock
    this.#state = processor.open(store)
    this.#emitted = processor.newEmitted(this.#state)
    this.#intake = new Intake(
      processor.inputs.map((topic) => topic.name),
      {}
    )
  }

  get run(): Run {
    return this.#options.run
  }
  get name(): string {
    return this.#options.name
  }
  get store(): StateStore {
    return this.#options.store
  }
  get erasures(): Erasures {
    return this.#options.erasures
  }

  /** Steps the organization's entries of a record, except those that are skipped or erased. Throws ShadowFailed. */
  #deliver(topic: string, { appendedAt, key: owner, offset, value }: LogRecord): void {
    const {
      erasures,
      isSkipped,
      partition,
      processor,
      run: { organizationId }
    } = this.#options
    this.recordsDone++
    // Records of a single organization have it as their key; those of others need not be decoded.
    if (owner !== undefined && owner !== organizationId) return
    if (isSkipped(placeKey({ topic, offset, index: WHOLE_RECORD }))) return
    let envelope: Envelope<unknown>
    let all: Entries<Body>
    try {
      envelope = openRecord(value)
      all = processor.entriesOf(topic, envelope)
    } catch {
      // It became a dead letter when it was first read.
      return
    }
    const hidden = erasures.hiddenIn(topic, partition, offset, envelope)
    for (let index = 0; index < all.length; index++) {
      if (all.keyAt(index) !== organizationId || hidden?.has(index) === true) continue
      const place = { topic, offset, index, appendedAt }
      if (isSkipped(placeKey(place))) continue
      try {
        processor.step(this.#state, all.bodyAt(index), place, this.#emitted)
      } catch (cause) {
        throw new ShadowFailed({
          place: placeKey(place),
          message: `entry ${placeKey(place)} cannot be counted: ${String(cause)}`
        })
      }
      this.entries++
    }
  }

  isAt(positions: Positions): boolean {
    const { reached } = this.#intake
    return this.#options.processor.inputs.every((topic) => (reached[topic.name] ?? 0) >= (positions[topic.name] ?? 0))
  }

  /** Reads once and steps as much of that as possible until `until` (ms), up to `limits`; at least one record. */
  advance(limits: Positions, until: number): Effect.Effect<void, ShadowFailed | EventLogUnavailable> {
    const { partition, processor } = this.#options
    const mayGoOn = () => this.#clock.currentTimeMillisUnsafe() < until && processor.sizeOf(this.#emitted) < EMITTED_MAX
    return Effect.gen({ self: this }, function* () {
      yield* fetchInto(this.#log, this.#intake, processor.inputs, partition, limits)
      yield* Effect.try({
        try: () => {
          for (
            let taken = this.#intake.take();
            taken !== undefined;
            taken = mayGoOn() ? this.#intake.take() : undefined
          )
            this.#deliver(taken.topic, taken.record)
        },
        catch: (error) => error as ShadowFailed
      })
    })
  }

  get #isStateLarge(): boolean {
    return (
      this.entries - this.#entriesAtSnapshot >= SNAPSHOT_ENTRIES_MAX ||
      this.#options.processor.isLarge?.(this.#state) === true
    )
  }
  /** Whether enough has accumulated for a write and a snapshot. */
  get mustSpill(): boolean {
    return this.#options.processor.sizeOf(this.#emitted) >= EMITTED_MAX || this.#isStateLarge
  }

  /** Adds the emissions to the shadow tables. Call in a transaction, and `written` once that has committed. */
  get write(): Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient> {
    const { name, processor, rebuilding, run } = this.#options
    return Effect.suspend(() =>
      processor.sizeOf(this.#emitted) === 0
        ? Effect.void
        : rebuilding.writeShadow(this.#emitted, run.organizationId, name)
    )
  }
  written(): void {
    this.#emitted = this.#options.processor.newEmitted(this.#state)
  }

  /** Updates the store to the state. */
  readonly snapshot = Effect.suspend(() => {
    const { processor, store } = this.#options
    const taken = processor.snapshot(this.#state, this.#intake.watermark)
    return Effect.promise(async () => {
      await store.commit(taken.writes, this.#intake.reached)
      taken.stored()
      this.#entriesAtSnapshot = this.entries
    })
  })
  /** Like `snapshot`, if there is enough to free from memory. */
  readonly snapshotIfLarge = Effect.suspend(() => (this.#isStateLarge ? this.snapshot : Effect.void))
}

export const openShadow = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  options: ShadowOptions<Body, State, Emitted, Sink>
) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  // An earlier run that ended abruptly may have left its state.
  yield* Effect.promise(() => options.store.clear())
  return new Shadow(options, log, clock)
})
