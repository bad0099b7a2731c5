/**
 * Indexes of the facet values of collections: read once for concurrent requests, again when documents changed but not
 * too often, bounded, and optional for a search. The test sets the time; the engine is real.
 */
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import type { Awaitable, CollectionInfo, SearchEngine } from "../../../engine-sdk/src/mod.ts"
import { createEngine } from "../../../engine-sdk/src/mod.ts"
import { createCollection, memoryResources } from "../../../engine-sdk/src/operations/mod.ts"
import type { EntityIndex } from "../../../engine-sdk/src/understanding/mod.ts"
import { delegatingEngine } from "../../../src/ports/engine/delegating-engine.ts"
import { EntityIndexes, facetFieldsOf } from "../../../src/understanding/entity-indexes.ts"

let engine: SearchEngine
let now_ms = 0,
  changes = 0,
  readings = 0,
  isDown = false
const failures: Array<unknown> = []
let indexes: EntityIndexes
const contextOf = (namespace: string) => ({ engine, resources: memoryResources(), namespace, now_s: 0 })

beforeEach(() => {
  const real = createEngine()
  engine = {
    ...delegatingEngine(() => real),
    search: (namespace, plans, budget) => {
      readings++
      return isDown
        ? plans.map(() => ({ ok: false as const, error: { kind: "Unavailable" as const, message: "away" } }))
        : real.search(namespace, plans, budget)
    }
  }
  now_ms = 1_000_000
  changes = readings = 0
  isDown = false
  failures.length = 0
  indexes = new EntityIndexes({
    contextOf,
    changesOf: () => changes,
    now_ms: () => now_ms,
    inSlices: async (steps) => {
      for (;;) {
        const step = steps.next()
        if (step.done === true) return step.value
      }
    },
    failed: (why) => failures.push(why)
  })
})
afterEach(() => engine.close())

const collectionOf = async (name: string, values: ReadonlyArray<string>, namespace = "t"): Promise<CollectionInfo> => {
  const fields = [
    { name: "title", type: "string" },
    { name: "color", type: "string", facet: true }
  ]
  await createCollection(contextOf(namespace), JSON.stringify({ name, fields }))
  await write(name, values, namespace)
  return engine.describeCollection(namespace, name)!
}
const write = (name: string, values: ReadonlyArray<string>, namespace = "t") =>
  engine.write(
    namespace,
    name,
    values.map((color) => ({
      kind: "put",
      action: "upsert",
      dirtyValues: undefined,
      document: { id: color, title: color, color }
    }))
  )
const knows = (index: EntityIndex | undefined, word: string) => (index?.candidates([word]).length ?? 0) > 0
const settled = async (run: () => Awaitable<EntityIndex | undefined>, word: string) => {
  for (let turn = 0; turn < 200; turn++) {
    if (knows(await run(), word)) return true
    await new Promise((settle) => setTimeout(settle, 1))
  }
  return false
}

describe("an index of values", () => {
  it("is read once for concurrent requests, then comes from memory", async () => {
    const collection = await collectionOf("c", ["red", "blue"])
    const both = [indexes.of("t", collection), indexes.of("t", collection)]
    expect(both.map((each) => each instanceof Promise)).toEqual([true, true])
    const [first, second] = await Promise.all(both)
    expect([first === second, readings, knows(first, "red"), knows(first, "green")]).toEqual([true, 1, true, false])
    expect(indexes.of("t", collection)).toBe(first)
    expect(indexes.bytes).toBeGreaterThan(0)
  })
  it("belongs to one tenant", async () => {
    const ours = await indexes.of("t", await collectionOf("c", ["red"]))
    const theirs = await indexes.of("u", await collectionOf("c", ["blue"], "u"))
    expect([knows(ours, "blue"), knows(theirs, "red"), knows(theirs, "blue")]).toEqual([false, false, true])
  })
  it("is read again a second after documents changed, while searches continue with the old one", async () => {
    const collection = await collectionOf("c", ["red"])
    const old = await indexes.of("t", collection)
    await write("c", ["green"])
    now_ms += 3_600_000
    // An hour later without a reported change: nothing is read.
    expect([indexes.of("t", collection) === old, readings]).toEqual([true, 1])
    changes++
    now_ms -= 3_600_000 - 999
    expect([indexes.of("t", collection) === old, readings]).toEqual([true, 1])
    now_ms += 60_000
    expect(indexes.of("t", collection)).toBe(old)
    expect(await settled(() => indexes.of("t", collection), "green")).toBe(true)
    expect(readings).toBe(2)
  })
  it("is a new one if the collection is a new one of the same name", async () => {
    const collection = await collectionOf("c", ["red"])
    await indexes.of("t", collection)
    await write("c", ["green"])
    const index = await indexes.of("t", { ...collection, created_at: collection.created_at + 1 })
    expect([knows(index, "green"), readings]).toEqual([true, 2])
  })
  it("is missing while the engine is unavailable, which is reported and not retried at once", async () => {
    const collection = await collectionOf("c", ["red"])
    isDown = true
    expect(await indexes.of("t", collection)).toBeUndefined()
    expect(failures).toHaveLength(1)
    isDown = false
    now_ms += 9_999
    expect([await indexes.of("t", collection), readings]).toEqual([undefined, 1])
    now_ms += 1
    expect(knows(await indexes.of("t", collection), "red")).toBe(true)
  })
  it("is not built for a collection without documents or facets", async () => {
    const empty = await collectionOf("c", [])
    expect(indexes.of("t", empty)).toBeUndefined()
    expect(facetFieldsOf(empty)).toEqual(["color"])
    expect(readings).toBe(0)
  })
  it("uses the first twelve facet fields of text", () => {
    const field = (name: string, more: object = {}) => ({ name, type: "string", facet: true, index: true, ...more })
    const fields = [
      field("price", { type: "float" }),
      field("hidden", { index: false }),
      field("plain", { facet: false }),
      field("any_.*"),
      ...Array.from({ length: 20 }, (_, i) => field(`f${i}`, i % 2 === 0 ? {} : { type: "string[]" }))
    ]
    const schema = { name: "c", fields } as unknown as CollectionInfo["schema"]
    expect(facetFieldsOf({ schema, num_documents: 1, created_at: 1 })).toEqual(
      Array.from({ length: 12 }, (_, i) => `f${i}`)
    )
  })
})
