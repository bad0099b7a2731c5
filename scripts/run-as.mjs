// Started as root, the program runs as DOWSER_RUN_AS (a name, or uid:gid), by itself as `nobody`, and Postgres as
// DOWSER_POSTGRES_RUN_AS, by itself as `daemon`: the data folder is handed over, in it Postgres' own to Postgres, and
// neither reads what the other stores. The launcher keeps root for passing signals and for starting Postgres. Where
// `nobody` cannot read the clone or pass to the folder the program goes on as root and says so, where `daemon` cannot,
// Postgres runs as the program's user; a user who was named is refused instead. Sentences name what to change.
//
// Root gives away only a folder that is new, empty, a data folder or that user's already.
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync
} from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

/** `passwd` as text; Postgres asks for the name of its user, so a number without a line there is refused. */
const userOf = (variable, wanted, passwd) => {
  const users = passwd
    .split("\n")
    .map((line) => line.split(":"))
    .filter(({ length }) => length > 3)
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
  const [first, group] = wanted.split(":")
  const user = users.find(({ name, uid }) => name === first || String(uid) === first)
  if (user === undefined) return `${variable} names ${wanted}, which /etc/passwd does not have.`
  if (group !== undefined && !/^\d+$/.test(group)) return `${variable} is a user's name, or uid:gid in numbers.`
  return { uid: user.uid, gid: group === undefined ? user.gid : Number(group) }
}

/** What `--data-dir`, DOWSER_DATA_DIR or the default name, as the program itself reads them. */
const dataFolderDefault = fileURLToPath(new URL("../.dowser", import.meta.url))
const dataFolderOf = (args, environment, cwd) => {
  const at = args.findIndex((arg) => arg === "--data-dir" || arg.startsWith("--data-dir="))
  const given = at < 0 ? undefined : args[at].includes("=") ? args[at].slice(args[at].indexOf("=") + 1) : args[at + 1]
  return resolve(cwd, given ?? environment.DOWSER_DATA_DIR ?? dataFolderDefault)
}

/**
 * The system's own `chown` follows no link, also of one that is put in its way while it walks. Files that a server
 * which is ending still removes are no matter; what it cannot change, the program meets and tells.
 */
const handOver = (path, { gid, uid }) => {
  spawnSync("chown", ["-RhPf", `${uid}:${gid}`, path])
}
/** Postgres' user passes through the folder and sees nothing of it. */
const handOverBoth = (folder, user, postgres) => {
  for (const name of readdirSync(folder))
    handOver(join(folder, name), name === "postgres" || name === "postgres.new" ? postgres : user)
  chownSync(folder, user.uid, postgres.gid)
  chmodSync(folder, 0o710)
}
/** Who Postgres is when the program is `user`: undefined for the same, a sentence where it cannot be who was named. */
const postgresUser = (user, folder, files, environment, passwd) => {
  const isNamed = (environment.DOWSER_POSTGRES_RUN_AS ?? "") !== ""
  const found = userOf("DOWSER_POSTGRES_RUN_AS", isNamed ? environment.DOWSER_POSTGRES_RUN_AS : "daemon", passwd)
  if (typeof found === "string") return isNamed ? found : undefined
  if (found.uid === user.uid) return undefined
  if (found.uid === 0) return "DOWSER_POSTGRES_RUN_AS names root, as whom Postgres does not run."
  const refused = closedTo(found, folder, files)
  if (refused === undefined) return found
  if (isNamed) return `The user of DOWSER_POSTGRES_RUN_AS ${refused}`
  process.stderr.write(`Postgres runs as the program's user: the user daemon ${refused}\n`)
}
const isOf = (folder, { uid }) => lstatSync(folder).uid === uid
const isDataFolder = (folder) => existsSync(join(folder, "version.json")) || readdirSync(folder).length === 0

/** What is closed to `user` of what the program needs, if anything. */
const closedTo = (user, folder, files) => {
  for (const [mode, path] of [["-x", dirname(folder)], ...files.map((file) => ["-r", file])]) {
    if (spawnSync("/bin/sh", ["-c", 'test $0 "$1"', mode, path], { ...user, cwd: "/" }).status !== 0)
      return `cannot ${mode === "-x" ? "pass" : "read"} ${path}: it, or a folder above it, is closed to others.`
  }
}

/** Of commands that run on. Who only asks what they take leaves nothing behind. */
const isLasting = (command, args) =>
  (command === "start" || command === "streams") &&
  !args.some((arg) => ["--help", "-h", "--version", "-v"].includes(arg))
/** `--mode` wins over the variable, as in the program. */
const modeOf = (args, environment) =>
  args.flatMap((arg, i) =>
    arg.startsWith("--mode=") ? [arg.slice("--mode=".length)] : arg === "--mode" ? [args[i + 1]] : []
  )[0] ?? environment.DOWSER_MODE
const hasPostgres = (command, args, environment) => command === "start" && modeOf(args, environment) !== "distributed"

/**
 * What to spawn the program with; undefined where it stays as it is, a sentence where it cannot be done. `files` must
 * be readable, for Postgres' user those of `postgresFiles`; `postgres` of the answer: whom it is, where that is another
 * user, and over which folder.
 */
export const runAs = (command, args, environment, cwd, files, postgresFiles) => {
  if (process.getuid?.() !== 0 || !isLasting(command, args)) return undefined
  const isNamed = (environment.DOWSER_RUN_AS ?? "") !== ""
  const passwd = readFileSync("/etc/passwd", "utf8")
  const user = userOf("DOWSER_RUN_AS", isNamed ? environment.DOWSER_RUN_AS : "nobody", passwd)
  if (typeof user === "string") return isNamed ? user : undefined
  const named = dataFolderOf(args, environment, cwd)
  try {
    mkdirSync(dirname(named), { recursive: true })
    mkdirSync(named, { recursive: true, mode: 0o700 })
  } catch {
    // The program says what is wrong with it, as it does to everybody.
    return undefined
  }
  const folder = realpathSync(named)
  const refused =
    closedTo(user, folder, files) ??
    (isOf(folder, user) || isDataFolder(folder)
      ? undefined
      : `is not given ${folder}: it holds something else than Dowser's data.`)
  if (refused !== undefined) {
    if (isNamed) return `The user of DOWSER_RUN_AS ${refused}`
    process.stderr.write(`Runs as root: the user nobody ${refused}\n`)
    // What root writes now is handed over by a later start.
    if (isOf(folder, user)) handOver(folder, { uid: 0, gid: 0 })
    return undefined
  }
  const postgres =
    user.uid === 0 || !hasPostgres(command, args, environment)
      ? undefined
      : postgresUser(user, folder, postgresFiles(), environment, passwd)
  if (typeof postgres === "string") return postgres
  if (postgres !== undefined) handOverBoth(folder, user, postgres)
  else {
    handOver(folder, user)
    chmodSync(folder, 0o700)
  }
  if (user.uid === 0) return undefined
  return {
    ...user,
    // Compiled code is that user's own as well. Programs that are started often, each in a new folder, may share it.
    env: { HOME: folder, DENO_DIR: environment.DOWSER_CODE_CACHE || join(folder, ".deno") },
    ...(postgres === undefined ? {} : { postgres: { user: postgres, folder: join(folder, "postgres") } })
  }
}
