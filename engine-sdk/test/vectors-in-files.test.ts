/**
 * Vectors of stored segments are in files: searches find the same as an engine in memory, for two tenants side by side,
 * through merges, deletions, a restart and a loss of the files; and files are removed with their segments.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { createEngine, openEngine, type LocalEngine, type SearchPlan } from "../src/mod.ts"
import { allocatePlain, type Outside } from "../src/index/sections.ts"
import { SegmentBuilder } from "../src/index/builders.ts"
import { Segment } from "../src/index/segment.ts"
import { LmdbJournal } from "../src/store/lmdb-journal.ts"
import { VectorFiles } from "../src/store/vector-files.ts"
import { putOf, suiteField, suitePlan, suiteSchema } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

/** Not a multiple of four, so that the rest of a row after whole groups is tested too. */
const DIMENSIONS = 50,
  COUNT = 3_000
const { next } = randomOf(11)
const vectorOf = (): number[] => Array.from({ length: DIMENSIONS }, () => Math.fround(next() - 0.5))
const schema = suiteSchema("things", [
  suiteField("shelf", "int32"),
  suiteField("embedding", "float[]", { num_dim: DIMENSIONS, sort: false, optional: true })
])
const documents = Array.from({ length: COUNT }, (_, i) => ({
  id: String(i),
  shelf: i % 100,
  // Some documents have no vector.
  ...(i % 7 === 3 ? {} : { embedding: vectorOf() })
}))
const queries = Array.from({ length: 12 }, vectorOf)
const planOf = (vector: ReadonlyArray<number>, most = 99): SearchPlan =>
  suitePlan("things", {
    vector: {
      field: "embedding",
      vector,
      k: 25,
      alpha: 0.3,
      distanceThreshold: undefined,
      flatSearchCutoff: 0,
      ef: 10,
      rerankHybridMatches: false
    },
    sort: [{ kind: "vector_distance", order: "asc" }],
    limit: 25,
    filter: most === 99 ? undefined : { kind: "number", field: "shelf", type: "int32", ranges: [{ min: 0, max: most }] }
  })
const found = async (engine: LocalEngine, tenant: string): Promise<unknown> => {
  const answers: unknown[] = []
  for (const query of queries)
    for (const most of [99, 30, 0]) {
      const [answer] = await engine.search(tenant, [planOf(query, most)])
      if (!answer!.ok) throw new Error(answer!.error.message)
      answers.push(answer!.value.hits!.map(({ document, vector_distance }) => [document.id, vector_distance]))
    }
  return answers
}
const fill = async (engine: LocalEngine, tenant: string, from = 0, to = COUNT): Promise<void> => {
  for (let at = from; at < to; at += 1_000) {
    const written = await engine.write(
      tenant,
      "things",
      documents.slice(at, Math.min(to, at + 1_000)).map((document) => putOf(document))
    )
    if (!written.ok || written.value.some(({ result }) => !result.ok)) throw new Error("not written")
  }
}
const until = async (what: () => boolean | Promise<boolean>): Promise<void> => {
  for (let i = 0; i < 600 && !(await what()); i++)
    await new Promise((resolve) => {
      setTimeout(resolve, 50)
    })
  expect(await what()).toBe(true)
}
const usageOf = (engine: LocalEngine, tenant: string) => engine.usage(tenant, "things")!.vectors![0]!
const isAtRest = (engine: LocalEngine): boolean =>
  usageOf(engine, "a").memory_bytes < Math.ceil(COUNT / 32) * 4 + 10 * DIMENSIONS * 4

let path: string
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), "vector-files-"))
})
afterEach(async () => {
  await rm(path, { recursive: true, force: true })
})
const files = async (): Promise<ReadonlyArray<string>> => (await readdir(join(path, "vectors"))).sort()

