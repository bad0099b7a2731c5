/** Single writes during an import: they overtake it in a well-defined order, and are found before they are on disk. */
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { createEngine, openEngine } from "../src/mod.ts"
import type { SearchEngine } from "../src/engine.ts"
import type { WriteOperation } from "../src/plan.ts"
import type { Document } from "../src/schema.ts"
import { EarlyReads } from "../src/memory/early-reads.ts"
import type { Journal } from "../src/store/journal.ts"
import { LmdbJournal } from "../src/store/lmdb-journal.ts"
import { Writer } from "../src/store/writer.ts"
import { type WriterEvent } from "../src/store/writer-port.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../src/testing/engine-suite.ts"
import { randomOf } from "./random.ts"

const schema = suiteSchema("c", [suiteField("name", "string"), suiteField("n", "int32"), suiteField("extra", "string")])
const kinds = ["memory", "one thread", "worker"] as const
const withEngine = async (
  kind: (typeof kinds)[number],
  body: (engine: SearchEngine) => Promise<void>
): Promise<void> => {
  const path = kind === "memory" ? undefined : await mkdtemp(join(tmpdir(), "engine-beside-"))
  const engine = path === undefined ? createEngine() : await openEngine({ path, worker: kind === "worker" })
  try {
    await engine.createCollection("t", schema, 1)
    await engine.createCollection("u", schema, 1)
    await body(engine)
  } finally {
    await engine.close()
    if (path !== undefined) await rm(path, { recursive: true, force: true })
  }
}
const filler = (from: number, count: number): Document[] =>
  Array.from({ length: count }, (_document, i) => ({
    id: `f${from + i}`,
    name: `filler words number ${from + i}`,
    n: i
  }))
const get = async (engine: SearchEngine, ids: ReadonlyArray<string>): Promise<ReadonlyArray<Document | undefined>> => {
  const got = await engine.get("t", "c", ids)
  if (!got.ok) throw new Error(got.error.message)
  return got.value
}
const foundBy = async (engine: SearchEngine, word: string, namespace = "t"): Promise<number> => {
  const [answer] = await engine.search(namespace, [
    suitePlan("c", {
      text: suiteText([word], ["name"], {
        fields: [{ field: "name", weight: 15, numTypos: 0, prefix: false, infix: "off" }],
        dropTokensThreshold: 0
      })
    })
  ])
  if (!answer.ok) throw new Error(answer.error.message)
  return answer.value.found
}

