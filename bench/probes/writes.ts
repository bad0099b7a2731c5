/**
 * Question: how fast is an import in memory, on disk and in a worker, and how long does a single upsert take to
 * become searchable (published to the searching thread) and to be answered (durable), during an import and with only
 * searches? During an import: one upsert and one search at a fixed rate, each timed from when it was due. With only
 * searches (`alone`): upserts timed from the call, at random moments from a separate seeded clock, so that searches
 * fall between call and publication; this begins once merging has finished. Processor time is printed next to
 * wall-clock time: on a busy machine only the former is meaningful.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import type { LocalEngine } from "../../engine-sdk/src/memory/local-engine.ts"
import { openEngine } from "../../engine-sdk/src/memory/open-engine.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  search
} from "../../engine-sdk/src/operations/mod.ts"
import type { WriteOperation } from "../../engine-sdk/src/plan.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { percentiles, processorSeconds } from "../harness/harness.ts"
import type { Inputs } from "../inputs/inputs.ts"
import type { Texts } from "../inputs/texts.ts"

export const writeModes = ["memory", "disk", "worker"] as const
const RATE_MS = 10
const ALONE_UPSERTS = 400
/** Between two searches, and at most between two upserts. */
const SEARCH_EVERY_MS = 2
const UPSERT_EVERY_MS = 12
const REST_MS = 2_500
const REST_MAX_MS = 60_000

const importAll = async (context: OperationContext, collection: string, lines: Texts): Promise<void> => {
  const imported = importDocuments(context, collection, lines.chunks(), { action: "upsert" })
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const answers of imported.value.lines)
    if (answers.includes('"success":false')) throw new Error(answers.split("\n").find((line) => line.includes("false")))
}

/** Times upserts from the call until they are found and until they are answered, while searches follow each other. */
const besideSearches = async (
  engine: LocalEngine,
  inputs: Inputs,
  run: (i: number) => Promise<unknown>,
  isFound: (word: string) => Promise<boolean>,
  operationOf: (i: number) => WriteOperation,
  wordOf: (i: number) => string
) => {
  const segments = (): number => engine.usage("bench", inputs.schema.name)?.segments ?? 0
  for (
    let began = performance.now(), last = began, known = segments();
    segments() > 1 && performance.now() - last < REST_MS && performance.now() - began < REST_MAX_MS;
  ) {
    await new Promise((resolve) => setTimeout(resolve, 50))
    if (segments() !== known) {
      known = segments()
      last = performance.now()
    }
  }
  let isOver = false
  const searching = (async () => {
    const spent: Array<number> = []
    for (let i = 0; !isOver; i++) {
      await new Promise((resolve) => setTimeout(resolve, SEARCH_EVERY_MS))
      const at = performance.now()
      await run(i)
      spent.push(performance.now() - at)
    }
    return spent
  })()
  const random = makeRandom(1)
  const found: Array<number> = [],
    answered: Array<number> = []
  let published: (() => void) | undefined
  const apply = engine.apply.bind(engine)
  engine.apply = (event) => {
    apply(event)
    if (event.kind === "published" && event.publication.added.some(({ meta }) => meta.docs === 1)) published?.()
  }
  for (let i = 0; i < ALONE_UPSERTS; i++) {
    await new Promise((resolve) => setTimeout(resolve, random.next() * UPSERT_EVERY_MS))
    const operation = operationOf(i),
      at = performance.now()
    // Searches are synchronous, so the next search finds what is published.
    const publication = new Promise<void>((resolve) => {
      published = () => {
        found.push(performance.now() - at)
        published = undefined
        resolve()
      }
    })
    const written = await engine.write("bench", inputs.schema.name, [operation])
    answered.push(performance.now() - at)
    await publication
    if (!written.ok || !written.value[0].result.ok || !(await isFound(wordOf(i))))
      throw new Error("an answered upsert is not found")
  }
  isOver = true
  engine.apply = apply
  const spent = await searching
  return { alone_found: percentiles(found), alone_answered: percentiles(answered), alone_search: percentiles(spent) }
}

