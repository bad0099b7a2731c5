/** A Dowser started the way its users start it, in a new data folder of the temporary directory, for HTTP benches. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { denoFlags, nodeFlags } from "../../scripts/runtime-flags.mjs"
import { freePort } from "../../src/runtime/free-port.ts"
import type { LoadJob, LoadResult } from "./load.ts"

export interface RunningProgram {
  readonly base: string
  readonly port: number
  /** The program itself, not its launcher. */ readonly pid: number
  readonly full_key: string
  readonly search_key: string
  readonly stop: () => Promise<void>
}

/** The command with which this runtime runs a script: the same binary and the same flags. */
export const runtimeCommand = (): ReadonlyArray<string> =>
  (globalThis as { readonly Deno?: unknown }).Deno === undefined
    ? [process.execPath, ...nodeFlags]
    : [process.execPath, ...denoFlags]

/** `kept`: data folder of an earlier start, which survives the stop; otherwise a new folder, which is removed. */
export const startServer = async (extra: ReadonlyArray<string> = [], kept?: string): Promise<RunningProgram> => {
  const folder = kept ?? mkdtempSync(join(tmpdir(), "dowser-bench-"))
  const remove = () => {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true })
  }
  const port = await freePort()
  const [binary, ...flags] = runtimeCommand()
  const main = fileURLToPath(new URL("../../src/main.ts", import.meta.url))
  const child: ChildProcess = spawn(
    binary,
    [
      ...flags,
      main,
      "start",
      "--no-demo",
      "--json",
      "--port",
      String(port),
      "--data-dir",
      join(folder, "data"),
      ...extra
    ],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, DOWSER_MODELS: "off", DOWSER_PARENT_PID: String(process.pid) }
    }
  )
  const ready = await new Promise<Record<string, string>>((settle, reject) => {
    let text = ""
    child.stdout?.on("data", (chunk: Buffer) => {
      text += chunk.toString()
      const end = text.indexOf("\n")
      if (end >= 0) settle(JSON.parse(text.slice(0, end)) as Record<string, string>)
    })
    child.once("exit", (code) => {
      remove()
      reject(new Error(`The program ended while starting (exit code ${code}).`))
    })
  })
  return {
    base: ready.base_url,
    port,
    pid: child.pid ?? 0,
    full_key: ready.full_key,
    search_key: ready.search_key,
    stop: async () => {
      const gone = new Promise<void>((settle) => child.once("exit", () => settle()))
      child.kill("SIGTERM")
      await gone
      remove()
    }
  }
}

/** Runs one load in a separate process. */
export const runLoad = (job: LoadJob): Promise<LoadResult> =>
  new Promise((settle, reject) => {
    const [binary, ...flags] = runtimeCommand()
    const child = spawn(binary, [...flags, fileURLToPath(new URL("./load.ts", import.meta.url))], {
      stdio: ["pipe", "pipe", "inherit"]
    })
    const chunks: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.once("exit", (code) =>
      code === 0
        ? settle(JSON.parse(Buffer.concat(chunks).toString("utf8")) as LoadResult)
        : reject(new Error(`The load ended with exit code ${code}.`))
    )
    child.stdin.end(JSON.stringify(job))
  })

/** One HTTP/1.1 request as bytes. */
export const requestBytes = (method: string, path: string, key: string, body: string | undefined): string =>
  Buffer.from(
    `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-svc-api-key: ${key}\r\n${body === undefined ? "" : `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n`}\r\n${body ?? ""}`
  ).toString("base64")
