/**
 * Import, export and NDJSON events hold a bounded part of the stream: memory does not grow with the size of the file.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { launchPrepared, type Launched } from "../support/launched.ts"

let folder: string
let program: Launched
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "dowser-memory-"))
  program = await launchPrepared(join(folder, "data"))
})
afterAll(async () => {
  program.signal("SIGTERM")
  await program.exited
  rmSync(folder, { recursive: true, force: true })
})

/**
 * The program's own memory: pages of mapped files (the event log, with refused entries) can be reclaimed by the system.
 */
const ownMb = () =>
  Number(/RssAnon:\s+(\d+) kB/.exec(readFileSync(`/proc/${program.pid()}/status`, "utf8"))?.[1]) / 1024

/**
 * Sends `size` bytes made of `chunk` and then `last`, at the socket's pace, and counts what is returned; `end` is the
 * last part of the answer.
 */
const stream = (path: string, chunk: Buffer, size: number, type: string, last = "") =>
  new Promise<{ status: number; lines: number; peakMb: number; text: string; end: string }>((settle, reject) => {
    let lines = 0,
      text = "",
      end = "",
      peakMb = 0
    const watch = setInterval(() => {
      peakMb = Math.max(peakMb, ownMb())
    }, 50)
    const outgoing = request(
      {
        host: "127.0.0.1",
        port: program.port,
        method: "POST",
        path,
        headers: { "x-svc-api-key": program.ready.full_key, "content-type": type }
      },
      (response) => {
        response.on("data", (part: Buffer) => {
          for (const byte of part) if (byte === 10) lines++
          if (text.length < 1000) text += part.toString()
          end = (end + part.toString()).slice(-200)
        })
        response.on("end", () => {
          clearInterval(watch)
          settle({ status: response.statusCode ?? 0, lines, peakMb, text, end })
        })
      }
    )
    outgoing.on("error", (error) => {
      clearInterval(watch)
      reject(error)
    })
    let sent = 0
    const pump = () => {
      while (sent < size) {
        sent += chunk.length
        if (!outgoing.write(chunk)) return void outgoing.once("drain", pump)
      }
      outgoing.end(last)
    }
    pump()
  })

describe("constant memory", () => {
  it("imports a stream far larger than its memory, with one verdict for each line", async () => {
    await fetch(`${program.ready.base_url}/collections`, {
      method: "POST",
      headers: { "x-svc-api-key": program.ready.full_key },
      body: JSON.stringify({ name: "lines", fields: [{ name: "title", type: "string" }] })
    })
    // Refused lines leave nothing behind, so any growth comes from the stream itself.
    const chunk = Buffer.from(`{"id":1,"padding":"${"x".repeat(200)}"}\n`.repeat(250))
    // Repeated until the heap has found its size: the garbage that it keeps depends on when it was last collected. A
    // stream that stayed in memory would still be noticed, since each is a fifth of the one below.
    let before = ownMb()
    for (let warmed = 0; warmed < 6; warmed++) {
      const { peakMb } = await stream("/v1/collections/lines/documents/import", chunk, 24_000_000, "text/plain")
      before = Math.max(before, peakMb)
    }
    const answer = await stream(
      "/v1/collections/lines/documents/import",
      chunk,
      120_000_000,
      "text/plain",
      `{"id":"last","title":"oak"}`
    )
    expect(answer.status).toBe(200)
    expect(answer.lines).toBe(Math.ceil(120_000_000 / chunk.length) * 250)
    expect(answer.text).toContain("Document's `id` field should be a string.")
    // The last line is different: it was accepted, and it is the only document.
    expect(answer.end.split("\n").at(-1)).toBe(`{"success":true}`)
    const found = (await (
      await fetch(`${program.ready.base_url}/collections/lines/documents/search?q=oak&query_by=title`, {
        headers: { "x-svc-api-key": program.ready.full_key }
      })
    ).json()) as { found: number; hits: ReadonlyArray<{ document: object }> }
    expect([found.found, found.hits.map(({ document }) => document)]).toEqual([1, [{ id: "last", title: "oak" }]])
    expect(answer.peakMb - before).toBeLessThan(90)
  })
  it("accepts events as NDJSON of any length and answers once", async () => {
    const chunk = Buffer.from(`${JSON.stringify({ type: "nonsense", padding: "x".repeat(300) })}\n`.repeat(200))
    const warm = await stream("/v1/events", chunk, 4_000_000, "application/x-ndjson")
    const before = Math.max(ownMb(), warm.peakMb)
    const answer = await stream(
      "/v1/events",
      chunk,
      40_000_000,
      "application/x-ndjson",
      ["a", "b"]
        .map((event_id) => JSON.stringify({ type: "view", collection: "lines", document_id: "last", event_id }))
        .join("\n")
    )
    expect(answer.status).toBe(200)
    // Lines that are not events were refused, and the two at the very end were not.
    expect(warm.text).toContain('"accepted":0,')
    expect(answer.text).toContain('"accepted":2,')
    expect(answer.peakMb - before).toBeLessThan(90)
  })
})
