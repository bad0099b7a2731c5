/**
 * `youtube`: videos of a channel or a playlist, from its Atom feed or, with the tenant's key, from the Data API; or
 * captions that came with the job, in chunks with their spoken time. `stats.source_kind` names the one used.
 */
import { Effect, Schema, Stream } from "effect"
import { refusing } from "../../http/checks.ts"
import { KeptFeeds } from "../feeds/kept-feeds.ts"
import { makeAskYouTube } from "../youtube/ask-youtube.ts"
import { YouTubeAddresses } from "../youtube/addresses.ts"
import { readAtom } from "../youtube/atom.ts"
import { type Caption, captionDocuments } from "../youtube/captions.ts"
import { readDataApi } from "../youtube/data-api.ts"
import {
  BATCH_CHANGES_MAX,
  type IngestBatch,
  IngestFailed,
  IngestLater,
  type IngestSource,
  type IngestTask
} from "./source.ts"

const CAPTIONS_MAX = 100
/** Limit over all captions of a job. */
const CAPTIONS_LENGTH_MAX = 1_000_000
const AGAIN_S = 5

const text = (pattern: RegExp, sentence: string) =>
  Schema.String.check(refusing((value: string) => (pattern.test(value) ? undefined : sentence)))
const Captions = Schema.Array(
  Schema.Struct({
    video_id: text(/^[\w-]{1,64}$/, "1 to 64 letters, digits, - or _"),
    title: text(/^[\s\S]{1,500}$/, "1 to 500 characters"),
    format: Schema.Literals(["srt", "vtt"]),
    content: Schema.String
  })
).check(
  refusing((list: ReadonlyArray<Caption>) =>
    list.length === 0 || list.length > CAPTIONS_MAX
      ? `1 to ${CAPTIONS_MAX} captions`
      : list.reduce((sum, { content }) => sum + content.length, 0) > CAPTIONS_LENGTH_MAX
        ? `At most ${CAPTIONS_LENGTH_MAX} characters of captions in all`
        : undefined
  )
)
const YouTubeConfig = Schema.Struct({
  channel_id: Schema.optionalKey(text(/^[\w-]{1,64}$/, "The id of a channel, UC…")),
  playlist_id: Schema.optionalKey(text(/^[\w-]{1,64}$/, "The id of a playlist")),
  api_key: Schema.optionalKey(text(/^[\x21-\x7e]{1,200}$/, "1 to 200 printable characters")),
  captions: Schema.optionalKey(Captions)
})
type YouTubeConfig = typeof YouTubeConfig.Type

const decodeCaptions = Schema.decodeUnknownSync(Schema.fromJsonString(Captions))
const refusal = ({ api_key, captions, channel_id, playlist_id }: YouTubeConfig): string | undefined =>
  [captions, channel_id, playlist_id].filter((value) => value !== undefined).length !== 1
    ? "One of `channel_id`, `playlist_id` and `captions`"
    : api_key !== undefined && captions !== undefined
      ? "An `api_key` beside a `channel_id` or a `playlist_id` only"
      : undefined

/** Documents in batches; those before the cursor are skipped. */
const inBatches = (
  documents: ReadonlyArray<Readonly<Record<string, unknown>>>,
  errors: IngestBatch["errors"],
  source_kind: string,
  cursor: number
): Stream.Stream<IngestBatch> => {
  const total = Math.max(1, documents.length + errors.length)
  const batches: Array<IngestBatch> = []
  for (let from = 0; from === 0 || from < documents.length; from += BATCH_CHANGES_MAX) {
    const part = documents.slice(from, from + BATCH_CHANGES_MAX)
    const isLast = from + BATCH_CHANGES_MAX >= documents.length
    const end = isLast ? total : from + part.length
    batches.push({
      changes: part.map((document) => ({ op: "upsert", document })),
      cursor: end,
      fetched: part.length + (isLast ? errors.length : 0),
      errors: isLast ? errors : [],
      progress: end / total,
      state: { source_kind }
    })
  }
  return Stream.fromIterable(batches.filter((batch) => batch.cursor > cursor))
}

export const makeYouTubeSource = Effect.gen(function* () {
  const ask = yield* makeAskYouTube
  const addresses = yield* YouTubeAddresses
  const feeds = yield* KeptFeeds
  const keep = Effect.fnUntraced(function* (organizationId: string, jobId: string, config: YouTubeConfig) {
    const { captions, ...rest } = config
    if (captions === undefined) return rest
    const bytes = new TextEncoder().encode(JSON.stringify(captions))
    const feed = yield* feeds.begin(organizationId, { bytes: bytes.length, jobId })
    const pieces = async function* () {
      yield bytes
    }
    yield* Effect.orDie(feeds.append({ id: feed.id, offset: 0, pieces: pieces(), bytesMax: bytes.length }))
    yield* feeds.complete(feed.id, bytes.length)
    return rest
  })
  const readCaptions = Effect.fnUntraced(function* ({ jobId, organizationId, place }: IngestTask<YouTubeConfig>) {
    const feed = yield* feeds.ofJob(organizationId, jobId)
    if (feed === undefined) return yield* new IngestFailed({ message: "The captions are not kept any more." })
    const pieces = yield* Effect.tryPromise({
      try: () => Array.fromAsync(feeds.read(feed.id)),
      catch: () =>
        new IngestLater({ message: "The captions could not be read from where they are kept.", after_s: AGAIN_S })
    })
    const captions = decodeCaptions(Buffer.concat(pieces).toString("utf8"))
    const read = captions.map((caption) => ({ caption, documents: captionDocuments(caption) }))
    const errors = read
      .filter(({ documents }) => documents.length === 0)
      .map(({ caption }) => ({
        id: caption.video_id,
        error: `The captions have no cue that can be read as ${caption.format}`
      }))
    return inBatches(
      read.flatMap(({ documents }) => documents),
      errors,
      "captions",
      place.cursor
    )
  })
  const readFeed = Effect.fnUntraced(function* ({ config, place }: IngestTask<YouTubeConfig>) {
    const { channel_id, playlist_id } = config
    const query = new URLSearchParams(channel_id === undefined ? { playlist_id: playlist_id! } : { channel_id })
    const answer = yield* ask("The Atom feed", `${addresses.feeds}?${query.toString()}`, undefined)
    const videos = readAtom(answer)
    if (typeof videos === "string") return yield* new IngestFailed({ message: `The Atom feed is invalid: ${videos}.` })
    return inBatches(
      videos.map(({ document }) => document),
      [],
      "atom",
      place.cursor
    )
  })
  return {
    name: "youtube",
    config: YouTubeConfig,
    load: "wait",
    secrets: ["api_key"],
    isFull: () => false,
    refuses: refusal,
    unrepeatable: ({ captions }) =>
      captions === undefined ? undefined : "Captions come once; a channel or a playlist can be read again",
    keep,
    read: (task): ReturnType<IngestSource<YouTubeConfig>["read"]> => {
      const { api_key, channel_id, playlist_id } = task.config
      if (channel_id === undefined && playlist_id === undefined) return readCaptions(task)
      if (api_key === undefined) return readFeed(task)
      return readDataApi(ask, {
        api: addresses.api,
        key: api_key,
        channelId: channel_id,
        playlistId: playlist_id,
        place: task.place,
        jobId: task.jobId
      })
    },
    forget: (organizationId, jobId) => feeds.removeOfJob(organizationId, jobId)
  } satisfies IngestSource<YouTubeConfig>
})
