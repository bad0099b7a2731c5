/**
 * One life of a partition, from restart to failure: its state is restored from the snapshot, catches up with what
 * Postgres has counted, then fetches, steps and flushes until something fails. `runner.ts` decides what follows.
 */
import { Clock, Duration, Effect, type Queue } from "effect"
import type { SqlError } from "effect/sql"
import type { AppendedHint } from "@dowser/log/event-log/event-log"
import { traced } from "@dowser/log/process/traces"
import { commitWith, equalPositions } from "../offsets/offsets.ts"
import { generationOf, generationWrite } from "../shadow/generation.ts"
import { makeTakeover, type ShadowTakeover } from "../shadow/takeover.ts"
import type { Positions, StateStore } from "../state/state.ts"
import { BYTES_PER_FETCH, fetchInto, RECORDS_PER_FETCH } from "../reading/fetch.ts"
import { type Folding, makeFolding } from "./folding.ts"
import { endsOf, isBehind, waitForHint } from "./hints.ts"
import { Intake } from "../reading/intake.ts"
import { isolateRefused } from "./isolating.ts"
import { type Came, nextMove } from "./next-move.ts"
import { logged, type Partition } from "./partition.ts"
import { afterRefusal, afterSuccess, FlushRefused, isRefused, NORMAL, refusalReason } from "../reading/refusal.ts"
import { restore } from "./restore.ts"
import { StepFailed, Stepper } from "./stepper.ts"
import { backoff, untilAnswered } from "../reading/until-answered.ts"

const EMITTED_MAX = 40_000
/**
 * Flushes at least this often, however few rows there are: a flush that waits for a backlog to end delays figures and
 * holds everything it stepped in memory.
 */
const FLUSH_EVERY_MS = 1_000
/**
 * While entries keep arriving, flushes take at most about this share of the time, because many small ones cost more
 * than everything else. A figure waits three fifths of a second for that at most; with little load, when flushes are
 * short, some hundredths of a second.
 */
const FLUSH_SHARE = 1 / 10
const FLUSH_PAUSE_MAX_MS = 600
/**
 * Records that arrive during a pause are read together, because reading the log has a fixed cost too: a request if it
 * is on brokers.
 */
const GATHER_MS = 100
const SNAPSHOT_EVERY_MS = 5_000
/** At most 1 KB of state per entry. An active visit is stored once per this many entries. */
const SNAPSHOT_ENTRIES_MAX = 150_000
/** Hints may be lost; without one the log is polled this often. */
const IDLE_POLL_MS = 1_000
/** How long steps run before messages and timers of the thread get a turn. */
const SLICE_MS = 8

type Restored = Effect.Success<ReturnType<typeof restore>>

class PartitionLife<Body, State, Emitted, Sink> {
  readonly partition: Partition<Body, State, Emitted, Sink>
  readonly #clock: Clock.Clock
  readonly #hints: Queue.Dequeue<AppendedHint>
  readonly #store: StateStore
  readonly #state: State
  readonly #stepper: Stepper<Body, State, Emitted, Sink>
  readonly #intake: Intake
  #takeover: ShadowTakeover<Body, State, Emitted, Sink> | undefined
  #committed: Positions
  #generation: number
  #isReplaying = true
  #snapshotDueAt: number
  #isSnapshotDue = false
  /** Entries settled when the last snapshot was taken. */
  #entriesAtSnapshot: number
  /** Set by the last flush: until when to gather, and when the next flush is due. */
  #pausedUntil = 0
  #flushDueAt = 0
  /** Whether a shadow is being built alongside the regular work. */
  #isLearning = false

