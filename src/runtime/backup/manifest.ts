/**
 * What a backup records about itself, and whether it is complete. A folder:
 *
 *   manifest.json         this; written last, so that a backup without it is not one
 *   postgres/<table>      rows as Postgres' COPY writes them, of one snapshot
 *   log/data.mdb          the event log, copied after that snapshot: it contains every event that the rows count
 *   engine/documents.mdb  documents and schemas, copied while no analytics rule writes to them
 *   files/…               everything else in the data folder: secrets of the operator, markers of the demo
 *
 * Not included, because it can be rebuilt: indexes, stream states (from the log up to the offsets in the rows), the
 * dedupe window.
 */
import { createHash } from "node:crypto"
import { createReadStream, existsSync, lstatSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { Schema } from "effect"
import { StartRefused } from "../data-folder.ts"

export const BACKUP_FORMAT = 1
export const manifestFile = "manifest.json"

export const Manifest = Schema.Struct({
  format: Schema.Literal(BACKUP_FORMAT),
  /** Version of the program that wrote it. */ program: Schema.String,
  /** The newest migration of the rows. */ data_version: Schema.Int,
  /** Unix milliseconds at which the snapshot of the rows was taken. */ created_at: Schema.Int,
  /** End offsets of the log by `topic/partition`: every event before them is in the backup. */ log_position:
    Schema.Record(Schema.String, Schema.Int),
  tables: Schema.Array(Schema.Struct({ name: Schema.String, columns: Schema.Array(Schema.String), rows: Schema.Int })),
  /** Next values of identity columns, by sequence. */ sequences: Schema.Record(Schema.String, Schema.String),
  parts: Schema.Array(Schema.Struct({ path: Schema.String, bytes: Schema.Int, sha256: Schema.String }))
})
export type Manifest = typeof Manifest.Type
export type Part = Manifest["parts"][number]

const decode = Schema.decodeUnknownSync(Manifest)

/** Throws `StartRefused` if it is not a backup, or one that this program cannot read. */
export const readManifest = (folder: string, dataVersion: number): Manifest => {
  const file = join(folder, manifestFile)
  if (!existsSync(file))
    throw new StartRefused(`${folder} is no backup, or one that was interrupted: it has no ${manifestFile}.`)
  let found: unknown
  try {
    found = JSON.parse(readFileSync(file, "utf8"))
  } catch {
    throw new StartRefused(`${file} cannot be read as JSON: the backup is damaged.`)
  }
  const { data_version, format } = (typeof found === "object" && found !== null ? found : {}) as {
    readonly format?: unknown
    readonly data_version?: unknown
  }
  if (format !== BACKUP_FORMAT)
    throw new StartRefused(
      `The backup ${folder} has format ${String(format)}; this version of Dowser reads ${BACKUP_FORMAT}.`
    )
  if (typeof data_version === "number" && data_version > dataVersion)
    throw new StartRefused(
      `The backup ${folder} was written by a newer version of Dowser (data version ${data_version}, this program knows ${dataVersion}); restore it with that version.`
    )
  try {
    return decode(found)
  } catch (error) {
    throw new StartRefused(`${file} is damaged: ${(error as Error).message.split("\n")[0]}.`)
  }
}

/** SHA-256 of a file and its number of lines; `onBytes` is called with the progress. Reads in chunks. */
export const digestOf = async (
  file: string,
  onBytes: (bytes: number) => void
): Promise<{ readonly sha256: string; readonly bytes: number; readonly lines: number }> => {
  const hash = createHash("sha256")
  let bytes = 0,
    lines = 0
  for await (const chunk of createReadStream(file, { highWaterMark: 1024 * 1024 }) as AsyncIterable<Buffer>) {
    hash.update(chunk)
    bytes += chunk.length
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
    onBytes(chunk.length)
  }
  return { sha256: hash.digest("hex"), bytes, lines }
}

/**
 * Why a manifest's parts cannot be those of a backup; undefined if nothing is wrong. Names become files of the restored
 * folder: none may lead outside it, belong to another part, or be one that the restore itself writes.
 */
export const partFault = ({ parts, tables }: Pick<Manifest, "parts" | "tables">): string | undefined => {
  const seen = new Set<string>()
  for (const { path } of parts) {
    const steps = path.split("/")
    if (steps.some((step) => step === "" || step === "." || step === ".." || /[\\\0:]/.test(step)))
      return `it names a part outside of itself: ${JSON.stringify(path)}`
    if (steps.length < 2 || !PART_KINDS.has(steps[0]!) || (steps[0] !== "files" && steps.length > 2))
      return `it names a part that no backup has: ${JSON.stringify(path)}`
    if (steps[0] === "files" && NOT_OF_FILES.has(steps[1]!))
      return `it names a part that no backup has: ${JSON.stringify(path)}`
    // On case-insensitive file systems, two such names would be one file.
    const name = path.toLowerCase().normalize("NFC")
    if (seen.has(name)) return `it names a part twice: ${JSON.stringify(path)}`
    seen.add(name)
  }
  const table = tables.find(
    ({ name }, i) =>
      !seen.has(`postgres/${name}`.toLowerCase().normalize("NFC")) ||
      tables.findIndex((other) => other.name === name) !== i
  )
  return table === undefined ? undefined : `its table ${JSON.stringify(table.name)} has no part of its own`
}
const PART_KINDS: ReadonlySet<string> = new Set(["postgres", "log", "engine", "files"])
/** Folders that are restored by other means, and what the restore itself writes. */
const NOT_OF_FILES: ReadonlySet<string> = new Set([
  "postgres",
  "postgres.password",
  "postgres.new",
  "log",
  "engine",
  "streams",
  "dedupe",
  "recommendations",
  "feeds",
  "running.json",
  "version.json",
  "restoring"
])

/** A file of the backup itself: neither it nor a folder on its path is a link, which could lead anywhere. */
const isPlainFile = (folder: string, path: string): boolean => {
  const steps = path.split("/")
  return steps.every((_, i) => {
    const found = lstatSync(join(folder, ...steps.slice(0, i + 1)), { throwIfNoEntry: false })
    return i === steps.length - 1 ? found?.isFile() === true : found?.isDirectory() === true
  })
}

/** Checks that every part exists with its length and content; throws `StartRefused` naming the first that does not. */
export const verifyParts = async (
  folder: string,
  manifest: Manifest,
  onBytes: (done: number, total: number) => void
): Promise<void> => {
  const { parts } = manifest
  const fault = partFault(manifest)
  if (fault !== undefined) throw new StartRefused(`The backup cannot be restored: ${fault}.`)
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  let done = 0
  for (const { bytes, path, sha256 } of parts) {
    const file = join(folder, path)
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined)
      throw new StartRefused(`The backup is not whole: ${path} is missing.`)
    if (!isPlainFile(folder, path))
      throw new StartRefused(`The backup cannot be restored: ${path} is no file of its own, but a link or a folder.`)
    const found = statSync(file).size
    if (found !== bytes)
      throw new StartRefused(`The backup is damaged: ${path} has ${found} bytes instead of ${bytes}.`)
    if ((await digestOf(file, (count) => onBytes((done += count), total))).sha256 !== sha256)
      throw new StartRefused(`The backup is damaged: the content of ${path} is not what was written.`)
  }
}
