/**
 * Fields with `embed`: which writes need a vector, failures of single texts, and the result of two concurrent writers.
 */
import { describe, expect, it } from "vitest"
import type { SearchEngine, WriteVerdict } from "../src/engine.ts"
import { embeddingEngine, type Embedder, OWN_VECTORS } from "../src/embedding/mod.ts"
import { fail, type Result } from "../src/errors.ts"
import { createEngine } from "../src/mod.ts"
import {
  createCollection,
  memoryResources,
  type OperationContext,
  search,
  updateCollection
} from "../src/operations/mod.ts"

const DIMENSIONS = 64
/** Embeds words by their hash, so that texts with words in common are close. */
const vectorOf = (text: string): number[] => {
  const vector = new Array<number>(DIMENSIONS).fill(0)
  for (const word of text
    .toLowerCase()
    .split(/\W+/)
    .filter((each) => each !== "")) {
    let hash = 7
    for (const character of word) hash = (Math.imul(hash, 31) + character.codePointAt(0)!) >>> 0
    vector[hash % DIMENSIONS]! += 1
  }
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0)) || 1
  return vector.map((x) => x / length)
}

const makeEmbedder = () => {
  const asked: string[] = []
  const waits: Array<Promise<void>> = []
  let pin = "weights-1"
  const embedder: Embedder = {
    dimensionsOf: ({ model_name }) => (model_name === "test/words" ? DIMENSIONS : undefined),
    pinOf: () => pin,
    kindOf: () => "text",
    embed: async ({ inputs, purpose }) => {
      if (purpose === "document") asked.push(...inputs)
      await waits.shift()
      return inputs.map((text) =>
        text.includes("unreadable")
          ? fail({ kind: "Unavailable", message: "The model does not answer." })
          : { ok: true, value: vectorOf(text) }
      )
    }
  }
  return {
    embedder,
    asked,
    hold: (until: Promise<void>) => waits.push(until),
    change: (to: string) => {
      pin = to
    },
    taken: () => asked.splice(0)
  }
}

const COLLECTION = {
  name: "shop",
  fields: [
    { name: "title", type: "string", optional: true },
    { name: "tags", type: "string[]", optional: true },
    { name: "price", type: "int32", optional: true },
    {
      name: "meaning",
      type: "float[]",
      embed: {
        from: ["title", "tags"],
        model_config: { model_name: "test/words", indexing_prefix: "passage:", query_prefix: "ask:" }
      }
    }
  ]
}
const open = async (collection: Record<string, unknown> = COLLECTION) => {
  const inner = createEngine()
  const made = makeEmbedder()
  const engine = embeddingEngine(inner, made.embedder)
  const context: OperationContext = {
    engine,
    resources: memoryResources(),
    namespace: "t",
    now_s: 1,
    embedder: made.embedder
  }
  const created = await createCollection(context, JSON.stringify(collection))
  return { ...made, created, context, engine, inner }
}
type Opened = Awaited<ReturnType<typeof open>>

const put = async (
  engine: SearchEngine,
  action: "create" | "upsert" | "update" | "emplace",
  ...documents: ReadonlyArray<Record<string, unknown>>
): Promise<ReadonlyArray<WriteVerdict>> => {
  const written = await engine.write(
    "t",
    "shop",
    documents.map((document) => ({ kind: "put", action, dirtyValues: undefined, document: JSON.stringify(document) }))
  )
  if (!written.ok) throw new Error(written.error.message)
  return written.value
}
const errorOf = ({ result }: WriteVerdict): string | undefined => (result.ok ? undefined : result.error.message)
const stored = async ({ engine }: Opened, id: string): Promise<Record<string, unknown> | undefined> => {
  const found = await engine.get("t", "shop", [id])
  return found.ok ? (found.value[0] as Record<string, unknown> | undefined) : undefined
}
const near = (document: Record<string, unknown> | undefined, text: string, name = "meaning"): number => {
  const vector = document?.[name] as number[] | undefined
  return vector === undefined ? Number.NaN : vectorOf(text).reduce((sum, x, i) => sum + x * vector[i]!, 0)
}
const searched = async ({ context }: Opened, parameters: Record<string, string>) => {
  const answered = await search(context, "shop", parameters)
  if (!answered.ok) return answered.error.message
  return JSON.parse(answered.value.text ?? JSON.stringify(answered.value.body)) as {
    hits: Array<{ document: Record<string, unknown>; vector_distance?: number; hybrid_search_info?: unknown }>
  }
}

