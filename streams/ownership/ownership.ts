/**
 * Runs a process's share of the partitions: announces it, takes leases (`leases.ts`) as `assignment.ts` says, runs a
 * partition while its lease is held, lets go of what others should have.
 *
 *   free      no live lease. Taken by whoever has less than its share
 *   running   leased here; renewed from a timer of its own, so that a long batch or a slow flush keeps it
 *   leaving   to be another's: its runner is being stopped, the lease is renewed until it has, then ended
 *   lost      the lease was taken while this process was silent: the runner is stopped; what it had not flushed it
 *             cannot flush any more (`commitWith`)
 */
import { Clock, Duration, Effect, Fiber, Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { EventLog } from "@dowser/log/event-log/event-log"
import { assign, type Standing, standing, type Unit, unitKey } from "./assignment.ts"
import { LeaseStore } from "./lease-store.ts"
import type { OffsetStore } from "../offsets/offset-store.ts"
import type { ReplayBoard } from "../replays/board.ts"
import { partitionsOfRunnable, type Runnable } from "../processors/runnable.ts"
import type { Progress, RunnerOptions } from "../runner/options.ts"
import type { StateStore } from "../state/state.ts"

export interface OwnershipOptions<Sink = SqlClient.SqlClient> {
  /** This process, and no other one ever. */
  readonly member: string
  readonly processors: ReadonlyArray<Runnable<Sink>>
  readonly visitorPartitions: number
  readonly openStore: (unit: Unit) => StateStore
  /** As in `RunnerOptions`, of each unit. */
  readonly replays?: {
    readonly board: ReplayBoard
    readonly sql: SqlClient.SqlClient
    readonly openShadowStore: (unit: Unit) => StateStore
  }
  /** How long a silent process keeps its partitions. */
  readonly lease_ms?: number
  /** How long a partition may stand still while records wait for it. */
  readonly stalledAfter_ms?: number
  readonly report?: (progress: Progress) => void
  readonly runner?: Omit<RunnerOptions, "partition" | "fence" | "openStore" | "report">
}

const LEASE_MS = 6_000
/** Renewals in one lease: some may fail. */
const RENEWALS = 5
const STALLED_AFTER_MS = 60_000
/** Of the ten seconds in which a process must have stopped. */
const LEAVE_WITHIN_MS = 6_000

interface Running<Sink> extends Unit {
  readonly fence: number
  readonly runnable: Runnable<Sink>
  fiber: Fiber.Fiber<void>
  progress: Progress | undefined
  standing: Standing | undefined
  phase: "running" | "restarting" | "leaving"
}

/** Runs until interrupted; lets go of everything then. Never fails: what Postgres does not answer is asked again. */
export const runOwned = Effect.fnUntraced(function* <Sink = SqlClient.SqlClient>(
  options: OwnershipOptions<Sink>
): Effect.fn.Return<never, never, EventLog | LeaseStore | OffsetStore | Sink | Scope.Scope> {
  const clock = yield* Clock.Clock
  const log = yield* EventLog
  const leases = yield* LeaseStore
  const scope = yield* Effect.scope
  const { member, processors, visitorPartitions } = options
  const lease_ms = options.lease_ms ?? LEASE_MS
  const running = new Map<string, Running<Sink>>()
  const all = processors.flatMap((processor) =>
    Array.from({ length: partitionsOfRunnable(processor, visitorPartitions) }, (_, partition) => ({
      group: processor.name,
      partition,
      processor
    }))
  )

  const startRunner = (unit: Omit<Running<Sink>, "fiber">) =>
    Effect.forkIn(
      unit.runnable.run({
        ...options.runner,
        partition: unit.partition,
        fence: unit.fence,
        openStore: () => options.openStore(unit),
        ...(options.replays === undefined
          ? {}
          : { replays: { ...options.replays, openShadowStore: () => options.replays!.openShadowStore(unit) } }),
        report: (progress) => {
          const current = running.get(unitKey(unit))
          if (current !== undefined && current.fence === unit.fence) current.progress = progress
          options.report?.(progress)
        }
      }),
      scope
    )

  const forget = (unit: Running<Sink>) =>
    Effect.sync(() => {
      if (running.get(unitKey(unit)) === unit) running.delete(unitKey(unit))
    })
  const letGo = Effect.fnUntraced(function* (unit: Running<Sink>) {
    if (unit.phase === "leaving") return
    unit.phase = "leaving"
    // Beside the timer: a runner in the middle of a transaction takes a while to stop.
    yield* Effect.forkIn(
      Effect.gen(function* () {
        yield* Fiber.interrupt(unit.fiber)
        yield* Effect.catch(leases.release(member, unit), (error) =>
          Effect.logWarning(`The lease of ${unitKey(unit)} could not be ended; it ends by itself`, error)
        )
        yield* forget(unit)
      }),
      scope
    )
  })

  /** Restarts what stands still though records wait: a reader or runner that hangs where nothing fails. */
  const watch = Effect.fnUntraced(function* (unit: Running<Sink>) {
    const committed = unit.progress?.committed ?? {}
    let lag = 0
    for (const { name } of unit.runnable.inputs)
      lag += (yield* log.bounds(name, unit.partition)).endOffset - (committed[name] ?? 0)
    const mark = JSON.stringify([
      committed,
      unit.progress?.entries,
      unit.progress?.isReplaying,
      unit.progress?.restarts
    ])
    const now = standing(
      unit.standing,
      mark,
      lag,
      clock.currentTimeMillisUnsafe(),
      options.stalledAfter_ms ?? STALLED_AFTER_MS
    )
    unit.standing = now.standing
    if (!now.isStalled) return
    yield* Effect.logError(`${unitKey(unit)} stands still with ${lag} records waiting and is started again`)
    unit.standing = undefined
    unit.phase = "restarting"
    yield* Fiber.interrupt(unit.fiber)
    // Let go of meanwhile.
    if (unit.phase !== "restarting") return
    unit.fiber = yield* startRunner(unit)
    unit.phase = "running"
  })

  const renew = Effect.gen(function* () {
    yield* leases.announce({ member, processors: processors.map(({ name }) => name) }, lease_ms)
    const held = [...running.values()]
    const kept = new Set((yield* leases.renew(member, held, lease_ms)).map(unitKey))
    for (const unit of held) {
      if (kept.has(unitKey(unit)) || unit.phase === "leaving") continue
      yield* Effect.logWarning(`${unitKey(unit)} was taken over by another process while this one was silent`)
      yield* letGo(unit)
    }
  })

  const rebalance = Effect.gen(function* () {
    const owners = new Map((yield* leases.all).map((lease) => [unitKey(lease), lease.owner]))
    const { claim, release } = assign(
      member,
      yield* leases.liveMembers,
      all.map(({ group, partition }) => ({ group, partition, owner: owners.get(unitKey({ group, partition })) }))
    )
    for (const unit of release) {
      const mine = running.get(unitKey(unit))
      if (mine !== undefined) yield* letGo(mine)
    }
    for (const unit of claim) {
      // Still being stopped here: its store is open until it has.
      if (running.has(unitKey(unit))) continue
      const fence = yield* leases.claim(member, unit, lease_ms)
      const processor = processors.find(({ name }) => name === unit.group)
      if (fence === undefined || processor === undefined) continue
      const taken = {
        ...unit,
        fence,
        runnable: processor,
        progress: undefined,
        standing: undefined,
        phase: "running" as const
      }
      running.set(unitKey(unit), { ...taken, fiber: yield* startRunner(taken) })
      yield* Effect.logInfo(`${unitKey(unit)} is run here now`)
    }
  })

  /** A runner that ended by itself lost its lease, even if the next renewal says otherwise. */
  const reap = Effect.gen(function* () {
    for (const unit of [...running.values()])
      if (unit.phase === "running" && unit.fiber.pollUnsafe() !== undefined) yield* letGo(unit)
  })

  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      yield* Effect.forEach(
        [...running.values()],
        (unit) => Effect.andThen(Fiber.interrupt(unit.fiber), leases.release(member, unit)),
        { concurrency: "unbounded", discard: true }
      )
      yield* leases.retire(member)
    }).pipe(
      Effect.timeoutOption(LEAVE_WITHIN_MS),
      Effect.catch((error) => Effect.logWarning("Leases could not be ended; they end by themselves", error))
    )
  )
  const every = Duration.millis(lease_ms / RENEWALS)
  const repeated = (
    what: string,
    effect: Effect.Effect<void, { readonly message: string }, EventLog | OffsetStore | Sink>
  ) =>
    Effect.forever(
      Effect.andThen(
        Effect.catch(effect, (error) => Effect.logWarning(`${what} failed and is tried again: ${error.message}`)),
        Effect.sleep(every)
      )
    )
  // Three timers: neither a slow claim nor a log that does not answer may hold up the renewals.
  yield* Effect.forkScoped(
    repeated(
      "Watching partitions",
      Effect.suspend(() =>
        Effect.forEach(
          [...running.values()].filter(({ phase }) => phase === "running"),
          watch,
          { discard: true }
        )
      )
    )
  )
  yield* Effect.forkScoped(repeated("Renewing leases", renew))
  return yield* repeated("Sharing partitions", Effect.andThen(reap, rebalance))
})
