/**
 * Decides which organizations may send more events while counting lags behind. The log is one sequence for all, so
 * events of one organization delay those of every other until they are processed; inside the log, fairness is no
 * longer possible. Here it is: once stored, uncounted events take longer than `SHARE_FROM_MS`, organizations share
 * the counting rate by weighted max-min fairness. A sender below its share is never refused; one above it is told
 * when to retry. A single active organization is not limited: the log keeps its backlog, up to its own limits.
 *
 * Several API processes decide separately, each by what it stored and by the common lag; while the lag does not fall,
 * each grants less.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { StreamWorker } from "@dowser/streams/host/host"
import { weightIn, type Weights } from "@dowser/streams/runner/weights"

/** Approximate time that an event may wait for earlier ones when others send too. */
export const SHARE_FROM_MS = 3_000
const SAMPLE_EVERY_MS = 1_000
/**
 * Below this lag, counting keeps up: flushes pause for 0.6 s while events keep arriving (`streams/runner/runner.ts`).
 * Duplicates are never counted, so the backlog is cleared once lag is low.
 */
const KEEPS_UP_MS = 700
/** The assumed rate until one has been measured: the budget of attribution on one core. */
const DRAIN_GUESS = 30_000
/** Lower bound of the estimate, in events per second: a standstill must not lock everybody out. */
const DRAIN_MIN = 1_000
/** A bucket holds what its share allows in this time, and always at least one complete batch. */
const BUCKET_MS = 2_000
const BUCKET_MIN = 1_000
const RETRY_AFTER_MAX_S = 60
/** The minimum share of the drain rate that is granted while the lag does not fall. */
const GIVEN_MIN = 0.1
/** Limit of tracked organizations with recent traffic; others are never refused. About 200 bytes each. */
const ORGANIZATIONS_MAX = 20_000
/** Below this number of events per second, an organization is no longer active. */
const ACTIVE_FROM = 0.05

export interface Offer {
  readonly rate: number
  readonly weight: number
}

/**
 * The rate per weight up to which each may send, so that together they send at most `capacity`: those that send less
 * than level × weight keep their rate, and the others share the rest. Infinity if everything fits. O(n log n).
 */
export const fairLevel = (offers: ReadonlyArray<Offer>, capacity: number): number => {
  let left = capacity
  let weights = offers.reduce((sum, { weight }) => sum + weight, 0)
  for (const { rate, weight } of [...offers].sort((a, b) => a.rate / a.weight - b.rate / b.weight)) {
    if (rate / weight > left / weights) return left / weights
    left -= rate
    weights -= weight
  }
  return Number.POSITIVE_INFINITY
}

interface Sender {
  readonly weight: number
  /** Events offered since the last sample, stored or not. */
  offered: number
  /** Offered per second, smoothed over about three samples. */
  rate: number
  tokens: number
  filledAt: number
}

interface AdmissionOptions {
  readonly weights?: Weights
  readonly shareFrom_ms?: number
}

/** The decision alone, with times (ms) as arguments. */
export class AdmissionControl {
  readonly #weightOf: (organizationId: string) => number
  readonly #shareFrom_ms: number
  readonly #senders = new Map<string, Sender>()
  #drain = DRAIN_GUESS
  /** Events stored by this process and, as far as known, not counted yet. */
  #backlog = 0
  #lag_ms = 0
  #given = 1
  #level = Number.POSITIVE_INFINITY
  #sampledAt: number | undefined

  constructor({ shareFrom_ms = SHARE_FROM_MS, weights }: AdmissionOptions = {}) {
    this.#weightOf = weightIn(weights)
    this.#shareFrom_ms = shareFrom_ms
  }

