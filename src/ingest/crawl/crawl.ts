/**
 * Runs a crawl in rounds: each round visits the next addresses, on several hosts at a time, and turns them into
 * batches. The addresses, links and page records of a batch are stored in the transaction that stores the job's cursor.
 * If the process is killed, only the requests since the last batch are lost, and no written page is requested again.
 */
import { Clock, Context, Effect, Layer, Option, Stream } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { Engine } from "../../ports/engine/engine.ts"
import {
  BATCH_BYTES_MAX,
  BATCH_CHANGES_MAX,
  type IngestBatch,
  IngestLater,
  type IngestTask
} from "../sources/source.ts"
import { type CrawlOwner, type FrontierPage, makeCrawlRepository } from "./crawl-repository.ts"
import { KEPT_PER_PAGE } from "./limits.ts"
import type { Visit } from "./page-outcome.ts"
import { pageId } from "./page-url.ts"
import { type CrawlRules, type HostRecord, VisitPage } from "./visit-page.ts"

/** Per round: concurrent hosts, pages, and the time during which new pages are started. */
const HOSTS_AT_ONCE = 4,
  ROUND_PAGES = 32,
  ROUND_MS = 2_000
const AGAIN_S = 5

/** The crawl's state in a job's row, besides the cursor. */
interface CrawlState {
  readonly job: string
  /** Pages requested. */ readonly asked: number
  /** Links dropped because the frontier is full. */ readonly links_beyond: number
  readonly is_seeded: boolean
  readonly is_swept: boolean
}
const stateOf = (state: Readonly<Record<string, unknown>>, jobId: string): CrawlState =>
  state.job === jobId
    ? {
        job: jobId,
        asked: Number(state.asked) || 0,
        links_beyond: Number(state.links_beyond) || 0,
        is_seeded: state.is_seeded === true,
        is_swept: state.is_swept === true
      }
    : { job: jobId, asked: 0, links_beyond: 0, is_seeded: false, is_swept: false }

interface CrawlPlan {
  readonly task: Pick<IngestTask<unknown>, "collection" | "jobId" | "organizationId" | "place">
  readonly site: string
  readonly rules: CrawlRules
  /** Requests and writes every page, even if it is known. */ readonly isRefresh: boolean
  /** Adds the first addresses to the frontier, again if it was interrupted. Returns what it could not read. */
  readonly seed: (
    add: (
      pages: ReadonlyArray<{ readonly url: string; readonly changed_at?: number | undefined }>
    ) => Effect.Effect<number, SqlError.SqlError>
  ) => Effect.Effect<IngestBatch["errors"], SqlError.SqlError | IngestLater>
}
type Repository = Effect.Success<typeof makeCrawlRepository>
type VisitOne = VisitPage["Service"]

/** One running crawl. */
class Crawl {
  readonly #plan: CrawlPlan
  readonly #owner: CrawlOwner
  readonly #repository: Repository
  readonly #visit: VisitOne
  readonly #made: string
  readonly #hosts = new Map<string, HostRecord>()
  #state: CrawlState
  #kept = 0
  #done = 0
  #cursor: number
  #errors: IngestBatch["errors"] = []

