/**
 * The job of a pull: reads the shop system's catalogue page by page and stores it as pushes of the connector, so that
 * each product is reported and ordered like a push. An interrupted process continues with its page; parts of the page
 * that it already stored are recognized by number and hash, and not stored twice.
 *
 * `full` reads every page, and deletes the documents that the connector wrote before and that no page contains,
 * unless these are more than 30 % of the documents that it wrote.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import { Seal } from "../../access/seal.ts"
import type { ClaimedJob, JobEnd, JobFailed } from "../../jobs/job-worker.ts"
import { Connectors } from "../connectors.ts"
import { makeApplied } from "./applied.ts"
import { makeDeleteMissing } from "./delete-missing.ts"
import { makeFetchPage } from "./fetch-page.ts"
import { PageUnfit, readPage, type Received } from "./page.ts"
import { beginning, type Place, progressOf } from "./place.ts"
import { type KnownPage, makePullPages } from "./pull-pages.ts"
import { failed, ITEMS_MAX, type Pull, type PullConfig, WAITING_MAX } from "./pulled.ts"
import { makePullsRepository } from "./pulls-repository.ts"
import { makeStoreParts } from "./store-parts.ts"

export const PULL = "catalog_pull"
const PAGES_MAX = 10_000
const APPLIED_WITHIN_MS = 30_000
/** Limit per process of pages that are parsed but not stored: a page of 5 MB may take a hundred in memory. */
const PARSED_MAX = 2
const parsed = (received: Received) =>
  Effect.try({
    try: () => readPage(received),
    catch: (error) => {
      if (!(error instanceof PageUnfit)) throw error
      return failed(`${new URL(received.url).pathname}: ${error.message}`)
    }
  })
/** A page's address as a few bytes. */
const markOf = (url: string): string => createHash("sha256").update(url).digest("base64url").slice(0, 22)

/** The connector, if it may be pulled. */
const makeLiving = Effect.map(
  Connectors,
  (connectors) => (id: string) =>
    Effect.suspend(() => {
      const connector = connectors.byId(id)
      if (connector === undefined) return Effect.fail(failed("The connector was deleted."))
      return connector.enabled ? Effect.succeed(connector) : Effect.fail(failed("The connector is disabled."))
    })
)
const makeBegun = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repository = yield* makePullsRepository
  const living = yield* makeLiving
  /** Where the pull continues, or the beginning. */
  return Effect.fnUntraced(function* (job: ClaimedJob, { connector_id, full }: PullConfig) {
    const known = yield* Effect.orDie(repository.place(connector_id, job.id))
    if (known !== undefined) return known
    const { pull_url } = yield* living(connector_id)
    if (pull_url === undefined) return yield* failed("The connector has no `pull_url`.")
    const place = beginning(pull_url, !full)
    const started_at = yield* Clock.currentTimeMillis
    const begin = repository.begin(connector_id, job.id, place, started_at)
    if (!(yield* Effect.orDie(sql.withTransaction(begin)))) return yield* failed("The connector was deleted.")
    return { place, started_at }
  })
})
const makeStep = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const fetchPage = yield* makeFetchPage
  const pages = yield* makePullPages
  const repository = yield* makePullsRepository
  const seal = yield* Seal
  const { storeFeed, storePage } = yield* makeStoreParts
  const slots = yield* Semaphore.make(PARSED_MAX)
  const storeReceived = Effect.fnUntraced(function* (pull: Pull, place: Place, received: Received) {
    const page = yield* parsed(received)
    return { after: yield* storePage(pull, place, page), next: page.next }
  })
  /** Reads one page; returns the progress after it. */
  return Effect.fnUntraced(function* (pull: Pull, place: Place, url: string) {
    const { connector, job } = pull
    const known = place.is_conditional ? yield* Effect.orDie(pages.knownPage(connector.id, url)) : undefined
    const token = connector.pull_token === undefined ? undefined : seal.open(connector.pull_token).toString()
    const found = yield* Effect.mapError(fetchPage({ url, token, known }, storeFeed(pull, place)), ({ message }) =>
      failed(message)
    )
    if (found.kind === "unchanged" && known === undefined)
      return yield* failed(`${new URL(url).pathname} answered 304 to a request without conditions.`)
    const { after, next } =
      found.kind === "unchanged"
        ? { after: place, next: known!.next }
        : found.kind === "feed"
          ? { after: found.value, next: undefined }
          : yield* slots.withPermits(1)(storeReceived(pull, place, found.received))
    const reached: Place = {
      ...after,
      pages: place.pages + 1,
      unchanged: place.unchanged + (found.kind === "unchanged" ? 1 : 0),
      next
    }
    const page: KnownPage = found.kind === "unchanged" ? known! : { ...found.validators, next }
    yield* Effect.orDie(
      sql.withTransaction(
        Effect.andThen(pages.keepPage(connector.id, url, page), repository.move(connector.id, job.id, reached))
      )
    )
    return reached
  })
})
const makeReadAll = Effect.gen(function* () {
  const applied = yield* makeApplied
  const pages = yield* makePullPages
  const living = yield* makeLiving
  const step = yield* makeStep
  return Effect.fnUntraced(function* (given: Pull, from: Place, report: (progress: number) => Effect.Effect<void>) {
    const expected = yield* Effect.orDie(pages.countLiving(given.connector.id))
    const passed = new Set<string>()
    let place = from
    while (place.next !== undefined) {
      if (place.pages >= PAGES_MAX) return yield* failed(`A catalogue has at most ${PAGES_MAX} pages.`)
      if (place.received > ITEMS_MAX) return yield* failed(`A catalogue has at most ${ITEMS_MAX} products.`)
      const mark = markOf(place.next)
      if (passed.has(mark)) return yield* failed("The pages lead in a circle.")
      passed.add(mark)
      const pull = { ...given, connector: yield* living(given.connector.id) }
      yield* applied(pull.connector.id, pull.job.id, WAITING_MAX)
      place = yield* step(pull, place, place.next)
      yield* report(progressOf(place, expected))
    }
    return place
  })
})

