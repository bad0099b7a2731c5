// Where root starts the program, Postgres is a user of its own as well: neither reads what the other stores. Only root
// can start it so, and only the program knows when (after its data folder is found to be in order and not in use), so
// the program asks the launcher for it, over the channel that the launcher gave it. What is asked for carries no path
// and no command: folder, user and binaries are the launcher's.
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
 * An empty folder of `user` in a folder that belongs to somebody else, who may put a link in its way meanwhile: what a
 * killed start left there is removed as its owner, never as root.
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
/** A killed initdb must not look finished: it fills a folder of another name. */
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
 * Answers the program's requests for one server, over `folder`, which is `user`'s. `stopped()`, of the answer, ends the
 * server where there is one and resolves when it is gone.
 */
export const keepPostgres = (child, folder, user) => {
  const as = { identity: { uid: user.uid, gid: user.gid }, command: (file, args) => ({ file, args }) }
  let server
  const answer = async (message) => {
    if (message?.kind !== "postgres") return
    // Asked once more, it is the same server.
    server ??= (async () => {
      if (!PASSWORD.test(String(message.password)))
        throw new Error("The file postgres.password of the data folder must hold 48 hexadecimal digits.")
      ensureInitialized(folder, message.password, user, as)
      return startServer(folder, as)
    })()
    const said = await server.then(
      ({ port }) => ({ kind: "started", port }),
      (error) => ({ kind: "refused", message: error.message })
    )
    if (child.connected) child.send(said)
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

/** Sets the launcher's channel up for the program: what `spawn` gets besides. */
export const channel = { stdio: ["inherit", "inherit", "inherit", "ipc"], env: { DOWSER_POSTGRES: "kept" } }
