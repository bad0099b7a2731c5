/**
 * Question: how fast is a YML feed read, in how much memory, and how fast does it become documents? Workload: a
 * generated feed of N offers in the operating system's temporary folder, in UTF-8 and in windows-1251. First only the
 * reader runs, in this process; then the complete program: the file as one upload, and its job from queued to ready.
 * Memory is the resident set: of this process before and during reading, of the program before and during the import.
 */
import { createReadStream, createWriteStream, mkdtempSync, rmSync, statSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { generateYml } from "../../fixtures/feeds/yml.ts"
import { batchesOf } from "../../src/ingest/feeds/batches.ts"
import { readerOf } from "../../src/ingest/readers/readers.ts"
import { machine, processorSeconds, report, round, rssMb } from "../harness/harness.ts"
import { type RunningProgram, startServer } from "../harness/program.ts"

export interface FeedsOptions {
  readonly offers: number
  /** How many of those go through the complete program. */ readonly imported: number
  readonly seed: number
  readonly out: string | undefined
}
const POLL_MS = 100
const PIECE_BYTES = 262_144
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))

/** Encodes the letters of the generated feed, which are only ASCII and Russian. */
const windows1251 = (text: string): Buffer =>
  Buffer.from(
    Uint8Array.from(text, (letter) => {
      const code = letter.charCodeAt(0)
      return code < 128 ? code : code === 0x451 ? 0xb8 : code === 0x401 ? 0xa8 : code - 0x410 + 0xc0
    })
  )
const write = async (file: string, options: { readonly seed: number; readonly offers: number }, encoding: string) => {
  const texts = generateYml({ ...options, encoding })
  const pieces = function* () {
    for (const text of texts) yield encoding === "UTF-8" ? Buffer.from(text) : windows1251(text)
  }
  await pipeline(Readable.from(pieces()), createWriteStream(file))
  return statSync(file).size
}

const readAlone = async (file: string, bytes: number) => {
  const before = process.memoryUsage().rss / 1e6
  let offers = 0,
    faults = 0,
    highest = before
  const spent = process.cpuUsage(),
    began = performance.now()
  const items = readerOf("yml")!(createReadStream(file, { highWaterMark: PIECE_BYTES }), {})
  for await (const batch of batchesOf(items, { from: 0, progress: () => undefined, state: {} })) {
    offers += batch.changes.length
    faults += batch.errors.length
    highest = Math.max(highest, process.memoryUsage().rss / 1e6)
  }
  const seconds = (performance.now() - began) / 1_000
  const { system, user } = process.cpuUsage(spent)
  const processor_s = (system + user) / 1e6
  return {
    bytes,
    offers,
    faults,
    seconds: round(seconds, 1),
    per_s: Math.round(offers / seconds),
    per_processor_s: Math.round(offers / processor_s),
    mb_per_s: round(bytes / 1e6 / seconds, 1),
    rss_before_mb: Math.round(before),
    rss_highest_mb: Math.round(highest)
  }
}

/** Sends a file as a stream with its length, which `fetch` would not send. */
const sent = (url: string, file: string, headers: Readonly<Record<string, string>>) =>
  new Promise<string>((settle, reject) => {
    const request = httpRequest(url, { method: "POST", headers }, (response) => {
      let text = ""
      response.on("data", (piece: Buffer) => {
        text += piece.toString()
      })
      response.on("end", () =>
        response.statusCode === 202 ? settle(text) : reject(new Error(`${response.statusCode}: ${text}`))
      )
    })
    request.on("error", reject)
    pipeline(createReadStream(file), request).catch(reject)
  })

const importAll = async (server: RunningProgram, file: string, bytes: number) => {
  const base = `http://127.0.0.1:${server.port}/v1/ingest`
  const headers = { "x-svc-api-key": server.full_key }
  const rss_before_mb = rssMb(server.pid)
  const before = processorSeconds(server.pid).process
  const began = performance.now()
  const asked = JSON.parse(
    await sent(`${base}/feeds?collection=lamps&format=yml&create_collection=true`, file, {
      ...headers,
      "content-length": String(bytes)
    })
  ) as { readonly id: string }
  const uploaded = performance.now()
  for (let highest = rss_before_mb; ;) {
    const job = (await (await fetch(`${base}/jobs/${asked.id}`, { headers })).json()) as {
      readonly status: string
      readonly error?: string
      readonly stats: { readonly imported: number; readonly failed: number }
    }
    highest = Math.max(highest, rssMb(server.pid))
    if (job.status === "ready") {
      const seconds = (performance.now() - uploaded) / 1_000
      const processor_s = processorSeconds(server.pid).process - before
      return {
        offers: job.stats.imported,
        failed: job.stats.failed,
        upload_s: round((uploaded - began) / 1_000, 1),
        seconds: round(seconds, 1),
        per_s: Math.round(job.stats.imported / seconds),
        per_processor_s: Math.round(job.stats.imported / processor_s),
        rss_before_mb,
        rss_highest_mb: highest
      }
    }
    if (job.status === "failed") throw new Error(job.error)
    await pause(POLL_MS)
  }
}

export const benchFeeds = async ({ imported, offers, out, seed }: FeedsOptions): Promise<void> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-feeds-"))
  try {
    const file = join(folder, "feed.yml")
    // Warms up the compiler first, as in a program that has run for a while.
    await readAlone(file, await write(file, { seed, offers: 5_000 }, "UTF-8"))
    const utf8 = await readAlone(file, await write(file, { seed, offers }, "UTF-8"))
    const cyrillic = await readAlone(file, await write(file, { seed, offers }, "windows-1251"))
    const bytes = await write(file, { seed, offers: imported }, "UTF-8")
    const server = await startServer()
    let whole: Awaited<ReturnType<typeof importAll>>
    try {
      whole = await importAll(server, file, bytes)
    } finally {
      await server.stop()
    }
    report(
      `feeds: a YML feed of ${offers} offers read, ${imported} imported`,
      { reader: utf8, reader_windows_1251: cyrillic, program: whole, machine: machine() },
      out
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