export const makePull = Effect.gen(function* () {
  const applied = yield* makeApplied
  const begun = yield* makeBegun
  const deleteMissing = yield* makeDeleteMissing
  const living = yield* makeLiving
  const met = yield* makePullPages
  const readAll = yield* makeReadAll
  const repository = yield* makePullsRepository

  const run = Effect.fnUntraced(function* (
    job: ClaimedJob,
    config: PullConfig,
    report: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { place: from, started_at } = yield* begun(job, config)
    const pull: Pull = { job, config, started_at, connector: yield* living(config.connector_id) }
    const place = yield* readAll(pull, from, report)
    const missing = config.full ? yield* deleteMissing(pull, place) : 0
    const totals = yield* applied(config.connector_id, job.id, 0)
    const { errors, pages, received, rejected, unchanged } = place
    const now = yield* Clock.currentTimeMillis
    return {
      result: {
        pages,
        unchanged,
        received,
        upserts: place.upserts,
        deletes: place.deletes + missing,
        rejected,
        applied: totals.applied,
        ignored: totals.ignored,
        failed: totals.failed,
        errors
      },
      alongside: Effect.gen(function* () {
        yield* met.forgetSeen(config.connector_id)
        // After a failure, the next pull requests every page in full.
        if (totals.failed === 0) {
          yield* repository.whole(config.connector_id, job.id)
          yield* repository.state(config.connector_id, undefined, now)
        }
      })
    }
  })
  return (job: ClaimedJob, report: (progress: number) => Effect.Effect<void>) => {
    const config = job.config as unknown as PullConfig
    return Effect.tapError(
      run(job, config, report),
      Effect.fnUntraced(function* ({ message }) {
        // Applying marks the connector as healthy, so problems are recorded after that.
        yield* Effect.ignore(Effect.timeout(applied(config.connector_id, job.id, 0), APPLIED_WITHIN_MS))
        yield* Effect.orDie(met.forgetSeen(config.connector_id))
        yield* Effect.orDie(repository.state(config.connector_id, message, yield* Clock.currentTimeMillis))
      })
    )
  }
})
