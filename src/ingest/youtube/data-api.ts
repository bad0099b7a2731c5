/**
 * Every video of a channel or a playlist through the Data API, with the tenant's key. Each page of fifty is a batch;
 * a job continues at the page's token.
 */
import { parseBounded } from "@dowser/engine-sdk/documents"
import { Effect, Option, Schema, Stream } from "effect"
import { type IngestBatch, IngestFailed, type IngestLater, type IngestPlace } from "../sources/source.ts"
import type { AskYouTube } from "./ask-youtube.ts"
import { videoOf } from "./atom.ts"

/** The API's own limit for a channel's uploads. */
const ITEMS_MAX = 20_000
const PAGE_ITEMS = 50

const Channels = Schema.Struct({
  items: Schema.optionalKey(
    Schema.Array(
      Schema.Struct({
        contentDetails: Schema.Struct({
          relatedPlaylists: Schema.Struct({ uploads: Schema.optionalKey(Schema.String) })
        })
      })
    )
  )
})
const PlaylistItems = Schema.Struct({
  nextPageToken: Schema.optionalKey(Schema.String),
  pageInfo: Schema.optionalKey(Schema.Struct({ totalResults: Schema.optionalKey(Schema.Number) })),
  items: Schema.Array(
    Schema.Struct({
      snippet: Schema.Struct({
        title: Schema.optionalKey(Schema.String),
        description: Schema.optionalKey(Schema.String),
        publishedAt: Schema.optionalKey(Schema.String),
        videoOwnerChannelTitle: Schema.optionalKey(Schema.String),
        channelTitle: Schema.optionalKey(Schema.String),
        thumbnails: Schema.optionalKey(
          Schema.Record(Schema.String, Schema.Struct({ url: Schema.optionalKey(Schema.String) }))
        ),
        resourceId: Schema.Struct({ videoId: Schema.optionalKey(Schema.String) })
      }),
      contentDetails: Schema.optionalKey(Schema.Struct({ videoPublishedAt: Schema.optionalKey(Schema.String) }))
    })
  )
})
type Item = (typeof PlaylistItems.Type)["items"][number]
const VIDEO_ID = /^[\w-]{1,64}$/

/** Nothing for a deleted or private video, which keeps its position in the list but has no date. */
const documentOf = ({ contentDetails, snippet }: Item) => {
  const { videoId } = snippet.resourceId
  const published = contentDetails?.videoPublishedAt
  if (videoId === undefined || !VIDEO_ID.test(videoId) || (contentDetails !== undefined && published === undefined))
    return undefined
  const images = new Map(Object.entries(snippet.thumbnails ?? {}))
  const image = images.get("maxres") ?? images.get("high") ?? images.get("medium") ?? images.get("default")
  return videoOf({
    id: videoId,
    title: snippet.title ?? "",
    description: snippet.description ?? "",
    image: image?.url,
    channel: snippet.videoOwnerChannelTitle ?? snippet.channelTitle,
    published: published ?? snippet.publishedAt
  }).document
}

interface Asked {
  readonly api: string
  readonly key: string
  readonly channelId: string | undefined
  readonly playlistId: string | undefined
  readonly place: IngestPlace
  readonly jobId: string
}
const parsed = <A>(schema: Schema.Codec<A, unknown>, text: string) => {
  const unknown = new IngestFailed({
    message: "The YouTube Data API gave an undocumented answer."
  })
  const json = parseBounded(text)
  return typeof json === "object"
    ? Effect.mapError(Schema.decodeUnknownEffect(schema)(json.value), () => unknown)
    : Effect.fail(unknown)
}

export const readDataApi = (ask: AskYouTube, { api, channelId, jobId, key, place, playlistId }: Asked) => {
  const request = (what: string, resource: string, query: Readonly<Record<string, string>>) =>
    ask(what, `${api}/${resource}?${new URLSearchParams({ ...query, key }).toString()}`, key)
  const uploads = Effect.gen(function* () {
    if (playlistId !== undefined) return playlistId
    const text = yield* request("The channel", "channels", { part: "contentDetails", id: channelId! })
    const found = (yield* parsed(Channels, text)).items?.[0]?.contentDetails.relatedPlaylists.uploads
    if (found === undefined)
      return yield* new IngestFailed({ message: `YouTube knows no channel ${channelId} with uploads.` })
    return found
  })
  const page = (playlist: string, at: { readonly token: string | undefined; readonly cursor: number }) =>
    Effect.gen(function* () {
      const text = yield* request("The list of videos", "playlistItems", {
        part: "snippet,contentDetails",
        playlistId: playlist,
        maxResults: String(PAGE_ITEMS),
        ...(at.token === undefined ? {} : { pageToken: at.token })
      })
      const { items, nextPageToken, pageInfo } = yield* parsed(PlaylistItems, text)
      const cursor = at.cursor + Math.max(1, items.length)
      const total = pageInfo?.totalResults
      const batch: IngestBatch = {
        changes: items.flatMap((item) => {
          const document = documentOf(item)
          return document === undefined ? [] : [{ op: "upsert", document }]
        }),
        cursor,
        fetched: items.length,
        errors: [],
        ...(total === undefined || total === 0 ? {} : { progress: Math.min(1, cursor / total) }),
        state: {
          source_kind: "api",
          job: jobId,
          playlist,
          ...(nextPageToken === undefined ? {} : { token: nextPageToken }),
          is_over: nextPageToken === undefined
        }
      }
      // A token that refers to itself would loop forever.
      const isLast = nextPageToken === undefined || nextPageToken === at.token || cursor >= ITEMS_MAX
      return [[batch], isLast ? Option.none() : Option.some({ token: nextPageToken, cursor })] as const
    })
  return Effect.gen(function* () {
    const { state } = place
    const isAgain = state.job === jobId && place.cursor > 0
    if (isAgain && state.is_over === true) return Stream.empty as Stream.Stream<IngestBatch, IngestFailed | IngestLater>
    const playlist = isAgain && typeof state.playlist === "string" ? state.playlist : yield* uploads
    const token = isAgain && typeof state.token === "string" ? state.token : undefined
    return Stream.paginate(
      { token, cursor: place.cursor } as { readonly token: string | undefined; readonly cursor: number },
      (at) => page(playlist, at)
    )
  })
}
