/**
 * Feeds as sources of jobs: `yml`, `jsonl`, `csv`, `google_xml`, and the documents of an `inline` job, which are a
 * feed of JSON Lines. A feed is stored completely before it is read: sent with its job, uploaded before it, or
 * fetched from an address (`fetch-feed.ts`). An interrupted job therefore reads the same bytes again.
 */
import { Effect, Schema, Stream } from "effect"
import { refusing } from "../../http/checks.ts"
import { decoded } from "../../ports/outbound-http/decode.ts"
import { OutboundFailure } from "../../ports/outbound-http/outbound-http.ts"
import { type IngestBatch, IngestFailed, IngestLater, type IngestSource, type IngestTask } from "../sources/source.ts"
import { FeedBroken } from "../readers/reader.ts"
import { FEED_FORMATS, type FeedFormat, readerOf } from "../readers/readers.ts"
import { batchesOf } from "./batches.ts"
import { makeFetchFeed } from "./fetch-feed.ts"
import { KeptFeeds } from "./kept-feeds.ts"

const CONTENT_CHARACTERS_MAX = 1_000_000
/** Limit of a compressed feed's decompressed size. */
const UNPACKED_BYTES_MAX = 5_000_000_000
const AGAIN_S = 5

const addressRefusal = (text: string): string | undefined => {
  const url = URL.parse(text)
  return url === null || !/^https?:$/.test(url.protocol) || text.length > 2_048
    ? "An address that begins with http:// or https://, of at most 2,048 characters"
    : undefined
}
const fields = {
  url: Schema.optionalKey(Schema.String.check(refusing(addressRefusal))),
  content: Schema.optionalKey(
    Schema.String.check(
      refusing((text: string) =>
        text.length > CONTENT_CHARACTERS_MAX
          ? `At most ${CONTENT_CHARACTERS_MAX} characters; upload what is longer`
          : undefined
      )
    )
  ),
  full: Schema.optionalKey(Schema.Boolean),
  /** The field or column with the id. */ id_field: Schema.optionalKey(
    Schema.String.check(
      refusing((text: string) => (text === "" || text.length > 250 ? "1 to 250 characters" : undefined))
    )
  )
}
const FeedConfig = Schema.Struct(fields)
type FeedConfig = typeof FeedConfig.Type
/** Whether exactly one origin is given depends on both fields. */
const feedRefusal = ({ content, url }: FeedConfig): string | undefined =>
  (url === undefined) === (content === undefined) ? "Either `url` or `content`" : undefined

const failureOf = (error: unknown): IngestFailed | IngestLater =>
  error instanceof FeedBroken
    ? new IngestFailed({ message: error.message })
    : error instanceof OutboundFailure
      ? new IngestFailed({ message: error.message.replace(/^(Unpacked, )?the answer/i, "$1the feed") })
      : new IngestLater({ message: "The feed could not be read from where it is kept.", after_s: AGAIN_S })

/** Services for reading a feed. */
const makeFeedReading = Effect.gen(function* () {
  const feeds = yield* KeptFeeds
  const fetchFeed = yield* makeFetchFeed
  /** `bytes` is the size of the file, which may be compressed. */
  const read = (
    id: string,
    bytes: number,
    format: FeedFormat,
    {
      config,
      place,
      state
    }: Pick<IngestTask<FeedConfig>, "config" | "place"> & {
      readonly state: Readonly<Record<string, unknown>>
    }
  ): Stream.Stream<IngestBatch, IngestFailed | IngestLater> => {
    let taken = 0
    const counted = async function* () {
      for await (const piece of feeds.read(id)) {
        taken += piece.length
        yield piece
      }
    }
    const unpacked = decoded(
      Stream.fromAsyncIterable(counted(), (error) => error as OutboundFailure),
      { encoding: undefined, bytesMax: UNPACKED_BYTES_MAX, unpacksFiles: true }
    )
    const items = readerOf(format)!(Stream.toAsyncIterable(unpacked), {
      idField: config.id_field,
      isTyped: format !== "jsonl"
    })
    const batches = batchesOf(items, {
      from: place.cursor,
      progress: () => (bytes === 0 ? undefined : taken / bytes),
      state
    })
    return Stream.fromAsyncIterable(batches, failureOf)
  }
  return { feeds, fetchFeed, read }
})
type FeedReading = Effect.Success<typeof makeFeedReading>

