/**
 * Checks every part of the program from time to time, each check limited in time, and keeps the results: the public
 * probe and the operator's status read only these, so that frequent requests do not cause more checks. Changes are
 * logged, and so are drops and losses, which nothing else reports.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { EventLog } from "@dowser/log/event-log/event-log"
import { StreamWorker } from "@dowser/streams/host/host"
import type { Progress } from "@dowser/streams/runner/runner"
import { Configuration } from "../configuration/configuration.ts"
import { SearchServed } from "../search/serve-log.ts"
import { CurrentCircuits, Engine, type EngineCircuits } from "../ports/engine/engine.ts"
import { EntryRates } from "./entry-rates.ts"
import { Looks } from "./looks.ts"
import {
  engineProbe,
  eventLogProbe,
  modelsProbe,
  organizationsProbe,
  postgresProbe,
  recommendationsProbe,
  streamsProbe
} from "./probes.ts"
import { Models } from "../models/models.ts"
import { RecommendModels } from "../recommendation-models/live/recommend-models.ts"
import { changesOf, type Finding, growthOf, type Losses, seconds, type Verdict, verdictOf } from "./verdict.ts"
import { countWebhooks, type WebhookFigures } from "./webhook-figures.ts"

interface HealthReport {
  readonly verdict: Verdict
  /** Unix milliseconds. */
  readonly checked_at: number
  readonly findings: ReadonlyArray<Finding>
  readonly circuits: EngineCircuits
  readonly losses: Losses
  /** Undefined if it cannot be read. */ readonly lag_ms: number | undefined
  readonly partitions: ReadonlyArray<Progress>
  /** Entries per second by `group/partition`, since the previous check. */
  readonly rates: ReadonlyMap<string, number>
  /** Undefined until they have been counted once. */
  readonly webhooks: WebhookFigures | undefined
}

interface HealthOptions {
  readonly every_ms?: number
  /** Time limit for one part. */
  readonly probe_ms?: number
  /** Age of the oldest uncounted record above which the streams count as stuck. */
  readonly lagMax_ms?: number
}

const EVERY_MS = 2_000
const PROBE_MS = 1_000
/** Thirty times what an event may take until it is visible (design budget: 2 s). */
const LAG_MAX_MS = 60_000
/** Losses occur in bursts, so at most one line is logged in this time. */
const LOSSES_LOGGED_EVERY_MS = 30_000
const FIGURES_EVERY_MS = 10_000

const sumOf = (partitions: ReadonlyArray<Progress>, count: (progress: Progress) => number): number =>
  partitions.reduce((sum, progress) => sum + count(progress), 0)

/** Counts waiting webhooks separately from the checks: the count may be slow, and nothing waits for it. */
const makeWebhookCount = Effect.gen(function* () {
  let webhooks: WebhookFigures | undefined
  const count = Effect.catch(
    Effect.map(countWebhooks, (figures) => {
      webhooks = figures
    }),
    (error) => {
      webhooks = undefined
      return Effect.logWarning("Waiting webhooks could not be counted", error)
    }
  )
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(count, Effect.sleep(FIGURES_EVERY_MS))))
  return () => webhooks
})

