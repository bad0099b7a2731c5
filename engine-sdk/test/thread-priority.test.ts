/** Threads whose work quick searches must not wait for run at a lower priority. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { getPriority, tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { openEngine } from "../src/mod.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"

const TASKS = "/proc/self/task"
const NICE_FIELD = 16
/** Five below the process's own, at most the lowest there is. */
const lowered = Math.min(19, getPriority() + 5)
/** Worker threads of this process at this niceness; the runtime's own threads have other names. */
const workersAt = (niceness: number): ReadonlyArray<string> =>
  readdirSync(TASKS).filter((thread) => {
    let stat = ""
    try {
      stat = readFileSync(join(TASKS, thread, "stat"), "utf8")
    } catch {
      return false // It ended while the list was read.
    }
    const [, name, rest] = /^\d+ \((.*)\) (.*)$/s.exec(stat)!
    return name!.startsWith("worker-") && Number(rest!.split(" ")[NICE_FIELD]) === niceness
  })

it("the writer and the two threads of long searches yield to the others", async (context) => {
  if (!existsSync(TASKS)) return context.skip("threads have no priority of their own here")
  const folder = mkdtempSync(join(tmpdir(), "dowser-test-"))
  // Threads of an engine that another test closed may still be ending.
  const before = new Set(workersAt(lowered))
  const added = () => workersAt(lowered).filter((thread) => !before.has(thread)).length
  const engine = await openEngine({
    path: join(folder, "engine"),
    worker: true,
    searchWorkers: { count: 1, documents_min: 0, cost_min_ms: 0 }
  })
  try {
    expect(added()).toBe(1)
    await engine.createCollection("a", suiteSchema("c", [suiteField("title", "string")]), 0)
    const documents = Array.from({ length: 1_000 }, (_, i) => putOf({ id: `d${i}`, title: `walnut table ${i}` }))
    await engine.write("a", "c", documents)
    await expect
      .poll(
        async () => {
          await engine.search("a", [suitePlan("c")])
          return [added(), engine.searchWorkers().ready]
        },
        { timeout: 20_000 }
      )
      .toEqual([3, 1])
  } finally {
    await engine.close()
    rmSync(folder, { recursive: true })
  }
})
