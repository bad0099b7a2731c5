/**
 * Videos over HTTP, from a server on loopback that answers as YouTube's public documentation describes: the Atom feed,
 * the Data API with the tenant's key, captions that come with the job. The key appears nowhere.
 */
import { Layer } from "effect"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { YouTubeAddresses } from "../../src/ingest/youtube/addresses.ts"
import { type Program, startProgram, type Tenant } from "../support/program.ts"
import { eventually } from "../support/receiver.ts"
import { type Site, startSite } from "../support/site.ts"

const KEY = "AIzaSyVerySecretKeyOfATenant"
let program: Program, tenant: Tenant, other: Tenant, youtube: Site
const send = (method: string, path: string, body?: unknown, key = tenant.full_key) =>
  program.request(method, path, { key, ...(body === undefined ? {} : { body }) })
let made = 0
const job = async (config: object, wait_ms = 30_000) => {
  const collection = `videos_${made++}`
  const answer = await send("POST", "/v1/ingest/jobs", {
    collection,
    source: "youtube",
    config: { ...config, create_collection: true }
  })
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`)
  expect(answer.text).not.toContain(KEY)
  const ended = await eventually(
    "the end of the job",
    async () => {
      const { body } = await send("GET", `/v1/ingest/jobs/${answer.body.id}`)
      return body.finished_at === undefined ? undefined : body
    },
    wait_ms
  )
  return { collection, ended }
}
const stored = async (collection: string): Promise<ReadonlyArray<any>> =>
  (await send("GET", `/v1/collections/${collection}/documents/export`)).text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))

beforeAll(async () => {
  youtube = await startSite()
  program = await startProgram({
    allowPrivateAddresses: true,
    services: Layer.succeed(YouTubeAddresses, {
      feeds: `${youtube.origin}/feeds/videos.xml`,
      api: `${youtube.origin}/youtube/v3`
    })
  })
  tenant = await program.tenant("Videos")
  other = await program.tenant("Beside")
})
afterAll(async () => {
  await program.stop()
  await youtube.stop()
})
afterEach(() => {
  youtube.pages.clear()
  youtube.fallback = undefined
  youtube.asked.length = 0
})

const atom = `<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns:yt="http://www.youtube.com/xml/schemas/2015" xmlns:media="http://search.yahoo.com/mrss/" xmlns="http://www.w3.org/2005/Atom">
 <id>yt:channel:UC1</id><title>Lamps</title><author><name>Lamps</name></author>
 <entry><id>yt:video:vid_1</id><yt:videoId>vid_1</yt:videoId><yt:channelId>UC1</yt:channelId><title>How to &amp; why</title>
  <link rel="alternate" href="https://www.youtube.com/watch?v=vid_1"/><author><name>Lamps</name></author>
  <published>2026-01-02T00:00:00+00:00</published><updated>2026-01-03T00:00:00+00:00</updated>
  <media:group><media:title>How to</media:title><media:thumbnail url="https://i.example/1.jpg" width="480" height="360"/><media:description>First line
second line</media:description></media:group></entry>
 <entry><yt:videoId>vid_2</yt:videoId><title>Two</title></entry>
</feed>`

describe("videos", () => {
  it("of a channel or a playlist are read from the Atom feed", async () => {
    youtube.fallback = () => ({ headers: { "content-type": "text/xml" }, body: atom })
    const { collection, ended } = await job({ channel_id: "UC1" })
    expect(ended).toMatchObject({ status: "ready", stats: { fetched: 2, imported: 2, failed: 0, source_kind: "atom" } })
    expect(youtube.paths()).toEqual(["/feeds/videos.xml?channel_id=UC1"])
    expect((await stored(collection)).find(({ id }) => id === "vid_1")).toEqual({
      id: "vid_1",
      url: "https://www.youtube.com/watch?v=vid_1",
      title: "How to & why",
      description: "First line\nsecond line",
      image: "https://i.example/1.jpg",
      channel: "Lamps",
      published_at: 1_767_312_000
    })
    await job({ playlist_id: "PL1" })
    expect(youtube.paths().at(-1)).toBe("/feeds/videos.xml?playlist_id=PL1")
  })
  it("are all read with a key, page by page, without private ones", async () => {
    const item = (n: number) => ({
      snippet: {
        title: `Video ${n}`,
        description: `About ${n}`,
        publishedAt: "2026-01-05T00:00:00Z",
        channelTitle: "Lamps",
        resourceId: { kind: "youtube#video", videoId: `v${n}` },
        thumbnails: { default: { url: `https://i.example/${n}.jpg` } }
      },
      contentDetails: n === 3 ? {} : { videoId: `v${n}`, videoPublishedAt: "2026-01-02T00:00:00Z" }
    })
    youtube.fallback = (path) => {
      const url = new URL(path, youtube.origin)
      const json = (body: unknown) => ({ headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
      if (url.searchParams.get("key") !== KEY) return { status: 400, body: "no key" }
      if (url.pathname === "/youtube/v3/channels")
        return json({ items: [{ id: "UC1", contentDetails: { relatedPlaylists: { uploads: "UU1" } } }] })
      const from = Number(url.searchParams.get("pageToken") ?? 0)
      const items = Array.from({ length: 50 }, (_, i) => item(from + i)).filter((_, i) => from + i < 120)
      return json({
        items,
        pageInfo: { totalResults: 120, resultsPerPage: 50 },
        ...(from + 50 < 120 ? { nextPageToken: String(from + 50) } : {})
      })
    }
    const { collection, ended } = await job({ channel_id: "UC1", api_key: KEY })
    expect(ended).toMatchObject({
      status: "ready",
      stats: { fetched: 120, imported: 119, failed: 0, source_kind: "api" }
    })
    expect(ended.config).toEqual({ channel_id: "UC1", api_key: "********" })
    expect(youtube.paths().map((path) => new URL(path, youtube.origin).searchParams.get("pageToken"))).toEqual([
      null,
      null,
      "50",
      "100"
    ])
    const documents = await stored(collection)
    expect(documents.length).toBe(119)
    expect(documents.find(({ id }) => id === "v4")).toEqual({
      id: "v4",
      url: "https://www.youtube.com/watch?v=v4",
      title: "Video 4",
      description: "About 4",
      image: "https://i.example/4.jpg",
      channel: "Lamps",
      published_at: 1_767_312_000
    })
    // Nowhere: not in a list, not in the audit log, not for another organization.
    for (const path of ["/v1/ingest/jobs", "/v1/jobs", "/v1/audit?limit=100", `/v1/collections/${collection}`])
      expect((await send("GET", path)).text).not.toContain(KEY)
    expect((await send("GET", `/v1/ingest/jobs/${ended.id}`, undefined, other.full_key)).status).toBe(404)
  })
  it("that are unavailable give an error with the reason, without the key", async () => {
    const failed = async (config: object) => (await job(config)).ended
    youtube.fallback = () => ({
      status: 403,
      body: JSON.stringify({
        error: {
          code: 403,
          message: `The key ${KEY} <b>exceeded</b> its quota.`,
          errors: [{ reason: "quotaExceeded" }]
        }
      })
    })
    const quota = await failed({ playlist_id: "PL1", api_key: KEY })
    expect(quota).toMatchObject({
      status: "failed",
      error: "The list of videos was answered with status 403 (quotaExceeded: The key ******** exceeded its quota.)."
    })
    youtube.fallback = () => ({ body: JSON.stringify({ pageInfo: { totalResults: 0 } }) })
    expect((await failed({ channel_id: "UC9", api_key: KEY })).error).toBe("YouTube knows no channel UC9 with uploads.")
    youtube.fallback = () => ({ body: "<html>" })
    expect((await failed({ channel_id: "UC9", api_key: KEY })).error).toMatch(/undocumented answer/)
    expect((await failed({ channel_id: "UC9" })).error).toMatch(/^The Atom feed is invalid/)
    youtube.fallback = () => ({ status: 404 })
    expect((await failed({ channel_id: "UC9" })).error).toBe("The Atom feed was answered with status 404.")
  })
})

