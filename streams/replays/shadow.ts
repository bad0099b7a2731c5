/**
 * The shadow of one partition: the processor over the log from its start, for one organization alone, with a state of
 * its own and emissions that go to the shadow tables. It never passes what the group has committed, so that once it
 * stands there too, its state and its rows are what the partition itself would have, had it counted everything anew
 * today.
 *
 * It steps over what the partition stepped over (dead letters, entries that Postgres refused), and over what is erased.
 * Holds in memory: one read of each topic, emissions up to EMITTED_MAX, state as the processor bounds it between
 * snapshots.
 */
import { Clock, Data, Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { EventLog, type EventLogUnavailable, type LogRecord } from "@dowser/log/event-log/event-log"
import type { Erasures } from "../erasure/erasures.ts"
import { fetchInto } from "../runner/fetch.ts"
import { Intake } from "../runner/intake.ts"
import type { Processor, Rebuilding } from "../runner/processor.ts"
import { openRecord, type Envelope } from "@dowser/log/record"
import { placeKey, WHOLE_RECORD } from "../runner/skipped.ts"
import type { Positions, StateStore } from "../state/state.ts"
import type { Run } from "./runs.ts"

/** Of one write to the shadow tables, for which the partition waits: some tenths of a second. */
const EMITTED_MAX = 8_000
const SNAPSHOT_ENTRIES_MAX = 50_000

/** The replay cannot end well: told to whoever asked for it. */
export class ShadowFailed extends Data.TaggedError("ShadowFailed")<{
  readonly message: string
  /** Of the entry that the step throws on. */ readonly place: string
}> {}

export interface ShadowOptions<Body, State, Emitted, Sink> {
  readonly processor: Processor<Body, State, Emitted, Sink>
  readonly rebuilding: Rebuilding<State, Emitted>
  readonly run: Run
  readonly partition: number
  /** Of its rows in the shadow tables; of no other life. */ readonly name: string
  readonly store: StateStore
  readonly erasures: Erasures
  readonly isSkipped: (place: string) => boolean
}

export interface Shadow {
  readonly run: Run
  readonly name: string
  readonly store: StateStore
  readonly erasures: Erasures
  readonly entries: () => number
  readonly recordsDone: () => number
  readonly isAt: (positions: Positions) => boolean
  /** One read and what can be stepped of it until `until` (ms), up to `limits`; at least one record. */
  readonly advance: (limits: Positions, until: number) => Effect.Effect<void, ShadowFailed | EventLogUnavailable>
  /** Enough has come together for a write and a snapshot. */
  readonly mustSpill: () => boolean
  /** Adds the emissions to the shadow tables. Inside a transaction; `written` once that has committed. */
  readonly write: Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>
  readonly written: () => void
  /** Brings the store up to the state. */
  readonly snapshot: Effect.Effect<void>
  /** Likewise, when there is enough that memory should let go of. */
  readonly snapshotIfLarge: Effect.Effect<void>
}

export const openShadow = Effect.fnUntraced(function* <Body, State, Emitted, Sink>({
  erasures,
  isSkipped,
  name,
  partition,
  processor,
  rebuilding,
  run,
  store
}: ShadowOptions<Body, State, Emitted, Sink>): Effect.fn.Return<Shadow, never, EventLog> {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const { organizationId } = run
  const { inputs } = processor
  // Left by a life that ended without a word.
  yield* Effect.promise(() => store.clear())
  const state = processor.open(store)
  const intake = new Intake(
    inputs.map((topic) => topic.name),
    {}
  )
  let emitted = processor.newEmitted(state)
  let entries = 0
  let entriesAtSnapshot = 0
  let recordsDone = 0

  const deliver = (topic: string, { appendedAt, key: owner, offset, value }: LogRecord): void => {
    recordsDone++
    // Records of one organization name it; others are not worth decoding.
    if (owner !== undefined && owner !== organizationId) return
    if (isSkipped(placeKey({ topic, offset, index: WHOLE_RECORD }))) return
    let envelope: Envelope<unknown>
    let all: ReturnType<typeof processor.entriesOf>
    try {
      envelope = openRecord(value)
      all = processor.entriesOf(topic, envelope)
    } catch {
      // A dead letter since it was first read.
      return
    }
    const hidden = erasures.hiddenIn(topic, partition, offset, envelope)
    for (let index = 0; index < all.length; index++) {
      if (all.keyAt(index) !== organizationId || hidden?.has(index) === true) continue
      const place = { topic, offset, index, appendedAt }
      if (isSkipped(placeKey(place))) continue
      try {
        processor.step(state, all.bodyAt(index), place, emitted)
      } catch (cause) {
        throw new ShadowFailed({
          place: placeKey(place),
          message: `entry ${placeKey(place)} cannot be counted: ${String(cause)}`
        })
      }
      entries++
    }
  }

  const snapshot = Effect.suspend(() => {
    const taken = processor.snapshot(state, intake.watermark)
    return Effect.promise(async () => {
      await store.commit(taken.writes, intake.reached)
      taken.stored()
      entriesAtSnapshot = entries
    })
  })
  const isStateLarge = () => entries - entriesAtSnapshot >= SNAPSHOT_ENTRIES_MAX || processor.isLarge?.(state) === true

  return {
    run,
    name,
    erasures,
    store,
    entries: () => entries,
    recordsDone: () => recordsDone,
    isAt: (positions: Positions): boolean =>
      inputs.every((topic) => (intake.reached[topic.name] ?? 0) >= (positions[topic.name] ?? 0)),
    advance: Effect.fnUntraced(function* (limits: Positions, until: number) {
      yield* fetchInto(log, intake, inputs, partition, limits)
      yield* Effect.try({
        try: () => {
          for (
            let taken = intake.take();
            taken !== undefined;
            taken =
              clock.currentTimeMillisUnsafe() < until && processor.sizeOf(emitted) < EMITTED_MAX
                ? intake.take()
                : undefined
          )
            deliver(taken.topic, taken.record)
        },
        catch: (error) => error as ShadowFailed
      })
    }),
    mustSpill: () => processor.sizeOf(emitted) >= EMITTED_MAX || isStateLarge(),
    write: Effect.suspend(() =>
      processor.sizeOf(emitted) === 0 ? Effect.void : rebuilding.writeShadow(emitted, organizationId, name)
    ),
    written: () => {
      emitted = processor.newEmitted(state)
    },
    snapshot,
    snapshotIfLarge: Effect.suspend(() => (isStateLarge() ? snapshot : Effect.void))
  }
})
