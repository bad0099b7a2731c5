/**
 * Sends deliveries. Three loops and the attempts they start:
 *
 *   outbox   woken by a signal: outbox rows become deliveries (`fan-out.ts`)
 *   queue    sleeps until the earliest due time of an endpoint with room, claims, starts attempts
 *   results  records attempts that ended in one transaction; then their slots are free
 *
 * A claim expires by itself (`CLAIM_SLACK_MS`), so what a killed process was sending is sent again by the next one:
 * at least once, under the same id. Every minute all loops read the tables even without a signal, which covers lost
 * signals and dead processes.
 */
import { Clock, Effect, FiberSet, Latch, Layer, Random, Semaphore } from "effect"
import { type Attempt, ATTEMPT_TIMEOUT_MS, makeAttempt } from "./attempt.ts"
import { type ClaimedDelivery, makeDeliveriesRepository } from "./deliveries-repository.ts"
import { makeEndpointActors, type Wanted } from "./endpoint-actors.ts"
import { FAN_OUT_ROWS, makeFanOut } from "./fan-out.ts"
import { waitAfter_ms } from "./next-attempt.ts"
import { makeRecordAttempts, type RecordedAttempt } from "./record-attempts.ts"
import { listenSignals } from "./signals.ts"
import { counted } from "../metrics/background.ts"

export interface DispatcherOptions {
  /**
   * This process is the only one of its database: claims found at its start are outdated and released immediately.
   */
  readonly isAlone: boolean
  readonly attemptTimeout_ms?: number
}

/** Time for recording beyond the time-out: a claim must not end while its attempt continues. */
const CLAIM_SLACK_MS = 15_000
const LOOK_EVERY_MS = 60_000
/** Delay after a failed statement. */
const AGAIN_MS = 1_000
/** How long a stop waits for attempts in progress, so that the program exits within 10 s; the rest is released. */
const DRAIN_MS = 3_000
const STOP_MS = 6_000

/** The row that an attempt writes. `chance` is uniform in [0, 1). */
const resultOf = (
  { claim, endpoint_id, id, round_attempts }: ClaimedDelivery,
  { ended_at, verdict }: Attempt,
  chance: number
) => {
  const wait_ms = verdict.kind === "retry" ? waitAfter_ms(round_attempts + 1, chance) : undefined
  return {
    endpoint_id,
    id,
    claim,
    ended_at,
    http_code: verdict.http_code,
    isSuccess: verdict.kind === "success",
    error: verdict.kind === "success" ? undefined : verdict.error,
    status:
      verdict.kind === "success"
        ? ("success" as const)
        : wait_ms === undefined
          ? ("failed" as const)
          : ("pending" as const),
    due_at: wait_ms === undefined ? undefined : ended_at + wait_ms
  }
}

interface Ended {
  readonly delivery: ClaimedDelivery
  readonly attempt: Attempt
  readonly recorded: RecordedAttempt
}
/** The dependencies of the loops. */
interface Parts {
  readonly attemptTimeout_ms: number
  readonly deliveries: Effect.Success<typeof makeDeliveriesRepository>
  readonly fanOut: Effect.Success<typeof makeFanOut>
  readonly recordAttempts: Effect.Success<typeof makeRecordAttempts>
  readonly attempt: Effect.Success<ReturnType<typeof makeAttempt>>
  readonly sending: FiberSet.FiberSet<void>
  readonly recording: Semaphore.Semaphore
  readonly wakeOutbox: Latch.Latch
  readonly wakeQueue: Latch.Latch
  readonly wakeResults: Latch.Latch
  /** Unix milliseconds. */ readonly now: () => number
}

