/**
 * The job of a pull: page after page of the shop system's catalogue, stored as pushes of the connector, so that what
 * becomes of each product is told and ordered as of a push. A process that is cut off goes on with the page it was at;
 * what it stored of that page before is known by its number and not stored twice.
 *
 * `full`: every page is read, and what the connector wrote before and no page has is deleted, unless that would be more
 * than 30 % of it.
 */
import { createHash } from "node:crypto"
import { stringifyJson } from "@dowser/engine-sdk/documents"
import { Clock, Effect, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { Seal } from "../../access/seal.ts"
import { type ClaimedJob, type JobEnd, JobFailed } from "../../jobs/job-worker.ts"
import type { IngestChange } from "../../ingest/sources/source.ts"
import type { StoredConnector } from "../connectors-repository.ts"
import { Connectors } from "../connectors.ts"
import { type PushRead, type Reading, readPush } from "../read-push.ts"
import { readingOf } from "../reading.ts"
import { makeStorePush } from "../store-push.ts"
import { type ComingFeed, makeFetchPage } from "./fetch-page.ts"
import { type Page, PART_ITEMS_MAX } from "./page.ts"
import { type KnownPage, makePullsRepository, type Place, PULL_ERRORS_MAX } from "./pulls-repository.ts"

export const PULL = "catalog_pull"
export interface PullConfig {
  readonly connector_id: string
  readonly collection: string
  readonly full: boolean
  readonly confirm_deletes: boolean
}
const PAGES_MAX = 10_000
const ITEMS_MAX = 2_000_000
/** Of what the connector wrote. */
const DELETED_SHARE_MAX = 0.3
/** Pushes of one pull that wait to be applied: further pages wait too, so that a catalogue does not fill the log. */
const WAITING_MAX = 8
const LOOK_MS = 250
const APPLIED_WITHIN_MS = 30 * 60_000
const STORED_TRIES_MAX = 60
const TOLD_WITHIN_MS = 30_000

const NOTHING_YET = {
  pages: 0,
  unchanged: 0,
  received: 0,
  upserts: 0,
  deletes: 0,
  rejected: 0,
  nameless: 0,
  errors: []
} as const
const failed = (message: string) => new JobFailed({ message })
const prefixOf = (jobId: string): string => `pull ${jobId} `

/** The place after a part of a page. */
const counted = (place: Place, page: number, base: number, { changes, received, rejected }: PushRead): Place => {
  const deletes = changes.filter(({ op }) => op === "delete").length
  const told = rejected.map(({ index, reason }) => ({ page, index: base + index, reason }))
  return {
    ...place,
    received: place.received + received,
    upserts: place.upserts + changes.length - deletes,
    deletes: place.deletes + deletes,
    rejected: place.rejected + rejected.length,
    nameless: place.nameless + rejected.filter(({ externalId }) => externalId === undefined).length,
    errors: [...place.errors, ...told].slice(0, PULL_ERRORS_MAX)
  }
}
const withUnread = (place: Place, page: number, unread: Page["unread"]): Place => ({
  ...place,
  received: place.received + unread.length,
  rejected: place.rejected + unread.length,
  nameless: place.nameless + unread.length,
  errors: [...place.errors, ...unread.map(({ line, reason }) => ({ page, index: line, reason }))].slice(
    0,
    PULL_ERRORS_MAX
  )
})
const progressOf = (place: Place, expected: number): number =>
  Math.min(0.9, expected > 0 ? place.received / expected : 1 - 1 / (1 + place.pages))

const AS_IT_IS: Reading = { provider: undefined, map: undefined }
const eventOf = (change: IngestChange) =>
  change.op === "delete"
    ? { event: "delete", external_id: change.id }
    : { external_id: change.document.id, document: change.document }
/** What one pull works with. */
interface Pull {
  readonly job: ClaimedJob
  readonly config: PullConfig
  readonly connector: StoredConnector
  readonly started_at: number
}

/** Stores events of the pull as one push, once: `name` says which of its pushes it is. */
const makeStored = Effect.gen(function* () {
  const { before, store } = yield* makeStorePush
  return Effect.fnUntraced(function* ({ connector, job }: Pull, name: string, read: PushRead) {
    const signature = prefixOf(job.id) + name
    for (let attempt = 1; ; attempt++) {
      const sent = { connector, signature, now: yield* Clock.currentTimeMillis }
      const pause_s = yield* Effect.flatMap(before(sent), (known) =>
        known === undefined ? Effect.as(store(sent, read), 0) : Effect.succeed(0)
      ).pipe(
        Effect.catchTag(["EventLogOverloaded", "PushesUnavailable"], ({ retry_after_s }) =>
          Effect.succeed(Math.max(1, retry_after_s))
        ),
        Effect.catchTag("EventLogUnavailable", () => Effect.succeed(5))
      )
      if (pause_s === 0) return
      if (attempt >= STORED_TRIES_MAX) return yield* failed("The changes could not be stored; start the pull again.")
      yield* Effect.sleep(pause_s * 1_000)
    }
  })
})

export const makePull = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const connectors = yield* Connectors
  const fetchPage = yield* makeFetchPage
  const repository = yield* makePullsRepository
  const seal = yield* Seal
  const stored = yield* makeStored

  const living = (id: string) =>
    Effect.suspend(() => {
      const connector = connectors.byId(id)
      if (connector === undefined) return Effect.fail(failed("The connector was deleted."))
      return connector.enabled ? Effect.succeed(connector) : Effect.fail(failed("The connector is disabled."))
    })
  /** Where it goes on, or its beginning. */
  const begun = Effect.fnUntraced(function* (job: ClaimedJob, { connector_id, full }: PullConfig) {
    const known = yield* Effect.orDie(repository.place(connector_id, job.id))
    if (known !== undefined) return known
    const { pull_url } = yield* living(connector_id)
    if (pull_url === undefined) return yield* failed("The connector has no `pull_url`.")
    const place: Place = { ...NOTHING_YET, next: pull_url, is_conditional: !full }
    const started_at = yield* Clock.currentTimeMillis
    const begin = repository.begin(connector_id, job.id, place, started_at)
    if (!(yield* Effect.orDie(sql.withTransaction(begin)))) return yield* failed("The connector was deleted.")
    return { place, started_at }
  })
  /** Waits until at most so many pushes of the pull are not applied. */
  const applied = Effect.fnUntraced(function* (connectorId: string, jobId: string, waitingMax: number) {
    const until = (yield* Clock.currentTimeMillis) + APPLIED_WITHIN_MS
    for (;;) {
      const totals = yield* Effect.orDie(repository.totals(connectorId, prefixOf(jobId)))
      if (totals.waiting <= waitingMax) return totals
      if ((yield* Clock.currentTimeMillis) > until)
        return yield* failed("What was fetched is stored, but was not applied within 30 minutes; it will be.")
      yield* Effect.sleep(LOOK_MS)
    }
  })

  /** At most `PART_ITEMS_MAX` events, the first of which is the `base`th of its page; the place after them. */
  const storePart = Effect.fnUntraced(function* (
    pull: Pull,
    place: Place,
    {
      base,
      items,
      reading
    }: { readonly base: number; readonly items: ReadonlyArray<unknown>; readonly reading: Reading }
  ) {
    const read = readPush(items, reading)
    // A page that is read again and says something else is no repetition.
    const hash = createHash("sha256").update(stringifyJson(items)).digest("base64url")
    yield* stored(pull, `${place.pages} ${base} ${hash}`, read)
    const met = [...read.changes, ...read.rejected].flatMap(({ externalId = [] }) => externalId)
    if (pull.config.full) yield* Effect.orDie(repository.see(pull.connector.id, met))
    return counted(place, place.pages, base, read)
  })
  const storePage = Effect.fnUntraced(function* (pull: Pull, place: Place, page: Page) {
    let next = withUnread(place, place.pages, page.unread)
    for (let base = 0; base < page.items.length; base += PART_ITEMS_MAX) {
      const items = page.items.slice(base, base + PART_ITEMS_MAX)
      next = yield* storePart(pull, next, { base, items, reading: readingOf(pull.connector) })
    }
    return next
  })
  /** A feed's records are products already: of mappings only the connector's own says more of them. */
  const storeFeed = (pull: Pull, place: Place) => (feed: ComingFeed) =>
    Effect.gen(function* () {
      const reading =
        pull.connector.mapping === undefined ? AS_IT_IS : { ...readingOf(pull.connector), provider: undefined }
      let next = place,
        base = 0,
        items: Array<unknown> = []
      const flush = Effect.fnUntraced(function* () {
        yield* applied(pull.connector.id, pull.job.id, WAITING_MAX)
        next = yield* storePart(pull, next, { base, items, reading })
        base += items.length
        items = []
      })
      yield* Stream.runForEach(
        feed,
        Effect.fnUntraced(function* (pieces) {
          for (const item of pieces) {
            if (item.kind === "fault")
              next = withUnread(next, place.pages, [{ line: next.received, reason: `${item.id}: ${item.error}` }])
            if (item.kind !== "record") continue
            items.push(eventOf(item.change))
            if (items.length === PART_ITEMS_MAX) yield* flush()
          }
          if (next.received > ITEMS_MAX) return yield* failed(`A catalogue has at most ${ITEMS_MAX} products.`)
        })
      )
      if (items.length > 0) yield* flush()
      return next
    })
  /** One page, and the place after it. */
  const step = Effect.fnUntraced(function* (pull: Pull, place: Place, url: string) {
    const { connector, job } = pull
    const known = place.is_conditional ? yield* Effect.orDie(repository.knownPage(connector.id, url)) : undefined
    const token = connector.pull_token === undefined ? undefined : seal.open(connector.pull_token).toString()
    const found = yield* Effect.mapError(fetchPage({ url, token, known }, storeFeed(pull, place)), ({ message }) =>
      failed(message)
    )
    if (found.kind === "unchanged" && known === undefined)
      return yield* failed(`${new URL(url).pathname} answered 304 to a request without conditions.`)
    const next = found.kind === "unchanged" ? known!.next : found.kind === "page" ? found.page.next : undefined
    const after =
      found.kind === "unchanged"
        ? place
        : found.kind === "feed"
          ? found.value
          : yield* storePage(pull, place, found.page)
    const reached: Place = {
      ...after,
      pages: place.pages + 1,
      unchanged: place.unchanged + (found.kind === "unchanged" ? 1 : 0),
      next
    }
    const page: KnownPage = found.kind === "unchanged" ? known! : { ...found.validators, next }
    yield* Effect.orDie(
      sql.withTransaction(
        Effect.andThen(repository.keepPage(connector.id, url, page), repository.move(connector.id, job.id, reached))
      )
    )
    return reached
  })
  const readAll = Effect.fnUntraced(function* (
    given: Pull,
    from: Place,
    tell: (progress: number) => Effect.Effect<void>
  ) {
    const expected = yield* Effect.orDie(repository.countLiving(given.connector.id))
    const passed = new Set<string>()
    let place = from
    while (place.next !== undefined) {
      if (place.pages >= PAGES_MAX) return yield* failed(`A catalogue has at most ${PAGES_MAX} pages.`)
      if (place.received > ITEMS_MAX) return yield* failed(`A catalogue has at most ${ITEMS_MAX} products.`)
      if (passed.has(place.next)) return yield* failed("The pages lead in a circle.")
      passed.add(place.next)
      const pull = { ...given, connector: yield* living(given.connector.id) }
      yield* applied(pull.connector.id, pull.job.id, WAITING_MAX)
      place = yield* step(pull, place, place.next)
      yield* tell(progressOf(place, expected))
    }
    return place
  })

  /** How many are deleted. */
  const deleteMissing = Effect.fnUntraced(function* (pull: Pull, { nameless }: Place) {
    const { config, connector, started_at } = pull
    if (nameless > 0)
      return yield* failed(`${nameless} products could not be read, not even their ids, so nothing was deleted.`)
    const missing = yield* Effect.orDie(repository.countMissing(connector.id, started_at))
    const all = yield* Effect.orDie(repository.countLiving(connector.id))
    if (missing > DELETED_SHARE_MAX * all && !config.confirm_deletes)
      return yield* failed(
        `${missing} of ${all} documents of the connector are missing, more than 30 %: nothing was deleted. Start the pull with \`confirm_deletes: true\` beside \`full\` to delete them.`
      )
    for (let after = ""; ;) {
      const ids = yield* Effect.orDie(repository.missing(connector.id, started_at, after))
      if (ids.length === 0) return missing
      after = ids.at(-1)!
      const changes = ids.map((externalId, index) => ({
        index,
        externalId,
        op: "delete" as const,
        version: undefined,
        document: undefined
      }))
      const name = `missing ${createHash("sha256").update(JSON.stringify(ids)).digest("base64url")}`
      yield* stored(pull, name, { received: ids.length, changes, rejected: [] })
      yield* applied(connector.id, pull.job.id, WAITING_MAX)
    }
  })

  const run = Effect.fnUntraced(function* (
    job: ClaimedJob,
    config: PullConfig,
    tell: (progress: number) => Effect.Effect<void>
  ): Effect.fn.Return<JobEnd, JobFailed> {
    const { place: from, started_at } = yield* begun(job, config)
    const pull: Pull = { job, config, started_at, connector: yield* living(config.connector_id) }
    const place = yield* readAll(pull, from, tell)
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
        yield* repository.forgetSeen(config.connector_id)
        // After something failed every page is asked for again.
        if (totals.failed === 0) {
          yield* repository.whole(config.connector_id, job.id)
          yield* repository.state(config.connector_id, undefined, now)
        }
      })
    }
  })
  return (job: ClaimedJob, tell: (progress: number) => Effect.Effect<void>) => {
    const config = job.config as unknown as PullConfig
    return Effect.tapError(
      run(job, config, tell),
      Effect.fnUntraced(function* ({ message }) {
        // What is applied says that the connector is well: what is wrong with it is said after that.
        yield* Effect.ignore(Effect.timeout(applied(config.connector_id, job.id, 0), TOLD_WITHIN_MS))
        yield* Effect.orDie(repository.state(config.connector_id, message, yield* Clock.currentTimeMillis))
      })
    )
  }
})
