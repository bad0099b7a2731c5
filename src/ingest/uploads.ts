/**
 * Uploaded feeds: raw in one request, or resumable in several (tus 1.0). Either way the bytes are written to the
 * store as they arrive, and the complete feed becomes a job. The job's id is known from the beginning, so that an
 * upload finished twice, across a restart, creates one job.
 */
import { createHash } from "node:crypto"
import type { Readable } from "node:stream"
import { Identifiers } from "@dowser/log/identifiers"
import { Clock, Context, Effect, Layer } from "effect"
import type { EngineWriteFailure } from "../engine-plane/engine-errors.ts"
import { type InputInvalid, inputInvalid } from "../http/errors.ts"
import type { FeedStoreFailure } from "../ports/feed-store/feed-store.ts"
import type { CreateFailure } from "./create-job.ts"
import {
  ChecksumMismatch,
  type FeedBusy,
  FeedTooLarge,
  UploadExpired,
  UploadNotFound,
  UploadOffsetWrong
} from "./errors.ts"
import type { StoredFeed, Upload } from "./feeds/feeds-repository.ts"
import { FEED_BYTES_MAX, KeptFeeds } from "./feeds/kept-feeds.ts"
import { Ingest } from "./ingest.ts"
import type { IngestJob } from "./schema.ts"

export interface AskedUpload {
  readonly organizationId: string
  readonly collection: string
  readonly format: string
  readonly name: string | undefined
  readonly config: Readonly<Record<string, unknown>>
}
export const CHECKSUMS = ["sha1", "sha256", "md5"] as const
export interface Checksum {
  readonly algorithm: (typeof CHECKSUMS)[number]
  readonly digest: string
}
interface Piece {
  readonly offset: number
  readonly stream: Readable
  readonly checksum: Checksum | undefined
}
export interface UploadState {
  readonly id: string
  readonly offset: number
  readonly length: number
  readonly metadata: string | undefined
  readonly expires_at: number
  readonly job_id: string | undefined
}
type FinishFailure = CreateFailure | EngineWriteFailure

export class Uploads extends Context.Service<
  Uploads,
  {
    /** Everything in one body of `length` bytes. Evaluates `isAllowed` once more after the body has arrived. */
    readonly raw: <E>(
      asked: AskedUpload,
      body: { readonly length: number; readonly stream: Readable; readonly isAllowed: Effect.Effect<unknown, E> }
    ) => Effect.Effect<IngestJob, E | FinishFailure | FeedTooLarge | FeedBusy>
    readonly begin: (
      asked: AskedUpload,
      length: number,
      metadata: string | undefined
    ) => Effect.Effect<UploadState, FinishFailure | FeedTooLarge>
    /** For a complete upload, also its job, which is created if it does not exist yet. */
    readonly state: (
      organizationId: string,
      id: string
    ) => Effect.Effect<UploadState, UploadNotFound | UploadExpired | FinishFailure>
    readonly append: (
      organizationId: string,
      id: string,
      piece: Piece
    ) => Effect.Effect<
      UploadState,
      UploadNotFound | UploadExpired | UploadOffsetWrong | ChecksumMismatch | FeedTooLarge | FeedBusy | FinishFailure
    >
    readonly remove: (organizationId: string, id: string) => Effect.Effect<void, UploadNotFound>
  }
>()("dowser/ingest/Uploads") {
  static readonly layer: Layer.Layer<Uploads, never, Identifiers | Ingest | KeptFeeds> = Layer.effect(
    Uploads,
    Effect.suspend(() => make)
  )
}

const tooLarge = () => new FeedTooLarge({ message: `A feed is at most ${FEED_BYTES_MAX} bytes long.` })
const noUpload = (id: string) => new UploadNotFound({ message: `Upload ${id} does not exist.` })
const uploadOf = ({ collection, config, format, name }: AskedUpload, jobId: string, metadata?: string): Upload => ({
  collection,
  format,
  name: name ?? `Upload (${format}) into ${collection}`,
  config,
  job_id: jobId,
  ...(metadata === undefined ? {} : { metadata })
})
/** A failing disk or database is not the caller's fault. */
const asDefect = (error: FeedStoreFailure) => Effect.die(new Error(`A feed could not be kept: ${error.message}`))

/** The bytes that pass through, and their digest. */
const digested = (stream: Readable, checksum: Checksum | undefined) => {
  const hash = checksum === undefined ? undefined : createHash(checksum.algorithm)
  const pieces = async function* () {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      hash?.update(piece)
      yield piece
    }
  }
  return { pieces: pieces(), isRight: () => hash === undefined || hash.digest("base64") === checksum!.digest }
}

