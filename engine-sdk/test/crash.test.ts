/** kill -9 at random moments: every acknowledged write must be there after reopening, found by search, and nothing twice. */
import { spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import type { Filter } from "../src/plan.ts"
import { suitePlan } from "../src/testing/engine-suite.ts"

const project = fileURLToPath(new URL("../..", import.meta.url))
/** Runs the child until `life_ms` after its first acknowledged write; answers the last acknowledged number. */
const runAndKill = (path: string, worker: string, round: number, life_ms: number): Promise<number> => new Promise((resolve, reject) => {
  const isDeno = "Deno" in globalThis
  const child = spawn(process.execPath, [...(isDeno ? ["run", "-A"] : []), join("engine-sdk", "test", "crash-child.ts"), path, worker, String(round)], { cwd: project, stdio: ["ignore", "pipe", "inherit"] })
  let out = ""
  child.stdout.on("data", (bytes: Uint8Array) => {
    if (!out.includes("\n") && String(bytes).includes("\n")) setTimeout(() => child.kill("SIGKILL"), life_ms)
    out += String(bytes)
  })
  child.on("error", reject)
  child.on("exit", () => { const lines = out.slice(0, out.lastIndexOf("\n")).split("\n").filter((line) => /^\d+$/.test(line)); resolve(lines.length === 0 ? -1 : Number(lines[lines.length - 1])) })
})

describe.each(["same thread", "worker"])("crash, writer in the %s", (worker) => {
  it("loses no acknowledged write", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-crash-"))
    try {
      for (let round = 0; round < 4; round++) {
        const last = await runAndKill(path, worker, round, [60, 400, 1_700, 3_900][round])
        const engine = await openEngine({ path, worker: worker === "worker" })
        const byName: Filter = { kind: "string", field: "name", values: [{ tokens: [`namer${round}x${last}`], match: "equals", prefix: false }], prefixCandidates: 4 }
        // The write under way may have deleted the fifth from the end.
        const wanted = Array.from({ length: Math.min(4, last + 1) }, (_id, i) => `r${round}-${last - i}`)
        const found = await engine.get("t", "c", wanted)
        expect(found.ok ? found.value.map((document) => document?.id) : found.error).toEqual(wanted)
        const [hits] = await engine.search("t", [suitePlan("c", { filter: byName })])
        expect(hits.ok ? hits.value.found : hits.error).toBe(last < 0 ? 0 : 1)
        const latest = await engine.get("t", "c", [`r${round}-last`, `r${round}-${last - 6}`])
        if (last >= 0) expect(latest.ok ? Number(latest.value[0]?.n) >= last : latest.error, `last ${last}`).toBe(true)
        if (last > 12) expect(latest.ok ? latest.value[1] : latest.error).toBe(undefined)
        const page = await engine.scan("t", { collection: "c", filter: undefined, limit: 100_000 })
        const ids = page.ok ? page.value.ids : []
        expect(new Set(ids).size).toBe(ids.length)
        expect(engine.describeCollection("t", "c")?.num_documents).toBe(ids.length)
        await engine.close()
      }
    } finally { await rm(path, { recursive: true, force: true }) }
  }, 60_000)
})
