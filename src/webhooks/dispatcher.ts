/**
 * Delivers. Three loops and the attempts they start:
 *
 *   outbox   woken by a signal: outbox rows become deliveries (`fan-out.ts`)
 *   queue    sleeps until the earliest due time of an endpoint with room, claims, starts attempts
 *   results  whatever attempts ended meanwhile is recorded in one transaction; then their places are free
 *
 * A claim ends by itself (`CLAIM_MS`), so what a killed process had on its way is sent again by the next one: at least
 * once, under the same id. Every minute all loops look at the tables whether or not anybody called, which covers
 * signals that were lost and processes that died.
 */
import { Clock, Effect, FiberSet, Latch, Layer, Random, Semaphore } from "effect"
import { type Attempt, ATTEMPT_TIMEOUT_MS, makeAttempt } from "./attempt.ts"
import { type ClaimedDelivery, makeDeliveriesRepository } from "./deliveries-repository.ts"
import { makeEndpointActors, type Wanted } from "./endpoint-actors.ts"
import { FAN_OUT_ROWS, makeFanOut } from "./fan-out.ts"
import { waitAfter_ms } from "./next-attempt.ts"
import { makeRecordAttempts, type RecordedAttempt } from "./record-attempts.ts"
import { listenSignals } from "./signals.ts"

export interface DispatcherOptions {
  /**
   * This process is the only one of its database: claims found at the start are of its former life and are given back
   * at once.
   */
  readonly isAlone: boolean
  readonly attemptTimeout_ms?: number
}

/** Beyond the time-out there is time for recording: a claim must not end while its attempt goes on. */
const CLAIM_SLACK_MS = 15_000
const LOOK_EVERY_MS = 60_000
/** After a failed statement. */
const AGAIN_MS = 1_000
/** A stop waits that long for attempts on their way (design part 7: exit within 10 s); the rest is given back. */
const DRAIN_MS = 3_000
const STOP_MS = 6_000

/** What an attempt writes. `chance` is uniform in [0, 1). */
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