class Dispatcher {
  readonly #parts: Parts
  readonly #actors = makeEndpointActors()
  /** Claimed but not recorded yet. */
  readonly #held = new Set<ClaimedDelivery>()
  #results: Array<Ended> = []
  #isStopping = false
  /** Whether the table may have deliveries that the actors do not know of. */
  #isBehind = true
  #lookedAt = -Infinity

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Turns outbox rows into deliveries. */
  readonly outboxLoop = Effect.suspend(() =>
    Effect.forever(this.#again("turning events into deliveries", this.#spread()))
  )
  /** Claims deliveries that are due and starts attempts. */
  readonly queueLoop = Effect.suspend(() => Effect.forever(this.#again("claiming deliveries", this.#claimDue())))
  /** Records attempts that ended. */
  readonly resultsLoop = Effect.suspend(() => Effect.forever(this.#again("recording results", this.#recordEnded())))

  /** `signal`: an endpoint with something due; empty: the outbox has rows; undefined: signals may have been lost. */
  readonly hear = (signal: string | undefined): void => {
    if (signal === undefined) this.#isBehind = true
    if (signal === undefined || signal === "") this.#parts.wakeOutbox.openUnsafe()
    else this.#dueBy(signal, this.#parts.now())
    this.#parts.wakeQueue.openUnsafe()
  }

  /** Waits for attempts in progress, then releases the rest. */
  readonly stop = Effect.gen({ self: this }, function* () {
    const { deliveries, now, sending } = this.#parts
    this.#isStopping = true
    yield* Effect.timeoutOption(FiberSet.awaitEmpty(sending), DRAIN_MS)
    yield* FiberSet.clear(sending)
    yield* this.#recordAll()
    if (this.#held.size > 0) yield* deliveries.giveBack([...this.#held], now())
  })

  #dueBy(endpointId: string, at: number): void {
    this.#actors.dueBy(endpointId, at)
    this.#parts.wakeQueue.openUnsafe()
  }

  #again<A, E, R>(what: string, effect: Effect.Effect<A, E, R>) {
    return Effect.catchCause(effect, (cause) =>
      this.#isStopping
        ? Effect.interrupt
        : Effect.andThen(Effect.logError(`Webhooks: ${what} failed; tried again`, cause), Effect.sleep(AGAIN_MS))
    )
  }

  readonly #spread = Effect.fnUntraced({ self: this }, function* () {
    const { fanOut, now, wakeOutbox } = this.#parts
    yield* Effect.timeoutOption(wakeOutbox.await, LOOK_EVERY_MS)
    wakeOutbox.closeUnsafe()
    for (let taken = FAN_OUT_ROWS; taken === FAN_OUT_ROWS;) {
      const done = yield* Effect.tapError(counted("webhook fan-out")(fanOut), () =>
        Effect.sync(() => wakeOutbox.openUnsafe())
      )
      taken = done.taken
      for (const endpointId of done.endpointIds) this.#dueBy(endpointId, now())
    }
  })

  readonly #claimDue = Effect.fnUntraced({ self: this }, function* () {
    const { deliveries, now, wakeQueue } = this.#parts
    wakeQueue.closeUnsafe()
    if (this.#isBehind || performance.now() - this.#lookedAt >= LOOK_EVERY_MS) {
      for (const { due_at, endpoint_id } of yield* deliveries.nextDue) this.#actors.dueBy(endpoint_id, due_at)
      this.#isBehind = false
      this.#lookedAt = performance.now()
    }
    const wait_ms = this.#actors.wakeAt() - now()
    if (this.#isStopping) return yield* Effect.never
    if (wait_ms <= 0) return yield* this.#claimAndSend()
    yield* Effect.timeoutOption(wakeQueue.await, Math.min(wait_ms, LOOK_EVERY_MS))
  })

  readonly #claimAndSend = Effect.fnUntraced({ self: this }, function* () {
    const { attemptTimeout_ms, deliveries, now, sending } = this.#parts
    const wanted = this.#actors.wanted(now())
    const claimed = yield* Effect.tapError(
      deliveries.claim(wanted, now(), now() + attemptTimeout_ms + CLAIM_SLACK_MS),
      () =>
        Effect.sync(() => {
          for (const { endpointId } of wanted) this.#actors.dueBy(endpointId, now())
        })
    )
    const counts = new Map<string, number>()
    for (const delivery of claimed) {
      counts.set(delivery.endpoint_id, (counts.get(delivery.endpoint_id) ?? 0) + 1)
      this.#actors.started(delivery.endpoint_id)
      this.#held.add(delivery)
      yield* FiberSet.run(sending, this.#send(delivery))
    }
    // An endpoint that used all of its slots may have more that is due; for the others the table has the next due
    // time.
    const isFull = ({ endpointId, places }: Wanted) => counts.get(endpointId) === places
    for (const { endpointId } of wanted.filter(isFull)) this.#actors.dueBy(endpointId, now())
    yield* this.#lookAfter(wanted.filter((one) => !isFull(one)).map(({ endpointId }) => endpointId))
  })

