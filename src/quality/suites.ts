/**
 * Quality suites: judged queries of a collection, and how well it answers them. Rows in Postgres; nothing is kept in
 * memory, because no search needs it.
 *
 * Decision: a suite belongs to the name that it was given. A suite of an alias judges the alias's target at the time of
 * the run; one of a collection is deleted with it.
 */
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Identifiers } from "@dowser/log/identifiers"
import type { EventLog } from "@dowser/log/event-log/event-log"
import type { Outbox } from "@dowser/log/outbox"
import { makeAuditRecorder } from "../audit/record.ts"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { CatalogResources } from "../engine-plane/resources.ts"
import type { Installation } from "../installation.ts"
import { Engine, OwnsEngine } from "../ports/engine/engine.ts"
import type { RowReaders } from "../identity/row-readers.ts"
import { makeJobStarter } from "../jobs/jobs.ts"
import type { Job } from "../jobs/schema.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import { Entitlements } from "../metering/entitlements.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { Conflict, NotFound } from "../http/errors.ts"
import type { SearchPolicies } from "../policies/search-policies.ts"
import type { SearchProfiles } from "../profiles/search-profiles.ts"
import type { Search } from "../search/search.ts"
import { hasRelevant } from "./evaluate.ts"
import { FROM_CLICKS, type FromClicksConfig, makeFromClicks } from "./from-clicks.ts"
import { makeWeighMeaning, MEANING, type MeaningConfig, tooFew } from "./weigh-meaning.ts"
import { makeRunSuite, RUN, type RunConfig } from "./run-suite.ts"
import { makeScheduler } from "./scheduler.ts"
import type { QualityRun } from "./schema.ts"
import { nextRunAt } from "../job-rows/cron.ts"
import { type Params, type StoredJudgment, type SuiteFields } from "./suite-input.ts"
import { makeRunsRepository } from "./runs-repository.ts"
import { makeSuitesRepository, type StoredSuite } from "./suites-repository.ts"

export interface FullSuite {
  readonly suite: StoredSuite
  readonly judgments: ReadonlyArray<StoredJudgment>
}
interface Page {
  readonly cursor: string | undefined
  readonly limit: number
}
interface SuitesShape {
  /** `collections`: LIKE patterns; all if absent. */
  readonly list: (
    organizationId: string,
    page: Page & { readonly collections: ReadonlyArray<string> | undefined }
  ) => Effect.Effect<ReadonlyArray<StoredSuite>>
  readonly get: (organizationId: string, id: string) => Effect.Effect<StoredSuite, NotFound>
  readonly judgments: (organizationId: string, id: string) => Effect.Effect<ReadonlyArray<StoredJudgment>>
  readonly create: (organizationId: string, fields: SuiteFields) => Effect.Effect<FullSuite, FeatureNotInPlan>
  readonly replace: (organizationId: string, id: string, fields: SuiteFields) => Effect.Effect<FullSuite, NotFound>
  readonly remove: (organizationId: string, id: string) => Effect.Effect<{ readonly id: string }, NotFound>
  /** Queues a run with the stored parameters, or with others or a profile. */
  readonly run: (
    organizationId: string,
    id: string,
    other: { readonly params?: Params; readonly profile?: string }
  ) => Effect.Effect<Job, NotFound | Conflict>
  /** Queues the judging of what visitors chose. `from` and `before` in Unix milliseconds. */
  readonly judgeFromClicks: (
    organizationId: string,
    id: string,
    range: { readonly from: number; readonly before: number }
  ) => Effect.Effect<Job, NotFound | Conflict>
  /** Queues the choice of the weight of meaning in a profile of the suite's collection. */
  readonly weighMeaning: (
    organizationId: string,
    id: string,
    profile: string
  ) => Effect.Effect<Job, NotFound | Conflict>
  /** Newest first. */
  readonly runs: (organizationId: string, id: string, page: Page) => Effect.Effect<ReadonlyArray<QualityRun>>
}

const missing = (id: string) => new NotFound({ message: `Quality suite ${id} does not exist.` })
const present =
  (id: string) =>
  <A>(found: A | undefined): Effect.Effect<A, NotFound> =>
    found === undefined ? Effect.fail(missing(id)) : Effect.succeed(found)

/** A driver failure is a defect: no caller can act on it. */
const orDie = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
  Effect.catchTag(effect as Effect.Effect<A, SqlError.SqlError, R>, "SqlError", (error) =>
    Effect.die(error)
  ) as Effect.Effect<A, Exclude<E, SqlError.SqlError>, R>

const makeWrites = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const identifiers = yield* Identifiers
  const entitlements = yield* Entitlements
  const audit = yield* makeAuditRecorder
  const repository = yield* makeSuitesRepository
  const recorded = <A, E>(organizationId: string, id: string, change: Effect.Effect<A, E>) =>
    orDie(sql.withTransaction(audit.recorded({ kind: "quality_suite", organizationId, id }, change)))
  const put = Effect.fnUntraced(function* (
    organizationId: string,
    id: string,
    { judgments, schedule_cron, ...fields }: SuiteFields,
    created_at: number | undefined
  ) {
    const now = yield* Clock.currentTimeMillis
    const suite: StoredSuite = {
      id,
      organization_id: organizationId,
      ...fields,
      ...(schedule_cron === undefined ? {} : { schedule_cron }),
      judgments_count: judgments.length,
      created_at: created_at ?? now,
      updated_at: now
    }
    yield* repository.put(suite, nextRunAt(schedule_cron, now))
    yield* repository.putJudgments(organizationId, id, judgments)
    return { suite, judgments }
  })
  const create: SuitesShape["create"] = Effect.fn("QualitySuites.create")(function* (organizationId, fields) {
    const id = yield* identifiers.make("qst")
    return yield* recorded(
      organizationId,
      id,
      Effect.gen(function* () {
        const count = yield* repository.lockCount(organizationId)
        yield* entitlements.requireRoom(organizationId, "quality_suites", count + 1)
        return yield* put(organizationId, id, fields, undefined)
      })
    )
  })
  const replace: SuitesShape["replace"] = Effect.fn("QualitySuites.replace")(function* (organizationId, id, fields) {
    return yield* recorded(
      organizationId,
      id,
      Effect.gen(function* () {
        const known = yield* Effect.flatMap(repository.lock(organizationId, id), present(id))
        const { judgments, suite } = yield* put(organizationId, id, fields, known.created_at)
        return {
          judgments,
          suite: { ...suite, ...(known.last_run === undefined ? {} : { last_run: known.last_run }) }
        }
      })
    )
  })
  const remove: SuitesShape["remove"] = Effect.fn("QualitySuites.remove")(function* (organizationId, id) {
    return yield* recorded(
      organizationId,
      id,
      Effect.gen(function* () {
        yield* Effect.flatMap(repository.lock(organizationId, id), present(id))
        yield* repository.remove(organizationId, id)
        return { id }
      })
    )
  })
  return { create, replace, remove }
})

