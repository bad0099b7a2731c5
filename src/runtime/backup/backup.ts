/**
 * A backup of a running program, from outside: this process reads the program's stores, and none of the program's
 * threads takes part. The steps run in this order:
 *
 * 1. Rounds of analytics rules are paused (`src/analytics-rules/publishing-lock.ts`).
 * 2. Postgres: one snapshot, which all rows are read from. It contains everything acknowledged before.
 * 3. The engine's documents, as a snapshot; then rounds continue.
 * 4. The event log, as a snapshot: at or after every offset of the rows, so that it contains what they count, and what
 *    they do not count yet is counted after the restore, once.
 * 5. The rows of the snapshot, table by table.
 *
 * A killed reader keeps pages of the stores from being reused until their writer checks for dead readers, which LMDB
 * does every ten minutes. Between 2 and 4 the program continues: a document or an event of that time may be in the
 * copy, a key or a preset is not.
 */
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { join, relative, resolve } from "node:path"
import { Clock, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { copyJournal } from "@dowser/engine-sdk/store"
import { holdOff } from "../../analytics-rules/publishing-lock.ts"
import { version } from "../../config.ts"
import { copyLog, endOffsetsOf } from "@dowser/log/event-log/lmdb-environment"
import { isAlive, readRunning, StartRefused } from "../data-folder.ts"
import { runningServer } from "../embedded-postgres.ts"
import { layerSql } from "../embedded.ts"
import { BACKUP_FORMAT, digestOf, type Manifest, manifestFile, type Part } from "./manifest.ts"
import { copyOut, describeRows } from "./rows.ts"

export interface Report {
  readonly step: (label: string, done: number, total?: number) => void
}

/** How long to wait for the end of a round of analytics rules in progress. */
const ROUND_WAIT_MS = 60_000
/** Entries of the data folder that are copied by other means, rebuilt, or specific to the running process. */
const NOT_FILES: ReadonlySet<string> = new Set([
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
  "kafka",
  ".deno",
  ".writable"
])
const SECRET_MODE = 0o600

export const emptyFolder = (path: string): boolean =>
  !existsSync(path) || (statSync(path).isDirectory() && readdirSync(path).length === 0)

/** Marks a backup that is being written. */
const backupMark = ".backing-up"
/**
 * Claims an empty or missing folder by a marker file: of several concurrent commands, one succeeds. False if another
 * has claimed it or it is not empty; then nothing was changed.
 */
export const claimFolder = (folder: string, mark: string): boolean => {
  if (!emptyFolder(folder)) return false
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    writeFileSync(join(folder, mark), String(process.pid), { flag: "wx", mode: SECRET_MODE })
  } catch (error) {
    if ((error as { readonly code?: string }).code === "EEXIST") return false
    throw error
  }
  if (readdirSync(folder).every((name) => name === mark)) return true
  rmSync(join(folder, mark))
  return false
}

const transferPrefix = "dowser-transfer-"
/**
 * A folder of ours that the server can write to and read from, whichever user it runs as. Leftovers of killed commands
 * are removed.
 */
export const transferFolder = (postgres: string): string => {
  for (const name of readdirSync(postgres)) {
    if (name.startsWith(transferPrefix) && !isAlive(Number(name.slice(transferPrefix.length))))
      rmSync(join(postgres, name), { recursive: true, force: true })
  }
  const folder = join(resolve(postgres), `${transferPrefix}${process.pid}`)
  mkdirSync(folder, { mode: 0o700 })
  const { gid, uid } = statSync(postgres)
  if (process.getuid?.() === 0) chownSync(folder, uid, gid)
  return folder
}

/** The file is on disk when this returns; for a folder: its names. */
export const synced = (file: string): void => {
  const handle = openSync(file, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
const filesBelow = (folder: string, from = folder): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory()
      ? filesBelow(path, from)
      : entry.isFile() && !entry.name.endsWith(".new")
        ? [relative(from, path)]
        : []
  })

