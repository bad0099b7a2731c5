/**
 * Restores a backup into an empty data folder, with nothing running. Everything is verified before anything is
 * written. While the folder is being filled, it contains a marker with which the program refuses to start; the marker
 * is removed last, and a failure removes what was written.
 */
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { dirname, join, resolve } from "node:path"
import { Effect, Exit, Layer } from "effect"
import { dataVersion, layerUpTo } from "../../migrations/index.ts"
import { restoringMark, StartRefused } from "../data-folder.ts"
import { startEmbeddedPostgres } from "../embedded-postgres.ts"
import { layerSql } from "../embedded.ts"
import { claimFolder, emptyFolder, type Report, synced, transferFolder } from "./backup.ts"
import { type Manifest, readManifest, verifyParts } from "./manifest.ts"
import { copyIn, countRows } from "./rows.ts"

const refuse = (sentence: string) => Effect.fail(new StartRefused(sentence))

const fillDatabase = (from: string, to: string, manifest: Manifest, report: Report) =>
  Effect.scoped(
    Effect.gen(function* () {
      const folder = join(to, "postgres")
      const server = yield* Effect.acquireRelease(
        Effect.tryPromise({
          try: () => startEmbeddedPostgres(folder),
          catch: (error) => new StartRefused((error as Error).message)
        }),
        (running) => Effect.promise(running.stop)
      )
      const transfer = yield* Effect.acquireRelease(
        Effect.sync(() => transferFolder(folder)),
        (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
      )
      const { uid, gid } = statSync(transfer)
      yield* Effect.provide(
        Effect.gen(function* () {
          let done = 0
          yield* copyIn(manifest.tables, manifest.sequences, ({ name }, copy) =>
            Effect.suspend(() => {
              const staged = join(transfer, name)
              copyFileSync(join(from, "postgres", name), staged)
              if (process.getuid?.() === 0) chownSync(staged, uid, gid)
              report.step("tables", done++, manifest.tables.length)
              return Effect.ensuring(
                copy(staged),
                Effect.sync(() => rmSync(staged, { force: true }))
              )
            })
          )
          for (const { name, rows } of manifest.tables) {
            const found = yield* countRows(name)
            if (found !== rows)
              return yield* refuse(`The table ${name} has ${found} rows after its restore instead of ${rows}.`)
          }
        }),
        Layer.provideMerge(layerUpTo(manifest.data_version), layerSql(server))
      )
    })
  ).pipe(Effect.catchTag("SqlError", (error) => refuse(`The rows could not be written: ${error.message}.`)))

export const restore = Effect.fn("runtime.restore")(function* (given: string, dataDir: string, report: Report) {
  const from = resolve(given)
  const to = resolve(dataDir)
  const manifest = yield* Effect.tryPromise({
    try: async () => {
      const found = readManifest(from, dataVersion)
      if (!emptyFolder(to)) throw new StartRefused(`${to} is not an empty folder; a backup is restored into a new one.`)
      await verifyParts(from, found, (done, total) => report.step("verifying", done, total))
      return found
    },
    catch: (error) =>
      error instanceof StartRefused
        ? error
        : new StartRefused(`The backup cannot be read: ${(error as Error).message}.`)
  })
  const existed = existsSync(to)
  const work = Effect.gen(function* () {
    yield* Effect.try({
      try: () => {
        for (const { path } of manifest.parts) {
          const [kind, ...rest] = path.split("/")
          if (kind === "postgres") continue
          const file = kind === "files" ? join(to, ...rest) : join(to, path)
          mkdirSync(dirname(file), { recursive: true })
          report.step(path, 0)
          copyFileSync(join(from, path), file)
          chmodSync(file, 0o600)
          synced(file)
        }
      },
      catch: (error) => new StartRefused(`${to} cannot be written: ${(error as Error).message}.`)
    })
    yield* fillDatabase(from, to, manifest, report)
    writeFileSync(join(to, "version.json"), JSON.stringify({ data_version: manifest.data_version }), { mode: 0o600 })
    synced(to)
    rmSync(join(to, restoringMark))
    return manifest
  })
  const isClaimed = yield* Effect.try({
    try: () => claimFolder(to, restoringMark),
    catch: (error) => new StartRefused(`${to} cannot be written: ${(error as Error).message}.`)
  })
  if (!isClaimed)
    return yield* refuse(
      `${to} is not an empty folder, or another restore or a program is at work in it; a backup is restored into a new one.`
    )
  return yield* Effect.onExit(work, (exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit)) return
      if (existed) for (const name of readdirSync(to)) rmSync(join(to, name), { recursive: true, force: true })
      else rmSync(to, { recursive: true, force: true })
    })
  )
})