describe.each(kinds)("beside an import (%s)", (kind) => {
  /** Starts an import whose first line is applied before any later request, while most of its other lines are not. */
  const importOf = (engine: SearchEngine, first: Document, last: ReadonlyArray<Document> = []) => {
    const state = { isDone: false, done: Promise.resolve() }
    state.done = engine
      .write(
        "t",
        "c",
        [first, ...filler(0, 20_000), ...last].map((document) => putOf(document))
      )
      .then((written) => {
        if (!written.ok || !written.value.every(({ result }) => result.ok)) throw new Error("the import was refused")
        state.isDone = true
      })
    return state
  }
  const single = async (engine: SearchEngine, operation: WriteOperation) => {
    const written = await engine.write("t", "c", [operation])
    if (!written.ok) throw new Error(written.error.message)
    return written.value[0].result
  }
  it("a single write is found while the import continues, and what comes later wins on both sides", () =>
    withEngine(kind, async (engine) => {
      const state = importOf(engine, { id: "x", name: "import", n: 1 }, [{ id: "y", name: "importlast", n: 3 }])
      expect(await single(engine, putOf({ id: "x", name: "singleword", n: 2 }))).toMatchObject({ ok: true })
      expect(await single(engine, putOf({ id: "y", name: "single", n: 2 }))).toMatchObject({ ok: true })
      expect([await foundBy(engine, "singleword"), await foundBy(engine, "single"), state.isDone]).toEqual([
        1,
        1,
        false
      ])
      await state.done
      expect(await get(engine, ["x", "y"])).toEqual([
        { id: "x", name: "singleword", n: 2 },
        { id: "y", name: "importlast", n: 3 }
      ])
      expect(engine.describeCollection("t", "c")?.num_documents).toBe(20_002)
      expect([
        await foundBy(engine, "singleword"),
        await foundBy(engine, "single"),
        await foundBy(engine, "importlast"),
        await foundBy(engine, "import")
      ]).toEqual([1, 0, 1, 0])
      expect(await foundBy(engine, "singleword", "u")).toBe(0)
    }))
  it.each([
    [
      "conflicts with a line that was taken in",
      putOf({ id: "x", name: "single", n: 2 }, "create"),
      { ok: false, error: { kind: "Conflict" } },
      { id: "x", name: "import", n: 1 }
    ],
    [
      "changes a line that was taken in",
      putOf({ id: "x", extra: "added" }, "update"),
      { ok: true },
      { id: "x", name: "import", n: 1, extra: "added" }
    ],
    ["removes a line that was taken in", { kind: "delete", id: "x" } as const, { ok: true }, undefined]
  ])("a single write %s", (_what, operation, result, kept) =>
    withEngine(kind, async (engine) => {
      const state = importOf(engine, { id: "x", name: "import", n: 1 })
      expect(await single(engine, operation)).toMatchObject(result)
      expect(await get(engine, ["x"])).toEqual([kept])
      expect(state.isDone).toBe(false)
      await state.done
      expect(await get(engine, ["x"])).toEqual([kept])
      expect(engine.describeCollection("t", "c")?.num_documents).toBe(kept === undefined ? 20_000 : 20_001)
    })
  )
  it("keeps every document exactly once, whatever two imports and single writes do to the same ids", () =>
    withEngine(kind, async (engine) => {
      for (let seed = 1; seed <= 3; seed++) {
        const random = randomOf(seed * 77)
        const versions = new Map<string, number[][]>()
        const line = (source: number, n: number): Document => {
          const id = `k${random.below(900)}`
          let own = versions.get(id)
          if (own === undefined) versions.set(id, (own = [[], [], []]))
          own[source].push(n)
          return { id, name: `word${n}`, n }
        }
        let n = seed * 1_000_000
        const batches = [0, 1].map((source) => Array.from({ length: 4_000 }, () => putOf(line(source, n++))))
        const imports = batches.map((batch) => engine.write("t", "c", batch))
        for (let i = 0; i < 60; i++) {
          const document = line(2, n++)
          const written = await engine.write("t", "c", [putOf(document)])
          expect(written.ok && written.value[0].result.ok).toBe(true)
          // Nothing was lost: the document has this version, or one that an import wrote later.
          const page = await engine.scan("t", { collection: "c", filter: undefined, limit: 100_000 })
          const ids = page.ok ? page.value.ids : []
          expect([ids.includes(document.id as string), new Set(ids).size]).toEqual([true, ids.length])
        }
        await Promise.all(imports)
        const ids = [...versions.keys()]
        const kept = await get(engine, ids)
        // Each document has the last version of one of its three writers: no earlier version of a writer came back.
        ids.forEach((id, i) =>
          expect(
            versions.get(id)!.map((own) => own[own.length - 1]),
            id
          ).toContain(kept[i]?.n)
        )
        for (const document of kept.slice(0, 50)) expect(await foundBy(engine, document!.name as string)).toBe(1)
        const page = await engine.scan("t", { collection: "c", filter: undefined, limit: 100_000 })
        expect(page.ok && [page.value.ids.length, new Set(page.value.ids).size]).toEqual([
          engine.describeCollection("t", "c")?.num_documents,
          engine.describeCollection("t", "c")?.num_documents
        ])
      }
    }))
  it("gives lines without an id their own, and never the id of another write's line", () =>
    withEngine(kind, async (engine) => {
      const numbers = Array.from({ length: 300 }, (_id, i) =>
        putOf({ id: String(i * 2), name: "named", n: i }, "create")
      )
      const none = Array.from({ length: 300 }, (_id, i) => putOf({ name: "unnamed", n: i }))
      const answers = await Promise.all([
        engine.write("t", "c", numbers),
        engine.write("t", "c", none),
        engine.write("t", "c", [putOf({ name: "unnamed", n: 1 })])
      ])
      const [named, made, one] = answers.map((answer) =>
        answer.ok ? answer.value.flatMap(({ id, result }) => (result.ok ? [id] : [])) : []
      )
      expect([made.length, one.length]).toEqual([300, 1])
      expect(new Set([...named, ...made, ...one]).size).toBe(named.length + 301)
      expect(engine.describeCollection("t", "c")?.num_documents).toBe(named.length + 301)
    }))
  it("gives detected fields to whichever write uses them first", () =>
    withEngine(kind, async (engine) => {
      await engine.createCollection("t", suiteSchema("auto", [suiteField(".*", "auto")]), 1)
      const importing = engine.write(
        "t",
        "auto",
        Array.from({ length: 5_000 }, (_document, i) =>
          putOf({ id: `a${i}`, title: `title ${i}`, ...(i > 2_000 ? { late: i } : {}) })
        )
      )
      await engine.write("t", "auto", [putOf({ id: "one", title: "single", rare: "value" })])
      expect((await importing).ok).toBe(true)
      expect(
        engine
          .describeCollection("t", "auto")
          ?.schema.fields.map(({ name }) => name)
          .sort()
      ).toEqual([".*", "late", "rare", "title"])
      const [answer] = await engine.search("t", [
        suitePlan("auto", {
          filter: { kind: "number", field: "late", type: "int64", ranges: [{ min: 0, max: 10_000 }] },
          limit: 1
        })
      ])
      expect(answer.ok && answer.value.found).toBe(2_999)
    }))
})

