// If root starts the program, Postgres also runs as a user of its own, and neither can read what the other stores. Only
// root can start it that way, and only the program knows when (after its data folder is found to be in order and not in
// use), so the program requests it from the launcher, over the channel that the launcher gave it. The request contains
// no path and no command: folder, user and binaries are chosen by the launcher.
import { spawnSync } from "node:child_process"
import {
  closeSync,
  constants,
  existsSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync
} from "node:fs"
import { initialize, startServer } from "./postgres-server.mjs"

const PASSWORD = /^[0-9a-f]{48}$/

/**
 * Creates an empty folder of `user` in a folder that belongs to somebody else, who may place a link there meanwhile:
 * leftovers of a killed start are removed as their owner, never as root.
 */
const makeFolderOf = (path, { gid, uid }) => {
  if (existsSync(path)) {
    spawnSync("rm", ["-rf", "--", path], { uid, gid, cwd: "/", stdio: "ignore" })
    rmdirSync(path)
  }
  mkdirSync(path, { mode: 0o700 })
  const handle = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  try {
    if (fstatSync(handle).uid !== 0) throw new Error("The data folder changes while Postgres is made in it.")
    fchownSync(handle, uid, gid)
  } finally {
    closeSync(handle)
  }
}
/** A killed initdb must not look finished, so it fills a folder of another name. */
const ensureInitialized = (folder, password, user, as) => {
  const isThere = (() => {
    try {
      return lstatSync(folder).isDirectory() && readdirSync(folder).length > 0
    } catch {
      return false
    }
  })()
  if (isThere) return
  makeFolderOf(`${folder}.new`, user)
  initialize(`${folder}.new`, password, as)
  renameSync(`${folder}.new`, folder)
}

/**
 * Answers the program's requests for one server, over `folder`, which belongs to `user`. `stopped()`, which is
 * returned, ends the server if there is one and resolves when it has ended.
 */
export const keepPostgres = (child, folder, user) => {
  const as = { identity: { uid: user.uid, gid: user.gid }, command: (file, args) => ({ file, args }) }
  let server
  const answer = async (message) => {
    if (message?.kind !== "postgres") return
    // A repeated request gets the same server.
    server ??= (async () => {
      if (!PASSWORD.test(String(message.password)))
        throw new Error("The file postgres.password of the data folder must hold 48 hexadecimal digits.")
      ensureInitialized(folder, message.password, user, as)
      return startServer(folder, as)
    })()
    const reply = await server.then(
      ({ port }) => ({ kind: "started", port }),
      (error) => ({ kind: "refused", message: error.message })
    )
    if (child.connected) child.send(reply)
  }
  child.on("message", (message) => {
    if (message?.kind === "stop")
      void stopped().then(() => {
        if (child.connected) child.send({ kind: "stopped" })
      })
    else void answer(message)
  })
  const stopped = async () => {
    await server?.then(
      ({ stop }) => stop(),
      () => undefined
    )
  }
  return { stopped }
}

/** Options for `spawn` that give the program a channel to the launcher. */
export const channel = { stdio: ["inherit", "inherit", "inherit", "ipc"], env: { DOWSER_POSTGRES: "kept" } }
