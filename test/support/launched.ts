/** Dowser as a user starts it: the launcher as a child process, in a data folder of the temporary directory. */
import { type ChildProcess, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { openDataFolder } from "../../src/runtime/data-folder.ts"
import { freePort } from "../../src/runtime/free-port.ts"
import { dataVersion } from "../../src/migrations/index.ts"
import { preparePostgres } from "./prepared-postgres.ts"

const root = new URL("../..", import.meta.url).pathname

export interface Launched {
  readonly launcher: ChildProcess
  readonly port: number
  readonly ready: Readonly<Record<string, string>>
  readonly stdout: () => string
  readonly stderr: () => string
  /** The program itself, below the launcher. */ readonly pid: () => number
  readonly exited: Promise<number | null>
  /**
   * Sends a signal to the launcher, through the process id: after `ChildProcess.kill` Deno reports the signal instead
   * of the exit code.
   */
  readonly signal: (name: "SIGTERM" | "SIGINT" | "SIGKILL") => void
}

/** Every process whose command line names the folder: Postgres and its children name their data folder. */
export const processesNaming = (text: string): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)
      } catch {
        return false
      }
    })

/**
 * The child that was started first: the program. Postgres, the launcher's other child, comes later, but may have the
 * smaller pid where pids have started again from the bottom.
 */
const firstChildOf = (parent: number): number | undefined =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const fields = readFileSync(`/proc/${name}/stat`, "utf8")
          .replace(/^.*\) /s, "")
          .split(" ")
        return Number(fields[1]) === parent ? [{ pid: Number(name), startedAt: Number(fields[19]) }] : []
      } catch {
        // The process ended while the list was read.
        return []
      }
    })
    .toSorted((one, other) => one.startedAt - other.startedAt)[0]?.pid

/**
 * A code cache for all programs of a run that are started as root, because compiling all of the code takes three
 * seconds of processor time.
 */
export const codeCache = (): Readonly<Record<string, string>> => {
  const run = process.env.DOWSER_TEST_RUN
  if (run === undefined) return {}
  const folder = join(run, "code")
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o777)
  return { DOWSER_CODE_CACHE: folder }
}

/**
 * As `launch`, over a folder whose Postgres is initialized and migrated already: for tests of anything but the first
 * start.
 */
export const launchPrepared: typeof launch = async (dataFolder, ...others) => {
  if (!existsSync(dataFolder)) {
    openDataFolder(dataFolder, dataVersion).release()
    await preparePostgres(join(dataFolder, "postgres"))
  }
  return launch(dataFolder, ...others)
}

type Launch = [
  dataFolder: string,
  args?: ReadonlyArray<string>,
  port?: number,
  variables?: Readonly<Record<string, string>>,
  clone?: string
]
const TRIES_MAX = 3
/**
 * Resolves when the ready line is printed; rejects with the output if the program ended first. Seconds pass between
 * choosing a port and using it, in which another test may take it: then another one is chosen.
 */
export const launch = async (...[folder, args, port, ...rest]: Launch): Promise<Launched> => {
  for (let tries = 1; ; tries++) {
    const chosen = port ?? (await freePort())
    try {
      return await launchAt(folder, args, chosen, ...rest)
    } catch (error) {
      const isTaken = error instanceof Error && error.message.includes(`Port ${chosen} on 127.0.0.1 is taken`)
      if (port !== undefined || !isTaken || tries >= TRIES_MAX) throw error
    }
  }
}
const launchAt = async (
  dataFolder: string,
  args: ReadonlyArray<string> = ["--no-demo"],
  port: number,
  variables: Readonly<Record<string, string>> = {},
  clone = root
): Promise<Launched> => {
  const node = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? process.execPath : "node"
  const environment = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith("DOWSER_") && name !== "DENO_V8_FLAGS")
  )
  const launcher = spawn(
    node,
    [
      join(clone, "scripts", "bootstrap.mjs"),
      "start",
      "--json",
      "--port",
      String(port),
      "--data-dir",
      dataFolder,
      ...args
    ],
    {
      cwd: clone,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...environment, ...codeCache(), DOWSER_MODELS: "off", ...variables }
    }
  )
  let out = "",
    err = ""
  launcher.stderr?.on("data", (chunk: Buffer) => {
    err += chunk.toString()
  })
  const exited = new Promise<number | null>((settle) => launcher.once("exit", (code) => settle(code)))
  const ready = await new Promise<Record<string, string>>((settle, reject) => {
    launcher.stdout?.on("data", (chunk: Buffer) => {
      out += chunk.toString()
      if (out.includes("\n")) settle(JSON.parse(out.slice(0, out.indexOf("\n"))) as Record<string, string>)
    })
    void exited.then((code) => reject(new Error(`exit ${code}: ${err}`)))
  })
  return {
    launcher,
    port,
    ready,
    stdout: () => out,
    stderr: () => err,
    pid: () => firstChildOf(launcher.pid ?? 0) ?? 0,
    exited,
    signal: (name) => {
      // Once it has ended, its pid may be reused by another process.
      if (launcher.exitCode === null && launcher.signalCode === null) process.kill(launcher.pid!, name)
    }
  }
}
