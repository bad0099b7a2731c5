/**
 * The engine suite on every engine this repository builds: in memory, durable, and durable with a writer in a worker.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createEngine, openEngine } from "../../engine-sdk/src/mod.ts"
import { engineSuite, type EngineUnderTest } from "../../engine-sdk/src/testing/engine-suite.ts"

const framework = {
  describe,
  it: (name: string, body: () => Promise<void>): void => {
    it(name, body, 30_000)
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
engineSuite(framework, "durable", durable(false))
engineSuite(framework, "durable with worker", durable(true))
