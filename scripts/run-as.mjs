// If started as root, the program runs as DOWSER_RUN_AS (a name, or uid:gid), by default as `nobody`, and Postgres as
// DOWSER_POSTGRES_RUN_AS, by default as `daemon`. The data folder is handed over, Postgres' part to Postgres, and
// neither reads what the other stores. The launcher stays root to pass signals and to start Postgres. If `nobody`
// cannot read the clone or reach the folder, the program continues as root and reports it; if `daemon` cannot, Postgres
// runs as the program's user; but a user named explicitly is refused. Messages name what to change.
//
// Root gives away only a folder that is new, empty, a data folder or already that user's.
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

/** `passwd` as text; Postgres looks up the name of its user, so a number without an entry there is refused. */
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

/** The folder that `--data-dir`, DOWSER_DATA_DIR or the default names, as the program itself reads them. */
const dataFolderDefault = fileURLToPath(new URL("../.dowser", import.meta.url))
const dataFolderOf = (args, environment, cwd) => {
  const at = args.findIndex((arg) => arg === "--data-dir" || arg.startsWith("--data-dir="))
  const given = at < 0 ? undefined : args[at].includes("=") ? args[at].slice(args[at].indexOf("=") + 1) : args[at + 1]
  return resolve(cwd, given ?? environment.DOWSER_DATA_DIR ?? dataFolderDefault)
}

/**
 * The system's own `chown` follows no link, not even one that is placed there while it runs. Files that an ending
 * server still removes do not matter; whatever cannot be changed, the program encounters and reports.
 */
const handOver = (path, { gid, uid }) => {
  spawnSync("chown", ["-RhPf", `${uid}:${gid}`, path])
}
/** Postgres' user can traverse the folder but not list it. */
const handOverBoth = (folder, user, postgres) => {
  for (const name of readdirSync(folder))
    handOver(join(folder, name), name === "postgres" || name === "postgres.new" ? postgres : user)
  chownSync(folder, user.uid, postgres.gid)
  chmodSync(folder, 0o710)
}
/**
 * The user of Postgres if the program is `user`: undefined for the same, a sentence if the named one cannot be used.
 */
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

/** A file that the program needs but that `user` cannot access, if any. */
const closedTo = (user, folder, files) => {
  for (const [mode, path] of [["-x", dirname(folder)], ...files.map((file) => ["-r", file])]) {
    if (spawnSync("/bin/sh", ["-c", 'test $0 "$1"', mode, path], { ...user, cwd: "/" }).status !== 0)
      return `cannot ${mode === "-x" ? "pass" : "read"} ${path}: it, or a folder above it, is closed to others.`
  }
}

/** For commands that keep running. A call that only asks for help or the version leaves nothing behind. */
const isLasting = (command, args) =>
  (command === "start" || command === "streams") &&
  !args.some((arg) => ["--help", "-h", "--version", "-v"].includes(arg))
/** `--mode` takes precedence over the variable, as in the program. */
const modeOf = (args, environment) =>
  args.flatMap((arg, i) =>
    arg.startsWith("--mode=") ? [arg.slice("--mode=".length)] : arg === "--mode" ? [args[i + 1]] : []
  )[0] ?? environment.DOWSER_MODE
const hasPostgres = (command, args, environment) => command === "start" && modeOf(args, environment) !== "distributed"

/**
 * Options for spawning the program; undefined if it stays as it is, a sentence if it cannot be done. `files` must be
 * readable, and `postgresFiles` for Postgres' user; `postgres` of the result: its user, if that is another one, and its
 * folder.
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
    // The program reports what is wrong with it, as it does for everybody.
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
    // Compiled code belongs to that user as well. Programs that are started often, each in a new folder, may share it.
    env: { HOME: folder, DENO_DIR: environment.DOWSER_CODE_CACHE || join(folder, ".deno") },
    ...(postgres === undefined ? {} : { postgres: { user: postgres, folder: join(folder, "postgres") } })
  }
}
