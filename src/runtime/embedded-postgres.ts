/**
 * A real Postgres server from npm binaries (`scripts/postgres-server.mjs`) that this process starts itself, in a folder
 * of ours; also chooses the user it runs as if this process is root, and who then owns its files.
 */
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import {
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { dirname, join, resolve } from "node:path"
import { initialize, nativeFolder, type RunAs, startServer } from "../../scripts/postgres-server.mjs"
import { letPass } from "./private-files.ts"

export interface PostgresServer {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
  /** Fast shutdown (SIGINT); resolves when the server has ended. Idempotent. */
  readonly stop: () => Promise<void>
  /** Resolves when the server ended without `stop`. */
  readonly died: Promise<string>
}

/** A server that another process of this machine runs over `folder`; undefined if there is none. */
export const runningServer = (folder: string): Omit<PostgresServer, "stop" | "died"> | undefined => {
  try {
    const port = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[3])
    return Number.isInteger(port) && port > 0
      ? {
          host: "127.0.0.1",
          port,
          username: "dowser",
          password: readFileSync(`${folder}.password`, "utf8").trim(),
          database: "postgres"
        }
      : undefined
  } catch (error) {
    if ((error as { readonly code?: string }).code === "ENOENT") return undefined
    throw error
  }
}

/** Postgres refuses to run as root, and `NOBODY_UID` must exist in passwd. */
const NOBODY_UID = 65534

type Runner = { readonly kind: "plain" } | { readonly kind: "uid" } | { readonly kind: "unshare" }

/** Whether `NOBODY_UID` can traverse this folder: every ancestor needs the x bit for others, or for its group. */
const isTraversable = (folder: string): boolean => {
  for (let path = resolve(folder); ; path = dirname(path)) {
    if (existsSync(path)) {
      const { gid, mode, uid } = statSync(path)
      if ((mode & 0o001) === 0 && uid !== NOBODY_UID && !(gid === NOBODY_UID && (mode & 0o010) !== 0)) return false
    }
    if (dirname(path) === path) return true
  }
}

const chooseRunner = (dataFolder: string, binaries: string): Runner => {
  if (process.getuid?.() !== 0) return { kind: "plain" }
  if (isTraversable(dirname(resolve(dataFolder))) && isTraversable(binaries)) return { kind: "uid" }
  // A user namespace makes Postgres believe that it is NOBODY_UID, while files stay root's: no copy of 60 MB is needed.
  const probe = spawnSync("unshare", ["--user", `--map-user=${NOBODY_UID}`, `--map-group=${NOBODY_UID}`, "true"])
  if (probe.status === 0) return { kind: "unshare" }
  throw new Error(
    "Postgres cannot run as root here: the data folder is below a folder that other users cannot enter, and user namespaces are off. Choose another --data-dir."
  )
}

const runAs = (runner: Runner): RunAs => ({
  command: (program, args) =>
    runner.kind === "unshare"
      ? { file: "unshare", args: ["--user", `--map-user=${NOBODY_UID}`, `--map-group=${NOBODY_UID}`, program, ...args] }
      : { file: program, args: [...args] },
  identity: runner.kind === "uid" ? { uid: NOBODY_UID, gid: NOBODY_UID } : {}
})

const own = (runner: Runner, path: string): void => {
  if (runner.kind === "uid") chownSync(path, NOBODY_UID, NOBODY_UID)
}

/** Takes ownership of a folder that a server filled in a user namespace, while it only seemed to be another user. */
const ownAll = (folder: string): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) ownAll(path)
    else lchownSync(path, NOBODY_UID, NOBODY_UID)
  }
  chownSync(folder, NOBODY_UID, NOBODY_UID)
}

/** Runs initdb in a sibling folder, which is renamed when done: a killed initdb must not look finished. */
const initializeBeside = (runner: Runner, folder: string, password: string): void => {
  const fresh = `${folder}.new`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true, mode: 0o700 })
  own(runner, fresh)
  initialize(fresh, password, runAs(runner))
  renameSync(fresh, folder)
}

/** Stored next to the server's folder; created on first use. */
export const ownPassword = (folder: string): string => {
  const file = `${folder}.password`
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString("hex"), { mode: 0o600 })
  return readFileSync(file, "utf8").trim()
}

/**
 * Starts the server over `folder` (created if missing). The first start takes about 1 s, later ones 0.1-0.6 s; it
 * recovers by itself from a kill -9. Rejects with one sentence that a person can act on. `at` is the port, for callers
 * that know the server by it; otherwise a free one.
 */
export const startEmbeddedPostgres = async (folder: string, at?: number): Promise<PostgresServer> => {
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
  const above = dirname(resolve(folder))
  // A private folder owned by root; a folder that everybody may enter is not ours to change.
  if (process.getuid?.() === 0 && statSync(above).uid === 0 && (statSync(above).mode & 0o077) === 0)
    letPass(above, NOBODY_UID)
  const runner = chooseRunner(folder, nativeFolder())
  if (runner.kind === "uid" && existsSync(folder) && statSync(folder).uid !== NOBODY_UID) ownAll(folder)
  const isNew = !existsSync(folder) || readdirSync(folder).length === 0
  if (isNew) rmSync(`${folder}.password`, { force: true })
  const password = ownPassword(folder)
  if (isNew) initializeBeside(runner, folder, password)
  const { died, port, stop } = await startServer(folder, { ...runAs(runner), ...(at === undefined ? {} : { at }) })
  return { host: "127.0.0.1", port, username: "dowser", password, database: "postgres", stop, died }
}
