/**
 * The whole program, killed with SIGKILL in the middle of a job of each kind: started again, it resumes the job where
 * it was, the collection matches the feed, and every document is counted once. An interrupted upload is resumed, and a
 * feed from an address is not fetched again once it is stored.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"
import { eventually } from "../support/receiver.ts"

const DOCUMENTS = 12_000
const flags = ["--no-demo", "--allow-private-addresses"]
let folder: string
let program: Launched
let key: string
const send = async (
  method: string,
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {}
) => {
  const answer = await fetch(`http://127.0.0.1:${program.port}/v1${path}`, {
    method,
    headers: { "x-svc-api-key": key, ...headers },
    ...(body === undefined ? {} : { body })
  })
  const text = await answer.text()
  return {
    status: answer.status,
    headers: answer.headers,
    text,
    body: text === "" ? undefined : (JSON.parse(text.split("\n")[0]!) as any)
  }
}
const made = async (...asked: Parameters<typeof send>) => {
  const answer = await send(...asked)
  if (answer.status >= 300) throw new Error(`${asked[0]} ${asked[1]}: ${answer.status} ${answer.text}`)
  return answer
}
const again = async () => {
  process.kill(program.pid(), "SIGKILL")
  await program.exited
  program = await launchPrepared(join(folder, "data"), flags)
}
/**
 * Kills the program when some of the job's documents are written and some are not; returns how the job ended
 * afterwards.
 */
const cutOff = async (id: string) => {
  const middle = await eventually(`the middle of ${id}`, async () => {
    const { stats, status } = (await send("GET", `/ingest/jobs/${id}`)).body
    return stats.cursor > 0 || status === "ready"
      ? { cursor: stats.cursor as number, status: status as string }
      : undefined
  })
  await again()
  expect([middle.status, middle.cursor < DOCUMENTS]).toEqual(["importing", true])
  return eventually(`the end of ${id}`, async () => {
    const { body } = await send("GET", `/ingest/jobs/${id}`)
    return body.finished_at === undefined ? undefined : body
  })
}
const titles = async (collection: string) => {
  const { text } = await made("GET", `/collections/${collection}/documents/export`)
  return new Map(
    text
      .split("\n")
      .map((line) => JSON.parse(line))
      .map(({ id, title }) => [id, title])
  )
}
const model = (from = 0) =>
  new Map(Array.from({ length: DOCUMENTS - from }, (_, i) => [`d${from + i}`, `Thing ${from + i}`]))
const each = (line: (i: number) => string, join = "\n") =>
  Array.from({ length: DOCUMENTS }, (_, i) => line(i)).join(join)
const feeds: Readonly<Record<string, string>> = {
  yml: `<yml_catalog><shop><offers>${each((i) => `<offer id="d${i}"><name>Thing ${i}</name></offer>`)}</offers></shop></yml_catalog>`,
  jsonl: each((i) => JSON.stringify({ id: `d${i}`, title: `Thing ${i}` })),
  csv: `id,title\n${each((i) => `d${i},Thing ${i}`)}`,
  google_xml: `<rss><channel>${each((i) => `<item><id>d${i}</id><title>Thing ${i}</title></item>`)}</channel></rss>`
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-ingest-kill-"))
  program = await launchPrepared(join(folder, "data"), flags)
  key = program.ready.full_key
})
afterAll(async () => {
  program.signal("SIGTERM")
  expect(await program.exited).toBe(0)
  rmSync(folder, { recursive: true, force: true })
})
const once = {
  status: "ready",
  stats: { fetched: DOCUMENTS, imported: DOCUMENTS, failed: 0, cursor: DOCUMENTS, passes: 1 }
}
const collection = (name: string) =>
  made("POST", "/collections", JSON.stringify({ name, fields: [{ name: "title", type: "string" }] }))

for (const format of Object.keys(feeds))
  it(`an upload of ${format}`, async () => {
    await collection(format)
    const { body } = await made("POST", `/ingest/feeds?collection=${format}&format=${format}`, feeds[format])
    expect(await cutOff(body.id)).toMatchObject(once)
    expect(await titles(format)).toEqual(model())
  })
