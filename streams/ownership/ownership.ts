/**
 * Runs a process's share of the partitions: announces the process, takes leases (`leases.ts`) according to
 * `assignment.ts`, runs a partition while its lease is held, and releases those that others should have.
 *
 *   free      no live lease. Taken by a process that has less than its share
 *   running   leased here; renewed by a timer of its own, so that a long batch or a slow flush does not lose it
 *   leaving   assigned to another process: its runner is being stopped; until then the lease is renewed, then ended
 *   lost      the lease was taken while this process was silent: the runner is stopped; what it had not flushed, it
 *             can no longer flush (`commitWith`)
 */
import { Clock, Duration, Effect, Fiber, Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { EventLog } from "@dowser/log/event-log/event-log"
import { assign, type Standing, standing, type Unit, unitKey } from "../offsets/assignment.ts"
import { LeaseStore } from "./lease-store.ts"
import type { OffsetStore } from "../offsets/offset-store.ts"
import type { ReplayRequests } from "../shadow/replay-requests.ts"
import { partitionsOfRunnable, type Runnable } from "../processors/runnable.ts"
import type { Progress, RunnerOptions } from "../runner/options.ts"
import type { StateStore } from "../state/state.ts"

export interface OwnershipOptions<Sink = SqlClient.SqlClient> {
  /** Id of this process, never used by another. */
  readonly member: string
  readonly processors: ReadonlyArray<Runnable<Sink>>
  readonly visitorPartitions: number
  readonly openStore: (unit: Unit) => StateStore
  /** As in `RunnerOptions`, for each unit. */
  readonly replays?: {
    readonly requests: ReplayRequests
    readonly sql: SqlClient.SqlClient
    readonly openShadowStore: (unit: Unit) => StateStore
  }
  /** How long a silent process keeps its partitions. */
  readonly lease_ms?: number
  /** How long a partition may make no progress while records wait for it. */
  readonly stalledAfter_ms?: number
  readonly report?: (progress: Progress) => void
  /** Called with each unit that no longer runs here. */ readonly left?: (unit: Unit) => void
  readonly runner?: Omit<RunnerOptions, "partition" | "fence" | "openStore" | "report">
}

const LEASE_MS = 6_000
/** Renewals per lease duration, so that some may fail. */
const RENEWALS = 5
const STALLED_AFTER_MS = 60_000
/** How long leaving may take, of the ten seconds within which a process must stop. */
const LEAVE_WITHIN_MS = 6_000

interface Running<Sink> extends Unit {
  readonly fence: number
  readonly runnable: Runnable<Sink>
  fiber: Fiber.Fiber<void>
  progress: Progress | undefined
  standing: Standing | undefined
  phase: "running" | "restarting" | "leaving"
}

/** The units that this process runs, and the phase of each. */
class Owner<Sink> {
  readonly #options: OwnershipOptions<Sink>
  readonly #log: EventLog["Service"]
  readonly #leases: LeaseStore["Service"]
  readonly #clock: Clock.Clock
  readonly #scope: Scope.Scope
  readonly #lease_ms: number
  readonly #running = new Map<string, Running<Sink>>()
  readonly #all: ReadonlyArray<Unit>

  constructor(
    options: OwnershipOptions<Sink>,
    log: EventLog["Service"],
    leases: LeaseStore["Service"],
    clock: Clock.Clock,
    scope: Scope.Scope
  ) {
    this.#options = options
    this.#log = log
    this.#leases = leases
    this.#clock = clock
    this.#scope = scope
    this.#lease_ms = options.lease_ms ?? LEASE_MS
    this.#all = options.processors.flatMap((processor) =>
      Array.from({ length: partitionsOfRunnable(processor, options.visitorPartitions) }, (_, partition) => ({
        group: processor.name,
        partition
      }))
    )
  }

  #startRunner(unit: Omit<Running<Sink>, "fiber">) {
    const { openStore, replays, report, runner } = this.#options
    return Effect.forkIn(
      unit.runnable.run({
        ...runner,
        partition: unit.partition,
        fence: unit.fence,
        openStore: () => openStore(unit),
        ...(replays === undefined
          ? {}
          : { replays: { ...replays, openShadowStore: () => replays.openShadowStore(unit) } }),
        report: (progress) => {
          const current = this.#running.get(unitKey(unit))
          if (current !== undefined && current.fence === unit.fence) current.progress = progress
          report?.(progress)
        }
      }),
      this.#scope
    )
  }

  /** Stops a runner and ends its lease, outside the timer: stopping in the middle of a transaction takes a while. */
  #letGo(unit: Running<Sink>) {
    return Effect.gen({ self: this }, function* () {
      if (unit.phase === "leaving") return
      unit.phase = "leaving"
      yield* Effect.forkIn(
        Effect.gen({ self: this }, function* () {
          yield* Fiber.interrupt(unit.fiber)
          yield* Effect.catch(this.#leases.release(this.#options.member, unit), (error) =>
            Effect.logWarning(`The lease of ${unitKey(unit)} could not be ended; it ends by itself`, error)
          )
          if (this.#running.get(unitKey(unit)) !== unit) return
          this.#running.delete(unitKey(unit))
          this.#options.left?.(unit)
        }),
        this.#scope
      )
    })
  }

  /** Restarts runners that make no progress although records wait, because they may hang without failing. */
  #watchOne(unit: Running<Sink>) {
    return Effect.gen({ self: this }, function* () {
      const committed = unit.progress?.committed ?? {}
      let lag = 0
      for (const { name } of unit.runnable.inputs)
        lag += (yield* this.#log.bounds(name, unit.partition)).endOffset - (committed[name] ?? 0)
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
        this.#clock.currentTimeMillisUnsafe(),
        this.#options.stalledAfter_ms ?? STALLED_AFTER_MS
      )
      unit.standing = now.standing
      if (!now.isStalled) return
      yield* Effect.logError(`${unitKey(unit)} makes no progress with ${lag} records waiting and is restarted`)
      unit.standing = undefined
      unit.phase = "restarting"
      yield* Fiber.interrupt(unit.fiber)
      // The unit was released meanwhile.
      if (unit.phase !== "restarting") return
      unit.fiber = yield* this.#startRunner(unit)
      unit.phase = "running"
    })
  }
  watch() {
    return Effect.suspend(() =>
      Effect.forEach(
        [...this.#running.values()].filter(({ phase }) => phase === "running"),
        (unit) => this.#watchOne(unit),
        { discard: true }
      )
    )
  }

  /** Announces that this process is alive, renews its leases, and stops units that were taken over. */
  renew() {
    const { member, processors } = this.#options
    return Effect.gen({ self: this }, function* () {
      yield* this.#leases.announce({ member, processors: processors.map(({ name }) => name) }, this.#lease_ms)
      const held = [...this.#running.values()]
      const kept = new Set((yield* this.#leases.renew(member, held, this.#lease_ms)).map(unitKey))
      for (const unit of held) {
        if (kept.has(unitKey(unit)) || unit.phase === "leaving") continue
        yield* Effect.logWarning(`${unitKey(unit)} was taken over by another process while this one was silent`)
        yield* this.#letGo(unit)
      }
    })
  }

  #claim(unit: Unit) {
    const { member, processors } = this.#options
    return Effect.gen({ self: this }, function* () {
      const fence = yield* this.#leases.claim(member, unit, this.#lease_ms)
      const runnable = processors.find(({ name }) => name === unit.group)
      if (fence === undefined || runnable === undefined) return
      const taken = { ...unit, fence, runnable, progress: undefined, standing: undefined, phase: "running" as const }
      this.#running.set(unitKey(unit), { ...taken, fiber: yield* this.#startRunner(taken) })
      yield* Effect.logInfo(`${unitKey(unit)} now runs here`)
    })
  }
  /** Takes this process's share, and releases what others should have. */
  share() {
    return Effect.gen({ self: this }, function* () {
      // A runner that ended by itself lost its lease, even if the next renewal says otherwise.
      for (const unit of [...this.#running.values()])
        if (unit.phase === "running" && unit.fiber.pollUnsafe() !== undefined) yield* this.#letGo(unit)
      const owners = new Map((yield* this.#leases.all).map((lease) => [unitKey(lease), lease.owner]))
      const { claim, release } = assign(
        this.#options.member,
        yield* this.#leases.liveMembers,
        this.#all.map((unit) => ({ ...unit, owner: owners.get(unitKey(unit)) }))
      )
      for (const unit of release) {
        const mine = this.#running.get(unitKey(unit))
        if (mine !== undefined) yield* this.#letGo(mine)
      }
      // Units that are still being stopped here are skipped, because their store is open until then.
      for (const unit of claim) if (!this.#running.has(unitKey(unit))) yield* this.#claim(unit)
    })
  }

  /** Stops everything and ends all leases, as far as time allows. */
  leave() {
    const { member } = this.#options
    return Effect.gen({ self: this }, function* () {
      yield* Effect.forEach(
        [...this.#running.values()],
        (unit) => Effect.andThen(Fiber.interrupt(unit.fiber), this.#leases.release(member, unit)),
        { concurrency: "unbounded", discard: true }
      )
      yield* this.#leases.retire(member)
    }).pipe(
      Effect.timeoutOption(LEAVE_WITHIN_MS),
      Effect.catch((error) => Effect.logWarning("Leases could not be ended; they end by themselves", error))
    )
  }
}

/**
 * Runs until interrupted, then releases everything. Never fails: statements that Postgres does not answer are repeated.
 */
export const runOwned = Effect.fnUntraced(function* <Sink = SqlClient.SqlClient>(
  options: OwnershipOptions<Sink>
): Effect.fn.Return<never, never, EventLog | LeaseStore | OffsetStore | Sink | Scope.Scope> {
  const owner = new Owner(options, yield* EventLog, yield* LeaseStore, yield* Clock.Clock, yield* Effect.scope)
  yield* Effect.addFinalizer(() => owner.leave())
  const every = Duration.millis((options.lease_ms ?? LEASE_MS) / RENEWALS)
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
  // Three timers: neither a slow claim nor a log that does not answer may delay the renewals.
  yield* Effect.forkScoped(repeated("Watching partitions", owner.watch()))
  yield* Effect.forkScoped(repeated("Renewing leases", owner.renew()))
  return yield* repeated("Sharing partitions", owner.share())
})