const make = Effect.fnUntraced(function* ({ attemptTimeout_ms = ATTEMPT_TIMEOUT_MS, isAlone }: DispatcherOptions) {
  const deliveries = yield* makeDeliveriesRepository
  const fanOut = yield* makeFanOut
  const recordAttempts = yield* makeRecordAttempts
  const attempt = yield* makeAttempt(attemptTimeout_ms)
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()

  const actors = makeEndpointActors()
  const sending = yield* FiberSet.make<void>()
  const held = new Set<ClaimedDelivery>()
  let results: Array<{
    readonly delivery: ClaimedDelivery
    readonly attempt: Attempt
    readonly recorded: RecordedAttempt
  }> = []
  const wakeOutbox = yield* Latch.make(true)
  const wakeQueue = yield* Latch.make(true)
  const wakeResults = yield* Latch.make(false)
  let isStopping = false
  let isBehind = true

  if (isAlone) yield* Effect.orDie(deliveries.giveBackAll(now()))

  const send = (delivery: ClaimedDelivery) =>
    Effect.gen(function* () {
      const done = yield* attempt(delivery)
      const recorded = {
        ...resultOf(delivery, done, yield* Random.next),
        wasFailing: delivery.isEndpointFailing || actors.isFailing(delivery.endpoint_id)
      }
      results.push({ delivery, attempt: done, recorded })
      wakeResults.openUnsafe()
    })

  const claimAndSend = Effect.gen(function* () {
    const wanted = actors.wanted(now())
    const claimed = yield* Effect.tapError(
      deliveries.claim(wanted, now(), now() + attemptTimeout_ms + CLAIM_SLACK_MS),
      () =>
        Effect.sync(() => {
          for (const { endpointId } of wanted) actors.dueBy(endpointId, now())
        })
    )
    const counts = new Map<string, number>()
    for (const delivery of claimed) {
      counts.set(delivery.endpoint_id, (counts.get(delivery.endpoint_id) ?? 0) + 1)
      actors.started(delivery.endpoint_id)
      held.add(delivery)
      yield* FiberSet.run(sending, send(delivery))
    }
    // Who took all it had room for may have more that is due; of the others the table knows when they are due next.
    const isFull = ({ endpointId, places }: Wanted) => counts.get(endpointId) === places
    for (const { endpointId } of wanted.filter(isFull)) actors.dueBy(endpointId, now())
    const emptied = wanted.filter((one) => !isFull(one)).map(({ endpointId }) => endpointId)
    if (emptied.length === 0) return
    const next = yield* Effect.tapError(deliveries.nextDueOf(emptied), () =>
      Effect.sync(() => {
        isBehind = true
      })
    )
    for (const { due_at, endpoint_id } of next) actors.dueBy(endpoint_id, due_at)
    for (const endpointId of emptied) actors.emptied(endpointId)
  })
  const dueBy = (endpointId: string, at: number) => {
    actors.dueBy(endpointId, at)
    wakeQueue.openUnsafe()
  }

  const again =
    (what: string) =>
    <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.catchCause(effect, (cause) =>
        isStopping
          ? Effect.interrupt
          : Effect.andThen(Effect.logError(`Webhooks: ${what} failed; tried again`, cause), Effect.sleep(AGAIN_MS))
      )

  const outboxLoop = Effect.forever(
    again("turning events into deliveries")(
      Effect.gen(function* () {
        yield* Effect.timeoutOption(wakeOutbox.await, LOOK_EVERY_MS)
        wakeOutbox.closeUnsafe()
        for (let taken = FAN_OUT_ROWS; taken === FAN_OUT_ROWS;) {
          const done = yield* Effect.tapError(fanOut, () => Effect.sync(() => wakeOutbox.openUnsafe()))
          taken = done.taken
          for (const endpointId of done.endpointIds) dueBy(endpointId, now())
        }
      })
    )
  )

  let lookedAt = -Infinity
  const queueLoop = Effect.forever(
    again("claiming deliveries")(
      Effect.gen(function* () {
        wakeQueue.closeUnsafe()
        if (isBehind || performance.now() - lookedAt >= LOOK_EVERY_MS) {
          for (const { due_at, endpoint_id } of yield* deliveries.nextDue) actors.dueBy(endpoint_id, due_at)
          isBehind = false
          lookedAt = performance.now()
        }
        const wait_ms = actors.wakeAt() - now()
        if (isStopping) return yield* Effect.never
        if (wait_ms <= 0) return yield* claimAndSend
        yield* Effect.timeoutOption(wakeQueue.await, Math.min(wait_ms, LOOK_EVERY_MS))
      })
    )
  )

  /** Everything that ended so far; what cannot be written stays and keeps its places. */
  const recording = yield* Semaphore.make(1)
  const recordAll = recording.withPermits(1)(
    Effect.gen(function* () {
      // A copy: attempts that end while this is written are of the next batch.
      const batch = [...results]
      if (batch.length === 0) return
      yield* recordAttempts(
        batch.map(({ recorded }) => recorded),
        now()
      )
      results = results.slice(batch.length)
      for (const {
        attempt: { duration_ms, verdict },
        delivery,
        recorded
      } of batch) {
        held.delete(delivery)
        actors.setFailing(delivery.endpoint_id, !recorded.isSuccess)
        actors.ended(delivery.endpoint_id, { duration_ms, isOverload: verdict.kind === "retry" })
        if (recorded.due_at !== undefined) dueBy(delivery.endpoint_id, recorded.due_at)
      }
      wakeQueue.openUnsafe()
    })
  )
  const resultsLoop = Effect.forever(
    again("recording results")(
      Effect.gen(function* () {
        yield* wakeResults.await
        wakeResults.closeUnsafe()
        yield* Effect.tapError(recordAll, () => Effect.sync(() => wakeResults.openUnsafe()))
      })
    )
  )

  const listening = listenSignals((signal) => {
    if (signal === undefined) isBehind = true
    if (signal === undefined || signal === "") wakeOutbox.openUnsafe()
    else dueBy(signal, now())
    wakeQueue.openUnsafe()
  })

  for (const loop of [outboxLoop, queueLoop, resultsLoop, listening]) yield* Effect.forkScoped(loop)
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      isStopping = true
      yield* Effect.timeoutOption(FiberSet.awaitEmpty(sending), DRAIN_MS)
      yield* FiberSet.clear(sending)
      yield* recordAll
      if (held.size > 0) yield* deliveries.giveBack([...held], now())
    }).pipe(
      Effect.timeout(STOP_MS),
      Effect.catchCause((cause) =>
        Effect.logError("Webhooks: what was on its way is sent again when its claims end", cause)
      )
    )
  )
})

/** Delivers as long as the layer lives. */
export const layerDispatcher = (options: DispatcherOptions) => Layer.effectDiscard(make(options))
