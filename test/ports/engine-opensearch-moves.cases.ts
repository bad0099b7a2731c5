/**
 * Collections that are moved between indices while they are written to and searched: because of their size, by order,
 * or by a change of their schema. Requests are held back where it matters, so that what is late is late in every run.
 */
import { describe, expect, it } from "vitest"
import type { SearchEngine, WriteVerdict } from "../../engine-sdk/src/engine.ts"
import { STEPS, type Step } from "../../engine-sdk/src/opensearch/move.ts"
import { OpensearchEngine } from "../../engine-sdk/src/opensearch/mod.ts"
import type { OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import type { SearchPlan, WriteOperation } from "../../engine-sdk/src/plan.ts"
import type { Filter } from "../../engine-sdk/src/filter.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"

const schema = suiteSchema("products", [
  suiteField("name", "string", { optional: false }),
  suiteField("stock", "int32", { optional: false })
])
const kettles = suitePlan("products", { text: suiteText(["kettle"], ["name"]) })
const pause = (time_ms: number) => new Promise((settle) => setTimeout(settle, time_ms))
const documents = (count: number, colour = "red") =>
  Array.from({ length: count }, (_document, i) => ({ id: `d${i}`, name: `kettle ${i}`, stock: i, colour }))
/** A killed process ends at once: it reports nothing and cleans up nothing. */
class Killed extends Error {}
let installations = 0

export const opensearchMoveCases = (nodes: () => ReadonlyArray<string>): void => {
  const opened = async (prefix: string, more: Partial<OpensearchOptions> = {}): Promise<OpensearchEngine> => {
    const times = { count_ms: 150, silent_ms: 600, clear_ms: 400 }
    const engine = await OpensearchEngine.open({ nodes: nodes(), prefix, replicas: 0, follow_ms: 50, times, ...more })
    if (!engine.ok) throw new Error(engine.error.message)
    return engine.value
  }
  /** Runs engines of one installation and closes them at the end. */
  const using =
    (
      settings: ReadonlyArray<Partial<OpensearchOptions>>,
      body: (engines: OpensearchEngine[], prefix: string) => Promise<void>
    ) =>
    async () => {
      const prefix = `m${installations++}`
      const engines: OpensearchEngine[] = []
      try {
        for (const more of settings) engines.push(await opened(prefix, more))
        await body(engines, prefix)
      } finally {
        for (const engine of engines) await engine.close()
      }
    }
  const get = async (path: string): Promise<any> => (await fetch(`${nodes()[0]}${path}`)).json()
  const indicesOf = async (prefix: string): Promise<string[]> =>
    (await get(`/_cat/indices/${prefix}-documents-*?format=json`)).map(({ index }: { index: string }) => index).sort()
  /** Keys of documents in the shared index. */
  const keysOf = async (prefix: string): Promise<string[]> => {
    const answer = await fetch(`${nodes()[0]}/${prefix}-documents-pool/_search`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ size: 0, aggs: { c: { terms: { field: "c", size: 100 } } } })
    })
    return ((await answer.json()) as any).aggregations.c.buckets.map(({ key }: { key: string }) => key)
  }
  const eventually = async (holds: () => Promise<boolean>, limit_ms = 60_000): Promise<boolean> => {
    for (let waited = 0; waited < limit_ms && !(await holds()); waited += 100) await pause(100)
    return holds()
  }
  const foundBy = async (engine: SearchEngine, namespace: string, plan: SearchPlan): Promise<number> => {
    const [result] = await engine.search(namespace, [plan])
    if (!result!.ok) throw new Error(result!.error.message)
    return result!.value.found
  }
  const written = async (engine: SearchEngine, namespace: string, all: ReadonlyArray<WriteOperation>) => {
    const result = await engine.write(namespace, "products", all)
    if (!result.ok) throw new Error(result.error.message)
    return result.value
  }
  const stocksOf = async (
    engine: SearchEngine,
    namespace: string
  ): Promise<ReadonlyArray<readonly [string, unknown]>> => {
    const scanned = await engine.scan(namespace, { collection: "products", filter: undefined, limit: 10_000 })
    if (!scanned.ok) throw new Error(scanned.error.message)
    return scanned.value.documents.map(({ id, stock }) => [String(id), stock] as const)
  }
  const promoted = async (engine: OpensearchEngine, namespace: string) => {
    const result = await engine.promoteCollection(namespace, "products")
    expect(result.ok ? undefined : result.error).toBeUndefined()
  }

  describe("a collection that is moved", () => {
    /** Holds back requests that write documents with these ids until `release`, which answers when they are done. */
    const holdWrites = (mark: string) => {
      const real = globalThis.fetch
      let open = () => {}
      const gate = new Promise<void>((settle) => (open = settle))
      const held: Promise<unknown>[] = []
      globalThis.fetch = (input, init) => {
        const isHeld = String(input).endsWith("/_bulk") && String(init?.body).includes(mark)
        const sent = isHeld ? gate.then(() => real(input, init)) : real(input, init)
        if (isHeld) held.push(sent)
        return sent
      }
      return {
        arrived: () => eventually(async () => held.length > 0),
        release: async () => {
          globalThis.fetch = real
          open()
          await Promise.all(held)
        }
      }
    }
    // `catch_up`: after the fence and before the last look, which carries the write along. `switch`: after that look,
    // so that the write is left behind.
    for (const step of ["catch_up", "switch"] as const)
      it(`takes a write that arrives late (${step}) once, in the order of the others`, async () => {
        let late: ReturnType<typeof holdWrites> | undefined
        const onMoveStep = async (now: Step) => {
          if (now === step) await late?.release()
        }
        await using([{}, { onMoveStep }], async ([writer, mover]) => {
          for (const namespace of ["a", "b"]) {
            await writer!.createCollection(namespace, schema, 1)
            await written(
              writer!,
              namespace,
              documents(20).map((document) => putOf(document))
            )
          }
          late = holdWrites("late")
          const writing = written(writer!, "a", [
            putOf({ id: "late", name: "kettle late", stock: 100 }, "create"),
            putOf({ name: "kettle late", stock: 101 }, "create"),
            putOf({ id: "d3", name: "kettle late", stock: 102 }, "update"),
            { kind: "delete", id: "d4" }
          ])
          expect(await late.arrived()).toBe(true)
          // The document is deleted by another engine while it is copied: the copy no longer has it.
          const deleted = written(mover!, "a", [{ kind: "delete", id: "d7" }])
          await Promise.all([promoted(mover!, "a"), deleted])
          const verdicts: ReadonlyArray<WriteVerdict> = await writing
          expect(verdicts.map(({ result }) => (result.ok ? "ok" : result.error))).toEqual(["ok", "ok", "ok", "ok"])
          const [, generated] = verdicts
          const wanted = documents(20)
            .filter(({ id }) => id !== "d4" && id !== "d7")
            .map(({ id, stock }) => [id, id === "d3" ? 102 : stock])
          for (const engine of [writer!, mover!]) {
            expect(await stocksOf(engine, "a")).toEqual([...wanted, ["late", 100], [generated!.id, 101]])
            expect(await foundBy(engine, "a", kettles)).toBe(20)
            expect(await stocksOf(engine, "b")).toHaveLength(20)
          }
        })()
      })
    it(
      "is searched, read and written at its new place by a process that does not know of the move yet",
      using([{}, { follow_ms: 3_600_000 }], async ([mover, late]) => {
        await mover!.createCollection("a", schema, 1)
        await written(
          late!,
          "a",
          documents(3).map((document) => putOf(document))
        )
        for (const change of [
          () => promoted(mover!, "a"),
          () => mover!.alterCollection("a", "products", { drop: [], add: [suiteField("colour", "string")] })
        ]) {
          await change()
          await written(mover!, "a", [putOf({ id: `of ${change}`.slice(0, 40), name: "kettle", stock: 1 })])
          expect(await foundBy(late!, "a", kettles)).toBe((await stocksOf(mover!, "a")).length)
          await written(mover!, "a", [putOf({ id: "d0", name: "mug", stock: 9 })])
          expect((await stocksOf(late!, "a"))[0]).toEqual(["d0", 9])
          const got = await late!.get("a", "products", ["d0"])
          expect(got.ok && got.value[0]?.stock).toBe(9)
          await written(late!, "a", [putOf({ id: "d0", name: "kettle", stock: 0 })])
        }
      })
    )
    it(
      "is either unmoved or moved, wherever the mover ends, and its leftovers are cleared",
      using([{}, {}], async ([first, second], prefix) => {
        await first!.createCollection("a", schema, 1)
        await first!.createCollection("b", schema, 1)
        await written(
          first!,
          "b",
          documents(5).map((document) => putOf(document))
        )
        const model = new Map<string, unknown>()
        let stock = 0
        for (const step of STEPS) {
          const onMoveStep = (now: Step) => {
            if (now === step) throw new Killed()
          }
          const victim = await opened(prefix, { onMoveStep, follow_ms: 3_600_000 })
          const ends = () =>
            victim.promoteCollection("a", "products").then(
              (result) => (result.ok ? "done" : result.error.kind),
              (error: unknown) => (error instanceof Killed ? "killed" : error)
            )
          // The previous mover must be silent for long enough to be given up.
          let ended = await ends()
          expect(await eventually(async () => ended !== "Conflict" || (ended = await ends()) !== "Conflict")).toBe(true)
          await victim.close()
          expect([step, ended]).toEqual([step, "killed"])
          for (const engine of [first!, second!]) {
            stock++
            const [verdict] = await written(engine, "a", [putOf({ id: `s${stock}`, name: "kettle", stock })])
            expect(verdict!.result.ok, step).toBe(true)
            model.set(`s${stock}`, stock)
            expect(await foundBy(engine, "a", kettles), step).toBe(model.size)
          }
        }
        await promoted(second!, "a")
        expect(await stocksOf(first!, "a")).toEqual([...model])
        expect(await foundBy(first!, "b", kettles)).toBe(5)
        const isClear = async () => (await indicesOf(prefix)).length === 2 && (await keysOf(prefix)).length === 1
        expect(await eventually(isClear), JSON.stringify([await indicesOf(prefix), await keysOf(prefix)])).toBe(true)
        expect(await stocksOf(second!, "a")).toEqual([...model])
      })
    )
    it("reports an interruption if its copy was cleared as abandoned, and stays unchanged", async () => {
      let prefix = ""
      const onMoveStep = async (now: Step) => {
        if (now !== "copy") return
        const [own] = (await indicesOf(prefix)).filter((index) => !index.endsWith("-pool"))
        expect((await fetch(`${nodes()[0]}/${own}`, { method: "DELETE" })).status).toBe(200)
      }
      await using([{ onMoveStep }], async ([engine], mine) => {
        prefix = mine
        await engine!.createCollection("a", schema, 1)
        await written(
          engine!,
          "a",
          documents(5).map((document) => putOf(document))
        )
        const moved = await engine!.promoteCollection("a", "products")
        expect(moved.ok ? undefined : moved.error).toMatchObject({
          kind: "Conflict",
          message: "The collection was changed meanwhile; try again."
        })
        expect(await foundBy(engine!, "a", kettles)).toBe(5)
      })()
    })
    it(
      "leaves the shared index when it is too large for it, or adds too many fields",
      using([{ poolDocuments_max: 10 }], async ([engine], prefix) => {
        await engine!.createCollection("a", schema, 1)
        await written(
          engine!,
          "a",
          documents(10).map((document) => putOf(document))
        )
        await pause(200)
        expect(await indicesOf(prefix)).toHaveLength(1)
        await written(engine!, "a", [putOf({ id: "more", name: "kettle", stock: 1 })])
        expect(await eventually(async () => (await indicesOf(prefix)).length === 2)).toBe(true)
        await engine!.createCollection("b", suiteSchema("products", [suiteField(".*", "auto", { facet: true })]), 1)
        const wide = Object.fromEntries(Array.from({ length: 33 }, (_field, i) => [`text_${i}`, `word${i}`]))
        const [verdict] = await written(engine!, "b", [putOf({ id: "1", ...wide })])
        expect(verdict!.result.ok ? undefined : verdict!.result.error).toBeUndefined()
        expect(await indicesOf(prefix)).toHaveLength(3)
        const plan = suitePlan("products", { text: suiteText(["word32"], ["text_32"]) })
        expect(await foundBy(engine!, "b", plan)).toBe(1)
        expect(await eventually(async () => (await foundBy(engine!, "a", kettles)) === 11)).toBe(true)
      })
    )
  })

  describe("a change of a schema", () => {
    const low: Filter = { kind: "number", field: "stock", type: "int32", ranges: [{ min: 0, max: 1_000 }] }
    const change = {
      drop: ["stock"],
      add: [suiteField("stock", "float", { optional: false }), suiteField("colour", "string")]
    }
    it("is visible completely or not at all, reports its progress, and takes writes meanwhile", async () => {
      let progress: unknown
      let reader: OpensearchEngine | undefined
      const onMoveStep = async (step: Step) => {
        if (step !== "fence") return
        await pause(100)
        progress = await reader!.schemaChanges("a")
      }
      await using([{ onMoveStep }, {}], async ([first, second]) => {
        reader = second
        for (const namespace of ["a", "b"]) {
          await first!.createCollection(namespace, schema, 1)
          await written(
            first!,
            namespace,
            documents(300).map((document) => putOf(document))
          )
        }
        const byOld = suitePlan("products", { filter: low })
        const byNew = suitePlan("products", { text: suiteText(["red"], ["colour"]) })
        let isOver = false
        const answers = { old: 0, new: 0 }
        const searching = [first!, second!].map(async (engine) => {
          while (!isOver) {
            // Plans as a request does: by the schema that its process knows. What is written meanwhile is neither red
            // nor low.
            const isNew = engine
              .describeCollection("a", "products")!
              .schema.fields.some(({ name }) => name === "colour")
            expect(await foundBy(engine, "a", isNew ? byNew : byOld), isNew ? "new" : "old").toBe(300)
            answers[isNew ? "new" : "old"]++
          }
        })
        let id = 0
        const writing = (async () => {
          while (!isOver) {
            const [verdict] = await written(second!, "a", [
              putOf({ id: `w${id}`, name: "kettle", stock: 5_000 + id, colour: "blue" })
            ])
            expect(verdict!.result.ok ? undefined : verdict!.result.error).toBeUndefined()
            id++
          }
        })()
        await pause(100)
        const altered = await first!.alterCollection("a", "products", change)
        expect(altered.ok ? undefined : altered.error).toBeUndefined()
        // A busy machine may take longer.
        for (let waited = 0; waited < 60_000 && answers.new <= 3; waited += 100) await pause(100)
        isOver = true
        await Promise.all([...searching, writing])
        expect(Math.min(answers.old, answers.new), JSON.stringify(answers)).toBeGreaterThan(3)
        expect(progress).toMatchObject({ ok: true, value: [{ collection: "products" }] })
        const [{ altered: done, documents: total }] = (progress as any).value
        expect(total).toBeGreaterThanOrEqual(300)
        expect(done).toBeGreaterThanOrEqual(300)
        expect(await second!.schemaChanges("a")).toEqual({ ok: true, value: [] })
        expect(await foundBy(second!, "a", suitePlan("products"))).toBe(300 + id)
        expect((await stocksOf(first!, "a")).slice(300).map(([one]) => one)).toEqual(
          Array.from({ length: id }, (_document, i) => `w${i}`)
        )
        expect(await foundBy(first!, "b", byOld)).toBe(300)
      })()
    })
    it(
      "that some document does not fit changes nothing and leaves nothing behind",
      using([{}], async ([engine], prefix) => {
        await engine!.createCollection("a", schema, 1)
        await written(
          engine!,
          "a",
          documents(5).map((document) => putOf(document))
        )
        const refused = await engine!.alterCollection("a", "products", {
          drop: ["name"],
          add: [suiteField("name", "int32", { optional: false })]
        })
        expect(refused.ok ? "altered" : refused.error.kind).toBe("Invalid")
        expect(await foundBy(engine!, "a", kettles)).toBe(5)
        expect(engine!.describeCollection("a", "products")!.schema.fields.map(({ type }) => type)).toEqual([
          "string",
          "int32"
        ])
        expect(await eventually(async () => (await keysOf(prefix)).length === 1)).toBe(true)
      })
    )
  })

  it(
    "an index created by an earlier program is given what it lacks",
    using([{}], async ([engine], prefix) => {
      await engine!.close()
      await fetch(`${nodes()[0]}/${prefix}-documents-pool`, { method: "DELETE" })
      const mappings = {
        dynamic: "strict",
        _routing: { required: true },
        properties: { c: { type: "keyword" }, seq: { type: "long" }, v: { type: "integer" }, size: { type: "long" } }
      }
      await fetch(`${nodes()[0]}/${prefix}-documents-pool`, {
        method: "PUT",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          settings: {
            "index.max_ngram_diff": 20,
            "index.mapping.total_fields.limit": 2_000,
            analysis: {
              tokenizer: { spaces: { type: "char_group", tokenize_on_chars: [" "] } },
              filter: { beginnings: { type: "edge_ngram", min_gram: 7, max_gram: 26 } },
              analyzer: {
                words: { type: "custom", tokenizer: "spaces" },
                beginnings: { type: "custom", tokenizer: "spaces", filter: ["beginnings"] }
              }
            }
          },
          mappings
        })
      })
      const newer = await opened(prefix)
      try {
        await newer.createCollection("a", schema, 1)
        const [verdict] = await written(newer, "a", [putOf({ id: "1", name: "kettle", stock: 1 })])
        expect(verdict!.result.ok ? undefined : verdict!.result.error).toBeUndefined()
        expect(await foundBy(newer, "a", kettles)).toBe(1)
      } finally {
        await newer.close()
      }
    })
  )
}
