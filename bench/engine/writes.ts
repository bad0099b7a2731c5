/**
 * Question: how fast is an import, in memory, on disk and in a worker, and how long does a single upsert beside it take to be
 * found (published to the searching thread) and to be answered (durable), while searches go on? One upsert and one search at a
 * fixed rate, each counted from when it was due. Processor time beside the clock: on a busy machine only the former says something.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import { openEngine } from "../../engine-sdk/src/memory/open-engine.ts"
import { createCollection, importDocuments, memoryResources, type OperationContext, search } from "../../engine-sdk/src/operations/mod.ts"
import { chunksOf, percentiles, processorSeconds } from "../harness.ts"
import type { Inputs } from "../inputs.ts"

export const writeModes = ["memory", "disk", "worker"] as const
const RATE_ms = 10

const importAll = async (context: OperationContext, collection: string, lines: ReadonlyArray<string>): Promise<void> => {
  const imported = importDocuments(context, collection, chunksOf(lines), { action: "upsert" })
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const answers of imported.value.lines) if (answers.includes("\"success\":false")) throw new Error(answers.split("\n").find((line) => line.includes("false")))
}

const measureMode = async (inputs: Inputs, mode: (typeof writeModes)[number]) => {
  const path = mode === "memory" ? undefined : mkdtempSync(join(tmpdir(), "dowser-bench-"))
  const engine = path === undefined ? createEngine() : await openEngine({ path, worker: mode === "worker" })
  try {
    const context: OperationContext = { engine, resources: memoryResources(), namespace: "bench", now_s: 0 }
    const created = await createCollection(context, JSON.stringify(inputs.schema))
    if (!created.ok) throw new Error(created.error.message)
    const used = processorSeconds(process.pid), began = performance.now()
    await importAll(context, inputs.schema.name, inputs.documents)
    const seconds = (performance.now() - began) / 1000, spent = processorSeconds(process.pid)

    // The same documents once more, as new versions; the upserts are documents of their own with a word that nothing else has.
    let isImporting = true
    const importing = importAll(context, inputs.schema.name, inputs.documents).finally(() => { isImporting = false })
    const text = Object.keys(JSON.parse(inputs.documents[0]) as object).find((name) => name === "title") ?? (inputs.queries[0].query_by as string).split(",")[0]
    const found: Array<number> = [], answered: Array<number> = [], searches: Array<number> = []
    let watched: { readonly word: string; readonly due: number } | undefined
    const look = async (): Promise<void> => {
      if (watched === undefined) return
      const { due, word } = watched
      const answer = await search(context, inputs.schema.name, { q: word, query_by: text, num_typos: "0", prefix: "false", drop_tokens_threshold: "0" })
      if (!answer.ok || !(answer.value.text ?? "").includes("\"found\":1") || watched?.word !== word) return
      found.push(performance.now() - due)
      watched = undefined
    }
    let looking = Promise.resolve()
    const apply = engine.apply.bind(engine)
    engine.apply = (event) => { apply(event); if (event.kind === "published" && event.publication.added.length > 0) looking = looking.then(look) }
    for (let i = 0; isImporting; i++) {
      const due = performance.now() + RATE_ms
      await new Promise((resolve) => setTimeout(resolve, RATE_ms))
      const word = `beside${mode}${i}`
      watched = { word, due }
      const document = { ...JSON.parse(inputs.documents[i % inputs.documents.length]) as object, id: `beside-${i}`, [text]: word }
      const written = await engine.write("bench", inputs.schema.name, [{ kind: "put", action: "upsert", dirtyValues: undefined, document }])
      if (!written.ok || !written.value[0].result.ok) throw new Error(`the upsert was refused: ${JSON.stringify(written)}`)
      answered.push(performance.now() - due)
      await looking
      if (watched !== undefined) throw new Error("an answered upsert is not found")
      const at = performance.now()
      await search(context, inputs.schema.name, inputs.queries[i % inputs.queries.length])
      searches.push(performance.now() - at)
    }
    await importing
    return {
      import_docs_per_s: Math.round(inputs.documents.length / seconds),
      import_docs_per_processor_s_first_thread: Math.round(inputs.documents.length / Math.max(0.01, spent.firstThread - used.firstThread)),
      import_docs_per_processor_s: Math.round(inputs.documents.length / Math.max(0.01, spent.process - used.process)),
      upserts: found.length, found: percentiles(found), answered: percentiles(answered), search_beside: percentiles(searches)
    }
  } finally {
    await engine.close()
    if (path !== undefined) rmSync(path, { recursive: true, force: true })
  }
}

export const measureWrites = async (inputs: Inputs) => ({ memory: await measureMode(inputs, "memory"), disk: await measureMode(inputs, "disk"), worker: await measureMode(inputs, "worker") })
