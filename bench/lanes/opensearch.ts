/**
 * Question: what does an OpenSearch cluster behind the port cost, and how many small collections can one node hold?
 * Workload: one node with 1 GB of heap. Generated products are imported, the second time measured; every query is
 * sent to the cluster and to the embedded engine, one directly after the other (some find different documents:
 * `test/ports/engine-opensearch` counts them). Then one engine writes a document and another one of the same cluster
 * searches for it, as two API processes would. Then many collections of many organizations share the pool and are
 * searched in turn. Processor time is reported separately for this process and the node. Excluded: HTTP in front of
 * the engine, keys, several nodes.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  createCollection,
  createDocument,
  importDocuments,
  type OperationContext,
  search
} from "../../engine-sdk/src/operations/mod.ts"
import { OpensearchEngine } from "../../engine-sdk/src/opensearch/mod.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { startOpensearch } from "../../src/cli/opensearch-node.ts"
import { machine, percentiles, processorSeconds, report, round } from "../harness/harness.ts"
import { contextOver, filled } from "../inputs/filled.ts"
import { type Inputs, type InputOptions, loadInputs } from "../inputs/inputs.ts"

export interface OpensearchBenchOptions extends InputOptions {
  readonly out: string | undefined
  /** Number of collections that share the pool. */ readonly collections: number
  readonly organizations: number
}
const HEAP_MB = 1_024
const WRITES = 100
const DOCUMENTS_EACH = 20
const SEARCHES_OF_SMALL = 500

const opened = async (address: string): Promise<OpensearchEngine> => {
  const engine = await OpensearchEngine.open({ nodes: [address], replicas: 0 })
  if (!engine.ok) throw new Error(engine.error.message)
  return engine.value
}
/** Bytes of the node's heap after a full garbage collection. */
const liveHeap_mb = async (address: string): Promise<number> => {
  let least = Infinity
  // A node cannot be made to collect garbage: the lowest figure within some seconds is closest to it.
  for (let look = 0; look < 20; look++) {
    const answer = await fetch(`${address}/_nodes/stats/jvm`)
    const { nodes } = (await answer.json()) as {
      readonly nodes: Readonly<
        Record<string, { readonly jvm: { readonly mem: { readonly heap_used_in_bytes: number } } }>
      >
    }
    for (const { jvm } of Object.values(nodes)) least = Math.min(least, jvm.mem.heap_used_in_bytes)
    await new Promise((settle) => setTimeout(settle, 250))
  }
  return Math.round(least / 1_048_576)
}
const asking = (context: OperationContext, collection: string) => async (asked: Readonly<Record<string, unknown>>) => {
  const answered = await search(context, collection, asked)
  if (!answered.ok) throw new Error(`${JSON.stringify(asked)}: ${answered.error.message}`)
  return JSON.parse(answered.value.text ?? "") as { readonly found: number; readonly hits: ReadonlyArray<Hit> }
}
interface Hit {
  readonly document: { readonly id: string }
}

const measureSearches = async (
  contexts: ReadonlyArray<OperationContext>,
  { queries, schema }: Inputs,
  node: number
) => {
  const asks = contexts.map((context) => asking(context, schema.name))
  const times: Array<Array<number>> = contexts.map(() => [])
  const seconds = () => [processorSeconds(process.pid).process, processorSeconds(node).process]
  let before = seconds()
  for (const round_ of [0, 1]) {
    // The first round warms up both.
    if (round_ === 1) {
      for (const own of times) own.length = 0
      before = seconds()
    }
    for (const query of queries)
      for (const [i, ask] of asks.entries()) {
        const from = performance.now()
        await ask(query)
        times[i]!.push(performance.now() - from)
      }
  }
  const [here, there] = seconds().map((now, i) => ((now - before[i]!) / queries.length) * 1_000)
  return {
    embedded: percentiles(times[0]!),
    opensearch: percentiles(times[1]!),
    processor_ms_here_both: round(here!),
    processor_ms_node: round(there!)
  }
}

/** One engine writes a document and gets its answer; another one then immediately searches for it. */
const measureWrites = async (writer: OperationContext, reader: OperationContext, { documents, schema }: Inputs) => {
  const ask = asking(reader, schema.name)
  const [first] = documents
  const like = JSON.parse(first!) as Readonly<Record<string, unknown>>
  const written: Array<number> = [],
    found: Array<number> = []
  let missed = 0
  for (let n = 0; n < WRITES; n++) {
    const title = `beacon${n}x`
    const document = { ...like, id: `beacon-${n}`, title }
    const from = performance.now()
    const answer = await createDocument(writer, schema.name, JSON.stringify(document), { action: "upsert" })
    if (!answer.ok) throw new Error(answer.error.message)
    written.push(performance.now() - from)
    const at = performance.now()
    const { hits } = await ask({ q: title, query_by: "title", num_typos: 0 })
    found.push(performance.now() - at)
    missed += Number(hits[0]?.document.id !== document.id)
  }
  return { writes: WRITES, not_found_at_once: missed, written: percentiles(written), found: percentiles(found) }
}