for (const options of [
  { name: "one thread", worker: false, searchWorkers: 0 },
  { name: "a writer of its own and two search workers", worker: true, searchWorkers: 2 }
])
  describe(`vectors in files, ${options.name}`, () => {
    const open = () =>
      openEngine({ path, worker: options.worker, searchWorkers: options.searchWorkers, approximateFrom: Infinity })
    it("finds what an engine without files finds, with its distances, whatever happens to segments", async () => {
      const memory = createEngine({ approximateFrom: Infinity })
      let engine = await open()
      const both = async (work: (each: LocalEngine) => Promise<unknown>): Promise<void> => {
        await work(engine)
        await work(memory)
      }
      const same = async (): Promise<void> => {
        for (const tenant of ["a", "b"]) expect(await found(engine, tenant)).toEqual(await found(memory, tenant))
      }
      try {
        for (const tenant of ["a", "b"])
          await both(async (each) => {
            await each.createCollection(tenant, schema, 1)
            await fill(each, tenant)
          })
        await same()
        expect(usageOf(memory, "a").disk_bytes).toBe(0)
        await both((each) =>
          each.write("a", "things", [{ kind: "delete", id: "5" }, putOf({ ...documents[6]!, shelf: 0 })])
        )
        await same()
        // After merges, memory contains only bits and the vectors of the few latest documents.
        await until(() => isAtRest(engine))
        expect(usageOf(engine, "a").disk_bytes).toBeGreaterThanOrEqual((COUNT - 10) * DIMENSIONS * 4)
        await same()
        await engine.close()
        const kept = await files()
        engine = await open()
        await same()
        expect(await files()).toEqual(kept)
        await both((each) => each.dropCollection("a", "things"))
        expect(await found(engine, "b")).toEqual(await found(memory, "b"))
        await until(async () => (await files()).every((name) => name.startsWith("2-")))
        await both((each) => each.dropCollection("b", "things"))
        await until(async () => (await files()).length === 0)
      } finally {
        await engine.close()
        await memory.close()
      }
    })
    it("rebuilds the index if a file is missing, short or damaged", async () => {
      let engine = await open()
      await engine.createCollection("a", schema, 1)
      await fill(engine, "a")
      const before = await found(engine, "a")
      await until(() => isAtRest(engine))
      await engine.close()
      const damages: ReadonlyArray<(file: string) => Promise<void>> = [
        (file) => rm(file),
        async (file) => writeFile(file, (await readFile(file)).subarray(4)),
        async (file) => {
          const bytes = await readFile(file)
          bytes[99]! ^= 1
          await writeFile(file, bytes)
        }
      ]
      for (const damage of damages) {
        const [name] = await files()
        await damage(join(path, "vectors", name!))
        // Files left behind by a killed start are removed as well.
        await writeFile(join(path, "vectors", "1-9999.vec"), "left")
        engine = await open()
        expect(await found(engine, "a")).toEqual(before)
        expect(await files()).not.toContain("1-9999.vec")
        await engine.close()
        expect(await files()).not.toContain(name)
        expect((await files()).length).toBeGreaterThan(0)
      }
    })
  })

describe("bytes in memory", () => {
  it.each([0, 2])("show exactly which vectors need not be read, with %s search workers", async (searchWorkers) => {
    const memory = createEngine({ approximateFrom: Infinity }),
      engine = await openEngine({ path, approximateFrom: 500, worker: searchWorkers > 0, searchWorkers })
    const centres = Array.from({ length: 100 }, vectorOf)
    // Vectors that bytes can distinguish, vectors that they cannot, one large number beside small ones, and zeros.
    const kinds: ReadonlyArray<(i: number) => number[]> = [
      (i) => centres[i % 97]!.map((part) => part + (next() - 0.5) * 0.5),
      (i) => centres[i % 100]!.map((part, d) => part + (d === i % DIMENSIONS ? 1e-4 * next() : 0)),
      (i) => centres[i % 100]!.map((part, d) => (d === 0 ? 1_000 * part : part)),
      (i) => centres[0]!.map((part) => (i % 80 === 3 ? 0 : -part))
    ]
    try {
      for (const each of [engine, memory]) await each.createCollection("a", schema, 1)
      const written = documents.map(({ id }, i) =>
        putOf({ id, shelf: i % 100, embedding: kinds[i % 40 < 4 ? i % 4 : 0]!(i).map(Math.fround) })
      )
      for (const each of [engine, memory]) await each.write("a", "things", written)
      // Waits for the graph, whether its links are useful or not.
      await until(() => usageOf(engine, "a").graph_bytes > 0)
      const asked = [...queries, ...centres.slice(0, 20), centres[0]!.map((part) => -part), centres[0]!.map(() => 0)]
      for (const query of asked)
        for (const most of [40, 9, 2, 0]) {
          const answers: unknown[] = []
          for (const each of [engine, memory]) {
            const plan = planOf(query, most)
            const [answer] = await each.search("a", [{ ...plan, vector: { ...plan.vector!, k: 5 } }])
            if (!answer!.ok) throw new Error(answer!.error.message)
            answers.push(answer!.value.hits!.map(({ document, vector_distance }) => [document.id, vector_distance]))
          }
          expect(answers[0]).toEqual(answers[1])
        }
    } finally {
      await engine.close()
      await memory.close()
    }
  })
  it("are at most 500 for a vector of 384 numbers, with its links and everything else", async () => {
    const dimensions = 384,
      count = 10_000
    const engine = await openEngine({ path, worker: true })
    try {
      const centres = Array.from({ length: 40 }, () => Array.from({ length: dimensions }, () => next() - 0.5))
      await engine.createCollection(
        "a",
        suiteSchema("things", [
          suiteField("shelf", "int32"),
          suiteField("embedding", "float[]", { num_dim: dimensions, sort: false, store: false })
        ]),
        1
      )
      for (let at = 0; at < count; at += 1_000)
        await engine.write(
          "a",
          "things",
          Array.from({ length: 1_000 }, (_, i) =>
            putOf({
              id: String(at + i),
              shelf: i % 100,
              embedding: centres[i % 40]!.map((part) => Math.fround(part + (next() - 0.5) * 0.8))
            })
          )
        )
      await until(() => usageOf(engine, "a").approximate === count)
      const { disk_bytes, graph_bytes, memory_bytes, recall } = usageOf(engine, "a")
      expect((graph_bytes + memory_bytes) / count).toBeLessThanOrEqual(500)
      expect(recall).toBeGreaterThanOrEqual(0.98)
      expect(disk_bytes).toBe(count * dimensions * 4)
      // With ids and the shelf, as everything that the collection holds.
      expect(engine.usage("a", "things")!.index_bytes / count).toBeLessThan(600)
    } finally {
      await engine.close()
    }
  })
})

