/** Dowser as a person starts it: the launcher as a child process, in a data folder of the temporary directory. */
import { type ChildProcess, spawn } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { freePort } from "../../src/runtime/free-port.ts"

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
   * To the launcher. Through the process id: after `ChildProcess.kill` Deno reports the signal instead of the exit
   * code.
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

const childOf = (parent: number): number | undefined => {
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue
    try {
      const fields = readFileSync(`/proc/${name}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ")
      if (Number(fields[1]) === parent) return Number(name)
    } catch {
      continue
    }
  }
  return undefined
}

/** Resolves when the ready line is there; rejects with what was said when the program ended first. */
export const launch = async (
  dataFolder: string,
  args: ReadonlyArray<string> = ["--no-demo"],
  port?: number,
  variables: Readonly<Record<string, string>> = {},
  clone = root
): Promise<Launched> => {
  const chosen = port ?? (await freePort())
  const node = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? process.execPath : "node"
  const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("DOWSER_")))
  const launcher = spawn(
    node,
    [
      join(clone, "scripts", "bootstrap.mjs"),
      "start",
      "--json",
      "--port",
      String(chosen),
      "--data-dir",
      dataFolder,
      ...args
    ],
    { cwd: clone, stdio: ["ignore", "pipe", "pipe"], env: { ...environment, ...variables } }
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
    port: chosen,
    ready,
    stdout: () => out,
    stderr: () => err,
    pid: () => childOf(launcher.pid ?? 0) ?? 0,
    exited,
    signal: (name) => {
      process.kill(launcher.pid ?? 0, name)
    }
  }
}
