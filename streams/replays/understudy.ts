/**
 * Replays as one life of a partition's runner does them, beside its own work: learns its part in the shadow, takes
 * over, and repeats what it counts to the shadow tables until the rows have been swapped.
 *
 *   idle        the board names no run of this group
 * learning a shadow is built in slices: long ones while nothing waits to be counted, short ones while something does
 *   taking over the shadow stands where the group stands: its last rows and the new generation are committed, then the
 *   organization's part of the state is exchanged. A life that dies in between leaves a store of the old generation,
 *   and the next one rebuilds it from the log mirroring emissions of the organization go to the tables and to the
 *   shadow's, in one transaction
 */
import { Clock, Effect, Random } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Erasures } from "../erasure/erasures.ts"
import { readTombstones } from "../erasure/tombstones.ts"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { standingAt } from "../offsets/offsets.ts"
import type { Processor } from "../runner/processor.ts"
import { isRefused, refusalReason } from "../runner/refusal.ts"
import type { Positions, StateStore } from "../state/state.ts"
import { untilAnswered } from "../runner/until-answered.ts"
import { EventLog } from "@dowser/log/event-log/event-log"
import type { ReplayBoard } from "./board.ts"
import { generationWrite } from "./generation.ts"
import { adoptShadow, beginShadow, isErasure, isMirrored, type Mirror, spillShadow, tellShadow } from "./runs.ts"
import { openShadow, type Shadow, ShadowFailed } from "./shadow.ts"

const SLICE_MS = 8
/** Of one turn while nothing else waits. */
const IDLE_TURN_MS = 40
const TELL_EVERY_MS = 1_000
/** Entries of an erasure that the step throws on and that are passed over, each after a start from the beginning. */
const POISON_MAX = 16
/** Keys of one commit of the exchange. */
const EXCHANGED_AT_ONCE = 10_000

export interface UnderstudyOptions<Body, State, Emitted, Sink> {
  readonly processor: Processor<Body, State, Emitted, Sink>
  readonly sql: SqlClient.SqlClient
  readonly partition: number
  readonly fence: number | undefined
  readonly board: ReplayBoard
  readonly openShadowStore: () => StateStore
  /** What an earlier life of the partition took over, when its rows are not swapped yet. */
  readonly mirror: Mirror | undefined
  readonly isSkipped: (place: string) => boolean
  readonly probe: (point: "shadowed" | "adopted" | "exchanging") => Effect.Effect<void>
  /** The partition's own, which is exchanged in part. */
  readonly live: {
    readonly state: State
    readonly store: StateStore
    /** Stores the state as it stands at these positions. */
    readonly snapshot: (positions: Positions) => Effect.Effect<void>
    readonly adopted: (erasures: Erasures, generation: number) => void
  }
}

