/** Every blob store by one suite: files of one process, and a bucket; then what only one of them can do. */
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { afterAll, beforeAll, expect, it } from "vitest"
import { BlobStore } from "../../src/ports/blob-store/blob-store.ts"
import { layerFiles } from "../../src/ports/blob-store/files.ts"
import { layerS3 } from "../../src/ports/blob-store/s3.ts"
import { S3Requests } from "../../src/ports/blob-store/s3-requests.ts"
import { s3OptionsOf } from "../../src/runtime/blob-store.ts"
import { startS3Server } from "../support/s3-server.ts"
import { blobStoreSuite, bytesOf, kindOf, piecesOf } from "./blob-store.suite.ts"

const layerTemporaryFiles = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "dowser-blobs-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
    ),
    (folder) => layerFiles(join(folder, "media"))
  )
)
const layerBucket = Layer.unwrap(
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(() => startS3Server()),
      ({ stop }) => Effect.promise(stop)
    ),
    ({ options }) => layerS3({ ...options, prefix: "shop/media/" })
  )
)
blobStoreSuite("files", layerTemporaryFiles)
blobStoreSuite("objects of a bucket", layerBucket)

let folder: string, server: Awaited<ReturnType<typeof startS3Server>>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-blobs-"))
  server = await startS3Server()
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await server.stop()
})
const within = <A>(store: Layer.Layer<BlobStore>, use: (blobs: BlobStore["Service"]) => Effect.Effect<A, unknown>) =>
  Effect.runPromise(Effect.provide(Effect.flatMap(BlobStore, use), store))
const key = { organizationId: "org_a", id: "med_1" }

it("files are readable by their owner only, get their name when complete, and leftovers of a kill are listed and removed", async () => {
  const root = join(folder, "media")
  await within(layerFiles(root), (blobs) =>
    Effect.gen(function* () {
      const unnamed: Array<ReadonlyArray<string>> = []
      const watched = async function* () {
        for await (const piece of piecesOf(bytesOf(9_000), 3_000)) {
          unnamed.push(existsSync(join(root, "org_a")) ? readdirSync(join(root, "org_a")) : [])
          yield piece
        }
      }
      yield* blobs.put(key, { length: 9_000, pieces: watched() })
      expect(unnamed.slice(1)).toEqual([["med_1.new"], ["med_1.new"]])
      const modes = ["org_a", "org_a/med_1"].map((name) => statSync(join(root, name)).mode & 0o777)
      expect(modes).toEqual([0o700, 0o600])
      writeFileSync(join(root, "org_a", "med_2.new"), "half")
      expect(yield* blobs.ids("org_a", "")).toEqual(["med_1", "med_2"])
      yield* blobs.remove({ ...key, id: "med_2" })
      expect(readdirSync(join(root, "org_a"))).toEqual(["med_1"])
      yield* blobs.remove(key)
      expect(readdirSync(root)).toEqual([])
    })
  )
})

it("two concurrent writers of one file do not mix: the second is refused", async () => {
  await within(layerFiles(join(folder, "twice")), (blobs) =>
    Effect.gen(function* () {
      const slow = async function* (from: number) {
        for await (const piece of piecesOf(bytesOf(1_000, from), 100)) {
          await new Promise((resolve) => setImmediate(resolve))
          yield piece
        }
      }
      const kinds = yield* Effect.all(
        [1, 2].map((from) => kindOf(blobs.put(key, { length: 1_000, pieces: slow(from) }))),
        { concurrency: 2 }
      )
      expect([...kinds].sort()).toEqual(["store", "success"])
    })
  )
})

