/** A fiber that lives as long as the program retains nothing from its earlier steps. */
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const root = new URL("../..", import.meta.url).pathname
const isDeno = (globalThis as { readonly Deno?: unknown }).Deno !== undefined
/** With one of Node's asynchronous contexts, each step retains 460 bytes in Deno 2.9. */
const BYTES_A_STEP_MAX = 40

describe("fibers", () => {
  it("retain nothing from the steps that they waited for", () => {
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [
        ...(isDeno ? ["run", "-A", "--quiet", "--v8-flags=--expose-gc"] : ["--expose-gc"]),
        join(root, "test/support/living-fibers.ts")
      ],
      { encoding: "utf8", cwd: root }
    )
    expect(status, stderr).toBe(0)
    const kept = JSON.parse(stdout) as ReadonlyArray<number>
    expect(kept).toHaveLength(2)
    for (const bytes of kept) expect(bytes).toBeLessThan(BYTES_A_STEP_MAX)
  })
  it("are plain in every entry of the program: the import comes before all others", () => {
    const entries = ["src", "streams", "log"]
      .flatMap((folder) =>
        readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name))
      )
      .filter((name) => name.endsWith(".ts"))
      .map((name) => [name, readFileSync(join(root, name), "utf8")] as const)
      .filter(([name, text]) => name === "src/main.ts" || (/\bparentPort\b/.test(text) && /from "effect/.test(text)))
    expect(entries.map(([name]) => name).sort()).toEqual(["src/main.ts", "streams/host/worker.ts"])
    for (const [name, text] of entries) expect(/^import .*$/m.exec(text)?.[0], name).toMatch(/process\/plain-fibers"$/)
  })
})