/** Creates the job of a run, if there are relevant judgments and a slot in the queue. */
const makeStartRun = Effect.gen(function* () {
  const jobs = yield* makeJobStarter
  const repository = yield* makeSuitesRepository
  return Effect.fnUntraced(function* (
    { collection, id: suite_id, organization_id }: StoredSuite,
    other: { readonly params?: Params; readonly profile?: string }
  ): Effect.fn.Return<Job, Conflict> {
    if (!hasRelevant(yield* Effect.orDie(repository.judgments(organization_id, suite_id))))
      return yield* new Conflict({
        message: `Quality suite ${suite_id} has no judgment with a grade above 0, so there is nothing to measure.`
      })
    const config: RunConfig = { suite_id, collection, ...other }
    return yield* orDie(jobs.start(organization_id, RUN, config, () => jobs.requirePlace(organization_id, RUN)))
  })
})

/** Runs the jobs, and starts suites that are due, in the process that has the engine. */
const makeAtWork = Effect.gen(function* () {
  const runs = yield* makeJobWorker({ type: RUN, run: yield* makeRunSuite })
  const clicks = yield* makeJobWorker({ type: FROM_CLICKS, run: yield* makeFromClicks })
  yield* makeScheduler(yield* makeStartRun, runs.wake)
  const meanings = yield* makeJobWorker({ type: MEANING, run: yield* makeWeighMeaning, atWorkMax: 1 })
  return Effect.andThen(Effect.andThen(runs.wake, clicks.wake), meanings.wake)
})

const make: Effect.Effect<
  SuitesShape,
  never,
  | CatalogResources
  | CollectionDrops
  | Engine
  | Entitlements
  | EventLog
  | Identifiers
  | Installation
  | Outbox
  | RowReaders
  | Scope.Scope
  | Search
  | SearchPolicies
  | SearchProfiles
  | SqlClient.SqlClient
> = Effect.gen(function* () {
  const repository = yield* makeSuitesRepository
  const runsOf = yield* makeRunsRepository
  const writes = yield* makeWrites
  const startRun = yield* makeStartRun
  const jobs = yield* makeJobStarter
  const drops = yield* CollectionDrops
  const wake = (yield* OwnsEngine) ? yield* makeAtWork : Effect.void
  const get: SuitesShape["get"] = (organizationId, id) =>
    Effect.flatMap(Effect.orDie(repository.get(organizationId, id)), present(id))
  yield* drops.register((organizationId, collection) =>
    Effect.flatMap(Effect.orDie(repository.ofCollection(organizationId, collection)), (ids) =>
      Effect.forEach(ids, (id) => Effect.ignore(writes.remove(organizationId, id)), { discard: true })
    )
  )
  return {
    ...writes,
    get,
    list: (organizationId, { collections, cursor, limit }) =>
      Effect.orDie(repository.page(organizationId, cursor, limit, collections)),
    judgments: (organizationId, id) => Effect.orDie(repository.judgments(organizationId, id)),
    run: Effect.fn("QualitySuites.run")(function* (organizationId, id, other) {
      const job = yield* startRun(yield* get(organizationId, id), other)
      yield* wake
      return job
    }),
    judgeFromClicks: Effect.fn("QualitySuites.judgeFromClicks")(function* (organizationId, id, { before, from }) {
      const { collection } = yield* get(organizationId, id)
      const config: FromClicksConfig = { suite_id: id, collection, from_at: from, before_at: before }
      const job = yield* orDie(
        jobs.start(organizationId, FROM_CLICKS, config, () => jobs.requirePlace(organizationId, FROM_CLICKS))
      )
      yield* wake
      return job
    }),
    weighMeaning: Effect.fn("QualitySuites.weighMeaning")(function* (organizationId, id, profile) {
      const { collection } = yield* get(organizationId, id)
      const refusal = tooFew(yield* Effect.orDie(repository.judgments(organizationId, id)))
      if (refusal !== undefined) return yield* new Conflict({ message: refusal })
      const config: MeaningConfig = { suite_id: id, collection, profile }
      const job = yield* orDie(
        jobs.start(organizationId, MEANING, config, () => jobs.requirePlace(organizationId, MEANING))
      )
      yield* wake
      return job
    }),
    runs: (organizationId, id, { cursor, limit }) => Effect.orDie(runsOf.runs(organizationId, id, cursor, limit))
  }
})

export class QualitySuites extends Context.Service<QualitySuites, SuitesShape>()("dowser/quality/QualitySuites") {
  static readonly layer = Layer.effect(QualitySuites, make)
}