describe("captions", () => {
  it("become chunks with the time at which they are spoken", async () => {
    const vtt = `WEBVTT\n\nNOTE hidden\n\n1\n00:00:01.000 --> 00:00:04.000 align:start\n<c.yellow>Hello</c> there\n\n00:00:04.000 --> 00:00:06.000\nHello there\nand <00:00:05.000>welcome\n\n01:00:00.500 --> 01:00:02.000\nThe end`
    const srt =
      "\ufeff1\r\n00:00:10,000 --> 00:00:12,500\r\nFirst &amp; last\r\n\r\n2\r\n00:02:00,000 --> 00:02:01,000\r\nLater\r\n"
    const { collection, ended } = await job({
      captions: [
        { video_id: "abc", title: "Film", format: "vtt", content: vtt },
        { video_id: "def", title: "Talk", format: "srt", content: srt },
        { video_id: "ghi", title: "None", format: "srt", content: "no cue at all" }
      ]
    })
    expect(ended).toMatchObject({
      status: "ready",
      config: {},
      stats: { imported: 4, failed: 1, source_kind: "captions" }
    })
    expect(ended.stats.errors).toEqual([{ id: "ghi", error: "The captions have no cue that can be read as srt" }])
    const documents = await stored(collection)
    expect(documents.map(({ content, start, url }) => [url, start, content]).sort()).toEqual([
      ["https://www.youtube.com/watch?v=abc&t=1s", 1, "Hello there and welcome"],
      ["https://www.youtube.com/watch?v=abc&t=3600s", 3_600, "The end"],
      ["https://www.youtube.com/watch?v=def&t=10s", 10, "First & last"],
      ["https://www.youtube.com/watch?v=def&t=120s", 120, "Later"]
    ])
    expect(youtube.asked).toEqual([])
  })
  it("and invalid configurations are refused", async () => {
    for (const config of [
      {},
      { channel_id: "a", playlist_id: "b" },
      { channel_id: "a b" },
      { captions: [] },
      { captions: [{ video_id: "a", title: "t", format: "ass", content: "" }] },
      { api_key: KEY },
      { channel_id: "a", api_key: { sealed: "x" } }
    ]) {
      const answer = await send("POST", "/v1/ingest/jobs", {
        collection: "x",
        source: "youtube",
        config: { ...config, create_collection: true }
      })
      expect([JSON.stringify(config), answer.status]).toEqual([JSON.stringify(config), 400])
    }
  })
})