const measureMode = async (inputs: Inputs, mode: (typeof writeModes)[number]) => {
  const path = mode === "memory" ? undefined : mkdtempSync(join(tmpdir(), "dowser-bench-"))
  const engine = path === undefined ? createEngine() : await openEngine({ path, worker: mode === "worker" })
  try {
    const context: OperationContext = { engine, resources: memoryResources(), namespace: "bench", now_s: 0 }
    const created = await createCollection(context, JSON.stringify(inputs.schema))
    if (!created.ok) throw new Error(created.error.message)
    const used = processorSeconds(process.pid),
      began = performance.now()
    await importAll(context, inputs.schema.name, inputs.documents)
    const seconds = (performance.now() - began) / 1000,
      spent = processorSeconds(process.pid)

    // Imports the same documents again as new versions. The upserts are separate documents with a word found in no
    // other.
    const once = async (word: string): Promise<boolean> => {
      const answer = await search(context, inputs.schema.name, {
        q: word,
        query_by: text,
        num_typos: "0",
        prefix: "false",
        drop_tokens_threshold: "0"
      })
      return answer.ok && (answer.value.text ?? "").includes('"found":1')
    }
    const text =
      Object.keys(JSON.parse(inputs.documents.at(0)) as object).find((name) => name === "title") ??
      (inputs.queries[0].query_by as string).split(",")[0]
    const documentOf = (word: string, i: number): WriteOperation => ({
      kind: "put",
      action: "upsert",
      dirtyValues: undefined,
      document: {
        ...(JSON.parse(inputs.documents.at(i % inputs.documents.length)) as object),
        id: `beside-${i}`,
        [text]: word
      }
    })
    const alone = await besideSearches(
      engine,
      inputs,
      (i) => search(context, inputs.schema.name, inputs.queries[i % inputs.queries.length]),
      once,
      (i) => documentOf(`alone${mode}${i}`, i),
      (i) => `alone${mode}${i}`
    )
    let isImporting = true
    const importing = importAll(context, inputs.schema.name, inputs.documents).finally(() => {
      isImporting = false
    })
    const found: Array<number> = [],
      answered: Array<number> = [],
      searches: Array<number> = []
    let watched: { readonly word: string; readonly due: number } | undefined
    const look = async (): Promise<void> => {
      if (watched === undefined) return
      const { due, word } = watched
      if (!(await once(word)) || watched?.word !== word) return
      found.push(performance.now() - due)
      watched = undefined
    }
    let looking = Promise.resolve()
    const apply = engine.apply.bind(engine)
    engine.apply = (event) => {
      apply(event)
      if (event.kind === "published" && event.publication.added.length > 0) looking = looking.then(look)
    }
    for (let i = 0; isImporting; i++) {
      const due = performance.now() + RATE_MS
      await new Promise((resolve) => setTimeout(resolve, RATE_MS))
      const word = `beside${mode}${i}`
      watched = { word, due }
      const written = await engine.write("bench", inputs.schema.name, [documentOf(word, i)])
      if (!written.ok || !written.value[0].result.ok)
        throw new Error(`the upsert was refused: ${JSON.stringify(written)}`)
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
      import_docs_per_processor_s_first_thread: Math.round(
        inputs.documents.length / Math.max(0.01, spent.firstThread - used.firstThread)
      ),
      import_docs_per_processor_s: Math.round(inputs.documents.length / Math.max(0.01, spent.process - used.process)),
      upserts: found.length,
      found: percentiles(found),
      answered: percentiles(answered),
      search_beside: percentiles(searches),
      ...alone
    }
  } finally {
    await engine.close()
    if (path !== undefined) rmSync(path, { recursive: true, force: true })
  }
}

export const measureWrites = async (inputs: Inputs) => ({
  memory: await measureMode(inputs, "memory"),
  disk: await measureMode(inputs, "disk"),
  worker: await measureMode(inputs, "worker")
})