it("a full pass, which deletes missing documents after the kill", async () => {
  await collection("full")
  await made("POST", "/collections/full/documents/import?action=create", JSON.stringify({ id: "gone", title: "Gone" }))
  const { body } = await made("POST", "/ingest/feeds?collection=full&format=csv&full=true", feeds.csv)
  expect(await cutOff(body.id)).toMatchObject({ ...once, stats: { ...once.stats, deleted: 1 } })
  expect(await titles("full")).toEqual(model())
})
it("documents that were sent with their job", async () => {
  await collection("inline")
  const documents = [...model()].map(([id, title]) => ({ id, title }))
  const { body } = await made(
    "POST",
    "/ingest/jobs",
    JSON.stringify({ collection: "inline", source: "inline", config: { documents } })
  )
  expect(await cutOff(body.id)).toMatchObject(once)
  expect(await titles("inline")).toEqual(model())
})
it("captions of a video", async () => {
  await collection("captions")
  const time = (at: number) =>
    `${String(Math.floor(at / 3_600)).padStart(2, "0")}:${String(Math.floor(at / 60) % 60).padStart(2, "0")}:${String(at % 60).padStart(2, "0")},000`
  // There is a minute between any two captions, so each is a document.
  const content = each((i) => `${time(61 * i)} --> ${time(61 * i + 1)}\nThing ${i}\n`)
  const { body } = await made(
    "POST",
    "/ingest/jobs",
    JSON.stringify({
      collection: "captions",
      source: "youtube",
      config: { captions: [{ video_id: "film", title: "Film", format: "srt", content }] }
    })
  )
  expect(await cutOff(body.id)).toMatchObject(once)
  expect((await titles("captions")).size).toBe(DOCUMENTS)
})
it("a reindex", async () => {
  const { body } = await made("POST", "/collections/inline/reindex")
  expect(await cutOff(body.id)).toMatchObject({
    status: "ready",
    progress: 1,
    stats: { imported: DOCUMENTS, failed: 0 }
  })
  expect(await titles("inline")).toEqual(model())
})
it("a feed from an address is fetched once", async () => {
  await collection("fetched")
  let asked = 0
  const shop = createServer((_, response) => {
    asked++
    response.end(feeds.jsonl)
  })
  await new Promise<void>((settle) => shop.listen(0, "127.0.0.1", settle))
  const { port } = shop.address() as { port: number }
  const { body } = await made(
    "POST",
    "/ingest/jobs",
    JSON.stringify({ collection: "fetched", source: "jsonl", config: { url: `http://127.0.0.1:${port}/feed` } })
  )
  expect(await cutOff(body.id)).toMatchObject(once)
  expect([asked, await titles("fetched")]).toEqual([1, model()])
  await new Promise((settle) => shop.close(settle))
})
it("a resumable upload", async () => {
  await collection("resumed")
  const text = Buffer.from(feeds.jsonl!)
  const headers = { "tus-resumable": "1.0.0" }
  const begun = await made("POST", "/ingest/uploads?collection=resumed&format=jsonl", undefined, {
    ...headers,
    "upload-length": String(text.length)
  })
  const path = begun.headers.get("location")!.replace("/v1", "")
  const patch = (from: number, to: number) =>
    made("PATCH", path, new Uint8Array(text.subarray(from, to)), { ...headers, "upload-offset": String(from) })
  await patch(0, 100_000)
  // A part that is in flight when the program dies.
  const lost = patch(100_000, text.length - 1).catch(() => undefined)
  await new Promise((settle) => setTimeout(settle, 5))
  await again()
  await lost
  const { offset } = (await made("GET", path)).body
  expect(offset).toBeGreaterThanOrEqual(100_000)
  const last = await patch(offset, text.length)
  expect(await cutOff(last.headers.get("x-ingest-job")!)).toMatchObject(once)
  expect(await titles("resumed")).toEqual(model())
})
