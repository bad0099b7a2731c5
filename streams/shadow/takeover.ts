/**
 * A partition's part in a replay, alongside its own work: it builds the organization's shadow, takes over, and
 * repeats what it counts to the shadow tables until the rows have been swapped.
 *
 *   idle        no run of this group is requested
 *   learning    a shadow is built in slices: long ones while nothing waits to be counted, short ones otherwise
 *   taking over the shadow has reached the group's offsets: its last rows and the new generation are committed, then
 *               the organization's part of the state is exchanged. If the partition fails in between, its store keeps
 *               the old generation, and is rebuilt from the log at the restart
 *   mirroring   emissions of the organization are written to the tables and to the shadow's, in one transaction
 */
import { Clock, Effect, Random } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Erasures } from "../erasure/erasures.ts"
import { readTombstones } from "../erasure/tombstones.ts"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { standingAt } from "../offsets/offsets.ts"
import type { Processor } from "../processor/processor.ts"
import { isRefused, refusalReason } from "../reading/refusal.ts"
import type { Positions, StateStore } from "../state/state.ts"
import { untilAnswered } from "../reading/until-answered.ts"
import { EventLog } from "@dowser/log/event-log/event-log"
import type { ReplayRequests } from "./replay-requests.ts"
import { generationWrite } from "./generation.ts"
import {
  adoptShadow,
  beginShadow,
  isErasure,
  isMirrored,
  type Mirror,
  type Run,
  spillShadow,
  storeShadowProgress
} from "./runs.ts"
import { openShadow, type Shadow, ShadowFailed } from "./shadow.ts"

const SLICE_MS = 8
/** Maximum duration of one turn while nothing else waits. */
const IDLE_TURN_MS = 40
const REPORT_EVERY_MS = 1_000
/** How many entries that make the step throw an erasure skips, each after a restart from the beginning. */
const POISON_MAX = 16
/** Keys per commit of the exchange. */
const EXCHANGED_AT_ONCE = 10_000

interface TakeoverOptions<Body, State, Emitted, Sink> {
  readonly processor: Processor<Body, State, Emitted, Sink>
  readonly sql: SqlClient.SqlClient
  readonly partition: number
  readonly fence: number | undefined
  readonly requests: ReplayRequests
  readonly openShadowStore: () => StateStore
  /** What an earlier life of the partition took over, if its rows are not swapped yet. */
  readonly mirror: Mirror | undefined
  readonly isSkipped: (place: string) => boolean
  readonly probe: (point: "shadowed" | "adopted" | "exchanging") => Effect.Effect<void>
  /** The partition's own state, part of which is exchanged. */
  readonly live: {
    readonly state: State
    readonly store: StateStore
    /** Stores the state as of these positions. */
    readonly snapshot: (positions: Positions) => Effect.Effect<void>
    readonly adopted: (erasures: Erasures, generation: number) => void
  }
}

/** Exchanges the organization's part of the partition's state for the shadow's. */
const exchangePart = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  { live, probe, processor: { rebuilding } }: TakeoverOptions<Body, State, Emitted, Sink>,
  of: Shadow<Body, State, Emitted, Sink>,
  positions: Positions,
  generation: number
) {
  const { organizationId } = of.run
  rebuilding!.forget(live.state, organizationId)
  const copy = Effect.fnUntraced(function* (
    from: StateStore,
    prefix: string,
    write: (key: string, value: Uint8Array) => readonly [string, Uint8Array | undefined]
  ) {
    for (let after = ""; ;) {
      const writes: Array<readonly [string, Uint8Array | undefined]> = []
      for (const [key, value] of from.scan(prefix, after)) {
        writes.push(write(key, value))
        after = key
        if (writes.length >= EXCHANGED_AT_ONCE) break
      }
      if (writes.length === 0) return
      yield* Effect.promise(() => live.store.commit(writes, positions))
      yield* probe("exchanging")
    }
  })
  for (const prefix of rebuilding!.prefixesOf(organizationId)) {
    yield* copy(live.store, prefix, (key) => [key, undefined])
    yield* copy(of.store, prefix, (key, value) => [key, value])
  }
  // Committed last: if interrupted before, the store keeps the old generation and is rebuilt at the next start.
  yield* Effect.promise(() => live.store.commit([generationWrite(generation)], positions))
  live.adopted(of.erasures, generation)
})

