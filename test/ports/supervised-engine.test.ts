/**
 * A lost writer: searches continue, writes are refused with the reason, and the engine comes back by itself with
 * everything that it had acknowledged.
 */
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
    for (let waited = 0; waited < 5000 && opened.length < 2; waited += 10)
      await new Promise((settle) => setTimeout(settle, 10))
    for (let waited = 0; waited < 5000 && !(await engine.health()).ok; waited += 10)
      await new Promise((settle) => setTimeout(settle, 10))
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

it.each([false, true])(
  "finds every write that it acknowledges, also one in progress when its living writer was given up (worker %s)",
  async (worker) => {
    const path = mkdtempSync(join(tmpdir(), "dowser-supervised-"))
    const opened: Array<LocalEngine> = []
    let stand = () => {}
    const second = new Promise<void>((settle) => {
      stand = settle
    })
    const engine = await superviseEngine({
      open: async () => {
        const next = await openEngine({ path, worker })
        opened.push(next)
        if (opened.length === 2) {
          // Reads the folder as soon as possible: it will not contain what an older writer stores from here on.
          await next.search("t", [suitePlan("c")])
          stand()
        }
        return next
      },
      onLost: () => {},
      checkEvery_ms: 1
    })
    try {
      await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string")]), 1)
      await engine.write("t", "c", [putOf({ id: "first", name: "first" })])
      const acknowledged: Array<string> = ["first"]
      const writes = Array.from({ length: 20 }, async (_, part) => {
        const documents = Array.from({ length: 500 }, (_document, i) =>
          putOf({ id: `${part}-${i}`, name: `part ${part}` })
        )
        const written = await engine.write("t", "c", documents)
        if (written.ok) acknowledged.push(...written.value.map(({ id }) => String(id)))
        else expect(written.error.kind).toBe("Unavailable")
      })
      // The writes are under way, and far from done.
      opened[0].failed("given up alive")
      await second
      await Promise.all(writes)
      while (!(await engine.health()).ok) await new Promise((settle) => setTimeout(settle, 1))
      const got = await engine.get("t", "c", acknowledged)
      expect(got.ok && got.value.flatMap((document, i) => (document === undefined ? [acknowledged[i]] : []))).toEqual(
        []
      )
      const after = await engine.write("t", "c", [putOf({ id: "after", name: "after" })])
      expect(after.ok).toBe(true)
      const [found] = await engine.search("t", [suitePlan("c", { filter: { kind: "ids", ids: ["after", "first"] } })])
      expect(found.ok && found.value.found).toBe(2)
    } finally {
      await engine.close()
      rmSync(path, { recursive: true, force: true })
    }
  }
)
it("sends a new engine no requests before it knows the dictionaries", async () => {
  const path = mkdtempSync(join(tmpdir(), "dowser-supervised-"))
  const opened: Array<LocalEngine> = []
  const calls: Array<string> = []
  const engine = await superviseEngine({
    open: async () => {
      const next = await openEngine({ path, worker: true })
      opened.push(next)
      const number = opened.length
      return new Proxy(next, {
        get: (real, name) => {
          const value = Reflect.get(real, name, real) as unknown
          if (typeof value !== "function") return value
          return (...given: Array<unknown>) => {
            if (number === 2 && (name === "setDictionary" || name === "search")) calls.push(name)
            return (value as (...all: Array<unknown>) => unknown).apply(real, given)
          }
        }
      })
    },
    onLost: () => {},
    checkEvery_ms: 1
  })
  try {
    await engine.createCollection("t", suiteSchema("c", [suiteField("name", "string")]), 1)
    await engine.setDictionary?.("t", "stems", new Map([["kettles", "kettle"]]))
    opened[0].failed("simulated loss")
    while (calls.length < 3) {
      await engine.search("t", [suitePlan("c")])
      await new Promise((settle) => setTimeout(settle, 1))
    }
    expect(calls.slice(0, 3)).toEqual(["setDictionary", "search", "search"])
  } finally {
    await engine.close()
    rmSync(path, { recursive: true, force: true })
  }
})