  /** Looks up the next due times of endpoints whose claim found less than they had room for. */
  readonly #lookAfter = Effect.fnUntraced({ self: this }, function* (emptied: ReadonlyArray<string>) {
    if (emptied.length === 0) return
    const next = yield* Effect.tapError(this.#parts.deliveries.nextDueOf(emptied), () =>
      Effect.sync(() => {
        this.#isBehind = true
      })
    )
    for (const { due_at, endpoint_id } of next) this.#actors.dueBy(endpoint_id, due_at)
    for (const endpointId of emptied) this.#actors.emptied(endpointId)
  })

  readonly #send = Effect.fnUntraced({ self: this }, function* (delivery: ClaimedDelivery) {
    const done = yield* this.#parts.attempt(delivery)
    const recorded = {
      ...resultOf(delivery, done, yield* Random.next),
      wasFailing: delivery.isEndpointFailing || this.#actors.isFailing(delivery.endpoint_id)
    }
    this.#results.push({ delivery, attempt: done, recorded })
    this.#parts.wakeResults.openUnsafe()
  })

  readonly #recordEnded = Effect.fnUntraced({ self: this }, function* () {
    const { wakeResults } = this.#parts
    yield* wakeResults.await
    wakeResults.closeUnsafe()
    yield* Effect.tapError(this.#recordAll(), () => Effect.sync(() => wakeResults.openUnsafe()))
  })

  /** Records all finished attempts; those that cannot be written stay and keep their slots. */
  #recordAll() {
    return this.#parts.recording.withPermits(1)(this.#record())
  }
  readonly #record = Effect.fnUntraced({ self: this }, function* () {
    const { now, recordAttempts, wakeQueue } = this.#parts
    // A copy, because attempts that end during the write belong to the next batch.
    const batch = [...this.#results]
    if (batch.length === 0) return
    yield* recordAttempts(
      batch.map(({ recorded }) => recorded),
      now()
    )
    this.#results = this.#results.slice(batch.length)
    for (const {
      attempt: { duration_ms, verdict },
      delivery,
      recorded
    } of batch) {
      this.#held.delete(delivery)
      this.#actors.setFailing(delivery.endpoint_id, !recorded.isSuccess)
      this.#actors.ended(delivery.endpoint_id, { duration_ms, isOverload: verdict.kind === "retry" })
      if (recorded.due_at !== undefined) this.#dueBy(delivery.endpoint_id, recorded.due_at)
    }
    wakeQueue.openUnsafe()
  })
}

const make = Effect.fnUntraced(function* ({ attemptTimeout_ms = ATTEMPT_TIMEOUT_MS, isAlone }: DispatcherOptions) {
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const deliveries = yield* makeDeliveriesRepository
  const dispatcher = new Dispatcher({
    attemptTimeout_ms,
    deliveries,
    fanOut: yield* makeFanOut,
    recordAttempts: yield* makeRecordAttempts,
    attempt: yield* makeAttempt(attemptTimeout_ms),
    sending: yield* FiberSet.make<void>(),
    recording: yield* Semaphore.make(1),
    wakeOutbox: yield* Latch.make(true),
    wakeQueue: yield* Latch.make(true),
    wakeResults: yield* Latch.make(false),
    now
  })
  if (isAlone) yield* Effect.orDie(deliveries.giveBackAll(now()))
  const listening = listenSignals(dispatcher.hear)
  for (const loop of [dispatcher.outboxLoop, dispatcher.queueLoop, dispatcher.resultsLoop, listening])
    yield* Effect.forkScoped(loop)
  yield* Effect.addFinalizer(() =>
    dispatcher.stop.pipe(
      Effect.timeout(STOP_MS),
      Effect.catchCause((cause) =>
        Effect.logError("Webhooks: deliveries in progress are sent again when their claims end", cause)
      )
    )
  )
})

/** Sends deliveries as long as the layer lives. */
export const layerDispatcher = (options: DispatcherOptions) => Layer.effectDiscard(make(options))