it("a bucket that refuses, fails or is silent is a failure of the store, and only requests without a body are repeated", async () => {
  const { bucket, options } = server
  const small = () => ({ length: 3, pieces: piecesOf(bytesOf(3), 1) })
  /** More than a socket buffers: the server refuses before all of it has arrived. */
  const large = { length: 50_000_000, pieces: piecesOf(new Uint8Array(50_000_000), 65_536) }
  const wrong = layerS3({ ...options, secretAccessKey: "another", prefix: "" })
  expect(await within(wrong, (blobs) => Effect.flip(blobs.put(key, large)))).toMatchObject({
    kind: "store",
    message: "The S3 server answered 403 (SignatureDoesNotMatch)."
  })
  await within(layerS3({ ...options, prefix: "" }), (blobs) =>
    Effect.gen(function* () {
      yield* blobs.put(key, small())
      bucket.failing = 2
      yield* blobs.ids("org_a", "")
      bucket.failing = 1
      expect(yield* kindOf(blobs.put(key, small()))).toBe("store")
      bucket.failing = 3
      expect(yield* kindOf(blobs.remove(key))).toBe("store")
      expect([...bucket.objects.keys()]).toEqual(["org_a/med_1"])
    })
  )
  const nobody = layerS3({ ...options, endpoint: "http://127.0.0.1:9", prefix: "" })
  expect(await within(nobody, (blobs) => kindOf(blobs.put(key, small())))).toBe("store")
})

it("a bucket is configured by variables, all or none, and a mistake gets a sentence", () => {
  const all = {
    DOWSER_S3_ENDPOINT: "https://s3.example:9000",
    DOWSER_S3_BUCKET: "media",
    DOWSER_S3_ACCESS_KEY_ID: "k",
    DOWSER_S3_SECRET_ACCESS_KEY: "s"
  }
  expect(s3OptionsOf({})).toBeUndefined()
  expect(s3OptionsOf(all)).toMatchObject({ endpoint: "https://s3.example:9000", region: "us-east-1", prefix: "" })
  for (const change of [
    { DOWSER_S3_BUCKET: "" },
    { DOWSER_S3_ENDPOINT: "" },
    { DOWSER_S3_ENDPOINT: "https://s3.example/media" },
    { DOWSER_S3_ENDPOINT: "s3.example" },
    { DOWSER_S3_BUCKET: "Media/x" },
    { DOWSER_S3_SECRET_ACCESS_KEY: "" },
    { DOWSER_S3_PREFIX: "../x" }
  ])
    expect(s3OptionsOf({ ...all, ...change }), JSON.stringify(change)).toBeTypeOf("string")
})

/** Answers the first request of each connection once all of it has arrived, and closes when another begins. */
const startForgetful = async () => {
  const seen: Array<string> = []
  const server = createServer((socket) => {
    let text = "",
      isAnswered = false
    socket.on("error", () => {})
    socket.on("data", (data) => {
      if (isAnswered) return void socket.destroy()
      text += data.toString("latin1")
      const [head = "", body] = text.split("\r\n\r\n")
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      isAnswered = true
      seen.push(`${head.split(" ")[0]} ${body.length}`)
      socket.write("HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\n\r\n")
    })
  })
  await new Promise<void>((settle) => server.listen(0, "127.0.0.1", settle))
  const { port } = server.address() as AddressInfo
  return { endpoint: `http://127.0.0.1:${port}`, seen, stop: () => void server.close() }
}
it("repeats a request that a closed connection did not answer, and sends no body over a kept connection", async () => {
  const forgetful = await startForgetful()
  const requests = new S3Requests({ ...server.options, endpoint: forgetful.endpoint, prefix: "", silence_ms: 5_000 })
  /** Sent slowly, so that the connection is closed before all of it has arrived. */
  const pieces = async function* () {
    for await (const piece of piecesOf(bytesOf(9), 3)) {
      yield piece
      await new Promise((settle) => setTimeout(settle, 50))
    }
  }
  const statuses: Array<number | undefined> = []
  for (const asked of [
    { method: "DELETE", key: "a" },
    { method: "DELETE", key: "b" },
    { method: "PUT", key: "c", body: { length: 9, pieces: pieces() } },
    { method: "PUT", key: "d", body: { length: 9, pieces: pieces() } },
    { method: "GET", key: "e" }
  ] as const) {
    const answer = await requests.send(asked)
    answer.resume()
    await new Promise((settle) => answer.once("close", settle))
    statuses.push(answer.statusCode)
  }
  requests.close()
  forgetful.stop()
  expect(statuses).toEqual([204, 204, 204, 204, 204])
  expect(forgetful.seen).toEqual(["DELETE 0", "DELETE 0", "PUT 9", "PUT 9", "GET 0"])
})
