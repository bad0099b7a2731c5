/** A program that is killed at some moment. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const project = fileURLToPath(new URL("../..", import.meta.url))
/** Runs a child until `life_ms` after its first acknowledged write; returns the lines that it printed. */
export const linesUntilKilled = (
  program: string,
  path: string,
  worker: string,
  round: number,
  life_ms: number
): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const isDeno = "Deno" in globalThis
    const child = spawn(
      process.execPath,
      [...(isDeno ? ["run", "-A"] : []), join("engine-sdk", "test", program), path, worker, String(round)],
      { cwd: project, stdio: ["ignore", "pipe", "inherit"] }
    )
    let out = ""
    child.stdout.on("data", (bytes: Uint8Array) => {
      if (!out.includes("\n") && String(bytes).includes("\n")) setTimeout(() => child.kill("SIGKILL"), life_ms)
      out += String(bytes)
    })
    child.on("error", reject)
    child.on("exit", () => resolve(out.slice(0, out.lastIndexOf("\n")).split("\n")))
  })