const refuse = (sentence: string) => Effect.fail(new StartRefused(sentence))
const attempt = <A>(what: string, work: () => Promise<A>): Effect.Effect<A, StartRefused> =>
  Effect.tryPromise({ try: work, catch: (error) => new StartRefused(`${what}: ${(error as Error).message}.`) })

/** Source and destination of a backup. */
interface Place {
  /** The data folder of the running program. */ readonly data: string
  /** The folder of the backup. */ readonly to: string
  readonly report: Report
}

/** The finished files of a backup: each on disk, with its digest. */
class WrittenParts {
  readonly #place: Place
  readonly parts: Array<Part> = []

  constructor(place: Place) {
    this.#place = place
  }

  /** Makes a written file durable and adds it with its digest; returns its number of lines. */
  add(path: string, label: string): Effect.Effect<number, StartRefused> {
    const { report, to } = this.#place
    return attempt(`${path} could not be written`, async () => {
      const file = join(to, path)
      chmodSync(file, SECRET_MODE)
      const { size } = statSync(file)
      let done = 0
      const { bytes, lines, sha256 } = await digestOf(file, (count) => report.step(label, (done += count), size))
      synced(file)
      this.parts.push({ path, bytes, sha256 })
      return lines
    })
  }
}

/** Takes the snapshot of Postgres and copies the engine's documents, while rounds of analytics rules are paused. */
const copyQuiet = Effect.fnUntraced(function* ({ data, report, to }: Place) {
  const sql = yield* SqlClient.SqlClient
  yield* holdOff(ROUND_WAIT_MS)
  yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY`
  const created_at = yield* Clock.currentTimeMillis
  const described = yield* describeRows
  report.step("documents", 0)
  yield* attempt("The engine's documents could not be copied", () =>
    copyJournal(join(data, "engine"), join(to, "engine"))
  )
  return { created_at, ...described }
}, Effect.scoped)

/** Copies the rows of the snapshot, table by table, through a folder that the server can write to. */
const copyRows = Effect.fnUntraced(function* (
  { data, to }: Place,
  all: Effect.Success<typeof describeRows>["tables"],
  written: WrittenParts
) {
  const transfer = yield* Effect.acquireRelease(
    Effect.sync(() => transferFolder(join(data, "postgres"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const tables: Array<Manifest["tables"][number]> = []
  for (const [i, table] of all.entries()) {
    const staged = join(transfer, table.name)
    yield* copyOut(table, staged)
    yield* attempt(`Rows of ${table.name} could not be written`, async () => {
      copyFileSync(staged, join(to, "postgres", table.name))
      rmSync(staged)
    })
    tables.push({
      name: table.name,
      columns: table.columns,
      rows: yield* written.add(`postgres/${table.name}`, `table ${i + 1} of ${all.length}`)
    })
  }
  return tables
}, Effect.scoped)

/** Copies the files of the data folder that nothing else copies. */
const copyFiles = Effect.fnUntraced(function* ({ data, to }: Place, written: WrittenParts) {
  for (const name of readdirSync(data).filter((each) => !NOT_FILES.has(each) && !each.endsWith(".new"))) {
    const from = join(data, name)
    for (const file of statSync(from).isDirectory() ? filesBelow(from).map((below) => join(name, below)) : [name]) {
      mkdirSync(join(to, "files", file, ".."), { recursive: true, mode: 0o700 })
      copyFileSync(join(data, file), join(to, "files", file))
      yield* written.add(join("files", file), "files")
    }
  }
})

/** Written last, and gets its name only when it is complete: a folder without it is not a backup. */
const writeManifest = (to: string, whole: Manifest): void => {
  const file = join(to, manifestFile)
  writeFileSync(`${file}.new`, `${JSON.stringify(whole, null, 1)}\n`, { mode: SECRET_MODE })
  synced(`${file}.new`)
  renameSync(`${file}.new`, file)
  rmSync(join(to, backupMark))
  synced(to)
}

/** Copies everything, in the order described at the top. */
const copyAll = Effect.fnUntraced(function* (place: Place) {
  const sql = yield* SqlClient.SqlClient
  const { data, report, to } = place
  const written = new WrittenParts(place)
  for (const name of ["postgres", "log", "engine", "files"]) mkdirSync(join(to, name), { recursive: true, mode: 0o700 })
  const { quiet, tables } = yield* sql.withTransaction(
    Effect.gen(function* () {
      const quiet = yield* copyQuiet(place)
      report.step("event log", 0)
      yield* attempt("The event log could not be copied", () => copyLog(join(data, "log"), join(to, "log")))
      return { quiet, tables: yield* copyRows(place, quiet.tables, written) }
    })
  )
  const log_position = yield* attempt("The copied event log cannot be read", () => endOffsetsOf(join(to, "log")))
  rmSync(join(to, "log", "lock.mdb"), { force: true })
  yield* written.add("engine/documents.mdb", "documents")
  yield* written.add("log/data.mdb", "event log")
  yield* copyFiles(place, written)
  const whole: Manifest = {
    format: BACKUP_FORMAT,
    program: version,
    data_version: quiet.dataVersion,
    created_at: quiet.created_at,
    sequences: quiet.sequences,
    tables,
    log_position,
    parts: written.parts
  }
  writeManifest(to, whole)
  return whole
})

/** The database of the running program, or why no backup is possible without one. */
const serverOf = Effect.fnUntraced(function* (data: string, to: string) {
  const running = readRunning(data)
  if (running === undefined || running.url === "")
    return yield* refuse(
      `No running Dowser owns the data folder ${data}: only a running one can be backed up this way. A folder that nothing runs on can simply be copied.`
    )
  if (!existsSync(join(data, "postgres")))
    return yield* refuse(
      "This Dowser is one of several processes (--mode distributed): its rows and its events are in the Postgres and the Kafka that it was given, which have their own tools for that (pg_dump, or a base backup; topics by mirroring). Only its search engine's documents are in its data folder."
    )
  if (!emptyFolder(to)) return yield* refuse(`${to} is not an empty folder; a backup is written into a new one.`)
  if (`${to}/`.startsWith(`${data}/`))
    return yield* refuse("A backup inside the data folder would be lost with it; choose another place.")
  const server = yield* Effect.try({
    try: () => runningServer(join(data, "postgres")),
    catch: (error) =>
      new StartRefused(
        (error as { readonly code?: string }).code === "EACCES"
          ? `The database of ${data} belongs to another user, as root started it: take the backup as root as well.`
          : `The database of ${data} cannot be asked: ${(error as Error).message}.`
      )
  })
  if (server === undefined) return yield* refuse(`The database of ${data} does not run; see what the program says.`)
  return server
})

/** Writes the folder `given`, which must be missing or empty; removed again on failure. Fails with `StartRefused`. */
export const backup = Effect.fn("runtime.backup")(function* (dataDir: string, given: string, report: Report) {
  const data = resolve(dataDir)
  const to = resolve(given)
  const server = yield* serverOf(data, to)
  const existed = existsSync(to)
  if (!(yield* attempt(`${to} cannot be written`, async () => claimFolder(to, backupMark))))
    return yield* refuse(
      `${to} is not an empty folder, or another backup is being written into it; a backup is written into a new one.`
    )
  return yield* Effect.onExit(Effect.scoped(Effect.provide(copyAll({ data, to, report }), layerSql(server))), (exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit)) return
      if (existed) for (const name of readdirSync(to)) rmSync(join(to, name), { recursive: true, force: true })
      else rmSync(to, { recursive: true, force: true })
    })
  ).pipe(Effect.catchTag("SqlError", (error) => refuse(`The database could not be read: ${error.message}.`)))
})
