/**
 * Stored feeds: their owners, their lifetime, and who is writing one. Each stays until its job is over; an unfinished
 * one stays for 24 hours.
 */
import { Clock, Context, Effect, Layer } from "effect"
import { Identifiers } from "@dowser/log/identifiers"
import { SqlClient } from "effect/sql"
import { Installation } from "../../installation.ts"
import { type Append, FeedStore, type FeedStoreFailure } from "../../ports/feed-store/feed-store.ts"
import { FeedBusy, FeedSpaceExhausted } from "../errors.ts"
import { makeFeedsRepository, type StoredFeed, type Upload } from "./feeds-repository.ts"

/** The largest size of one feed. */
export const FEED_BYTES_MAX = 500_000_000
/** For all feeds of an organization together, including announced bytes that have not arrived. */
const ORGANIZATION_BYTES_MAX = 2_000_000_000
/** The number is limited too, because even an upload of one byte takes a row and a file. */
const ORGANIZATION_FEEDS_MAX = 200
const FEED_KEPT_MS = 24 * 3_600_000
const SWEEP_EVERY_MS = 600_000
const SWEPT_MAX = 100
/** A writer's claim on a feed ends ten seconds after its process died. */
const WRITER_RENEW_MS = 3_000

interface NewFeed {
  /** The largest number of bytes to store. */ readonly bytes: number
  /** The future job, if the feed is uploaded before it. */ readonly upload?: Upload | undefined
  readonly jobId?: string | undefined
}
export class KeptFeeds extends Context.Service<
  KeptFeeds,
  {
    /** Reserves room for a feed; returns the stored feed. */
    readonly begin: (organizationId: string, feed: NewFeed) => Effect.Effect<StoredFeed, FeedSpaceExhausted>
    readonly get: (organizationId: string, id: string) => Effect.Effect<StoredFeed | undefined>
    readonly ofJob: (organizationId: string, jobId: string) => Effect.Effect<StoredFeed | undefined>
    /** Uses the feed exclusively until it ends; returns the feed's size in bytes. */
    readonly append: (append: Append) => Effect.Effect<number, FeedBusy | FeedStoreFailure>
    readonly length: (id: string) => Effect.Effect<number, FeedStoreFailure>
    readonly truncate: (id: string, length: number) => Effect.Effect<void, FeedStoreFailure>
    readonly read: (id: string) => AsyncIterable<Uint8Array>
    /** Marks the feed as complete and, if a job is named, as belonging to it. */
    readonly complete: (id: string, bytes: number, jobId?: string) => Effect.Effect<void>
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void>
    readonly removeOfJob: (organizationId: string, jobId: string) => Effect.Effect<void>
  }
>()("dowser/ingest/KeptFeeds") {
  static readonly layer: Layer.Layer<KeptFeeds, never, FeedStore | Identifiers | Installation | SqlClient.SqlClient> =
    Layer.effect(
      KeptFeeds,
      Effect.suspend(() => make)
    )
}

interface Sweeping {
  readonly repository: Effect.Success<typeof makeFeedsRepository>
  readonly store: FeedStore["Service"]
  readonly forget: (id: string) => Effect.Effect<void>
}
/** While the scope is open, removes feeds that are over, and bytes without a row. */
const sweeping = Effect.fnUntraced(function* ({ forget, repository, store }: Sweeping) {
  const sweep = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const { id } of yield* repository.expired(now, SWEPT_MAX)) yield* forget(id)
    const stored = yield* store.ids
    for (const id of yield* repository.unknown(stored)) yield* store.remove(id)
  })
  yield* Effect.forkScoped(
    Effect.forever(
      Effect.andThen(
        Effect.catch(sweep, (error) => Effect.logError("Feeds that are over could not be removed", error)),
        Effect.sleep(SWEEP_EVERY_MS)
      )
    )
  )
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const store = yield* FeedStore
  const identifiers = yield* Identifiers
  const repository = yield* makeFeedsRepository
  const process = yield* identifiers.make("prc")
  if ((yield* Installation).isAlone) yield* Effect.orDie(repository.forgetWriters)

  const begin = Effect.fnUntraced(function* (organizationId: string, { bytes, jobId, upload }: NewFeed) {
    const now = yield* Clock.currentTimeMillis
    const feed: StoredFeed = {
      id: yield* identifiers.make("fed"),
      organization_id: organizationId,
      upload,
      bytes_expected: bytes,
      is_complete: false,
      expires_at: now + FEED_KEPT_MS
    }
    yield* Effect.catchTag(
      sql.withTransaction(
        Effect.gen(function* () {
          yield* repository.lock(organizationId)
          const taken = yield* repository.taken(organizationId)
          if (taken.feeds >= ORGANIZATION_FEEDS_MAX)
            return yield* new FeedSpaceExhausted({
              message: `An organization has at most ${ORGANIZATION_FEEDS_MAX} feeds that wait or are read; wait for a job to end, or delete an upload.`
            })
          if (taken.bytes + bytes > ORGANIZATION_BYTES_MAX)
            return yield* new FeedSpaceExhausted({
              message: `Feeds that wait or are read take ${ORGANIZATION_BYTES_MAX} bytes of an organization at most; wait for a job to end, or delete an upload.`
            })
          yield* repository.insert(feed, jobId, now)
        })
      ),
      "SqlError",
      Effect.die
    )
    return feed
  })
  const renewing = (id: string) =>
    Effect.forever(Effect.andThen(Effect.sleep(WRITER_RENEW_MS), Effect.ignore(repository.renewWriter(id, process))))
  const append = (given: Append) =>
    Effect.acquireUseRelease(
      Effect.flatMap(Effect.orDie(repository.takeWriter(given.id, process)), (isOurs) =>
        isOurs
          ? Effect.void
          : Effect.fail(new FeedBusy({ message: "Another request writes this upload; ask for its offset again." }))
      ),
      () => Effect.raceFirst(store.append(given), renewing(given.id)),
      () => Effect.ignore(repository.freeWriter(given.id, process))
    )
  const forget = (id: string) =>
    Effect.asVoid(
      Effect.andThen(
        Effect.catch(store.remove(id), (error) => Effect.logError(`The feed ${id} could not be removed`, error)),
        Effect.orDie(repository.remove(id))
      )
    )
  const removeWhere = (found: Effect.Effect<StoredFeed | undefined>) =>
    Effect.flatMap(found, (feed) => (feed === undefined ? Effect.void : forget(feed.id)))

  yield* sweeping({ forget, repository, store })
  const get = (organizationId: string, id: string) => Effect.orDie(repository.get(organizationId, id))
  const ofJob = (organizationId: string, jobId: string) => Effect.orDie(repository.ofJob(organizationId, jobId))
  return KeptFeeds.of({
    begin,
    get,
    ofJob,
    append,
    length: store.length,
    truncate: store.truncate,
    read: store.read,
    complete: (id, bytes, jobId) => Effect.orDie(Effect.asVoid(repository.complete(id, bytes, jobId))),
    remove: (organizationId, id) => removeWhere(get(organizationId, id)),
    removeOfJob: (organizationId, jobId) => removeWhere(ofJob(organizationId, jobId))
  })
})
