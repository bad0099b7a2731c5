/**
 * `dowser ingest`: imports a feed from a file or an address into a collection and shows progress. A file is uploaded
 * in resumable chunks; the import is a job of the server, which continues if this command stops.
 */
import { createReadStream, statSync } from "node:fs"
import { open } from "node:fs/promises"
import { basename } from "node:path"
import { createGunzip } from "node:zlib"
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"
import { makeProgress } from "./progress.ts"
import { resolveTarget, type TargetFlags } from "./target.ts"

interface IngestFlags extends TargetFlags {
  readonly key: string
  readonly collection: string
  readonly source: string
  readonly format: string | undefined
  readonly isFull: boolean
  readonly isCreated: boolean
  readonly resume: string | undefined
  readonly json: boolean
}
interface Job {
  readonly id: string
  readonly status: string
  readonly progress: number
  readonly error?: string
  readonly stats: {
    readonly imported: number
    readonly failed: number
    readonly deleted?: number
    readonly errors: ReadonlyArray<{ readonly id: string; readonly error: string }>
  }
}

const PIECE_BYTES = 8_000_000
const TRIES = 6
const POLL_MS = 300
const SNIFFED_BYTES = 4_096
const TUS = { "tus-resumable": "1.0.0" }
const pause = (ms: number) => new Promise((settle) => setTimeout(settle, ms))
const isAddress = (source: string): boolean => /^https?:\/\//.test(source)

/** The first bytes as text, decompressed if the file is compressed. */
const firstText = async (file: string): Promise<string> => {
  const source = createReadStream(file, { end: SNIFFED_BYTES * 4 })
  const bytes = file.endsWith(".gz") ? source.pipe(createGunzip()) : source
  try {
    for await (const piece of bytes as AsyncIterable<Buffer>) return piece.subarray(0, SNIFFED_BYTES).toString("latin1")
  } catch {
    // A compressed file that is cut after its first bytes still reveals its format.
  } finally {
    source.destroy()
  }
  return ""
}
/** By the file name and, for XML, by its beginning. */
const formatOf = async (source: string): Promise<string | undefined> => {
  const path = isAddress(source) ? new URL(source).pathname : source
  const name = path.toLowerCase().replace(/\.gz$/, "")
  if (/\.(jsonl|ndjson)$/.test(name)) return "jsonl"
  if (/\.(csv|tsv)$/.test(name)) return "csv"
  if (name.endsWith(".yml")) return "yml"
  if (!name.endsWith(".xml") || isAddress(source)) return undefined
  const text = await firstText(source)
  return /<yml_catalog[\s>]/.test(text) ? "yml" : /<(rss|feed)[\s>]/.test(text) ? "google_xml" : undefined
}

