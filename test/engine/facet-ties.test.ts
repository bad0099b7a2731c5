/**
 * Which of several equally frequent values are kept by `max_facet_values`: every answer is compared with a model that
 * implements the rule as plainly as possible (`facet-cut.ts`), over batches, sparse fields, updates, deletions,
 * reopening and two tenants.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createEngine, openEngine } from "../../engine-sdk/src/memory/mod.ts"
import { memoryResources } from "../../engine-sdk/src/operations/mod.ts"
import { wyhash } from "../../engine-sdk/src/compat/wyhash.ts"
import { BATCH_DOCS, batchOrder } from "../../engine-sdk/src/compat/batch-order.ts"
import { bitsOfValue, cutByCount } from "../../engine-sdk/src/compat/facet-cut.ts"
import { randomOf } from "../../engine-sdk/test/random.ts"
import { routerOver, type WireCall } from "../support/operation-router.ts"

/**
 * A chained hash table as a plain list: a new entry goes to the front of the list, or in front of the first entry of
 * its bucket; growing inserts all entries again.
 */
const tableOrder = (numbers: ReadonlyArray<number>): number[] => {
  let list: number[] = [],
    size = 0
  const sizes = [13, 29, 59, 127, 257, 541, 1_109]
  const insert = (number: number): void => {
    const at = list.findIndex((other) => other % size === number % size)
    list.splice(Math.max(0, at), 0, number)
  }
  numbers.forEach((number, i) => {
    if (i === size) {
      size = sizes.shift()!
      const old = list
      list = []
      old.forEach(insert)
    }
    insert(number)
  })
  return list
}