const makeSmall = async (context: OperationContext, name: string, owner: string): Promise<void> => {
  const made = await createCollection(
    context,
    JSON.stringify({
      name,
      fields: [
        { name: "title", type: "string" },
        { name: "owner", type: "string", facet: true }
      ]
    })
  )
  if (!made.ok) throw new Error(made.error.message)
  const lines = Array.from({ length: DOCUMENTS_EACH }, (_document, i) =>
    JSON.stringify({ id: String(i), title: `shared word number${i}`, owner })
  )
  const imported = importDocuments(
    context,
    name,
    (async function* () {
      yield new TextEncoder().encode(lines.join("\n"))
    })(),
    {}
  )
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const answered of imported.value.lines)
    if (answered.includes('"success":false')) throw new Error(answered.slice(0, 300))
}
const measureSmall = async (
  context: OperationContext,
  address: string,
  { collections, organizations }: Pick<OpensearchBenchOptions, "collections" | "organizations">
) => {
  const heapBefore = await liveHeap_mb(address)
  const began = performance.now()
  const of = (n: number) => ({ ...context, namespace: `org${n % organizations}` })
  const nameOf = (n: number) => `small${Math.floor(n / organizations)}`
  for (let n = 0; n < collections; n++) await makeSmall(of(n), nameOf(n), `org${n % organizations}`)
  const seconds = (performance.now() - began) / 1_000
  const random = makeRandom(7)
  const times: Array<number> = []
  let foreign = 0
  for (let i = 0; i < SEARCHES_OF_SMALL; i++) {
    const n = Math.floor(random.next() * collections)
    const from = performance.now()
    const { found, hits } = await asking(of(n), nameOf(n))({ q: "shared wrod", query_by: "title" })
    times.push(performance.now() - from)
    foreign += Number(found !== DOCUMENTS_EACH)
    foreign += hits.filter(
      ({ document }) => (document as { readonly owner?: string }).owner !== `org${n % organizations}`
    ).length
  }
  return {
    collections,
    organizations,
    made_a_second: round(collections / seconds, 1),
    heap_before_mb: heapBefore,
    heap_after_mb: await liveHeap_mb(address),
    of_another_organization: foreign,
    searches: percentiles(times)
  }
}

export const benchOpensearch = async (options: OpensearchBenchOptions): Promise<void> => {
  const inputs = await loadInputs(options)
  const folder = mkdtempSync(join(tmpdir(), "dowser-bench-opensearch-"))
  const programFolder = fileURLToPath(new URL("../../node_modules/.cache/dowser-opensearch", import.meta.url))
  const print = (text: string) => void process.stderr.write(`${text}\n`)
  try {
    const cluster = await startOpensearch({ folder, programFolder, nodes: 1, port: 0, heap_mb: HEAP_MB, report: print })
    try {
      const [node] = cluster.nodes
      const [engine, other] = [await opened(node!.address), await opened(node!.address)]
      const [own, context, elsewhere] = [createEngine(), engine, other].map(contextOver)
      await filled(own!, inputs)
      // A node that has just started compiles its code: the first thousands of documents cost three times as much.
      await filled({ ...context!, namespace: "warm" }, inputs)
      const from = performance.now(),
        before = processorSeconds(node!.pid).process
      await filled(context!, inputs)
      const seconds = (performance.now() - from) / 1_000
      const figures = {
        machine: machine(),
        documents: inputs.documents.length,
        import_docs_per_s: Math.round(inputs.documents.length / seconds),
        import_processor_ms_node_a_document: round(
          ((processorSeconds(node!.pid).process - before) * 1_000) / inputs.documents.length
        ),
        searches: await measureSearches([own!, context!], inputs, node!.pid),
        writes: await measureWrites(context!, elsewhere!, inputs),
        small: await measureSmall(context!, node!.address, options)
      }
      report("OpenSearch behind the port, one node of 1 GB of heap", figures, options.out)
      for (const one of [own!.engine, engine, other]) await one.close()
    } finally {
      await cluster.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