// ---- before the disk has it
// ------------------------------------------------------------------------------------------

/** The real journal, but its commits become readable only when the test decides. */
const held = (journal: LmdbJournal, gate: { wait: Promise<void> | undefined }): Journal =>
  new Proxy<Journal>(journal, {
    get: (real, name) => {
      if (name === "commit")
        return (...given: Parameters<Journal["commit"]>) => {
          const done = journal.commit(...given),
            { wait } = gate
          return wait === undefined ? done : wait.then(() => done)
        }
      const value = Reflect.get(real, name, real) as unknown
      return typeof value === "function" ? (value as (...given: unknown[]) => unknown).bind(real) : value
    }
  })

describe("a commit that is not readable yet", () => {
  it("delays the answer, not the document; writes that would conflict with it wait for their turn", async () => {
    const path = await mkdtemp(join(tmpdir(), "engine-early-"))
    try {
      const gate: { wait: Promise<void> | undefined } = { wait: undefined }
      let release = (): void => {}
      const events: WriterEvent[] = []
      const journal = await LmdbJournal.open(path)
      const writer = new Writer(held(journal, gate), (event) => {
        events.push(event)
      })
      writer.start()
      await writer.create("t", schema, 1)
      const publications = () => events.flatMap((event) => (event.kind === "published" ? [event.publication] : []))
      gate.wait = new Promise((resolve) => {
        release = resolve
      })
      let isAnswered = false
      const first = writer.write("t", "c", [putOf({ id: "a", name: "first", n: 1 })], false).then(() => {
        isAnswered = true
      })
      // Anything that does not wait for the disk is done after a few turns.
      const turns = async (count: number): Promise<void> => {
        for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
      }
      await turns(20)
      expect(publications().map(({ added, early }) => [added.length, early?.texts.length])).toEqual([[1, 1]])
      expect(isAnswered).toBe(false)
      // A batch of many waits for the disk, and so does a single write that replaces one of its documents.
      const many = writer.write(
        "t",
        "c",
        filler(0, 100).map((document) => putOf(document)),
        false
      )
      await turns(50)
      const over = writer.write("t", "c", [putOf({ id: "f5", name: "over", n: 9 })], false)
      const beside = writer.write("t", "c", [putOf({ id: "b", name: "beside", n: 9 })], false)
      await turns(50)
      expect(publications().map(({ added, early }) => [added[0]?.meta.docs, early?.texts.length])).toEqual([
        [1, 1],
        [1, 1]
      ])
      release()
      await Promise.all([first, many, over, beside])
      expect(
        publications()
          .filter(({ added }) => added.length > 0)
          .map(({ added }) => added[0].meta.docs)
      ).toEqual([1, 1, 100, 1])
      expect(publications().flatMap(({ readable }) => readable ?? [])).toEqual([1, 2])
      await writer.close()
      const engine = await openEngine({ path })
      const got = await engine.get("t", "c", ["a", "b", "f5", "f6"])
      expect(got.ok && got.value.map((document) => document?.name)).toEqual([
        "first",
        "beside",
        "over",
        "filler words number 6"
      ])
      expect(engine.describeCollection("t", "c")?.num_documents).toBe(102)
      await engine.close()
    } finally {
      await rm(path, { recursive: true, force: true })
    }
  })
  it("keeps a text elsewhere until its own batch or a later one is readable", () => {
    const disk = new Map<number, string>()
    const reads = new EarlyReads({ text: (_key, seq) => disk.get(seq), bytes: () => 0, refresh: () => {} })
    reads.keep(1, {
      batch: 1,
      texts: [
        [7, "one"],
        [8, "eight"]
      ]
    })
    reads.keep(1, { batch: 2, texts: [[7, "two"]] })
    expect([reads.text(1, 7), reads.text(1, 8), reads.text(2, 7)]).toEqual(["two", "eight", undefined])
    disk.set(7, "one on disk").set(8, "eight on disk")
    reads.readable(1, 1)
    expect([reads.text(1, 7), reads.text(1, 8)]).toEqual(["two", "eight on disk"])
    disk.set(7, "two on disk")
    reads.readable(1, 2)
    expect(reads.text(1, 7)).toBe("two on disk")
    reads.keep(1, { batch: 3, texts: [[9, "nine"]] })
    reads.forget(1)
    expect(reads.text(1, 9)).toBe(undefined)
  })
})