class Asking {
  readonly #url: string
  readonly #key: string
  constructor(url: string, key: string) {
    this.#url = url
    this.#key = key
  }
  async send(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string | Uint8Array<ArrayBuffer>
  ) {
    const answer = await fetch(`${this.#url}${path}`, {
      method,
      headers: { "x-svc-api-key": this.#key, ...headers },
      ...(body === undefined ? {} : { body })
    })
    const text = await answer.text()
    if (answer.ok) return { headers: answer.headers, body: text === "" ? undefined : (JSON.parse(text) as unknown) }
    throw new StartRefused(`HTTP ${answer.status}: ${text.slice(0, 500)}`)
  }
}
const flagsOf = ({ isCreated, isFull }: IngestFlags) => ({
  ...(isFull ? { full: true } : {}),
  ...(isCreated ? { create_collection: true } : {})
})

interface Sent {
  /** Bytes received so far. */ readonly at: number
  /** Set once all bytes are received. */ readonly job: string | undefined
}
/** Sends one chunk, retried from the upload's current offset. */
const sendPiece = async (asking: Asking, path: string, file: string, size: number, at: number): Promise<Sent> => {
  for (let attempt = 1; ; attempt++) {
    const handle = await open(file)
    try {
      const { body } = await asking.send("GET", path)
      const { job_id, offset } = body as { readonly offset: number; readonly job_id?: string }
      if (offset > at || offset === size) return { at: offset, job: job_id }
      const piece = new Uint8Array(Math.min(PIECE_BYTES, size - offset))
      const { bytesRead } = await handle.read(piece, 0, piece.length, offset)
      const headers = {
        ...TUS,
        "upload-offset": String(offset),
        "content-type": "application/offset+octet-stream"
      }
      const sent = await asking.send("PATCH", path, headers, piece.subarray(0, bytesRead))
      return { at: offset + bytesRead, job: sent.headers.get("x-ingest-job") ?? undefined }
    } catch (error) {
      if (attempt === TRIES || error instanceof StartRefused) throw error
      await pause(200 * 2 ** attempt)
    } finally {
      await handle.close()
    }
  }
}
const begin = async (asking: Asking, flags: IngestFlags, format: string, size: number): Promise<string> => {
  if (flags.resume !== undefined) return `/v1/ingest/uploads/${encodeURIComponent(flags.resume)}`
  const query = new URLSearchParams({
    collection: flags.collection,
    format,
    name: basename(flags.source).slice(0, 120),
    ...Object.fromEntries(Object.entries(flagsOf(flags)).map(([name, value]) => [name, String(value)]))
  })
  const { headers } = await asking.send("POST", `/v1/ingest/uploads?${query}`, {
    ...TUS,
    "upload-length": String(size)
  })
  return headers.get("location")!
}
const upload = async (asking: Asking, flags: IngestFlags, format: string, print: (how: string) => void) => {
  const { size } = statSync(flags.source)
  if (size === 0) throw new StartRefused(`${flags.source} is empty.`)
  const path = await begin(asking, flags, format, size)
  print(`go on with: --resume ${path.split("/").at(-1)}`)
  const progress = makeProgress(`Uploading ${flags.source}`)
  let sent: Sent = { at: 0, job: undefined }
  while (sent.at < size) {
    sent = await sendPiece(asking, path, flags.source, size, sent.at)
    progress.step(sent.at, size)
  }
  progress.end(`Uploaded ${size.toLocaleString("en")} bytes`)
  if (sent.job === undefined) throw new StartRefused(`The upload ${path} is whole, and no job was begun for it.`)
  return sent.job
}
const ask = async (asking: Asking, flags: IngestFlags, format: string): Promise<string> => {
  const body = { collection: flags.collection, source: format, config: { url: flags.source, ...flagsOf(flags) } }
  return ((await asking.send("POST", "/v1/ingest/jobs", {}, JSON.stringify(body))).body as Job).id
}
const followed = async (asking: Asking, id: string): Promise<Job> => {
  const progress = makeProgress("Importing")
  for (;;) {
    const job = (await asking.send("GET", `/v1/ingest/jobs/${id}`)).body as Job
    if (["ready", "failed", "cancelled"].includes(job.status)) {
      const { deleted, failed, imported } = job.stats
      progress.end(
        `${job.status}: ${imported} imported, ${failed} refused${deleted === undefined ? "" : `, ${deleted} deleted`}${job.error === undefined ? "" : `; ${job.error}`}`
      )
      return job
    }
    progress.step(Math.round(100 * job.progress), 100)
    await pause(POLL_MS)
  }
}

const run = async (url: string, flags: IngestFlags): Promise<Job> => {
  const format = flags.format ?? (await formatOf(flags.source))
  if (format === undefined)
    throw new StartRefused(`Name the format of ${flags.source}: --format yml, jsonl, csv or google_xml.`)
  const asking = new Asking(url, flags.key)
  let how = "nothing was begun yet"
  const stopped = () => {
    process.stderr.write(`\nStopped; ${how}\n`)
    process.exit(130)
  }
  process.once("SIGINT", stopped)
  try {
    const id = isAddress(flags.source)
      ? await ask(asking, flags, format)
      : await upload(asking, flags, format, (text) => {
          how = text
        })
    how = `the job ${id} goes on: GET /v1/ingest/jobs/${id} shows it, POST /v1/ingest/jobs/${id}/cancel ends it`
    return await followed(asking, id)
  } finally {
    process.off("SIGINT", stopped)
  }
}

/** Exits with 0 if everything was imported, 1 if some records were rejected, 2 if the job failed or was cancelled. */
export const ingestFeed = Effect.fn("cli.ingest")(function* (flags: IngestFlags) {
  const { url } = yield* resolveTarget(flags)
  const job = yield* Effect.tryPromise({
    try: () => run(url, flags),
    catch: (error) =>
      error instanceof StartRefused
        ? error
        : new StartRefused(`The feed could not be imported: ${(error as Error).message}.`)
  })
  for (const { error, id } of job.stats.errors.slice(0, 5)) process.stderr.write(`  ${id}: ${error}\n`)
  if (flags.json) process.stdout.write(`${JSON.stringify(job)}\n`)
  process.exitCode = job.status !== "ready" ? 2 : job.stats.failed > 0 ? 1 : 0
})