describe("the order within a batch", () => {
  it("of a full table of consecutive numbers is known", () => {
    const one = (n: number) => [...batchOrder(Array.from({ length: n }, (_, i) => i))]
    expect(one(3)).toEqual([2, 1, 0])
    expect(one(15)).toEqual([14, 13, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect(one(31).slice(0, 4)).toEqual([30, 29, 12, 11])
  })
  it("is that of the table, with gaps and up to a full batch", () => {
    const { next } = randomOf(7)
    for (const share of [0.02, 0.1, 0.4, 0.7, 1])
      for (const first of [0, 3_000, 4_294_000]) {
        const numbers = Array.from({ length: BATCH_DOCS }, (_, i) => first + i).filter(() => next() < share)
        expect([...batchOrder(numbers)].map((i) => numbers[i])).toEqual(tableOrder(numbers))
      }
    expect([...batchOrder([])]).toEqual([])
  })
})
it.each([
  ["", "0x90af17ceccc770f1"],
  ["a", "0x30a7e80bee0d1664"],
  ["15.13", "0x40de111aa5948c82"],
  ["Insignia™", "0xdbe5895ee3dc5ceb"],
  ["Verizon Wireless Prepaid", "0x4337875a0c1ff11b"],
  ["a value of a facet that is between thirty-two and sixty-four bytes", "0x9db123b13293dd4a"],
  ["x".repeat(100), "0x543ff46daca8e4ee"]
])("hash of %j", (text, expected) => {
  expect(wyhash(new TextEncoder().encode(text as string))).toBe(BigInt(expected as string))
})
it("the bits of numbers put negative ones first", () => {
  expect(["-2", "-1", "0", "7"].sort((a, b) => bitsOfValue("int32", b) - bitsOfValue("int32", a))).toEqual([
    "-1",
    "-2",
    "7",
    "0"
  ])
  expect(["-2.5", "-1", "0.25", "7"].sort((a, b) => bitsOfValue("float", b) - bitsOfValue("float", a))).toEqual([
    "-2.5",
    "-1",
    "7",
    "0.25"
  ])
})
it("compares values only when equal counts are cut off", () => {
  const items = [
    ["a", 3],
    ["b", 1],
    ["c", 2],
    ["d", 2]
  ] as Array<[string, number]>
  const cut = (most: number) =>
    cutByCount(
      [...items],
      most,
      ([, count]) => count,
      (tied, wanted): Array<[string, number]> => {
        expect([tied.map(([name]) => name).sort(), wanted]).toEqual([["c", "d"], 1])
        return [["chosen", 2]]
      }
    ).map(([name]) => name)
  expect(cut(0)).toEqual([])
  expect(cut(1)).toEqual(["a"])
  expect(cut(2)).toEqual(["a", "chosen"])
  expect(cut(3).sort()).toEqual(["a", "c", "d"])
  expect(cut(9).sort()).toEqual(["a", "b", "c", "d"])
})

interface Doc {
  readonly id: string
  readonly maker?: string
  readonly tags?: ReadonlyArray<string>
  readonly part: number
  readonly level: number
}
/** Live documents by insertion number. */
type Model = Map<number, Doc>
const SCHEMA = {
  name: "goods",
  fields: [
    { name: "maker", type: "string", facet: true, optional: true },
    { name: "tags", type: "string[]", facet: true, optional: true },
    { name: "part", type: "int32" },
    { name: "level", type: "int32", facet: true }
  ]
}
const valuesOf = (doc: Doc, field: "maker" | "tags"): ReadonlyArray<string> =>
  field === "tags" ? (doc.tags ?? []) : doc.maker === undefined ? [] : [doc.maker]

const agesIn = (model: Model, field: "maker" | "tags"): { born: Map<string, number>; changed: Map<string, number> } => {
  const born = new Map<string, number>(),
    changed = new Map<string, number>()
  let clock = 0
  const numbers = [...model.keys()]
    .filter((number) => valuesOf(model.get(number)!, field).length > 0)
    .sort((a, b) => a - b)
  for (let batch = 0; numbers.some((number) => number >= batch * BATCH_DOCS); batch++) {
    const met = new Set<string>()
    for (const number of tableOrder(numbers.filter((one) => Math.floor(one / BATCH_DOCS) === batch)))
      for (const value of valuesOf(model.get(number)!, field)) {
        if (met.has(value)) continue
        met.add(value)
        clock++
        if (!born.has(value)) born.set(value, clock)
        changed.set(value, clock)
      }
  }
  return { born, changed }
}
const countsIn = (docs: Iterable<Doc>, field: "maker" | "tags"): Map<string, number> => {
  const counts = new Map<string, number>()
  for (const doc of docs)
    for (const value of new Set(valuesOf(doc, field))) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}
const hashOf = (text: string): bigint => BigInt.asIntN(64, wyhash(new TextEncoder().encode(text)))
/** The values shown, as sorted `value=count`; an undefined `part` matches all documents. */
const expected = (
  model: Model,
  field: "maker" | "tags",
  most: number,
  part: number | undefined,
  strategy: "exhaustive" | "top_values"
): string[] => {
  const { born, changed } = agesIn(model, field)
  const counts = countsIn(
    [...model.values()].filter((doc) => part === undefined || doc.part < part),
    field
  )
  let values = [...counts.keys()]
  if (strategy === "exhaustive") values.sort((a, b) => counts.get(b)! - counts.get(a)! || born.get(b)! - born.get(a)!)
  else {
    const totals = countsIn(model.values(), field)
    values.sort((a, b) => totals.get(b)! - totals.get(a)! || changed.get(a)! - changed.get(b)!)
    values = values
      .slice(0, part === undefined ? most : most * 2)
      .sort((a, b) => counts.get(b)! - counts.get(a)! || (hashOf(a) < hashOf(b) ? 1 : -1))
  }
  return values
    .slice(0, most)
    .map((value) => `${value}=${counts.get(value)}`)
    .sort()
}
interface FacetAnswer {
  readonly facet_counts: ReadonlyArray<{
    readonly counts: ReadonlyArray<{ readonly value: string; readonly count: number }>
  }>
}
const shown = async (call: WireCall, query: string): Promise<string[]> => {
  const { status, text } = await call("GET", `/collections/goods/documents/search?q=*&per_page=0&${query}`)
  expect(status, text).toBe(200)
  return (JSON.parse(text) as FacetAnswer).facet_counts[0].counts.map(({ value, count }) => `${value}=${count}`)
}
const agrees = async (call: WireCall, model: Model): Promise<void> => {
  for (const field of ["maker", "tags"] as const)
    for (const strategy of ["exhaustive", "top_values"] as const)
      for (const part of [undefined, 3, 60])
        for (const most of [1, 7, 40]) {
          const where = part === undefined ? "" : `&filter_by=part:<${part}`
          const query = `facet_by=${field}&facet_strategy=${strategy}&max_facet_values=${most}${where}`
          expect((await shown(call, query)).sort(), query).toEqual(expected(model, field, most, part, strategy))
        }
}
const documents = (count: number, seed: number): Doc[] => {
  const { next, below: upTo } = randomOf(seed)
  return Array.from({ length: count }, (_, i) => ({
    // Skewed, so that there are ties among high and low counts.
    id: `d${i}`,
    part: upTo(100),
    level: upTo(5) - 2,
    ...(next() < 0.8 ? { maker: `maker ${Math.floor(upTo(30) * next() * 10)}` } : {}),
    ...(next() < 0.3 ? { tags: Array.from({ length: upTo(4) }, () => `tag ${upTo(200)}`) } : {})
  }))
}
const setUp = async (call: WireCall, docs: ReadonlyArray<Doc>): Promise<Model> => {
  expect((await call("POST", "/collections", JSON.stringify(SCHEMA))).status).toBe(201)
  await importAll(call, docs, "create")
  return new Map(docs.map((doc, i) => [i, doc]))
}
const importAll = async (call: WireCall, docs: ReadonlyArray<Doc>, action: string): Promise<void> => {
  const { text } = await call(
    "POST",
    `/collections/goods/documents/import?action=${action}`,
    docs.map((doc) => JSON.stringify(doc)).join("\n")
  )
  expect(text.split("\n").filter((line) => !line.includes('"success":true'))).toEqual([])
}
/** Updates, deletions, and values whose first document is deleted. */
const disturb = async (call: WireCall, model: Model, seed: number): Promise<void> => {
  const { next } = randomOf(seed)
  const changed = documents(model.size, seed + 1)
    .map((doc, i) => ({ ...doc, id: `d${i}` }))
    .filter((_, i) => model.has(i) && next() < 0.1)
  await importAll(call, changed, "upsert")
  for (const doc of changed) model.set(Number(doc.id.slice(1)), doc)
  const same = [...model.values()].filter(() => next() < 0.1)
  await importAll(call, same, "upsert")
  for (const [number, doc] of [...model]) {
    if (doc.part < 95) continue
    model.delete(number)
  }
  expect((await call("DELETE", "/collections/goods/documents?filter_by=part:>=95")).status).toBe(200)
}

describe("values with equal counts that are kept", () => {
  it("is what the model says, before and after updates and deletions, for two tenants side by side", async () => {
    const engine = createEngine()
    const tenants = ["one", "two"].map((namespace) => routerOver({ engine, resources: memoryResources(), namespace }))
    const models = await Promise.all(tenants.map((call, i) => setUp(call, documents(2_300 - i * 1_000, 11 + i))))
    for (let i = 0; i < 2; i++) await agrees(tenants[i], models[i])
    await Promise.all(tenants.map((call, i) => disturb(call, models[i], 5 + i)))
    for (let i = 0; i < 2; i++) await agrees(tenants[i], models[i])
    await engine.close()
  })
  it("survives reopening from disk and the merging of segments", async () => {
    const path = await mkdtemp(join(tmpdir(), "facet-ties-"))
    try {
      let engine = await openEngine({ path })
      const resources = memoryResources()
      const over = () => routerOver({ engine, resources, namespace: "one" })
      const docs = documents(1_400, 23)
      const model = await setUp(over(), docs.slice(0, 100))
      // Many small writes, so that segments are merged and batches span several of them.
      for (let from = 100; from < docs.length; from += 100)
        await importAll(over(), docs.slice(from, from + 100), "create")
      docs.forEach((doc, i) => model.set(i, doc))
      await agrees(over(), model)
      await disturb(over(), model, 3)
      await agrees(over(), model)
      await engine.close()
      engine = await openEngine({ path })
      await agrees(over(), model)
      await engine.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
  it("forgets the document that introduced a value once it is deleted", async () => {
    const engine = createEngine(),
      call = routerOver({ engine, resources: memoryResources(), namespace: "one" })
    const doc = (i: number, maker: string, part = 0): Doc => ({ id: `d${i}`, maker, part, level: 0 })
    const docs = [
      doc(0, "old"),
      ...Array.from({ length: BATCH_DOCS }, (_, i) => doc(i + 1, "filler", 50)),
      doc(1_001, "new"),
      doc(1_002, "old"),
      doc(1_003, "new")
    ]
    await setUp(call, docs)
    const query = "facet_by=maker&facet_strategy=exhaustive&max_facet_values=1&filter_by=part:<1"
    expect(await shown(call, query)).toEqual(["new=2"])
    await call("DELETE", "/collections/goods/documents/d0")
    await call("DELETE", "/collections/goods/documents/d1003")
    // Both are now in the second batch; the table lists the later of d1002 and d1001 first, so `new` has the larger
    // number.
    expect(await shown(call, query)).toEqual(["new=1"])
    await call("DELETE", "/collections/goods/documents/d1001")
    await importAll(call, [doc(1_004, "new")], "create")
    expect(await shown(call, query)).toEqual(["old=1"])
    await engine.close()
  })
  it("compares the bits of numbers, and treats groups like documents", async () => {
    const engine = createEngine(),
      call = routerOver({ engine, resources: memoryResources(), namespace: "one" })
    const docs = documents(600, 31).map((doc, i) => ({ ...doc, level: (i % 6) - 3 }))
    const model = await setUp(call, docs)
    expect(
      (await shown(call, "facet_by=level&facet_strategy=exhaustive&max_facet_values=4"))
        .map((text) => text.split("=")[0])
        .sort()
    ).toEqual(["-1", "-2", "-3", "2"])
    const { born } = agesIn(model, "maker")
    const newest = [...born.keys()].sort((a, b) => born.get(b)! - born.get(a)!)
    // Every maker is its own group, so all counts are equal.
    expect((await shown(call, "facet_by=maker&group_by=maker&max_facet_values=12")).sort()).toEqual(
      newest
        .slice(0, 12)
        .map((value) => `${value}=1`)
        .sort()
    )
    await engine.close()
  })
})