const unchanged = (cursor: number, state: Readonly<Record<string, unknown>>): IngestBatch => ({
  changes: [],
  cursor,
  fetched: 0,
  errors: [],
  state,
  progress: 1,
  isUnchanged: true
})
const readFeed = Effect.fnUntraced(function* (
  { feeds, fetchFeed, read }: FeedReading,
  format: FeedFormat,
  task: IngestTask<FeedConfig>
) {
  const { config, jobId, organizationId, place } = task
  let state = place.state
  if (config.url !== undefined) {
    const fetched = yield* fetchFeed({ organizationId, jobId, url: config.url, state })
    if (fetched.isUnchanged) return Stream.succeed(unchanged(place.cursor, fetched.state))
    state = fetched.state
  }
  const feed = yield* feeds.ofJob(organizationId, jobId)
  const later = (message: string) => new IngestLater({ message, after_s: AGAIN_S })
  const bytes =
    feed === undefined
      ? 0
      : yield* Effect.mapError(feeds.length(feed.id), () => later("The feed could not be read from where it is kept."))
  if (feed === undefined || bytes === 0)
    return yield* new IngestFailed({ message: "The feed is empty, or is not kept any more." })
  return read(feed.id, bytes, format, { config, place, state })
})
/** Stores a text that came with the job as a feed. */
const keepText = Effect.fnUntraced(function* (
  { feeds }: FeedReading,
  organizationId: string,
  jobId: string,
  text: string
) {
  const bytes = new TextEncoder().encode(text)
  const feed = yield* feeds.begin(organizationId, { bytes: bytes.length, jobId })
  const pieces = async function* () {
    yield bytes
  }
  yield* Effect.orDie(feeds.append({ id: feed.id, offset: 0, pieces: pieces(), bytesMax: bytes.length }))
  yield* feeds.complete(feed.id, bytes.length)
})

const feedSource = (reading: FeedReading, format: FeedFormat): IngestSource<FeedConfig> => ({
  name: format,
  config: FeedConfig,
  load: "import",
  isFull: ({ full }) => full === true,
  // JSON has types of its own, so no text is converted.
  writes: () => (format === "jsonl" ? {} : { dirtyValues: "coerce_or_reject" }),
  unrepeatable: ({ url }) => (url === undefined ? "Only a job with a `url` can be done again" : undefined),
  refuses: feedRefusal,
  keep: Effect.fnUntraced(function* (organizationId, jobId, { content, ...config }) {
    if (content === undefined) return config
    yield* keepText(reading, organizationId, jobId, content)
    return config
  }),
  read: (task) => readFeed(reading, format, task),
  forget: (organizationId, jobId) => reading.feeds.removeOfJob(organizationId, jobId)
})

const InlineConfig = Schema.Struct({
  documents: Schema.optionalKey(Schema.Array(Schema.Record(Schema.String, Schema.Unknown))),
  action: Schema.optionalKey(Schema.Literals(["create", "upsert", "update", "emplace"])),
  full: Schema.optionalKey(Schema.Boolean)
})
type InlineConfig = typeof InlineConfig.Type
const inlineSource = (reading: FeedReading): IngestSource<InlineConfig> => ({
  name: "inline",
  config: InlineConfig,
  load: "import",
  isFull: ({ full }) => full === true,
  writes: ({ action = "upsert" }) => ({ action }),
  unrepeatable: () => "Only a job with a `url` can be done again",
  refuses: ({ documents }) =>
    documents !== undefined && documents.length > 0 ? undefined : "At least one document in `documents`",
  keep: Effect.fnUntraced(function* (organizationId, jobId, { documents = [], ...config }) {
    yield* keepText(reading, organizationId, jobId, documents.map((document) => JSON.stringify(document)).join("\n"))
    return config
  }),
  read: (task) => readFeed(reading, "jsonl", { ...task, config: {} }),
  forget: (organizationId, jobId) => reading.feeds.removeOfJob(organizationId, jobId)
})

export const makeFeedSources = Effect.map(makeFeedReading, (reading) => [
  ...FEED_FORMATS.map((format) => feedSource(reading, format)),
  inlineSource(reading)
])