export const makeUnderstudy = Effect.fnUntraced(function* <Body, State, Emitted, Sink>({
  board,
  fence,
  isSkipped,
  live,
  mirror: inherited,
  openShadowStore,
  partition,
  probe,
  processor,
  sql
}: UnderstudyOptions<Body, State, Emitted, Sink>) {
  const log = yield* EventLog
  const clock = yield* Clock.Clock
  const withSql = Effect.provideService(SqlClient.SqlClient, sql)
  const { inputs, name: group, rebuilding } = processor
  let mirror = inherited
  let shadow: Shadow | undefined
  let spills = 0
  let toldAt = 0
  /** Runs that have nothing more to learn here: taken over, failed, or over. */
  let doneWith = inherited?.jobId
  const poison = new Set<string>()

  const drop = Effect.suspend(() => {
    const dropped = shadow
    shadow = undefined
    return dropped === undefined
      ? Effect.void
      : Effect.promise(async () => {
          await dropped.store.clear()
          await dropped.store.close()
        })
  })
  yield* Effect.addFinalizer(() => drop)

  const begin = Effect.fnUntraced(function* (run: Shadow["run"]) {
    if (rebuilding === undefined) return
    const erasures = new Erasures(yield* readTombstones, yield* readFingerprintKey)
    const name = `${run.jobId}:${partition}:${Math.floor((yield* Random.next) * 2 ** 48).toString(36)}`
    let total = 0
    for (const topic of inputs) {
      const { endOffset, startOffset } = yield* log.bounds(topic.name, partition)
      total += endOffset - startOffset
    }
    if (!(yield* beginShadow(run, partition, name, total))) {
      doneWith = run.jobId
      return
    }
    spills = 0
    shadow = yield* openShadow({
      processor,
      rebuilding,
      run,
      partition,
      name,
      store: openShadowStore(),
      erasures,
      isSkipped: (place) => poison.has(place) || isSkipped(place)
    })
  })

  const spill = Effect.fnUntraced(function* (of: Shadow) {
    const number = spills + 1
    if (
      !(yield* untilAnswered(
        withSql(spillShadow({ jobId: of.run.jobId, shadow: of.name }, partition, number, of.write))
      ))
    ) {
      doneWith = of.run.jobId
      return yield* drop
    }
    spills = number
    of.written()
    yield* of.snapshotIfLarge
  })

  /** Exchanges the organization's part of the state for the shadow's. */
  const exchange = Effect.fnUntraced(function* (of: Shadow, positions: Positions, generation: number) {
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
    // Last: a store that was cut off before this is of the old generation.
    yield* Effect.promise(() => live.store.commit([generationWrite(generation)], positions))
    live.adopted(of.erasures, generation)
  })

  const takeOver = Effect.fnUntraced(function* (of: Shadow, committed: Positions) {
    yield* live.snapshot(committed)
    yield* of.snapshot
    yield* probe("shadowed")
    const generation = yield* untilAnswered(
      withSql(
        standingAt(
          group,
          partition,
          committed,
          fence,
          adoptShadow({ ...of.run, group }, partition, of.name, of.entries(), of.write)
        )
      )
    )
    doneWith = of.run.jobId
    if (generation !== undefined) {
      yield* probe("adopted")
      yield* exchange(of, committed, generation)
      mirror = { jobId: of.run.jobId, organizationId: of.run.organizationId, shadow: of.name }
    }
    yield* drop
  })

  const fail = Effect.fnUntraced(function* (of: Shadow, message: string) {
    doneWith = of.run.jobId
    yield* withSql(
      tellShadow({ jobId: of.run.jobId, shadow: of.name }, partition, {
        recordsDone: of.recordsDone(),
        entries: of.entries(),
        failure: message
      })
    )
    yield* drop
  })

  /**
   * An entry that was counted once and breaks the step of today. A replay ends with it, since its figures would be
   * others; an erasure must not: the shadow starts again without that entry, as a partition would that meets it now.
   */
  const failed = Effect.fnUntraced(function* (of: Shadow, { message, place }: ShadowFailed) {
    if (!isErasure(of.run) || poison.size >= POISON_MAX) return yield* fail(of, message)
    yield* Effect.logError(`An erasure passes over what cannot be counted any more: ${message}`)
    poison.add(place)
    yield* drop
  })

  const learn = Effect.fnUntraced(function* (of: Shadow, committed: Positions, isIdle: boolean) {
    const until = clock.currentTimeMillisUnsafe() + (isIdle ? IDLE_TURN_MS : SLICE_MS)
    for (
      let now = clock.currentTimeMillisUnsafe();
      now < until && !of.isAt(committed);
      now = clock.currentTimeMillisUnsafe()
    ) {
      yield* of.advance(committed, Math.min(until, now + SLICE_MS))
      if (of.mustSpill()) yield* spill(of)
      if (shadow !== of) return
      yield* Effect.sleep(0)
    }
    if (of.isAt(committed)) return yield* takeOver(of, committed)
    if (clock.currentTimeMillisUnsafe() - toldAt < TELL_EVERY_MS) return
    toldAt = clock.currentTimeMillisUnsafe()
    yield* withSql(
      tellShadow({ jobId: of.run.jobId, shadow: of.name }, partition, {
        recordsDone: of.recordsDone(),
        entries: of.entries()
      })
    )
  })

  return {
    /** Inside the flush's transaction: what is counted of a mirrored organization, once more for its shadow. */
    writeMirrored: (emitted: Emitted): Effect.Effect<void, SqlError.SqlError> =>
      withSql(
        Effect.suspend(() => {
          const mirrored = mirror
          if (mirrored === undefined || rebuilding === undefined) return Effect.void
          return Effect.gen(function* () {
            if (yield* isMirrored(mirrored, partition))
              return yield* rebuilding.writeShadow(emitted, mirrored.organizationId, mirrored.shadow)
            mirror = undefined
          })
        })
      ),
    /** A bounded part of what there is to do, with everything flushed up to `committed`; true when there is more. */
    turn: Effect.fnUntraced(function* (committed: Positions, isIdle: boolean) {
      if (rebuilding === undefined) return false
      const run = board.runOf(group)
      if (shadow !== undefined && run?.jobId !== shadow.run.jobId) yield* drop
      if (shadow === undefined) {
        if (run === undefined || run.phase !== "building" || run.jobId === doneWith) return false
        yield* withSql(begin(run))
      }
      const of = shadow
      if (of === undefined) return false
      yield* learn(of, committed, isIdle).pipe(
        Effect.catchIf(
          (error): error is ShadowFailed => error._tag === "ShadowFailed",
          (error) => failed(of, error)
        ),
        Effect.catchIf(
          (error): error is SqlError.SqlError => error._tag === "SqlError" && isRefused(error),
          (error) => fail(of, refusalReason(error))
        )
      )
      return shadow !== undefined
    })
  }
})