  /** Approximate wait of an event stored now. */
  get behind_ms(): number {
    return Math.max(this.#lag_ms, (this.#backlog / this.#drain) * 1_000)
  }
  /** Events per second and weight that each may send now; Infinity while there is no sharing. */
  get level(): number {
    return this.#level
  }

  /** Seconds after which to retry, or 0 if the events may be stored. O(1), except at the moment when sharing begins. */
  admit(organizationId: string, events: number, now: number): number {
    let sender = this.#senders.get(organizationId)
    if (sender === undefined) {
      if (this.#senders.size >= ORGANIZATIONS_MAX) return 0
      const weight = this.#weightOf(organizationId)
      this.#senders.set(organizationId, (sender = { weight, offered: 0, rate: 0, tokens: BUCKET_MIN, filledAt: now }))
    }
    sender.offered += events
    // A burst can fill the log within one sample.
    if (this.#level === Number.POSITIVE_INFINITY && this.behind_ms > this.#shareFrom_ms && this.#senders.size > 1)
      this.#share(now)
    if (this.#level < Number.POSITIVE_INFINITY) {
      const rate = this.#level * sender.weight
      sender.tokens = Math.min(
        Math.max(BUCKET_MIN, (rate * BUCKET_MS) / 1_000),
        sender.tokens + (rate * Math.max(0, now - sender.filledAt)) / 1_000
      )
      sender.filledAt = now
      // A batch larger than the bucket passes when the bucket is full, and is paid off afterwards.
      if (sender.tokens < Math.min(events, BUCKET_MIN))
        return Math.min(
          RETRY_AFTER_MAX_S,
          Math.max(1, Math.ceil((Math.min(events, BUCKET_MIN) - sender.tokens) / rate))
        )
      sender.tokens -= events
    }
    this.#backlog += events
    return 0
  }

  /** Call once a second with the age of the oldest uncounted record, and the events counted since the last call. */
  sample(now: number, lag_ms: number, counted: number): void {
    const elapsed_s = Math.max(0.001, (now - (this.#sampledAt ?? now - SAMPLE_EVERY_MS)) / 1_000)
    this.#sampledAt = now
    const isFalling = lag_ms < this.#lag_ms
    this.#lag_ms = lag_ms
    const wasBusy = this.#backlog > 0 && lag_ms > SAMPLE_EVERY_MS
    // The counting rate can be measured only while there is a backlog.
    if (wasBusy && counted > 0) this.#drain = Math.max(DRAIN_MIN, 0.6 * this.#drain + (0.4 * counted) / elapsed_s)
    this.#backlog = lag_ms < KEEPS_UP_MS ? 0 : Math.max(0, this.#backlog - counted)
    for (const [organizationId, sender] of this.#senders) {
      sender.rate = 0.6 * sender.rate + (0.4 * sender.offered) / elapsed_s
      sender.offered = 0
      if (sender.rate < ACTIVE_FROM) this.#senders.delete(organizationId)
    }
    if (this.behind_ms <= this.#shareFrom_ms || this.#senders.size < 2) {
      this.#given = Math.min(1, this.#given * 1.2)
      // Half the threshold, so that sharing does not switch on and off.
      if (this.behind_ms <= this.#shareFrom_ms / 2 || this.#senders.size < 2) this.#level = Number.POSITIVE_INFINITY
      else if (this.#level < Number.POSITIVE_INFINITY) this.#share(now)
      return
    }
    this.#given = isFalling ? this.#given : Math.max(GIVEN_MIN, this.#given * 0.85)
    this.#share(now)
  }

  #share(now: number): void {
    const begins = this.#level === Number.POSITIVE_INFINITY
    // Events of this sample count towards the rate, because a burst has no history.
    const since_s = Math.max(0.1, (now - (this.#sampledAt ?? now)) / 1_000)
    const offers = [...this.#senders.values()].map(({ offered, rate, weight }): Offer => ({
      rate: Math.max(rate, offered / since_s),
      weight
    }))
    const capacity = this.#drain * this.#given
    const level = fairLevel(offers, capacity)
    // Everything fits and yet counting lags: the backlog must drain first, so everybody gets an equal share, which
    // does not limit small senders.
    this.#level =
      level === Number.POSITIVE_INFINITY ? capacity / offers.reduce((sum, { weight }) => sum + weight, 0) : level
    if (begins)
      for (const sender of this.#senders.values()) Object.assign(sender, { tokens: BUCKET_MIN, filledAt: now })
  }
}

interface AdmissionShape {
  /** Seconds after which the organization may retry this many events, or 0. */
  readonly admit: (organizationId: string, events: number) => number
}

/** By default everyone is admitted, because a log without streams reading it has no lag. */
export const Admission = Context.Reference<AdmissionShape>("dowser/events/Admission", {
  defaultValue: () => ({ admit: () => 0 })
})

/** For a process that accepts events; reads the streams' progress once a second. */
export const layerAdmission = (options: AdmissionOptions): Layer.Layer<never, never, StreamWorker> =>
  Layer.effect(
    Admission,
    Effect.gen(function* () {
      const streams = yield* StreamWorker
      const clock = yield* Clock.Clock
      const control = new AdmissionControl(options)
      let entriesBefore = 0
      yield* Effect.forkScoped(
        Effect.forever(
          Effect.andThen(
            Effect.sleep(SAMPLE_EVERY_MS),
            Effect.gen(function* () {
              const lag_ms = yield* streams.lag_ms
              // Counters start at 0 again when a runner restarts. A replay counts no new events.
              const entries = (yield* streams.progress).reduce(
                (sum, report) => (report.isReplaying ? sum : sum + report.entries),
                0
              )
              control.sample(clock.currentTimeMillisUnsafe(), lag_ms, Math.max(0, entries - entriesBefore))
              entriesBefore = entries
            }).pipe(
              Effect.catch((error) =>
                Effect.logWarning("How far counting is behind could not be seen; shares stay as they were", error)
              )
            )
          )
        )
      )
      return {
        admit: (organizationId, events) => control.admit(organizationId, events, clock.currentTimeMillisUnsafe())
      }
    })
  )
