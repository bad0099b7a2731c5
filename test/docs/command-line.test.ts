/** What the README says of `npm start`: each flag is also a variable, which has the same effect. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const root = new URL("../..", import.meta.url).pathname
const read = (name: string): string => readFileSync(join(root, "src", "cli", "commands", name), "utf8")
const shared = read("flags.ts")
/** Everything that `start` accepts: its own flags and the shared ones. */
const declared = [
  ...(shared.slice(0, shared.indexOf("const target")) + read("running.ts")).matchAll(
    /Flag\.(?:String|Int|Boolean|Literals|Finite)\(\s*"([a-z-]+)"(?:(?!Flag\.(?:String|Int|Boolean|Literals|Finite)\().|\n)*/g
  )
]

describe("flags of start", () => {
  it("are variables too, with the flag's name", () => {
    expect(declared.length).toBeGreaterThan(20)
    const wanted = new Map([
      ["kafka-brokers", "KAFKA_BROKERS"],
      ["database-url", "DATABASE_URL"]
    ])
    const without = declared
      .map(
        ([line, name]) =>
          [name!, wanted.get(name!) ?? `DOWSER_${name!.toUpperCase().replaceAll("-", "_")}`, line] as const
      )
      .filter(([, variable, line]) => !line.includes(`"${variable}")`))
    expect(without.map(([name, variable]) => `--${name}: ${variable}`)).toEqual([])
  })
  it("win over variables, and a variable's wrong value is refused by name", () => {
    const folder = mkdtempSync(join(tmpdir(), "dowser-flags-"))
    try {
      const run = (args: ReadonlyArray<string>, variables: Readonly<Record<string, string>>) =>
        spawnSync(
          "node",
          [join(root, "scripts", "bootstrap.mjs"), "start", "--data-dir", join(folder, "data"), ...args],
          { cwd: root, encoding: "utf8", env: { ...process.env, ...variables }, timeout: 60_000 }
        )
      const distributed = run([], { DOWSER_MODE: "distributed", DOWSER_PORT: "0", KAFKA_BROKERS: "", DATABASE_URL: "" })
      expect([distributed.status, distributed.stderr]).toEqual([
        1,
        expect.stringContaining("DATABASE_URL must name a Postgres database")
      ])
      const wrong = run([], { DOWSER_MODE: "both" })
      expect(wrong.status).not.toBe(0)
      expect(`${wrong.stderr}${wrong.stdout}`).toContain("DOWSER_MODE")
      const engine = run(["--mode", "embedded"], { DOWSER_MODE: "distributed", DOWSER_ENGINE: "none" })
      expect([engine.status, engine.stderr]).toEqual([
        1,
        expect.stringContaining("--engine none is for --mode distributed")
      ])
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})
