/** A lost writer: searches go on, writes say so, and the engine comes back by itself with everything it had acknowledged. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { type LocalEngine, openEngine } from "../../engine-sdk/src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"
import { superviseEngine } from "../../src/runtime/supervised-engine.ts"

it.each([false, true])("comes back after its writer was lost (worker %s)", async (worker) => {
  const path = mkdtempSync(join(tmpdir(), "dowser-supervised-"))
  const opened: Array<LocalEngine> = []
  const lost: Array<string> = []
  const engine = await superviseEngine({
    open: async () => {
      const next = await openEngine({ path, worker })
      opened.push(next)
      return next
    },
    onLost: (message) => lost.push(message),
    checkEvery_ms: 20
  })
  const found = async () => {
    const [answer] = await engine.search("t", [suitePlan("c")])
    return answer.ok ? answer.value.found : answer.error.kind
  }
  try {
    await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string")]), 1)
    await engine.write("t", "c", [putOf({ id: "1", name: "kept" })])
    expect(await found()).toBe(1)
    opened[0].failed("simulated loss")
    expect((await engine.health()).ok).toBe(false)
    for (let waited = 0; waited < 5000 && opened.length < 2; waited += 10) await new Promise((settle) => setTimeout(settle, 10))
    for (let waited = 0; waited < 5000 && !(await engine.health()).ok; waited += 10) await new Promise((settle) => setTimeout(settle, 10))
    expect(lost).toEqual(["simulated loss"])
    expect(await found()).toBe(1)
    const written = await engine.write("t", "c", [putOf({ id: "2", name: "new" })])
    expect(written.ok && written.value[0].result.ok).toBe(true)
    expect(await found()).toBe(2)
  } finally {
    await engine.close()
    rmSync(path, { recursive: true, force: true })
  }
})