type LiveShadow<Body, State, Emitted, Sink> = Shadow<Body, State, Emitted, Sink>

export class ShadowTakeover<Body, State, Emitted, Sink> {
  readonly #options: TakeoverOptions<Body, State, Emitted, Sink>
  readonly #log: EventLog["Service"]
  readonly #clock: Clock.Clock
  #mirror: Mirror | undefined
  #shadow: LiveShadow<Body, State, Emitted, Sink> | undefined
  #spills = 0
  #reportedAt = 0
  /** The run that needs no more work here: its shadow was adopted or failed, or the run is over. */
  #doneWith: string | undefined
  readonly #poison = new Set<string>()

  constructor(options: TakeoverOptions<Body, State, Emitted, Sink>, log: EventLog["Service"], clock: Clock.Clock) {
    this.#options = options
    this.#log = log
    this.#clock = clock
    this.#mirror = options.mirror
    this.#doneWith = options.mirror?.jobId
  }

  #withSql<A, E, R>(effect: Effect.Effect<A, E, R>) {
    return Effect.provideService(effect, SqlClient.SqlClient, this.#options.sql)
  }

  /** Discards the shadow, if there is one. */
  readonly drop = Effect.suspend(() => {
    const dropped = this.#shadow
    this.#shadow = undefined
    return dropped === undefined
      ? Effect.void
      : Effect.promise(async () => {
          await dropped.store.clear()
          await dropped.store.close()
        })
  })