const makeParts = Effect.gen(function* () {
  const feeds = yield* KeptFeeds
  const ingest = yield* Ingest
  const identifiers = yield* Identifiers

  const begin = Effect.fnUntraced(function* (asked: AskedUpload, length: number, metadata?: string) {
    if (length > FEED_BYTES_MAX) return yield* tooLarge()
    yield* ingest.check(asked.organizationId, asked.format, asked.collection, asked.config)
    const jobId = yield* identifiers.make("job")
    const feed = yield* feeds.begin(asked.organizationId, { bytes: length, upload: uploadOf(asked, jobId, metadata) })
    return feed
  })
  /** Returns the upload's job, which is created once. */
  const finish = Effect.fnUntraced(function* ({ bytes_expected, id, organization_id, upload }: StoredFeed) {
    const { collection, config, format, job_id, name } = upload!
    const known = yield* Effect.option(ingest.get(organization_id, job_id!))
    if (known._tag === "Some") return known.value
    yield* feeds.complete(id, bytes_expected, job_id)
    return yield* ingest.create({
      organizationId: organization_id,
      jobId: job_id,
      isKept: true,
      name,
      collection,
      source: format,
      config
    })
  })
  const found = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const feed = yield* feeds.get(organizationId, id)
    if (feed?.upload === undefined) return yield* noUpload(id)
    const now = yield* Clock.currentTimeMillis
    if (feed.expires_at < now && !feed.is_complete)
      return yield* new UploadExpired({ message: `Upload ${id} was not finished within 24 hours.` })
    return feed
  })
  const stateOf = (feed: StoredFeed, offset: number): UploadState => ({
    id: feed.id,
    offset,
    length: feed.bytes_expected,
    metadata: feed.upload?.metadata,
    expires_at: feed.expires_at,
    job_id: offset === feed.bytes_expected ? feed.upload?.job_id : undefined
  })
  const settled = Effect.fnUntraced(function* (feed: StoredFeed, offset: number) {
    if (offset === feed.bytes_expected) yield* finish(feed)
    return stateOf(feed, offset)
  })
  const lengthOf = (id: string) => Effect.catch(feeds.length(id), asDefect)
  /** The upload and its offset. A complete one stays complete when its job is over and its bytes are removed. */
  const standing = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const length = yield* lengthOf(id)
    // Read after the length: if the bytes were removed before that, the upload was complete.
    const feed = yield* found(organizationId, id)
    return { feed, at: feed.is_complete ? feed.bytes_expected : length }
  })
  return { feeds, begin, finish, lengthOf, settled, standing, stateOf }
})
type Parts = Effect.Success<typeof makeParts>

const makeRaw = ({ begin, feeds, finish }: Parts) => {
  const raw = <E>(
    asked: AskedUpload,
    {
      isAllowed,
      length,
      stream
    }: { readonly length: number; readonly stream: Readable; readonly isAllowed: Effect.Effect<unknown, E> }
  ) =>
    Effect.gen(function* () {
      const feed = yield* begin(asked, length)
      const taken = feeds.append({
        id: feed.id,
        offset: 0,
        pieces: stream as AsyncIterable<Uint8Array>,
        bytesMax: FEED_BYTES_MAX
      })
      return yield* Effect.onError(
        Effect.gen(function* () {
          const bytes = yield* Effect.catchTag(
            taken,
            "FeedStoreFailure",
            (error): Effect.Effect<never, FeedTooLarge | InputInvalid> =>
              error.kind === "too large"
                ? Effect.fail(tooLarge())
                : error.kind === "source"
                  ? Effect.fail(inputInvalid("body", `The body ended early: ${error.message}`))
                  : asDefect(error)
          )
          yield* isAllowed
          return yield* finish({ ...feed, bytes_expected: bytes })
        }),
        () => feeds.remove(asked.organizationId, feed.id)
      )
    })
  return raw
}
const makeAppend = ({ feeds, lengthOf, settled, standing }: Parts) =>
  Effect.fnUntraced(function* (organizationId: string, id: string, { checksum, offset, stream }: Piece) {
    const { at: before, feed } = yield* standing(organizationId, id)
    const wrong = (at: number) => new UploadOffsetWrong({ message: `The upload stands at ${at}.` })
    if (before !== offset) return yield* wrong(before)
    // Nothing is appended to a feed that a job may have read.
    if (feed.is_complete) return yield* settled(feed, before)
    const { isRight, pieces } = digested(stream, checksum)
    const given = { id, offset, pieces, bytesMax: feed.bytes_expected }
    const undone = () => Effect.catch(feeds.truncate(id, offset), asDefect)
    const after = yield* Effect.catchTag(
      feeds.append(given),
      "FeedStoreFailure",
      (error): Effect.Effect<number, FeedTooLarge | UploadOffsetWrong> => {
        if (error.kind === "too large") return Effect.andThen(undone(), Effect.fail(tooLarge()))
        if (error.kind === "offset") return Effect.flatMap(lengthOf(id), (at) => Effect.fail(wrong(at)))
        if (error.kind === "store") return asDefect(error)
        // The sender disconnected: the received bytes are kept, unless they were to be verified.
        return checksum === undefined ? lengthOf(id) : Effect.as(undone(), offset)
      }
    )
    if (after > offset && !isRight()) {
      yield* undone()
      return yield* new ChecksumMismatch({ message: "The received bytes do not match `Upload-Checksum`." })
    }
    return yield* settled(feed, after)
  })

const make = Effect.gen(function* () {
  const parts = yield* makeParts
  const { begin, feeds, settled, standing, stateOf } = parts
  return Uploads.of({
    raw: makeRaw(parts),
    begin: (asked, length, metadata) => Effect.map(begin(asked, length, metadata), (feed) => stateOf(feed, 0)),
    state: Effect.fnUntraced(function* (organizationId, id) {
      const { at, feed } = yield* standing(organizationId, id)
      return yield* settled(feed, at)
    }),
    append: makeAppend(parts),
    remove: Effect.fnUntraced(function* (organizationId, id) {
      const feed = yield* feeds.get(organizationId, id)
      if (feed?.upload === undefined) return yield* noUpload(id)
      // A complete feed belongs to its job.
      if (!feed.is_complete) yield* feeds.remove(organizationId, id)
    })
  })
})
