/**
 * A disk that loses unsynced data, under the durable engine: after a power failure at any moment, every acknowledged
 * document is present in its acknowledged version or a later one, found by search, and the engine opens without help.
 */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { seeded } from "../../test/support/engine-lab.ts"
import { cutsOf, imageAt, simulatedDiskMissing, traceDisk } from "../../test/support/simulated-disk.ts"
import { openEngine } from "../src/mod.ts"

const writes = 250
const cuts = 40

it("loses no acknowledged document in a power failure", async (context) => {
  const missing = simulatedDiskMissing()
  if (missing !== undefined) return context.skip(missing)
  const work = await mkdtemp(join(tmpdir(), "dowser-power-"))
  try {
    const trace = traceDisk(work, fileURLToPath(new URL("../../test/support/engine-appender.ts", import.meta.url)), [
      join(work, "engine"),
      join(work, "acknowledged"),
      String(writes)
    ])
    expect(trace.filter(({ kind }) => kind === "A").length).toBe(writes)
    expect(trace.some(({ kind }) => kind === "E")).toBe(true)
    const random = seeded(11)
    for (const [round, cut] of cutsOf(trace, cuts, random).entries()) {
      const { acknowledged, image } = imageAt(trace, cut, random)
      const after = join(work, `after-${round}`)
      await mkdir(after)
      await writeFile(join(after, "documents.mdb"), image)
      const engine = await openEngine({ path: after })
      const newest = new Map<string, number>()
      for (const line of acknowledged) {
        const [ids, n] = line.split(" ")
        for (const id of ids.split(",")) newest.set(id, Math.max(newest.get(id) ?? -1, Number(n)))
      }
      const got = await engine.get("t", "c", [...newest.keys()])
      if (!got.ok) throw new Error(got.error.message)
      const lost = [...newest].filter(([, n], i) => Number(got.value[i]?.n ?? -1) < n).map(([id]) => id)
      expect(lost, `cut ${cut}`).toEqual([])
      // The index is rebuilt from what the disk kept: as many documents are found as are stored.
      const page = await engine.scan("t", { collection: "c", filter: undefined, limit: 10_000 })
      expect(page.ok && page.value.ids.length).toBe(engine.describeCollection("t", "c")?.num_documents)
      await engine.close()
      await rm(after, { recursive: true, force: true })
    }
  } finally {
    await rm(work, { recursive: true, force: true })
  }
})
