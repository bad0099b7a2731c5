/** Collections opened ahead of searches after a start: the largest ones, as far as memory allows. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { openEngine } from "@dowser/engine-sdk/memory"
import { putOf, suiteField, suiteSchema } from "../../engine-sdk/src/testing/engine-suite.ts"
import { warmAll, worthOpening } from "../../src/runtime/warm-start.ts"

const folder = mkdtempSync(join(tmpdir(), "dowser-warm-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const SIZES = { huge: 2_000, large: 1_200, small: 20 } as const

describe("collections worth opening", () => {
  it("are the 16 largest of 1,000 documents and more, of all organizations", () => {
    const named = (name: string, documents: number) => ({ namespace: "org", name, documents })
    const many = Array.from({ length: 40 }, (_one, i) => named(`c${i}`, 990 + i))
    const worth = worthOpening([named("largest", 5_000), ...many])
    expect(worth.map(({ documents }) => documents)).toEqual([
      5_000,
      ...Array.from({ length: 15 }, (_one, i) => 1_029 - i)
    ])
    expect(worthOpening([named("small", 999)])).toEqual([])
  })
})

describe("after a start", () => {
  it("the largest are open, until they take half of the memory", async () => {
    const path = join(folder, "engine")
    const engine = await openEngine({ path })
    for (const [name, documents] of Object.entries(SIZES)) {
      await engine.createCollection(name, suiteSchema("c", [suiteField("title", "string")]), 0)
      const all = Array.from({ length: documents }, (_one, i) => putOf({ id: `d${i}`, title: `walnut table ${i}` }))
      expect((await engine.write(name, "c", all)).ok).toBe(true)
    }
    await engine.close()
    for (const [budget, open] of [
      [1, ["huge"]],
      [1_000_000_000, ["huge", "large"]]
    ] as const) {
      const again = await openEngine({ path })
      await warmAll(again, budget)
      expect(Object.keys(SIZES).filter((name) => again.usage(name, "c")!.open)).toEqual(open)
      await again.close()
    }
  })
})
