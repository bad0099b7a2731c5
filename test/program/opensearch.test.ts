/** `dowser opensearch`: its nodes find each other, do not run as root, and do not outlive the program. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { linkProgram, opensearchMissing } from "../support/opensearch.ts"

const root = new URL("../..", import.meta.url).pathname
const missing = opensearchMissing()

const readyLine = (child: ChildProcess): Promise<{ readonly nodes: string }> =>
  new Promise((settle, refuse) => {
    let text = ""
    child.stdout?.on("data", (chunk: Uint8Array) => {
      text += String(chunk)
      if (text.includes("\n")) settle(JSON.parse(text.slice(0, text.indexOf("\n"))) as { readonly nodes: string })
    })
    child.once("exit", (code) => refuse(new Error(`it ended before it was ready (${code}): ${text}`)))
  })
const answers = (address: string) =>
  fetch(address).then(
    (response) => response.ok,
    () => false
  )
const isGone = async (address: string): Promise<boolean> => {
  for (let looks = 0; looks < 600 && (await answers(address)); looks++)
    await new Promise((settle) => setTimeout(settle, 100))
  return !(await answers(address))
}

describe.skipIf(missing !== undefined)(`dowser opensearch${missing === undefined ? "" : `: ${missing}`}`, () => {
  it("starts a node, and a program that is killed leaves none behind", async () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-opensearch-"))
    linkProgram(folder)
    const launcher = spawn(
      "node",
      [join(root, "scripts", "bootstrap.mjs"), "opensearch", "--port", "0", "--folder", folder, "--json"],
      { cwd: root, stdio: ["ignore", "pipe", "inherit"] }
    )
    try {
      const { nodes } = await readyLine(launcher)
      const info = (await (await fetch(nodes)).json()) as { readonly version: { readonly number: string } }
      expect(info.version.number).toBe("2.19.1")
      if (process.getuid?.() === 0) expect(statSync(join(folder, "node-1", "data", "nodes")).uid).toBe(65_534)
      const program = Number(
        spawnSync("ps", ["-o", "pid=", "--ppid", String(launcher.pid)], { encoding: "utf8" }).stdout
      )
      expect(program).toBeGreaterThan(1)
      // Killed, so that the program cannot signal the node.
      launcher.kill("SIGKILL")
      process.kill(program, "SIGKILL")
      expect(await isGone(nodes)).toBe(true)
    } finally {
      launcher.kill("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
    }
  })
  it("refuses an unsupported number of nodes", () => {
    const run = spawnSync("node", [join(root, "scripts", "bootstrap.mjs"), "opensearch", "--nodes", "0"], {
      cwd: root,
      encoding: "utf8"
    })
    expect([run.status, run.stderr]).toEqual([1, expect.stringContaining("--nodes: 1 to 9")])
  })
})