describe("a file of vectors", () => {
  const built = (outside: Outside | undefined) => {
    const builder = new SegmentBuilder(schema)
    documents.forEach(({ embedding, id }, i) =>
      builder.add(i, id, new Map(embedding === undefined ? [] : [["embedding", embedding]]))
    )
    const work = builder.finishing(allocatePlain, outside)
    for (;;) {
      const step = work.next()
      if (step.done === true) return new Segment(1, step.value.meta, step.value.region)
    }
  }
  it("returns every vector in any order, as from memory", () => {
    const [inFile, inMemory] = [new VectorFiles(path).of(1), undefined].map((outside) =>
      built(outside).vectors("embedding")!
    )
    expect([inFile!.isInFile, inMemory!.isInFile]).toEqual([true, false])
    const order = Array.from({ length: 4_000 }, () => Math.floor(next() * COUNT))
    for (const docs of [documents.map((_document, i) => i), order, [...order].sort((a, b) => a - b)]) {
      inFile!.expect(Uint32Array.from(docs))
      for (const doc of docs) expect(inFile!.vector(doc)).toEqual(inMemory!.vector(doc))
    }
    const lasting = inFile!.lasting(0)
    inFile!.vector(700)
    expect(lasting).toEqual(inMemory!.lasting(0))
  })
  it("is created from a segment that an older version stored with its vectors inside", async () => {
    const journal = await LmdbJournal.open(path)
    try {
      await journal.saveCollection({ key: 1, namespace: "t", schema, createdAt_s: 1 })
      const { meta, region } = built(undefined)
      const rest = { id: 1, deleted: Uint32Array.of(3), graphs: [], sections: [] }
      await journal.saveIndex(1, { asked: [], segments: [{ ...rest, meta, region }] }, 0)
      const truth = new Segment(1, meta, region)
      for (let life = 0; life < 3; life++) {
        const [stored] = (await journal.loadIndex(1, allocatePlain))!.segments
        const segment = new Segment(1, stored!.meta, stored!.region),
          column = segment.vectors("embedding")!
        expect(column.isInFile).toBe(true)
        expect(stored!.meta.bytes).toBe(meta.bytes - column.bytes)
        for (let doc = 0; doc < COUNT; doc++)
          expect(column.vector(doc)).toEqual(truth.vectors("embedding")!.vector(doc))
        expect(segment.docsOfId("77")).toEqual([77])
        expect(segment.seqs).toEqual(truth.seqs)
        // From then on, the snapshot names the file.
        if (life === 1) await journal.saveIndex(1, { asked: [], segments: [stored!] }, 0)
        journal.vectorFiles.drop(stored!.region.outside!)
        expect((await files()).length).toBe(life === 0 ? 0 : 1)
      }
    } finally {
      await journal.close()
    }
  })
  it("is not created if the disk refuses it: the vectors stay in memory", () => {
    const files = new VectorFiles(path).of(1)
    let pieces = 0,
      isGivenUp = false
    const segment = built({
      create: (bytes) => {
        const file = files.create(bytes)!
        return {
          name: file.name,
          path: file.path,
          append: (piece) => {
            if (pieces++ === 2) throw new Error("no space left")
            file.append(piece)
          },
          done: () => file.done(),
          giveUp: () => {
            isGivenUp = true
            file.giveUp()
          }
        }
      }
    })
    const column = segment.vectors("embedding")!,
      truth = built(undefined).vectors("embedding")!
    expect(column.isInFile).toBe(false)
    for (let doc = 0; doc < COUNT; doc++) expect(column.vector(doc)).toEqual(truth.vector(doc))
    expect(isGivenUp).toBe(true)
  })
  it("is removed when nobody reads it and no snapshot names it, but not while a snapshot is written", async () => {
    const folder = new VectorFiles(path)
    const make = (key: number) => {
      const file = folder.of(key).create(1_000_000)!
      file.append(new Uint8Array(8))
      file.done()
      return file
    }
    const [a, b] = [make(1), make(2)]
    folder.name(1, new Map([[a.name, await folder.sealed(a.name)]]))
    folder.drop(a.path)
    expect(await files()).toEqual([a.name, b.name])
    await folder.holding(async () => {
      folder.name(1)
      folder.drop(b.path)
      expect(await files()).toEqual([a.name, b.name])
    })
    expect(await files()).toEqual([])
    // File numbers are not reused.
    expect(make(1).name).not.toBe(a.name)
  })
})