describe("embedding fields", () => {
  it("take their dimensions from the model, pin its weights, and refuse a missing model", async () => {
    const { context, created } = await open()
    expect(created.ok && created.value.body).toMatchObject({
      fields: [{}, {}, {}, { num_dim: DIMENSIONS, embed: { model_hash: "weights-1" } }]
    })
    const wrong = structuredClone({ ...COLLECTION, name: "other" })
    ;(wrong.fields[3] as unknown as { embed: { model_config: { model_name: string } } }).embed.model_config.model_name =
      "x/y"
    const refused = await createCollection(context, JSON.stringify(wrong))
    expect(refused.ok ? "" : refused.error.message).toContain("names no available model")
  })

  it("are computed from the sources with the model's prefix, and only once while these stay the same", async () => {
    const opened = await open()
    const { engine, taken } = opened
    await put(engine, "create", { id: "1", title: "red lamp", tags: ["light", "desk"], price: 1 })
    expect(taken()).toEqual(["passage: red lamp light desk"])
    expect(near(await stored(opened, "1"), "passage: red lamp light desk")).toBeCloseTo(1, 3)
    await put(engine, "update", { id: "1", price: 2 })
    await put(engine, "upsert", { id: "1", title: "red lamp", tags: ["light", "desk"], price: 3 })
    expect(taken()).toEqual([])
    expect(await stored(opened, "1")).toMatchObject({ price: 3, meaning: vectorOf("passage: red lamp light desk") })
    await put(engine, "update", { id: "1", title: "blue lamp" })
    await put(engine, "emplace", { id: "1", tags: null }, { id: "2", title: "green chair" })
    expect(taken()).toEqual(["passage: blue lamp light desk", "passage: blue lamp", "passage: green chair"])
    expect(near(await stored(opened, "1"), "passage: blue lamp")).toBeCloseTo(1, 3)
    // Later lines of a batch see the result of earlier ones.
    await put(engine, "emplace", { id: "3", title: "table" }, { id: "3", tags: ["oak"] })
    expect(taken()).toEqual(["passage: table", "passage: table oak"])
    expect(near(await stored(opened, "3"), "passage: table oak")).toBeCloseTo(1, 3)
  })

  it("takes a ready vector of the right size, and refuses others", async () => {
    const opened = await open()
    const { engine, taken } = opened
    const own = vectorOf("something else")
    const verdicts = await put(
      engine,
      "upsert",
      { id: "1", title: "lamp", meaning: own },
      { id: "2", title: "lamp", meaning: [1, 2] },
      { id: "3", price: 4 },
      { id: "4", title: "unreadable" },
      { id: "5", title: "fine" }
    )
    expect(verdicts.map(errorOf)).toEqual([
      undefined,
      "Field `meaning` contains an invalid embedding.",
      "No text was found to make the embedding of `meaning`: send at least one of the fields that it is made of, or make the field optional.",
      "The model does not answer.",
      undefined
    ])
    expect(taken()).toEqual(["passage: unreadable", "passage: fine"])
    expect((await stored(opened, "1"))?.meaning).toEqual(own)
    // Kept while the sources stay the same, recomputed when they change.
    await put(engine, "upsert", { id: "1", title: "lamp", price: 1 })
    expect((await stored(opened, "1"))?.meaning).toEqual(own)
    await put(engine, "upsert", { id: "1", title: "chair" })
    expect(near(await stored(opened, "1"), "passage: chair")).toBeCloseTo(1, 3)
  })

  it("match what is stored in the end when two writers change different sources at once", async () => {
    const opened = await open()
    const { engine, hold } = opened
    await put(engine, "create", { id: "1", title: "lamp", tags: ["old"] })
    let release = () => {}
    hold(
      new Promise((resolve) => {
        release = resolve
      })
    )
    const slow = put(engine, "update", { id: "1", title: "chair" })
    await new Promise((resolve) => {
      setTimeout(resolve, 5)
    })
    await put(engine, "update", { id: "1", tags: ["new"] })
    release()
    await slow
    const document = await stored(opened, "1")
    expect(document).toMatchObject({ title: "chair", tags: ["new"] })
    expect(near(document, "passage: chair new")).toBeCloseTo(1, 3)
  })

  it("are found by meaning, weighted texts, and fused with words; other weights of the model are refused", async () => {
    const opened = await open()
    const { change, engine } = opened
    await put(
      engine,
      "create",
      { id: "1", title: "red lamp" },
      { id: "2", title: "oak table" },
      { id: "3", title: "red table" }
    )
    const ids = async (parameters: Record<string, string>) => {
      const found = await searched(opened, parameters)
      return typeof found === "string" ? found : found.hits.map(({ document }) => document.id)
    }
    expect((await ids({ q: "red lamp", query_by: "meaning" }))[0]).toBe("1")
    expect(
      (await ids({ q: "*", vector_query: "meaning:([], queries:[oak, table], query_weights:[0.9, 0.1], k: 3)" }))[0]
    ).toBe("2")
    expect(await ids({ q: "red table", query_by: "title,meaning" })).toEqual(["3", "1", "2"])
    const [fused] = (
      (await searched(opened, { q: "red table", query_by: "title,meaning" })) as {
        hits: Array<{ hybrid_search_info?: unknown }>
      }
    ).hits
    expect(fused!.hybrid_search_info).toBeDefined()
    change("weights-2")
    expect(await ids({ q: "red", query_by: "meaning" })).toContain(
      "is another one than the vectors of `meaning` were made with"
    )
  })

  it("reindexing recomputes every vector and changes nothing else", async () => {
    const opened = await open()
    const { engine, taken } = opened
    await put(engine, "create", { id: "1", title: "lamp", meaning: vectorOf("nothing") })
    const again = (await engine.write("t", "shop", [
      { kind: "put", action: "upsert", dirtyValues: undefined, document: { id: "1", title: "stale" }, rewrite: true }
    ])) as Result<ReadonlyArray<WriteVerdict>>
    expect(again.ok && again.value.map(errorOf)).toEqual([undefined])
    expect(taken()).toEqual(["passage: lamp"])
    expect(await stored(opened, "1")).toMatchObject({ title: "lamp" })
    expect(near(await stored(opened, "1"), "passage: lamp")).toBeCloseTo(1, 3)
  })

  it("outside the schema appear in no answer", async () => {
    const opened = await open({ name: "shop", fields: [{ name: "title", type: "string" }] })
    const { context, engine, taken } = opened
    await put(engine, "create", { id: "1", title: "red lamp" })
    const own = {
      name: OWN_VECTORS,
      type: "float[]",
      optional: true,
      embed: { from: ["title"], model_config: { model_name: "test/words" } }
    }
    expect((await updateCollection(context, "shop", JSON.stringify({ fields: [own] }))).ok).toBe(true)
    const written = await engine.write(
      "t",
      "shop",
      [{ kind: "put", action: "upsert", dirtyValues: undefined, document: { id: "1", title: "red lamps" } }],
      { returnDocuments: true }
    )
    expect(taken()).toEqual(["red lamps"])
    const [verdict] = written.ok ? written.value : []
    expect(verdict?.result.ok && verdict.result.value.document).toEqual({ id: "1", title: "red lamps" })
    expect(await stored(opened, "1")).toEqual({ id: "1", title: "red lamps" })
    const page = await engine.scan("t", { collection: "shop", filter: undefined, limit: 10 })
    expect(page.ok && page.value.documents).toEqual([{ id: "1", title: "red lamps" }])
    const found = await searched(opened, { q: "lamps", query_by: `title,${OWN_VECTORS}` })
    expect(typeof found === "string" ? found : found.hits.map(({ document }) => document)).toEqual([
      { id: "1", title: "red lamps" }
    ])
  })
})
