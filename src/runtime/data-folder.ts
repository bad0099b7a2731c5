/**
 * The folder that contains everything that must survive: its version, the operator's secrets, and the marker of the
 * program that owns it now. Refusals are one sentence that a person can act on.
 */
import { randomBytes } from "node:crypto"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { keepPrivate, makePrivate } from "./private-files.ts"

/** Shown to the person verbatim; every other error is a defect. */
export class StartRefused extends Error {
  override readonly name = "StartRefused"
}

interface RunningProgram {
  readonly pid: number
  readonly url: string
  readonly operator_token: string
}

export interface DataFolder {
  readonly path: string
  readonly operatorKey: Buffer
  readonly operatorToken: string
  /** True until `markInitialized` has been called once, on any start. */ readonly isFresh: () => boolean
  readonly markInitialized: () => void
  /** Publishes the owner's address for other commands. */ readonly announce: (url: string) => void
  readonly release: () => void
}

const POSTGRES_FOLDERS: ReadonlySet<string> = new Set(["postgres", "postgres.new"])
/** Exists while a restore fills the folder. */
export const restoringMark = "restoring"

const runningFile = (path: string) => join(path, "running.json")

/** Replaces a small file atomically, so that a reader, or a crash, sees either the old or the new text. */
const writeWhole = (file: string, text: string) => {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Whether a process with this id exists, of any user. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as { readonly code?: string }).code === "EPERM"
  }
}

/** A pid can be reused after a crash, so the owner must also look like us. */
const looksLikeUs = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("main.ts")
  } catch {
    return process.platform !== "linux"
  }
}

export const readRunning = (path: string): RunningProgram | undefined => {
  try {
    const running = JSON.parse(readFileSync(runningFile(path), "utf8")) as RunningProgram
    return isAlive(running.pid) && (running.pid === process.pid || looksLikeUs(running.pid)) ? running : undefined
  } catch {
    return undefined
  }
}

const secret = (path: string, name: string, make: () => string): string => {
  const file = join(path, name)
  if (!existsSync(file)) writeWhole(file, make())
  return readFileSync(file, "utf8").trim()
}

/** Secrets given from outside, if several processes with folders of their own must agree on them. Hex and text. */
export interface GivenSecrets {
  readonly operatorKey: string | undefined
  readonly operatorToken: string | undefined
}

/** Takes the folder for this process, creating it if missing. Throws `StartRefused`. */
export const openDataFolder = (given: string, dataVersion: number, secrets?: GivenSecrets): DataFolder => {
  const path = resolve(given)
  try {
    keepPrivate()
    mkdirSync(path, { recursive: true, mode: 0o700 })
    const probe = join(path, ".writable")
    writeFileSync(probe, "")
    rmSync(probe)
  } catch (error) {
    throw new StartRefused(`The data folder ${path} cannot be written: ${(error as Error).message}.`)
  }
  if (existsSync(join(path, restoringMark)))
    throw new StartRefused(
      `A restore into ${path} was interrupted and what is there is not whole: remove the folder and restore again.`
    )
  const versionFile = join(path, "version.json")
  if (existsSync(versionFile)) {
    const found = (JSON.parse(readFileSync(versionFile, "utf8")) as { readonly data_version: number }).data_version
    if (found > dataVersion)
      throw new StartRefused(
        `The data folder ${path} was written by a newer version of Dowser (data version ${found}, this program knows ${dataVersion}); start that version instead.`
      )
  }
  const owner = readRunning(path)
  if (owner !== undefined)
    throw new StartRefused(
      `The data folder ${path} is in use by a running Dowser (process ${owner.pid}${owner.url === "" ? "" : `, ${owner.url}`}).`
    )
  writeWhole(versionFile, JSON.stringify({ data_version: dataVersion }))
  if (secrets?.operatorKey !== undefined && !/^[0-9a-f]{64}$/i.test(secrets.operatorKey))
    throw new StartRefused(
      "DOWSER_OPERATOR_KEY must be 64 hexadecimal digits: the content of another process's operator.key."
    )
  // Folders of Postgres belong to its own user, and Postgres itself requires certain modes.
  makePrivate(path, POSTGRES_FOLDERS)
  const operatorKey = Buffer.from(
    secrets?.operatorKey ?? secret(path, "operator.key", () => randomBytes(32).toString("hex")),
    "hex"
  )
  const operatorToken = secrets?.operatorToken ?? secret(path, "operator.token", () => randomBytes(24).toString("hex"))
  const announce = (url: string) =>
    writeWhole(
      runningFile(path),
      JSON.stringify({ pid: process.pid, url, operator_token: operatorToken } satisfies RunningProgram)
    )
  announce("")
  // A restore that claimed the folder in the meantime wins; a later restore finds the folder claimed.
  if (existsSync(join(path, restoringMark))) {
    rmSync(runningFile(path), { force: true })
    throw new StartRefused(`A restore into ${path} is at work; start it when that is done.`)
  }
  const initialized = join(path, "initialized")
  return {
    path,
    operatorKey,
    operatorToken,
    isFresh: () => !existsSync(initialized),
    markInitialized: () => writeWhole(initialized, "1"),
    announce,
    release: () => rmSync(runningFile(path), { force: true })
  }
}