/** One check of everything. */
const makeExamine = Effect.fnUntraced(function* (lagMax_ms: number, probe_ms: number) {
  const clock = yield* Clock.Clock
  const engine = yield* Engine
  const { damages } = yield* Configuration
  const circuits = yield* CurrentCircuits
  const log = yield* EventLog
  const streams = yield* StreamWorker
  const served = yield* SearchServed
  const sql = yield* SqlClient.SqlClient
  const looks = new Looks(yield* Effect.scope, probe_ms)
  const rates = new EntryRates(clock.currentTimeMillisUnsafe())
  const webhooks = yield* makeWebhookCount
  /** Of this check only; stays undefined until the streams respond in time. */
  let lag_ms: number | undefined
  const probes = {
    engine: engineProbe(engine, circuits),
    event_log: eventLogProbe(log),
    streams: streamsProbe(streams, lagMax_ms, (read) => {
      lag_ms = read
    }),
    postgres: postgresProbe(sql),
    organizations: organizationsProbe(damages, engine),
    recommendations: recommendationsProbe(yield* RecommendModels),
    models: modelsProbe(yield* Models)
  } as const

  return Effect.gen(function* () {
    lag_ms = undefined
    const findings = yield* Effect.all(
      (Object.keys(probes) as ReadonlyArray<keyof typeof probes>).map((part) => looks.look(part, probes[part])),
      { concurrency: "unbounded" }
    )
    const partitions = yield* streams.progress
    const now = clock.currentTimeMillisUnsafe()
    const report: HealthReport = {
      verdict: verdictOf(findings),
      checked_at: now,
      findings,
      circuits: circuits(),
      losses: {
        worker_restarts: yield* streams.restarts,
        processor_restarts: sumOf(partitions, ({ restarts }) => restarts),
        dead_letters: sumOf(partitions, ({ deadLetters }) => deadLetters),
        records_lost: sumOf(partitions, ({ lost }) => lost),
        reports_dropped: yield* served.dropped
      },
      lag_ms,
      partitions,
      rates: rates.since(partitions, now),
      webhooks: webhooks()
    }
    return report
  })
})

/** Logs what changed between two checks, and what was lost since the last report. */
const makeLogChanges = (first: Losses) => {
  let logged = first
  let loggedAt = 0
  return Effect.fnUntraced(function* (before: ReadonlyArray<Finding>, { checked_at, findings, losses }: HealthReport) {
    for (const { detail, ok, part } of changesOf(before, findings))
      yield* ok
        ? Effect.logInfo(`Health: ${part} is well again: ${detail}`)
        : Effect.logWarning(`Health: ${part}: ${detail}`)
    const growth = growthOf(logged, losses)
    if (growth === undefined || checked_at - loggedAt < LOSSES_LOGGED_EVERY_MS) return
    yield* Effect.logWarning(`Since the last report: ${growth}`)
    logged = losses
    loggedAt = checked_at
  })
}

const make = Effect.fnUntraced(function* ({
  every_ms = EVERY_MS,
  lagMax_ms = LAG_MAX_MS,
  probe_ms = PROBE_MS
}: HealthOptions) {
  const clock = yield* Clock.Clock
  const examine = yield* makeExamine(lagMax_ms, probe_ms)
  let latest = yield* examine
  const logChanges = makeLogChanges(latest.losses)
  yield* logChanges([], latest)
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.gen(function* () {
        yield* Effect.sleep(every_ms)
        const before = latest.findings
        latest = yield* examine
        yield* logChanges(before, latest)
      })
    )
  )
  return Health.of({
    latest: Effect.sync(() => {
      const age_ms = clock.currentTimeMillisUnsafe() - latest.checked_at
      if (age_ms <= 2 * (every_ms + probe_ms)) return latest
      // A check takes at most `probe_ms`; if this thread is too slow even for that, it is itself the finding.
      const findings: ReadonlyArray<Finding> = [
        ...latest.findings,
        { part: "health", ok: false, detail: `the last look is ${seconds(age_ms)} old` }
      ]
      return { ...latest, findings, verdict: verdictOf(findings) }
    })
  })
})

export class Health extends Context.Service<
  Health,
  {
    /** The newest results, returned immediately without another check. */
    readonly latest: Effect.Effect<HealthReport>
  }
>()("dowser/health/Health") {
  /** Built after a first check, which takes at most `probe_ms`. */
  static readonly layer = (
    options: HealthOptions = {}
  ): Layer.Layer<
    Health,
    never,
    Configuration | Engine | EventLog | Models | RecommendModels | SearchServed | SqlClient.SqlClient | StreamWorker
  > => Layer.effect(Health, make(options))
}
