/** Feeds from an address: what a shop may answer, and what is kept of it. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { gzipSync } from "node:zlib"
import { KeptFeeds } from "../../../src/ingest/feeds/kept-feeds.ts"
import { makeFetchFeed } from "../../../src/ingest/feeds/fetch-feed.ts"
import { layerFiles } from "../../../src/ports/feed-store/files.ts"
import { layer as layerOutboundHttp } from "../../../src/ports/outbound-http/node.ts"
import { layerProcesses, putOrganization } from "../../support/ingest-worker.ts"

class Folder extends Context.Service<Folder, string>()("test/Folder") {}
class Shop extends Context.Service<
  Shop,
  { readonly url: string; answer: (request: IncomingMessage, response: ServerResponse) => void }
>()("test/Shop") {}
const layerFolder = Layer.effect(
  Folder,
  Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "dowser-fetch-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
)
const layerShop = Layer.effect(
  Shop,
  Effect.gen(function* () {
    const shop = { url: "", answer: (_: IncomingMessage, response: ServerResponse) => void response.end() }
    const server = createServer((request, response) => shop.answer(request, response))
    yield* Effect.acquireRelease(
      Effect.promise(() => new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))),
      () =>
        Effect.promise(
          () => new Promise<void>((settle) => (server.closeAllConnections(), server.close(() => settle())))
        )
    )
    shop.url = `http://127.0.0.1:${(server.address() as { port: number }).port}/feed`
    return shop
  })
)
const layerFeeds = Layer.provide(
  KeptFeeds.layer,
  Layer.unwrap(Effect.map(Folder, (folder) => layerFiles(join(folder, "feeds"))))
)
const everything = Layer.provideMerge(
  layerFeeds,
  Layer.mergeAll(layerFolder, layerShop, layerOutboundHttp({ allowPrivateAddresses: true }), layerProcesses)
)
let jobs = 0
const fetching = (state: Record<string, unknown> = {}, path = "") =>
  Effect.gen(function* () {
    const { url } = yield* Shop
    yield* putOrganization("org_a")
    const fetchFeed = yield* makeFetchFeed
    const jobId = `job_${jobs++}`
    const outcome = yield* Effect.match(fetchFeed({ organizationId: "org_a", jobId, url: `${url}${path}`, state }), {
      onFailure: ({ _tag, message }) => ({ _tag, message }),
      onSuccess: (fetched) => fetched
    })
    const feeds = yield* KeptFeeds
    const feed = yield* feeds.ofJob("org_a", jobId)
    const text =
      feed === undefined || !feed.is_complete
        ? undefined
        : yield* Effect.promise(async () => {
            const pieces: Array<Uint8Array> = []
            for await (const piece of feeds.read(feed.id)) pieces.push(piece)
            return Buffer.concat(pieces).toString()
          })
    yield* feeds.removeOfJob("org_a", jobId)
    return { outcome, text }
  })

layer(everything, { excludeTestServices: true })("a feed by its address", (it) => {
  it.effect("is stored completely, with its server's validators, which are sent the next time", () =>
    Effect.gen(function* () {
      const shop = yield* Shop
      const asked: Array<unknown> = []
      shop.answer = ({ headers }, response) => {
        asked.push([headers["if-none-match"], headers["if-modified-since"]])
        if (headers["if-none-match"] === '"v1"') return void response.writeHead(304).end()
        response.writeHead(200, {
          etag: '"v1"',
          "last-modified": "Wed, 25 Nov 2026 00:00:00 GMT",
          "content-encoding": "gzip"
        })
        response.end(gzipSync("id\n1\n"))
      }
      const first = yield* fetching()
      expect(first).toMatchObject({
        outcome: { isUnchanged: false, state: { etag: '"v1"', bytes: 5 } },
        text: "id\n1\n"
      })
      const second = yield* fetching((first.outcome as { state: Record<string, unknown> }).state)
      expect(second).toMatchObject({ outcome: { isUnchanged: true, state: { etag: '"v1"' } }, text: undefined })
      expect(asked).toEqual([
        [undefined, undefined],
        ['"v1"', "Wed, 25 Nov 2026 00:00:00 GMT"]
      ])
    })
  )
  it.effect("is retried later if its server is unavailable, and fails if it will never be available", () =>
    Effect.gen(function* () {
      const shop = yield* Shop
      for (const [status, tag] of [
        [500, "IngestLater"],
        [429, "IngestLater"],
        [404, "IngestFailed"],
        [401, "IngestFailed"]
      ] as const) {
        shop.answer = (_, response) => void response.writeHead(status).end("secret of the server")
        const { outcome } = yield* fetching()
        expect(outcome).toMatchObject({ _tag: tag, message: expect.stringContaining(`status ${status}`) })
        expect(JSON.stringify(outcome)).not.toContain("secret")
      }
    })
  )
  it.effect("that breaks off is retried later, and nothing of it is read or left behind", () =>
    Effect.gen(function* () {
      const shop = yield* Shop
      const folder = yield* Folder
      shop.answer = (_, response) => {
        response.writeHead(200, { "content-length": "100000" })
        response.write("x".repeat(50_000))
        setTimeout(() => response.destroy(), 50)
      }
      expect(yield* fetching()).toMatchObject({ outcome: { _tag: "IngestLater" }, text: undefined })
      expect(readdirSync(join(folder, "feeds"))).toEqual([])
    })
  )
  it.effect("is followed to its new address", () =>
    Effect.gen(function* () {
      const shop = yield* Shop
      shop.answer = ({ url }, response) =>
        void (url === "/feed?moved" ? response.writeHead(302, { location: "/feed" }).end() : response.end("id\n2\n"))
      expect((yield* fetching({}, "?moved")).text).toBe("id\n2\n")
    })
  )
})