  #begin(run: Run) {
    const { isSkipped, openShadowStore, partition, processor } = this.#options
    const { inputs, rebuilding } = processor
    return Effect.gen({ self: this }, function* () {
      if (rebuilding === undefined) return
      const erasures = new Erasures(yield* readTombstones, yield* readFingerprintKey)
      const name = `${run.jobId}:${partition}:${Math.floor((yield* Random.next) * 2 ** 48).toString(36)}`
      let total = 0
      for (const topic of inputs) {
        const { endOffset, startOffset } = yield* this.#log.bounds(topic.name, partition)
        total += endOffset - startOffset
      }
      if (!(yield* beginShadow(run, partition, name, total))) {
        this.#doneWith = run.jobId
        return
      }
      this.#spills = 0
      this.#shadow = yield* openShadow({
        processor,
        rebuilding,
        run,
        partition,
        name,
        store: openShadowStore(),
        erasures,
        isSkipped: (place) => this.#poison.has(place) || isSkipped(place)
      })
    })
  }

  #spill(of: LiveShadow<Body, State, Emitted, Sink>) {
    return Effect.gen({ self: this }, function* () {
      const number = this.#spills + 1
      const shadow = { jobId: of.run.jobId, shadow: of.name }
      if (!(yield* untilAnswered(this.#withSql(spillShadow(shadow, this.#options.partition, number, of.write))))) {
        this.#doneWith = of.run.jobId
        return yield* this.drop
      }
      this.#spills = number
      of.written()
      yield* of.snapshotIfLarge
    })
  }

  #takeOver(of: LiveShadow<Body, State, Emitted, Sink>, committed: Positions) {
    const { fence, live, partition, probe, processor } = this.#options
    const { jobId, organizationId } = of.run
    return Effect.gen({ self: this }, function* () {
      yield* live.snapshot(committed)
      yield* of.snapshot
      yield* probe("shadowed")
      const adopt = adoptShadow({ ...of.run, group: processor.name }, partition, of.name, of.entries, of.write)
      const generation = yield* untilAnswered(
        this.#withSql(standingAt(processor.name, partition, committed, fence, adopt))
      )
      this.#doneWith = jobId
      if (generation !== undefined) {
        yield* probe("adopted")
        yield* exchangePart(this.#options, of, committed, generation)
        this.#mirror = { jobId, organizationId, shadow: of.name }
      }
      yield* this.drop
    })
  }

  /** Reports how far the shadow has got, and why it cannot continue. */
  #report(of: LiveShadow<Body, State, Emitted, Sink>, failure?: string) {
    return this.#withSql(
      storeShadowProgress({ jobId: of.run.jobId, shadow: of.name }, this.#options.partition, {
        recordsDone: of.recordsDone,
        entries: of.entries,
        ...(failure === undefined ? {} : { failure })
      })
    )
  }
  #fail(of: LiveShadow<Body, State, Emitted, Sink>, message: string) {
    return Effect.gen({ self: this }, function* () {
      this.#doneWith = of.run.jobId
      yield* this.#report(of, message)
      yield* this.drop
    })
  }
  /**
   * Handles an entry that was counted once but makes today's step throw. A replay ends with it, since its figures would
   * differ; an erasure must not end: the shadow restarts without that entry, like a partition that reads it now.
   */
  #failed(of: LiveShadow<Body, State, Emitted, Sink>, { message, place }: ShadowFailed) {
    return Effect.gen({ self: this }, function* () {
      if (!isErasure(of.run) || this.#poison.size >= POISON_MAX) return yield* this.#fail(of, message)
      yield* Effect.logError(`An erasure skips what can no longer be counted: ${message}`)
      this.#poison.add(place)
      yield* this.drop
    })
  }

  #learn(of: LiveShadow<Body, State, Emitted, Sink>, committed: Positions, isIdle: boolean) {
    const clock = this.#clock
    return Effect.gen({ self: this }, function* () {
      const until = clock.currentTimeMillisUnsafe() + (isIdle ? IDLE_TURN_MS : SLICE_MS)
      for (
        let now = clock.currentTimeMillisUnsafe();
        now < until && !of.isAt(committed);
        now = clock.currentTimeMillisUnsafe()
      ) {
        yield* of.advance(committed, Math.min(until, now + SLICE_MS))
        if (of.mustSpill) yield* this.#spill(of)
        if (this.#shadow !== of) return
        yield* Effect.sleep(0)
      }
      if (of.isAt(committed)) return yield* this.#takeOver(of, committed)
      if (clock.currentTimeMillisUnsafe() - this.#reportedAt < REPORT_EVERY_MS) return
      this.#reportedAt = clock.currentTimeMillisUnsafe()
      yield* this.#report(of)
    })
  }

  /** Runs in the flush's transaction: repeats for the shadow what is counted for a mirrored organization. */
  writeMirrored(emitted: Emitted): Effect.Effect<void, SqlError.SqlError> {
    const { partition, processor } = this.#options
    const { rebuilding } = processor
    const mirror = this.#mirror
    if (mirror === undefined || rebuilding === undefined) return Effect.void
    return this.#withSql(
      Effect.gen({ self: this }, function* () {
        if (yield* isMirrored(mirror, partition))
          return yield* rebuilding.writeShadow(emitted, mirror.organizationId, mirror.shadow)
        this.#mirror = undefined
      })
    )
  }

  /** Does a bounded part of the work, with everything flushed up to `committed`. Returns whether there is more. */
  turn(committed: Positions, isIdle: boolean) {
    const { requests, processor } = this.#options
    return Effect.gen({ self: this }, function* () {
      if (processor.rebuilding === undefined) return false
      const run = requests.runOf(processor.name)
      if (this.#shadow !== undefined && run?.jobId !== this.#shadow.run.jobId) yield* this.drop
      if (this.#shadow === undefined) {
        if (run === undefined || run.phase !== "building" || run.jobId === this.#doneWith) return false
        yield* this.#withSql(this.#begin(run))
      }
      const of = this.#shadow
      if (of === undefined) return false
      yield* this.#learn(of, committed, isIdle).pipe(
        Effect.catchIf(
          (error): error is ShadowFailed => error._tag === "ShadowFailed",
          (error) => this.#failed(of, error)
        ),
        Effect.catchIf(
          (error): error is SqlError.SqlError => error._tag === "SqlError" && isRefused(error),
          (error) => this.#fail(of, refusalReason(error))
        )
      )
      return this.#shadow !== undefined
    })
  }
}

/** Ends with the scope, together with the shadow. */
export const makeTakeover = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  options: TakeoverOptions<Body, State, Emitted, Sink>
) {
  const takeover = new ShadowTakeover(options, yield* EventLog, yield* Clock.Clock)
  yield* Effect.addFinalizer(() => takeover.drop)
  return takeover
})