  constructor(
    partition: Partition<Body, State, Emitted, Sink>,
    clock: Clock.Clock,
    hints: Queue.Dequeue<AppendedHint>,
    { committed, erasures, generation, skipped, store }: Restored
  ) {
    const { counters, processor } = partition
    this.partition = partition
    this.#clock = clock
    this.#hints = hints
    this.#store = store
    this.#committed = committed
    this.#generation = generation
    this.#state = processor.open(store)
    this.#stepper = new Stepper(partition, this.#state, skipped, erasures)
    this.#intake = new Intake(
      processor.inputs.map(({ name }) => name),
      store.positions() ?? {}
    )
    this.#snapshotDueAt = this.#now
    this.#entriesAtSnapshot = counters.entries
  }

  get #now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }
  #probe(point: "flushed" | "committed" | "snapshot" | "shadowed" | "adopted" | "exchanging"): Effect.Effect<void> {
    return this.partition.options.probe?.(point) ?? Effect.void
  }

  /** Lets replays take over the organization's part of this state (`shadow/takeover.ts`). */
  follow(mirror: Restored["mirror"]) {
    const { options, processor, unit } = this.partition
    return Effect.gen({ self: this }, function* () {
      if (options.replays === undefined) return
      this.#takeover = yield* makeTakeover({
        ...options.replays,
        processor,
        partition: unit.partition,
        fence: options.fence,
        mirror,
        isSkipped: (place) => this.#stepper.skipReasonOf(place) !== undefined,
        probe: (point) => this.#probe(point),
        live: {
          state: this.#state,
          store: this.#store,
          snapshot: (positions) => this.#snapshotAt(positions),
          adopted: (adopted, next) => {
            this.#stepper.erasures = adopted
            this.#generation = next
          }
        }
      })
    })
  }

  /**
   * Reads what is available, at most up to `limits`, and delivers it in order of the log's time. Returns whether
   * anything arrived, and whether it was so much that more may be available.
   */
  #fetch(limits: Positions | undefined) {
    const { counters, log, options, processor, topics, unit } = this.partition
    return Effect.gen({ self: this }, function* () {
      counters.lost += yield* fetchInto(
        log,
        this.#intake,
        processor.inputs,
        unit.partition,
        limits,
        options.recordsPerFetch
      )
      let came = 0,
        bytes = 0
      while (!this.#stepper.mailboxes.isFull && this.#stepper.records < this.partition.flushMode.recordsMax) {
        const taken = this.#intake.take()
        if (taken === undefined) break
        this.#stepper.deliver(topics.get(taken.topic)!, taken.record)
        came++
        bytes += taken.record.value.length
      }
      const much = 2 * came >= (options.recordsPerFetch ?? RECORDS_PER_FETCH) || 2 * bytes >= BYTES_PER_FETCH
      return { any: came > 0, much } satisfies Came
    })
  }

  /** Steps everything that waits, in slices. */
  #runSteps() {
    return Effect.gen({ self: this }, function* () {
      for (;;) {
        const isEmpty = yield* Effect.try({
          try: () => {
            const until = this.#now + SLICE_MS
            return this.#stepper.stepSlice(() => this.#now >= until)
          },
          catch: (error) => error as StepFailed
        })
        const failure = this.#stepper.takeAheadFailure()
        if (failure !== undefined)
          yield* Effect.logWarning(
            `Looking ahead failed in ${this.partition.processor.name}; its entries are stepped without`,
            failure
          )
        if (isEmpty) return
        yield* Effect.sleep(0)
      }
    })
  }

  #report() {
    return Effect.gen({ self: this }, function* () {
      const { counters, log, options, processor, unit } = this.partition
      const ends = yield* endsOf(log, processor.inputs, unit.partition)
      const committed = this.#committed
      const lag = ends.reduce((sum, { endOffset, name }) => sum + Math.max(0, endOffset - (committed[name] ?? 0)), 0)
      options.report?.({ ...unit, committed, lag, ...counters, isReplaying: this.#isReplaying })
    })
  }

  /** Writes what was stepped and moves the offsets past it, in one transaction. */
  #flush() {
    return Effect.gen({ self: this }, function* () {
      const { counters, flushMode, log, offsets, options, processor, unit } = this.partition
      const began = this.#now
      const stepper = this.#stepper
      const target = this.#intake.reached
      yield* this.#probe("flushed")
      const { passed } = stepper
      const write = Effect.gen({ self: this }, function* () {
        yield* offsets.skip(unit, passed)
        if (processor.sizeOf(stepper.emitted) > 0) {
          yield* processor.write(stepper.emitted)
          if (this.#takeover !== undefined) yield* this.#takeover.writeMirrored(stepper.emitted)
        }
        // Sent after Postgres accepted what is counted, but before the offsets pass these entries.
        for (const letter of stepper.letters) yield* this.partition.sendDeadLetter(letter)
        if (stepper.redirects.length > 0)
          yield* log
            .append(stepper.redirects)
            .pipe(logged("Redirected entries could not be appended"), Effect.retry(backoff))
        stepper.redirects.length = 0
      })
      const commit = commitWith(unit.group, unit.partition, this.#committed, target, write, options.fence)
      yield* traced("flush", "consumer", () => this.#placesTo(target), untilAnswered(commit)).pipe(
        Effect.catchIf(
          (error) => error._tag === "SqlError" && isRefused(error),
          (error) => {
            this.partition.flushMode = afterRefusal(stepper.records, stepper.lastRecord)
            const reason = refusalReason(error as SqlError.SqlError)
            return Effect.fail(new FlushRefused({ message: `a flush of ${stepper.records} records: ${reason}` }))
          }
        )
      )
      counters.flushes++
      counters.flush_s += (this.#now - began) / 1_000
      const size = stepper.flushed(passed)
      this.#committed = target
      if (flushMode !== NORMAL) this.partition.flushMode = afterSuccess(flushMode)
      return size
    })
  }

  #placesTo(target: Positions) {
    const { unit } = this.partition
    const places = Object.entries(target).map(
      ([topic, until]) => `${topic}/${unit.partition}:${this.#committed[topic] ?? 0}-${until}`
    )
    return {
      "dowser.processor": unit.group,
      "dowser.records": this.#stepper.records,
      "dowser.log.places": places.join(" ")
    }
  }

  /** Stores the state as of `positions`, up to which everything has been stepped. */
  #snapshotAt(positions: Positions): Effect.Effect<void> {
    const { counters, options, processor } = this.partition
    return Effect.gen({ self: this }, function* () {
      const taken = processor.snapshot(this.#state, this.#intake.watermark)
      const writes =
        generationOf(this.#store) === this.#generation
          ? taken.writes
          : [...taken.writes, generationWrite(this.#generation)]
      yield* Effect.promise(() => this.#store.commit(writes, positions))
      taken.stored()
      this.#entriesAtSnapshot = counters.entries
      this.#snapshotDueAt = this.#now + (options.snapshotEvery_ms ?? SNAPSHOT_EVERY_MS)
      yield* this.#probe("snapshot")
    })
  }
  get #isStateLarge(): boolean {
    const { counters, options, processor } = this.partition
    return (
      counters.entries - this.#entriesAtSnapshot >= (options.snapshotEntriesMax ?? SNAPSHOT_ENTRIES_MAX) ||
      processor.isLarge?.(this.#state) === true
    )
  }

  /** What Postgres has counted is stepped again only to rebuild the state. */
  readonly catchUp = Effect.gen({ self: this }, function* () {
    const { counters, processor } = this.partition
    for (
      let reached = this.#intake.reached;
      processor.inputs.some(({ name }) => (reached[name] ?? 0) < (this.#committed[name] ?? 0));
      reached = this.#intake.reached
    ) {
      yield* this.#fetch(this.#committed)
      yield* this.#runSteps()
      this.#stepper.discard()
      if (!this.#isStateLarge) continue
      yield* this.#snapshotAt(this.#intake.reached)
      yield* this.#report()
    }
    // The partition may restart here several times until the refused entry is found.
    if (this.partition.flushMode !== NORMAL && counters.entries > this.#entriesAtSnapshot)
      yield* this.#snapshotAt(this.#committed)
    this.#isReplaying = false
    yield* this.#report()
  })

  /** Decides after a read of the log whether to fetch again before a flush. */
  #gathers(came: Came) {
    const { flushMode, log, options, processor, unit } = this.partition
    return Effect.gen({ self: this }, function* () {
      const now = this.#now
      const pause_ms = flushMode !== NORMAL || this.#isLearning ? 0 : this.#pausedUntil - now
      const move = nextMove({
        records: this.#stepper.records,
        recordsMax: flushMode.recordsMax,
        isFlushDue:
          processor.sizeOf(this.#stepper.emitted) >= (options.emittedMax ?? EMITTED_MAX) ||
          now >= this.#flushDueAt ||
          this.#isStateLarge,
        isFull: this.#stepper.mailboxes.isFull,
        came,
        pause_ms
      })
      if (move === "look") return yield* isBehind(log, processor.inputs, unit.partition, this.#intake.reached)
      if (move === "gather") {
        const gather_ms = Math.min(GATHER_MS, pause_ms)
        yield* Effect.sleep(gather_ms)
        yield* this.#waitForHint(pause_ms - gather_ms)
      }
      return move !== "flush"
    })
  }
  #waitForHint(atMost_ms: number) {
    const { processor, unit } = this.partition
    return waitForHint(this.#hints, processor.inputs, unit.partition, Duration.millis(atMost_ms))
  }

  /** Flushes if anything was stepped, and takes a snapshot if one is due. */
  #settle(folding: Folding) {
    const { options } = this.partition
    return Effect.gen({ self: this }, function* () {
      if (!equalPositions(this.#intake.reached, this.#committed)) {
        const began = this.#now
        const size = yield* this.#flush()
        yield* folding.wrote(size)
        yield* this.#probe("committed")
        const ended = this.#now
        this.#pausedUntil =
          ended + Math.min(options.flushPauseMax_ms ?? FLUSH_PAUSE_MAX_MS, (ended - began) / FLUSH_SHARE)
        yield* this.#report()
        this.#isSnapshotDue = true
      }
      this.#flushDueAt = this.#now + FLUSH_EVERY_MS
      const isDue = this.partition.flushMode !== NORMAL || this.#isStateLarge || this.#now >= this.#snapshotDueAt
      if (!this.#isSnapshotDue || !isDue) return
      yield* this.#snapshotAt(this.#committed)
      this.#isSnapshotDue = false
    })
  }

  /** The current record was refused alone, so find the entry to blame. Ends the life. */
  #isolate() {
    return Effect.gen({ self: this }, function* () {
      const parts = yield* Effect.try({
        try: () => this.#stepper.stepApart(),
        catch: (error) => error as StepFailed
      })
      yield* isolateRefused(this.partition, parts)
    })
  }

  /** Fetches, steps and flushes until something fails. */
  readonly run = Effect.gen({ self: this }, function* () {
    const folding = yield* makeFolding(this.partition.processor)
    this.#flushDueAt = this.#now + FLUSH_EVERY_MS
    for (;;) {
      const came = yield* this.#fetch(undefined)
      if (came.any && this.partition.flushMode.bisecting === this.#stepper.lastRecord) yield* this.#isolate()
      yield* this.#runSteps()
      if (yield* this.#gathers(came)) continue
      yield* this.#settle(folding)
      this.#isLearning =
        this.#takeover !== undefined &&
        equalPositions(this.#intake.reached, this.#committed) &&
        (yield* this.#takeover.turn(this.#committed, !came.any))
      if (came.any || this.#isLearning) yield* Effect.sleep(0)
      else
        yield* this.#waitForHint(
          this.#isSnapshotDue ? Math.min(IDLE_POLL_MS, Math.max(1, this.#snapshotDueAt - this.#now)) : IDLE_POLL_MS
        )
    }
  })
}

/** Runs a life from its beginning; ends with what failed. */
export const live = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  partition: Partition<Body, State, Emitted, Sink>
) {
  const clock = yield* Clock.Clock
  const hints = yield* partition.log.subscribe
  const restored = yield* restore(partition)
  const life = new PartitionLife(partition, clock, hints, restored)
  yield* life.follow(restored.mirror)
  yield* life.catchUp
  return yield* life.run
})
