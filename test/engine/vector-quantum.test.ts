/** A search through a vector graph is fast enough for the thread of all tenants, and is not started twice. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openEngine } from "../../engine-sdk/src/mod.ts"
import { hasVectorLibrary } from "../../engine-sdk/src/index/vector-graph.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"
import { suiteVector } from "../../engine-sdk/src/testing/vector-suite.ts"
import { makeRandom } from "../../fixtures/random.ts"

const DIMENSIONS = 384
/** Enough documents that a graph is faster than comparing each. */
const DOCUMENTS = 6_000

it.skipIf(!hasVectorLibrary())("runs on the calling thread with a hundred neighbours of 384 dimensions", async () => {
  const path = await mkdtemp(join(tmpdir(), "quantum-"))
  const engine = await openEngine({ path, worker: true, approximateFrom: 1_000 })
  try {
    const random = makeRandom(3)
    const centres = Array.from({ length: 20 }, () => Array.from({ length: DIMENSIONS }, random.normal))
    const vectorOf = (i: number) => centres[i % 20]!.map((part) => part + 0.4 * random.normal())
    const field = suiteField("meaning", "float[]", { num_dim: DIMENSIONS, sort: false, store: false })
    await engine.createCollection("a", suiteSchema("c", [field]), 0)
    for (let from = 0; from < DOCUMENTS; from += 1_000)
      await engine.write(
        "a",
        "c",
        Array.from({ length: 1_000 }, (_, i) => putOf({ id: String(from + i), meaning: vectorOf(from + i) }))
      )
    await expect
      .poll(() => engine.usage("a", "c")?.vectors?.[0]?.approximate, { timeout: 120_000, interval: 100 })
      .toBe(DOCUMENTS)
    const plan = suitePlan("c", {
      vector: suiteVector("meaning", vectorOf(0), { k: 100 }),
      sort: [{ kind: "vector_distance", order: "asc" }]
    })
    await engine.search("a", [plan])
    const answers = engine.search("a", [plan])
    expect(answers).not.toBeInstanceOf(Promise)
    const [answer] = await answers
    expect(answer!.ok && answer!.value.found).toBe(100)
  } finally {
    await engine.close()
    await rm(path, { recursive: true, force: true })
  }
})
