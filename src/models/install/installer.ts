/** The starter's side of the installing process: its progress and its result. */
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { denoFlags, nodeFlags } from "../../../scripts/runtime-flags.mjs"
import type { Progress } from "./install.ts"
import type { InstallerLine } from "./installer-line.ts"

export interface Installer {
  readonly progress: () => Progress
  /** Resolves to a message if it failed; undefined if it succeeded. */ readonly ended: Promise<string | undefined>
  readonly stop: () => void
}

const flags = (): ReadonlyArray<string> =>
  (globalThis as { readonly Deno?: unknown }).Deno === undefined ? nodeFlags : denoFlags

export const startInstaller = (places: ReadonlyArray<string>): Installer => {
  let progress: Progress = { step: "beginning", done: 0 }
  const entry = fileURLToPath(new URL("./install-process.ts", import.meta.url))
  const child = spawn(process.execPath, [...flags(), entry, ...places], { stdio: ["pipe", "pipe", "inherit"] })
  // It may have ended before its input is closed.
  child.stdin.on("error", () => {})
  const ended = new Promise<string | undefined>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (text) => {
      const line = JSON.parse(text) as InstallerLine
      if (line.kind === "progress") progress = line
      else resolve(line.kind === "failed" ? line.message : undefined)
    })
    child.on("error", (error) => resolve(`its process could not be started: ${error.message}`))
    child.on("close", (code) => resolve(`its process ended (exit code ${code})`))
  })
  return { progress: () => progress, ended, stop: () => child.stdin.end() }
}
