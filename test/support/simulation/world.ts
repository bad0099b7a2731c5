/**
 * Simulated time and processes: an event loop whose every choice is drawn from the seed. A process is an Effect runtime
 * with its own clock, scheduler and random numbers; killing it means that nothing of it ever runs again (no finalizer
 * either), freezing it means that everything of it waits. No real timer, thread or file takes part, so a schedule runs
 * as fast as it computes, and the same seed runs identically.
 */
import { Clock, Context, Duration, Effect, Exit, Fiber, Logger, Random, Scheduler } from "effect"
import { Draws } from "./random.ts"

const EPOCH = Date.UTC(2026, 0, 1)
/** Maximum depth of a chain of promises between two events: what has not settled after this many turns never will. */
const PROMISE_TURNS = 6

interface Timer {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

export class World {
  readonly draws: Draws
  /** Milliseconds since the beginning, independent of any process's clock. */
  now = 0
  /** Faults occur. Once they have stopped, everything must drain. */
  isFaulty = true
  readonly violations: Array<string> = []
  readonly #traced: Array<string> | undefined
  readonly #timers: Array<Timer> = []
  readonly processes = new Set<SimulatedProcess>()
  #order = 0

  constructor(seed: number, traced?: Array<string>) {
    this.draws = new Draws(seed)
    this.#traced = traced
  }

  /** One line of the schedule's story; free unless it is recorded. */
  tell(what: () => string): void {
    if (this.#traced !== undefined) this.#traced.push(`${this.now.toFixed(1).padStart(9)}  ${what()}`)
  }
  violate(what: string): void {
    this.tell(() => `VIOLATION ${what}`)
    if (this.violations.length < 20) this.violations.push(what)
  }

  /** Whether a fault of this probability occurs now. */
  fails(probability: number): boolean {
    return this.isFaulty && this.draws.chance(probability)
  }
  /** Transit time of a message: mostly short, sometimes not. */
  latency(): number {
    return this.draws.chance(0.05) ? this.draws.between(5, 400) : this.draws.between(0.05, 3)
  }

  after(delay_ms: number, run: () => void): void {
    const timer = { at: this.now + Math.max(0, delay_ms), order: this.#order++, run }
    const heap = this.#timers
    let i = heap.push(timer) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if (!isBefore(timer, heap[parent]!)) break
      heap[i] = heap[parent]!
      i = parent
    }
    heap[i] = timer
  }
  #next(): Timer | undefined {
    const heap = this.#timers
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || heap.length === 0) return first
    let i = 0
    for (;;) {
      let child = 2 * i + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!isBefore(heap[child]!, last)) break
      heap[i] = heap[child]!
      i = child
    }
    heap[i] = last
    return first
  }

  /**
   * Runs until `isOver`, at most until `until_ms`; true if it was over. Runnable fibers run first, in drawn order of
   * processes; then time advances.
   */
  async run(isOver: () => boolean, until_ms: number): Promise<boolean> {
    for (;;) {
      let ready = this.#ready()
      if (ready === undefined) {
        for (let turn = 0; turn < PROMISE_TURNS; turn++) await undefined
        ready = this.#ready()
      }
      if (ready !== undefined) {
        ready.tasks.shift()!()
        continue
      }
      if (isOver()) return true
      if (this.#timers.length === 0 || this.#timers[0]!.at > until_ms) {
        this.now = Math.max(this.now, Math.min(until_ms, this.#timers[0]?.at ?? until_ms))
        return false
      }
      const timer = this.#next()!
      this.now = timer.at
      timer.run()
    }
  }
  #ready(): SimulatedProcess | undefined {
    let found: SimulatedProcess | undefined
    let count = 0
    for (const process of this.processes) {
      if (process.tasks.length === 0 || process.frozenUntil > this.now) continue
      if (++count === 1 || this.draws.chance(1 / count)) found = process
    }
    return found
  }
}

const isBefore = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

export class SimulatedProcess {
  readonly name: string
  readonly world: World
  /** What its scheduler has to run, in order. */
  readonly tasks: Array<() => void> = []
  isAlive = true
  frozenUntil = 0
  /** Offset of its wall clock. */
  skew_ms = 0
  /** Probability that a message is its last action. */
  readonly crashes: number
  readonly #opsMax: number
  readonly #onDeath: Array<() => void> = []

  constructor(world: World, name: string, crashes: number) {
    this.world = world
    this.name = name
    this.crashes = crashes
    // Some processes yield after a few operations, in the middle of anything.
    this.#opsMax = world.draws.chance(0.5) ? 2_048 : world.draws.whole(3, 60)
    this.skew_ms = world.draws.chance(0.3) ? world.draws.between(-5_000, 5_000) : 0
    world.processes.add(this)
  }