  constructor(plan: CrawlPlan, repository: Repository, visit: VisitOne, made: string) {
    const { collection, jobId, organizationId, place } = plan.task
    this.#plan = plan
    this.#repository = repository
    this.#visit = visit
    this.#made = made
    this.#owner = { collection, jobId, organizationId, site: plan.site }
    this.#state = stateOf(place.state, jobId)
    this.#cursor = place.cursor
  }
  get #room(): number {
    return Math.max(0, KEPT_PER_PAGE * this.#plan.rules.maxPages + 100 - this.#kept)
  }
  /** Adds addresses to the frontier, and counts those for which there is no room. */
  #add(found: ReadonlyArray<Omit<FrontierPage, "page_id"> & { readonly changed_at?: number | undefined }>) {
    return Effect.gen({ self: this }, function* () {
      const pages = new Map(found.map((page) => [page.url, { ...page, page_id: pageId(page.url) }]))
      // The target of a redirect or canonical link always gets a slot, because it replaces the page that led to it.
      const instead = [...pages.values()].filter(({ hops }) => hops > 0)
      const further = [...pages.values()].filter(({ hops }) => hops === 0)
      const kept = [...instead, ...further.slice(0, this.#room)]
      const beyond = pages.size - kept.length
      if (beyond > 0) this.#state = { ...this.#state, links_beyond: this.#state.links_beyond + beyond }
      if (kept.length === 0) return 0
      const now = yield* Clock.currentTimeMillis
      const added = yield* this.#repository.add(this.#owner, kept, this.#made, now)
      this.#kept += added
      return added
    })
  }
  readonly open = Effect.gen({ self: this }, function* () {
    const counts = yield* this.#repository.counts(this.#owner.jobId)
    this.#kept = counts.kept
    this.#done = counts.done
    if (this.#state.is_seeded) return
    this.#errors = yield* this.#plan.seed((pages) => this.#add(pages.map((page) => ({ ...page, depth: 0, hops: 0 }))))
    this.#state = { ...this.#state, is_seeded: true }
  })
  /** Returns the next batches; undefined when the crawl is over. */
  readonly round = Effect.gen({ self: this }, function* () {
    const left = this.#plan.rules.maxPages - this.#state.asked
    const pages = left <= 0 ? [] : yield* this.#repository.next(this.#owner.jobId, Math.min(ROUND_PAGES, left))
    if (pages.length > 0) return this.#batches(yield* this.#visitAll(pages))
    if (this.#errors.length > 0) return this.#batches([])
    if (this.#state.is_swept || left <= 0) return undefined
    this.#state = { ...this.#state, is_swept: true }
    const now = yield* Clock.currentTimeMillis
    this.#kept += yield* this.#repository.sweep(this.#owner, left, now)
    return []
  })
  /** Visits the pages of one host sequentially until the round ends. */
  #visitAll(pages: ReadonlyArray<FrontierPage>) {
    return Effect.gen({ self: this }, function* () {
      const { rules, task } = this.#plan
      const known = new Map(
        (yield* this.#repository.known(
          this.#owner,
          pages.map(({ page_id }) => page_id)
        )).map((one) => [one.page_id, one])
      )
      const byHost = Map.groupBy(pages, ({ url }) => new URL(url).host)
      const until = (yield* Clock.currentTimeMillis) + ROUND_MS
      let changes = 0
      const ofHost = ([name, own]: readonly [string, ReadonlyArray<FrontierPage>]) =>
        Effect.gen({ self: this }, function* () {
          const host = this.#hosts.get(name) ?? { failures: 0, stopped: undefined, isReported: false }
          this.#hosts.set(name, host)
          const visits: Array<Visit> = []
          for (const page of own) {
            if (visits.length > 0 && (changes > BATCH_CHANGES_MAX || (yield* Clock.currentTimeMillis) >= until)) break
            const visiting = { organizationId: task.organizationId, rules, made: this.#made, host, page }
            const visit = yield* this.#visit({ ...visiting, known: known.get(page.page_id) })
            changes += visit.changes.length
            visits.push(visit)
          }
          return visits
        })
      const visits = yield* Effect.forEach([...byHost].slice(0, HOSTS_AT_ONCE), ofHost, { concurrency: HOSTS_AT_ONCE })
      return visits.flat()
    })
  }
  /** Packs the visits into as few batches as possible. Without visits, one batch reports the errors. */
  #batches(visits: ReadonlyArray<Visit>): ReadonlyArray<IngestBatch> {
    const groups: Array<Array<Visit>> = [[]]
    let changes = 0,
      bytes = 0
    for (const visit of visits) {
      if (
        changes > 0 &&
        (changes + visit.changes.length > BATCH_CHANGES_MAX || bytes + visit.bytes > BATCH_BYTES_MAX)
      ) {
        groups.push([])
        changes = 0
        bytes = 0
      }
      groups.at(-1)!.push(visit)
      changes += visit.changes.length
      bytes += visit.bytes
    }
    return groups.map((group) => this.#batch(group))
  }
  #batch(visits: ReadonlyArray<Visit>): IngestBatch {
    const errors = [...this.#errors, ...visits.flatMap((visit) => visit.errors)]
    this.#errors = []
    this.#cursor += Math.max(1, visits.length)
    this.#done += visits.length
    const asked = visits.filter(({ isAsked }) => isAsked).length
    this.#state = {
      ...this.#state,
      asked: this.#state.asked + asked,
      links_beyond: this.#state.links_beyond + visits.reduce((sum, { linksBeyond }) => sum + linksBeyond, 0)
    }
    const { maxPages } = this.#plan.rules
    return {
      changes: visits.flatMap((visit) => visit.changes),
      cursor: this.#cursor,
      fetched: asked,
      errors,
      progress: Math.min(1, this.#done / Math.max(1, Math.min(maxPages, this.#kept))),
      state: { ...this.#state },
      alongside: this.#store(visits)
    }
  }
  #store(visits: ReadonlyArray<Visit>): Effect.Effect<void, SqlError.SqlError> {
    return Effect.gen({ self: this }, function* () {
      if (visits.length === 0) return
      const now = yield* Clock.currentTimeMillis
      const forgotten = visits.filter(({ isForgotten }) => isForgotten === true).map(({ page }) => page.page_id)
      const kept = visits.flatMap(({ keep }) => keep ?? [])
      yield* this.#repository.done(
        this.#owner.jobId,
        visits.map(({ page }) => page.page_id)
      )
      if (forgotten.length > 0) yield* this.#repository.drop(this.#owner, forgotten)
      if (kept.length > 0) yield* this.#repository.keep(this.#owner, kept, now)
      const links = visits.flatMap((visit) => visit.links)
      if (links.length > 0) yield* this.#add(links)
    })
  }
}

export class Crawler extends Context.Service<
  Crawler,
  {
    readonly read: (plan: CrawlPlan) => Effect.Effect<Stream.Stream<IngestBatch, IngestLater>, IngestLater>
    readonly forget: (organizationId: string, jobId: string) => Effect.Effect<void>
  }
>()("dowser/ingest/Crawler") {
  static readonly layer: Layer.Layer<Crawler, never, Engine | SqlClient.SqlClient | VisitPage> = Layer.effect(
    Crawler,
    Effect.gen(function* () {
      const engine = yield* Engine
      const repository = yield* makeCrawlRepository
      const visit = yield* VisitPage
      /** An unavailable database postpones the job. */
      const later = <A, E, R>(effect: Effect.Effect<A, E | SqlError.SqlError, R>) =>
        Effect.mapError(effect, (error) =>
          error instanceof IngestLater
            ? error
            : new IngestLater({ message: "The database did not answer.", after_s: AGAIN_S })
        )
      return Crawler.of({
        read: Effect.fnUntraced(function* (plan) {
          const { collection, jobId, organizationId } = plan.task
          const createdAt = engine.describeCollection(organizationId, collection)?.created_at ?? 0
          // A collection created again lacks the pages written before; a refresh treats all pages as unwritten.
          const made = plan.isRefresh ? jobId : String(createdAt)
          const crawl = new Crawl(plan, repository, visit, made)
          yield* later(crawl.open)
          return Stream.paginate(undefined, () =>
            Effect.map(
              later(crawl.round),
              (batches) => [batches ?? [], batches === undefined ? Option.none() : Option.some(undefined)] as const
            )
          )
        }),
        forget: (organizationId, jobId) =>
          Effect.catch(Effect.asVoid(repository.forget(organizationId, jobId)), (error) =>
            Effect.logError(`The frontier of ${jobId} was not removed; housekeeping will`, error)
          )
      })
    })
  )
}
