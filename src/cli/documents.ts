/** `dowser import` and `dowser export`: JSON Lines, plain or gzip, streamed both ways with progress. */
import { chmodSync, createReadStream, createWriteStream, statSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { createInterface } from "node:readline"
import { pipeline } from "node:stream/promises"
import { createGunzip, createGzip } from "node:zlib"
import { Effect } from "effect"
import { StartRefused } from "../runtime/data-folder.ts"
import { keepPrivate } from "../runtime/private-files.ts"
import { makeProgress } from "./progress.ts"
import { resolveTarget, type TargetFlags } from "./target.ts"

interface ImportFlags extends TargetFlags {
  readonly key: string
  readonly collection: string
  readonly file: string
  readonly action: string
  readonly json: boolean
}

/** One request, with one result per line as it arrives: constant memory on both sides. */
export const importFile = Effect.fn("cli.import")(function* (flags: ImportFlags) {
  const target = yield* resolveTarget(flags)
  const progress = makeProgress(`Importing ${flags.file}`)
  const result = yield* Effect.tryPromise({
    try: () =>
      new Promise<{ readonly ok: number; readonly failed: number; readonly errors: ReadonlyArray<string> }>(
        (settle, reject) => {
          const url = new URL(
            `${target.url}/v1/collections/${encodeURIComponent(flags.collection)}/documents/import?action=${encodeURIComponent(flags.action)}`
          )
          const outgoing = httpRequest(
            url,
            { method: "POST", headers: { "x-svc-api-key": flags.key, "content-type": "text/plain" } },
            (response) => {
              let ok = 0,
                failed = 0
              const errors: Array<string> = []
              const lines = createInterface({ input: response })
              const rest: Array<string> = []
              lines.on("line", (line) => {
                if (response.statusCode !== 200) return void rest.push(line)
                if (line.includes('"success":true')) ok++
                else {
                  failed++
                  if (errors.length < 5) errors.push(line)
                }
                progress.step(ok + failed)
              })
              lines.on("close", () =>
                response.statusCode === 200
                  ? settle({ ok, failed, errors })
                  : reject(new StartRefused(`HTTP ${response.statusCode}: ${rest.join(" ").slice(0, 500)}`))
              )
              response.on("error", reject)
            }
          )
          outgoing.on("error", reject)
          const source = createReadStream(flags.file)
          const done = flags.file.endsWith(".gz")
            ? pipeline(source, createGunzip(), outgoing)
            : pipeline(source, outgoing)
          done.catch(reject)
        }
      ),
    catch: (error) =>
      error instanceof StartRefused
        ? error
        : new StartRefused(`The import did not finish: ${(error as Error).message}.`)
  })
  progress.end(
    `${result.ok} imported, ${result.failed} refused${result.errors.length === 0 ? "" : `, the first: ${result.errors[0]}`}`
  )
  if (flags.json) process.stdout.write(`${JSON.stringify({ imported: result.ok, failed: result.failed })}\n`)
  if (result.failed > 0) process.exitCode = 1
})

interface ExportFlags extends TargetFlags {
  readonly key: string
  readonly collection: string
  readonly file: string
  readonly filterBy: string | undefined
}

export const exportFile = Effect.fn("cli.export")(function* (flags: ExportFlags) {
  const target = yield* resolveTarget(flags)
  yield* Effect.tryPromise({
    try: () =>
      new Promise<void>((settle, reject) => {
        const query = flags.filterBy === undefined ? "" : `?filter_by=${encodeURIComponent(flags.filterBy)}`
        const outgoing = httpRequest(
          new URL(`${target.url}/v1/collections/${encodeURIComponent(flags.collection)}/documents/export${query}`),
          { headers: { "x-svc-api-key": flags.key } },
          (response) => {
            if (response.statusCode !== 200) {
              response.resume()
              return reject(new StartRefused(`HTTP ${response.statusCode} from the export of ${flags.collection}.`))
            }
            // Restores the user's own default permissions for the file.
            const sink = createWriteStream(flags.file, { mode: 0o600 }).once("open", () =>
              chmodSync(flags.file, 0o666 & ~keepPrivate())
            )
            ;(flags.file.endsWith(".gz") ? pipeline(response, createGzip(), sink) : pipeline(response, sink)).then(
              settle,
              reject
            )
          }
        )
        outgoing.on("error", reject)
        outgoing.end()
      }),
    catch: (error) =>
      error instanceof StartRefused
        ? error
        : new StartRefused(`The export did not finish: ${(error as Error).message}.`)
  })
  process.stderr.write(`Wrote ${flags.file} (${statSync(flags.file).size} bytes)\n`)
})