  kill(why: string): void {
    if (!this.isAlive) return
    this.world.tell(() => `${this.name} dies: ${why}`)
    this.isAlive = false
    this.tasks.length = 0
    this.world.processes.delete(this)
    for (const tell of this.#onDeath) tell()
  }
  onDeath(tell: () => void): void {
    this.#onDeath.push(tell)
  }
  freeze(for_ms: number): void {
    this.world.tell(() => `${this.name} freezes for ${for_ms.toFixed(0)} ms`)
    this.frozenUntil = Math.max(this.frozenUntil, this.world.now + for_ms)
    // An event is needed at that time, or the process would not be resumed.
    this.world.after(this.frozenUntil - this.world.now, () => {})
  }
  thaw(): void {
    this.frozenUntil = 0
  }

  /** Happens within the process after a while: not once it is dead, and not while it is frozen. */
  deliver(delay_ms: number, run: () => void): void {
    this.world.after(delay_ms, () => {
      if (!this.isAlive) return
      if (this.frozenUntil > this.world.now) return this.deliver(this.frozenUntil - this.world.now, run)
      if (this.crashes > 0 && this.world.fails(this.crashes)) return this.kill("in the middle of something")
      run()
    })
  }

  /**
   * A request to a server and its answer. `serve` runs there whatever happens to the process in the meantime; it may
   * answer later.
   */
  request<A, E>(serve: (answer: (result: Exit.Exit<A, E>) => void) => void): Effect.Effect<A, E> {
    return Effect.callback((resume) => {
      let isWanted = true
      this.world.after(this.world.latency(), () =>
        serve((result) => this.deliver(this.world.latency(), () => isWanted && resume(result)))
      )
      return Effect.sync(() => {
        isWanted = false
      })
    })
  }

  /** Runs as this process; whatever ends it other than its death is passed to `ended`. */
  start<R>(
    program: Effect.Effect<unknown, unknown, R>,
    context: Context.Context<R>,
    ended: (exit: Exit.Exit<unknown, unknown>) => void
  ): Fiber.Fiber<unknown, unknown> {
    const services = Context.mergeAll(
      context,
      Context.make(Clock.Clock, this.#clock()),
      Context.make(Scheduler.Scheduler, this.#scheduler()),
      Context.make(Random.Random, {
        nextDoubleUnsafe: () => this.world.draws.next(),
        nextIntUnsafe: () => this.world.draws.whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)
      }),
      Context.make(Logger.CurrentLoggers, new Set([this.#logger()]))
    )
    const fiber = Effect.runForkWith(services)(program)
    fiber.addObserver((exit) => this.isAlive && ended(exit))
    return fiber
  }

  /** Present in every run: its cost in scheduler turns must not depend on whether it is recorded. */
  #logger(): Logger.Logger<unknown, void> {
    return Logger.make(({ cause, message }) =>
      this.world.tell(
        () =>
          `${this.name} says: ${[message]
            .flat()
            .map((part) => (part instanceof Error ? part.message : String(part)))
            .join(
              " "
            )}${cause.reasons.map((reason) => ` (${String("error" in reason ? reason.error : "defect" in reason ? reason.defect : reason._tag)})`).join("")}`
      )
    )
  }

  #scheduler(): Scheduler.Scheduler {
    const dispatcher: Scheduler.SchedulerDispatcher = {
      scheduleTask: (task) => void (this.isAlive && this.tasks.push(task)),
      flush: () => {
        while (this.tasks.length > 0) this.tasks.shift()!()
      }
    }
    return {
      executionMode: "async",
      shouldYield: (fiber) => fiber.currentOpCount >= this.#opsMax,
      makeDispatcher: () => dispatcher
    }
  }

  #clock(): Clock.Clock {
    const wall = (): number => {
      // Reading the clock sometimes takes time, so that slices end; a jump is sometimes larger.
      if (this.world.fails(0.01))
        this.skew_ms += this.world.draws.chance(0.05) ? this.world.draws.between(-4_000, 4_000) : 9
      return EPOCH + Math.floor(this.world.now + this.skew_ms)
    }
    const monotonic = () => BigInt(Math.floor(this.world.now * 1_000_000))
    const nanos = () => BigInt(wall()) * 1_000_000n
    return {
      currentTimeMillisUnsafe: wall,
      currentTimeMillis: Effect.sync(wall),
      currentTimeNanosUnsafe: nanos,
      currentTimeNanos: Effect.sync(nanos),
      monotonicTimeNanosUnsafe: monotonic,
      monotonicTimeNanos: Effect.sync(monotonic),
      sleep: (duration) => {
        const ms = Duration.toMillis(duration)
        if (ms <= 0) return Effect.yieldNow
        if (!Number.isFinite(ms)) return Effect.never
        return Effect.callback((resume) => {
          let isWanted = true
          this.deliver(ms, () => isWanted && resume(Effect.void))
          return Effect.sync(() => {
            isWanted = false
          })
        })
      }
    }
  }
}

/** The servers' wall clock: it never goes back. */
export const serverTime = (world: World): number => EPOCH + Math.floor(world.now)
