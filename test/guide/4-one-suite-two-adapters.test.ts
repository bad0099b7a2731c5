/**
 * How to test, part four of five: something with more than one implementation.
 *
 * What the program needs from outside is a port, and each implementation of it is an adapter. The behaviour is written
 * down once, as a suite that takes a way to create an adapter, and every adapter must pass it. A test that only one
 * adapter passes shows a bug in the other, or tests something that is not part of the port. The suites of our ports are
 * in `test/ports` (`counter.suite.ts` is a good one to read next) and in the package itself
 * (`@dowser/engine-sdk/testing`).
 *
 * The port here is `SearchEngine`, with one adapter in memory and one in a folder.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createEngine, createSearch, openEngine, type SearchEngine } from "@dowser/engine-sdk"

/** `within` creates an engine with its storage and removes the storage afterwards, even if the test fails. */
type Within = (body: (engine: SearchEngine) => Promise<void>) => Promise<void>

const engineSuite = (name: string, within: Within) =>
  describe(name, () => {
    it("finds a written document by the next search", () =>
      within(async (engine) => {
        const products = createSearch({ engine, fields: { title: "string" } })
        await products.add({ id: "1", title: "Trail running shoe" })
        expect((await products.search("runing")).hits.map(({ document }) => document.id)).toEqual(["1"])
        await products.delete("1")
        expect((await products.search("runing")).found).toBe(0)
      }))
    it("keeps namespaces apart, also where their collections have the same name", () =>
      within(async (engine) => {
        const [left, right] = ["left", "right"].map((namespace) =>
          createSearch({ engine, namespace, name: "products", fields: { title: "string" } })
        )
        await left!.add({ id: "1", title: "Shoe" })
        await right!.add({ id: "1", title: "Spray" })
        expect([(await left!.search("spray")).found, (await right!.search("shoe")).found]).toEqual([0, 0])
        await right!.delete("1")
        expect(await left!.count()).toBe(1)
      }))
    it("refuses a document that does not fit, and stores those beside it", () =>
      within(async (engine) => {
        const products = createSearch({ engine, fields: { title: "string", price: "float" } })
        const cheap = "cheap" as unknown as number
        await expect(
          products.add([
            { id: "1", title: "Shoe", price: 9 },
            { id: "2", title: "Spray", price: cheap }
          ])
        ).rejects.toMatchObject({ failure: { kind: "DocumentsRefused", refused: [{ id: "2" }] } })
        expect(await products.count()).toBe(1)
      }))
  })

engineSuite("in memory", async (body) => {
  const engine = createEngine()
  try {
    await body(engine)
  } finally {
    await engine.close()
  }
})
engineSuite("in a folder", async (body) => {
  const path = mkdtempSync(join(tmpdir(), "dowser-guide-"))
  try {
    const engine = await openEngine({ path })
    try {
      await body(engine)
    } finally {
      await engine.close()
    }
  } finally {
    rmSync(path, { recursive: true, force: true })
  }
})
