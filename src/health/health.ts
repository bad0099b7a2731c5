/**
 * Looks at every part of the program now and then, each look bounded in time, and keeps what it found: the public probe
 * and the operator's status answer from that, so that however often they are asked, the parts are not. What changes
 * goes to the log, also what was dropped or lost, which nothing else tells.
 */
import { Clock, Context, Effect, Exit, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { StreamWorker } from "@dowser/streams/host/host"
import type { Progress } from "@dowser/streams/runner/runner"
import { Configuration } from "../configuration/configuration.ts"
import { SearchServed } from "../events/served/serve-log.ts"
import { CurrentCircuits, Engine, type EngineCircuits } from "../ports/engine/engine.ts"
import { EventLog } from "@dowser/log/event-log/event-log"
import { changesOf, type Finding, growthOf, type Losses, type Verdict, verdictOf } from "./verdict.ts"
import { countWebhooks, type WebhookFigures } from "./webhook-figures.ts"

export interface HealthReport {
  readonly verdict: Verdict
  /** Unix milliseconds. */
  readonly checked_at: number
  readonly findings: ReadonlyArray<Finding>
  readonly circuits: EngineCircuits
  readonly losses: Losses
  /** undefined where it cannot be read. */ readonly lag_ms: number | undefined
  readonly partitions: ReadonlyArray<Progress>
  /** Entries a second by `group/partition`, since the look before. */
  readonly rates: ReadonlyMap<string, number>
  /** Undefined until they have been counted once. */
  readonly webhooks: WebhookFigures | undefined
}

export interface HealthOptions {
  readonly every_ms?: number
  /** How long one part may take to answer. */
  readonly probe_ms?: number
  /** Age of the oldest uncounted record from which the streams count as stuck. */
  readonly lagMax_ms?: number
}

const EVERY_MS = 2_000
const PROBE_MS = 1_000
/** Thirty times what an event may take until it is visible (design budget: 2 s). */
const LAG_MAX_MS = 60_000
/** Losses come in bursts: at most one line in this time. */
const LOSSES_TOLD_EVERY_MS = 30_000
const FIGURES_EVERY_MS = 10_000
const DAMAGED_TOLD_MAX = 10

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
const sumOf = (partitions: ReadonlyArray<Progress>, count: (progress: Progress) => number): number =>
  partitions.reduce((sum, progress) => sum + count(progress), 0)

const make = Effect.fnUntraced(function* ({
  every_ms = EVERY_MS,
  lagMax_ms = LAG_MAX_MS,
  probe_ms = PROBE_MS
}: HealthOptions) {
  const clock = yield* Clock.Clock
  const engine = yield* Engine
  const { damages } = yield* Configuration
  const circuits = yield* CurrentCircuits
  const log = yield* EventLog
  const streams = yield* StreamWorker
  const served = yield* SearchServed
  const sql = yield* SqlClient.SqlClient

  const scope = yield* Effect.scope
  const looking = new Map<Finding["part"], Fiber.Fiber<string, { readonly message: string }>>()
  /**
   * A part's own words, or that it did not answer in time. Never fails. The probe runs beside the wait, because giving
   * one up can take seconds too (the driver waits for a server that does not answer its cancellation); one a part.
   */
  const look = (
    part: Finding["part"],
    probe: Effect.Effect<string, { readonly message: string }>
  ): Effect.Effect<Finding> =>
    Effect.gen(function* () {
      let fiber = looking.get(part)
      if (fiber === undefined) {
        looking.set(part, (fiber = yield* Effect.forkIn(probe, scope)))
        fiber.addObserver(() => looking.delete(part))
      }
      const answer = yield* Effect.timeoutOption(Fiber.await(fiber), probe_ms)
      if (answer._tag === "None") {
        yield* Effect.forkIn(Fiber.interrupt(fiber), scope)
        return { part, ok: false, detail: `does not answer within ${seconds(probe_ms)}` }
      }
      return Exit.match(answer.value, {
        onSuccess: (detail): Finding => ({ part, ok: true, detail }),
        onFailure: (cause): Finding => ({ part, ok: false, detail: messageOf(cause.reasons[0]) })
      })
    })

  // Searches that are refused are not answered. Half open is well: without requests nothing would ever close it.
  const engineProbe = Effect.flatMap(
    Effect.promise(async () => engine.health()),
    (health) => {
      if (!health.ok) return Effect.fail(health.error)
      return circuits().reads === "open"
        ? Effect.fail({ message: "did not answer searches, which are refused for some seconds" })
        : Effect.succeed("answers")
    }
  )
  const streamsProbe = Effect.flatMap(streams.lag_ms, (lag_ms) =>
    lag_ms <= lagMax_ms
      ? Effect.succeed(`${seconds(lag_ms)} behind`)
      : Effect.fail({ message: `the oldest record that is not counted yet waits for ${seconds(lag_ms)}` })
  )

  /** What of single organizations could not be read, told up to a length. */
  const organizationsProbe = Effect.suspend(() => {
    const damaged = [
      ...damages.list(),
      ...(engine.damaged?.() ?? [])
        .filter(({ collection, namespace }) => collection !== undefined || namespace === "")
        .map(({ message, namespace }) => ({
          organizationId: namespace === "" ? "an organization that cannot be told" : namespace,
          reason: message
        }))
    ]
    if (damaged.length === 0) return Effect.succeed("all are read")
    const told = damaged
      .slice(0, DAMAGED_TOLD_MAX)
      .map(({ organizationId, reason }) => `${organizationId}: ${reason}`)
      .join(" ")
    return Effect.fail({
      message: `${new Set(damaged.map(({ organizationId }) => organizationId)).size} cannot be read and are refused. ${told}${damaged.length > DAMAGED_TOLD_MAX ? " …" : ""}`
    })
  })

  let webhooks: WebhookFigures | undefined
  // Beside the looks: it may be slow, and nobody waits for it.
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.catch(
          Effect.map(countWebhooks, (figures) => {
            webhooks = figures
          }),
          (error) => {
            webhooks = undefined
            return Effect.logWarning("What waits of webhooks could not be counted", error)
          }
        ),
        Effect.sleep(FIGURES_EVERY_MS)
      )
    )
  )

  let entriesBefore = new Map<string, number>()
  let countedAt = clock.currentTimeMillisUnsafe()
  /** A runner that began again counts from zero. */
  const ratesOf = (partitions: ReadonlyArray<Progress>, now: number): ReadonlyMap<string, number> => {
    const elapsed_s = Math.max(0.001, (now - countedAt) / 1_000)
    const rates = new Map(
      partitions.map(({ entries, group, partition }) => [
        `${group}/${partition}`,
        Math.max(0, entries - (entriesBefore.get(`${group}/${partition}`) ?? entries)) / elapsed_s
      ])
    )
    entriesBefore = new Map(partitions.map(({ entries, group, partition }) => [`${group}/${partition}`, entries]))
    countedAt = now
    return rates
  }

  const examine = Effect.gen(function* () {
    const findings = yield* Effect.all(
      [
        look("engine", engineProbe),
        look("event_log", Effect.as(log.health, "takes records")),
        look("streams", streamsProbe),
        look("postgres", Effect.as(sql`SELECT 1`, "answers")),
        look("organizations", organizationsProbe)
      ],
      { concurrency: "unbounded" }
    )
    const partitions = yield* streams.progress
    const report: HealthReport = {
      verdict: verdictOf(findings),
      checked_at: clock.currentTimeMillisUnsafe(),
      findings,
      circuits: circuits(),
      losses: {
        worker_restarts: yield* streams.restarts,
        processor_restarts: sumOf(partitions, ({ restarts }) => restarts),
        dead_letters: sumOf(partitions, ({ deadLetters }) => deadLetters),
        records_lost: sumOf(partitions, ({ lost }) => lost),
        reports_dropped: yield* served.dropped
      },
      lag_ms: yield* Effect.orElseSucceed(streams.lag_ms, () => undefined),
      partitions,
      rates: ratesOf(partitions, clock.currentTimeMillisUnsafe()),
      webhooks
    }
    return report
  })

  let latest = yield* examine
  let told = latest.losses
  let toldAt = 0
  const tell = (before: ReadonlyArray<Finding>, { checked_at, findings, losses }: HealthReport) =>
    Effect.gen(function* () {
      for (const { detail, ok, part } of changesOf(before, findings))
        yield* ok
          ? Effect.logInfo(`Health: ${part} is well again: ${detail}`)
          : Effect.logWarning(`Health: ${part}: ${detail}`)
      const growth = growthOf(told, losses)
      if (growth === undefined || checked_at - toldAt < LOSSES_TOLD_EVERY_MS) return
      yield* Effect.logWarning(`Since the last report: ${growth}`)
      told = losses
      toldAt = checked_at
    })
  yield* tell([], latest)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* Effect.sleep(every_ms)
        const before = latest.findings
        latest = yield* examine
        yield* tell(before, latest)
      })
    )
  )

  return Health.of({
    latest: Effect.sync(() => {
      const age_ms = clock.currentTimeMillisUnsafe() - latest.checked_at
      if (age_ms <= 2 * (every_ms + probe_ms)) return latest
      // A look takes at most `probe_ms`: a thread that cannot keep that up is itself the finding.
      const findings: ReadonlyArray<Finding> = [
        ...latest.findings,
        { part: "health", ok: false, detail: `the last look is ${seconds(age_ms)} old` }
      ]
      return { ...latest, findings, verdict: verdictOf(findings) }
    })
  })
})

const messageOf = (reason: unknown): string => {
  const { defect, error } = (reason ?? {}) as { readonly error?: unknown; readonly defect?: unknown }
  const message = ((error ?? defect) as { readonly message?: unknown } | undefined)?.message
  return typeof message === "string" && message !== "" ? message : "does not answer"
}

export class Health extends Context.Service<
  Health,
  {
    /** What the newest look found; at once, and without another look. */
    readonly latest: Effect.Effect<HealthReport>
  }
>()("dowser/health/Health") {
  /** Built after a first look, which takes at most `probe_ms`. */
  static readonly layer = (
    options: HealthOptions = {}
  ): Layer.Layer<
    Health,
    never,
    Configuration | Engine | EventLog | SearchServed | SqlClient.SqlClient | StreamWorker
  > => Layer.effect(Health, make(options))
}
