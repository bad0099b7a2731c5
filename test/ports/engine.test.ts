/**
 * The engine suite on every engine this repository builds: in memory, durable, durable with a writer in a worker, and
 * with workers that search.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createEngine, openEngine } from "../../engine-sdk/src/mod.ts"
import { connectEngine, shareEngine } from "../../engine-sdk/src/remote/mod.ts"
import {
  engineSuite,
  suiteField,
  suiteSchema,
  type EngineUnderTest
} from "../../engine-sdk/src/testing/engine-suite.ts"
import { vectorSuite } from "../../engine-sdk/src/testing/vector-suite.ts"

const framework = {
  describe,
  it: (name: string, body: () => Promise<void>): void => {
    it(name, body)
  },
  expect
}
const durable = (worker: boolean) => async (): Promise<EngineUnderTest> => {
  const path = await mkdtemp(join(tmpdir(), "engine-suite-"))
  const engine = await openEngine({ path, worker })
  return {
    engine,
    dispose: async () => {
      await engine.close()
      await rm(path, { recursive: true, force: true })
    }
  }
}

engineSuite(framework, "memory", async () => {
  const engine = createEngine()
  return { engine, dispose: () => engine.close() }
})
vectorSuite(framework, "memory", async () => {
  const engine = createEngine()
  return { engine, dispose: () => engine.close() }
})
vectorSuite(framework, "durable", durable(false))
engineSuite(framework, "durable", durable(false))
engineSuite(framework, "durable with worker", durable(true))
engineSuite(framework, "durable with search workers", async () => {
  const path = await mkdtemp(join(tmpdir(), "engine-suite-"))
  const engine = await openEngine({
    path,
    worker: true,
    searchWorkers: { count: 2, documents_min: 0, cost_min_ms: 0, here_share: 0 }
  })
  // The workers start with the first collection; until they are ready, searches run on the calling thread.
  await engine.createCollection("before", suiteSchema("c", [suiteField("title", "string")]), 0)
  await expect.poll(() => engine.searchWorkers().ready, { timeout: 60_000 }).toBe(2)
  await engine.dropCollection("before", "c")
  return {
    engine,
    dispose: async () => {
      await engine.close()
      await rm(path, { recursive: true, force: true })
    }
  }
})
engineSuite(framework, "of another process", async () => {
  const owned = createEngine()
  const shared = await shareEngine(owned, { host: "127.0.0.1", port: 0, token: "t" })
  const engine = await connectEngine({ host: "127.0.0.1", port: shared.port, token: "t" })
  return {
    engine,
    dispose: async () => {
      await engine.close()
      await shared.close()
      await owned.close()
    }
  }
})
