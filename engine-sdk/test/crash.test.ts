/**
 * kill -9 at random moments: after reopening, every acknowledged write is present and found by search, and nothing is
 * present twice.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import type { Filter } from "../src/filter.ts"
import { suitePlan } from "../src/testing/engine-suite.ts"
import { linesUntilKilled } from "./killed.ts"

/** Runs the child and kills it; returns the last acknowledged number. */
const runAndKill = async (path: string, worker: string, round: number, life_ms: number): Promise<number> => {
  const lines = (await linesUntilKilled("crash-child.ts", path, worker, round, life_ms)).filter((line) =>
    /^\d+$/.test(line)
  )
  return lines.length === 0 ? -1 : Number(lines[lines.length - 1])
}

describe.each(["same thread", "worker"])("crash, writer in the %s", (worker) => {
  it("loses no acknowledged write", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-crash-"))
    try {
      for (let round = 0; round < 4; round++) {
        const last = await runAndKill(path, worker, round, [60, 400, 1_700, 3_900][round])
        const engine = await openEngine({ path, worker: worker === "worker" })
        const byName: Filter = {
          kind: "string",
          field: "name",
          values: [{ tokens: [`namer${round}x${last}`], match: "equals", prefix: false }],
          prefixCandidates: 4
        }
        // The write in progress may have deleted the fifth-last document.
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
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
  it("in the middle of an import loses no acknowledged single write and leaves every document once", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-crash-"))
    try {
      let imports = 0
      for (let round = 0; round < 4; round++) {
        const lines = await linesUntilKilled(
          "crash-import-child.ts",
          path,
          worker,
          round,
          [90, 500, 1_300, 2_400][round]
        )
        const last = lines.reduce((n, line) => (line.startsWith("single ") ? Number(line.slice(7)) : n), -1)
        imports += lines.filter((line) => line.startsWith("import ")).length
        const engine = await openEngine({ path, worker: worker === "worker" })
        const got = await engine.get(
          "t",
          "c",
          Array.from({ length: Math.min(50, last + 1) }, (_id, i) => `s${round}-${(last - i) % 50}`)
        )
        if (!got.ok) throw new Error(got.error.message)
        // The write in progress may have replaced the oldest of them.
        got.value.forEach((document, i) =>
          expect(Number(document?.n), `single ${last - i} of ${last}`).toBeGreaterThanOrEqual(last - i)
        )
        const page = await engine.scan("t", { collection: "c", filter: undefined, limit: 100_000 })
        const ids = page.ok ? page.value.ids : []
        expect(new Set(ids).size).toBe(ids.length)
        expect(engine.describeCollection("t", "c")?.num_documents).toBe(ids.length)
        if (imports > 0) expect(ids.filter((id) => id.startsWith("m")).length).toBe(3_000)
        // Index and documents have the same version: each stored document is found by its content.
        const sample = page.ok ? page.value.documents.filter((_document, i) => i % 97 === 0) : []
        for (const document of sample) {
          const byName: Filter = {
            kind: "string",
            field: "name",
            values: [{ tokens: [String(document.name)], match: "equals", prefix: false }],
            prefixCandidates: 4
          }
          const [hits] = await engine.search("t", [suitePlan("c", { filter: byName, limit: 3_100 })])
          expect(hits.ok && hits.value.hits?.some((hit) => hit.document.id === document.id), String(document.id)).toBe(
            true
          )
        }
        await engine.close()
      }
      expect(imports).toBeGreaterThan(0)
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
})
