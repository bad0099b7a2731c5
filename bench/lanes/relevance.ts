/**
 * Question: how good are the results, and what does that cost in time? nDCG@10, MRR and recall@100 on judged queries,
 * with one configuration for every set; `--compare` adds the plain ranking and our own BM25 with paired bootstrap
 * intervals, queries with a typo or with two words joined (seeded), and times of one page of ten hits per ranking.
 * Excluded: HTTP. Read differences below about .03 on fifty queries as noise.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  search
} from "../../engine-sdk/src/operations/mod.ts"
import { chunksOf, linesOf, machine, percentiles, readLines, report, round } from "../harness/harness.ts"
import { type Judgments, mean, pairedBootstrap, type QueryScore, scoreOf } from "../../engine-sdk/src/judging/mod.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { joinedWords, withTypo } from "../inputs/query-errors.ts"
import { meaningFigures } from "./relevance-meaning.ts"

const rankings = ["plain", "bm25", "relevance"] as const
type Ranking = (typeof rankings)[number]
export interface RelevanceOptions {
  readonly docs: string
  readonly queries: string
  readonly qrels: string
  readonly queryBy: string
  readonly schema: string | undefined
  readonly ranking: Ranking
  /** Whether to compare all rankings, with intervals and with queries that contain errors. */ readonly compare: boolean
  /** The file to which the run of `ranking` is written. */ readonly run: string | undefined
  /** The model whose vectors are fused with the ranking by words. */ readonly embedder: "none" | "minilm" | "lsa"
  readonly seed: number
  readonly out: string | undefined
}
export interface JudgedQuery {
  readonly id: string
  readonly text: string
  readonly judgments: Judgments
}
interface Hit {
  readonly document: { readonly id: string }
  readonly text_match?: number
}
interface Answer {
  readonly hits: ReadonlyArray<Hit>
}

const runDepth = 100

export const readJudged = async (queries: string, qrels: string): Promise<ReadonlyArray<JudgedQuery>> => {
  const judged = new Map<string, Map<string, number>>()
  for await (const line of linesOf(qrels)) {
    const [query, document, grade] = line.split("\t")
    const known = judged.get(query) ?? new Map<string, number>()
    judged.set(query, known.set(document, Number(grade)))
  }
  return (await readLines(queries))
    .map((line) => JSON.parse(line) as { readonly id: string; readonly text: string })
    .map(({ id, text }) => ({ id, text, judgments: judged.get(id) ?? new Map() }))
}

/** Indexes only the searched fields; types are detected. */
const schemaFor = (queryBy: string) => ({
  name: "judged",
  fields: queryBy.split(",").map((name) => ({
    name: name.trim().replace(/\*$/, ".*"),
    type: name.includes("*") ? "auto" : "string",
    optional: true
  }))
})

/** A collection in memory that answers queries with any ranking. Shared with the tests. */
export const openCollection = async (docs: string, queryBy: string, schemaFile?: string) => {
  const engine = createEngine()
  const context: OperationContext = { engine, resources: memoryResources(), namespace: "bench", now_s: 0 }
  const schema =
    schemaFile === undefined
      ? schemaFor(queryBy)
      : (JSON.parse(readFileSync(schemaFile, "utf8")) as { readonly name: string })
  const created = await createCollection(context, JSON.stringify(schema))
  if (!created.ok) throw new Error(created.error.message)
  const lines = await readLines(docs)
  const started = performance.now()
  const imported = importDocuments(context, schema.name, chunksOf(lines), { action: "create" })
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const verdicts of imported.value.lines)
    if (verdicts.includes('"success":false'))
      throw new Error(verdicts.split("\n").find((line) => line.includes("false")))
  const importSeconds = (performance.now() - started) / 1000
  const ask = async (
    ranking: Ranking,
    q: string,
    perPage: number,
    more: Readonly<Record<string, unknown>> = {}
  ): Promise<string> => {
    // Quotation marks or a minus in a query text are text here, not syntax.
    const answered = await search(context, schema.name, {
      q: q.replace(/["“”]|(?<=\s|^)-/g, " "),
      query_by: queryBy,
      per_page: perPage,
      include_fields: "id",
      highlight_fields: "id",
      ...(ranking === "plain" ? {} : { ranking }),
      ...more
    })
    if (!answered.ok) throw new Error(`${q}: ${answered.error.message}`)
    return answered.value.text ?? ""
  }
  return {
    documents: lines.length,
    importSeconds,
    ask,
    close: () => engine.close(),
    usage: () => engine.usage("bench", schema.name),
    ranked: async (ranking: Ranking, q: string): Promise<ReadonlyArray<Hit>> =>
      (JSON.parse(await ask(ranking, q, runDepth)) as Answer).hits
  }
}
export type OpenCollection = Awaited<ReturnType<typeof openCollection>>

interface Evaluated {
  readonly scores: ReadonlyArray<QueryScore>
  readonly run: ReadonlyArray<string>
}
/** Queries without a relevant document are run and written, but do not count towards quality. */
export const evaluate = async (
  collection: OpenCollection,
  queries: ReadonlyArray<JudgedQuery>,
  ranking: Ranking
): Promise<Evaluated> => {
  const scores: Array<QueryScore> = [],
    run: Array<string> = []
  for (const { id, judgments, text } of queries) {
    const hits = await collection.ranked(ranking, text)
    hits.forEach(({ document, text_match }, i) =>
      run.push(`${id}\t${document.id}\t${i + 1}\t${(text_match ?? 0) / (ranking === "plain" ? 1 : 1e6)}`)
    )
    const score = scoreOf(
      hits.map(({ document }) => document.id),
      judgments
    )
    if (score !== undefined) scores.push(score)
  }
  return { scores, run }
}
const summary = (scores: ReadonlyArray<QueryScore>) => ({
  "nDCG@10": round(mean(scores.map(({ ndcg10 }) => ndcg10)), 4),
  MRR: round(mean(scores.map(({ mrr }) => mrr)), 4),
  "recall@100": round(mean(scores.map(({ recall100 }) => recall100)), 4)
})

/** Times of one page of ten hits, each query once after two warm-up rounds. */
const timed = async (collection: OpenCollection, queries: ReadonlyArray<JudgedQuery>, ranking: Ranking) => {
  for (let warm = 0; warm < 2; warm++) for (const { text } of queries) await collection.ask(ranking, text, 10)
  const times: Array<number> = []
  for (let turn = 0; turn < 3; turn++)
    for (const { text } of queries) {
      const started = performance.now()
      await collection.ask(ranking, text, 10)
      times.push(performance.now() - started)
    }
  return percentiles(times)
}

const signed = (value: number) => `${value < 0 ? "-" : "+"}${Math.abs(value).toFixed(4)}`
/** Bytes and milliseconds of the relevance index, measured around the first search that needs it. */
const indexCost = async (collection: OpenCollection, ranking: Ranking, text: string) => {
  const before = collection.usage()?.index_bytes ?? 0
  const started = performance.now()
  await collection.ask(ranking, text, 10)
  return {
    first_search_ms: round(performance.now() - started, 1),
    relevance_bytes_per_doc: round(
      ((collection.usage()?.index_bytes ?? 0) - before) / Math.max(1, collection.documents),
      1
    ),
    plain_bytes_per_doc: round(before / Math.max(1, collection.documents), 1)
  }
}

export const benchRelevance = async (options: RelevanceOptions): Promise<void> => {
  const queries = await readJudged(options.queries, options.qrels)
  const collection = await openCollection(options.docs, options.queryBy, options.schema)
  const cost = await indexCost(collection, options.ranking, queries[0]?.text ?? "")
  const main = await evaluate(collection, queries, options.ranking)
  if (options.run !== undefined) writeFileSync(options.run, main.run.map((line) => `${line}\n`).join(""))
  const figures: Record<string, unknown> = {
    documents: collection.documents,
    queries: `${queries.length}, ${main.scores.length} with a relevant document`,
    import_docs_per_s: Math.round(collection.documents / collection.importSeconds),
    ...cost,
    ...summary(main.scores),
    ...(options.embedder === "none"
      ? {}
      : { meaning: await meaningFigures(collection, queries, { ...options, embedder: options.embedder }) }),
    machine: machine()
  }
  report(
    `relevance: ranking ${options.ranking}, query_by ${options.queryBy}`,
    figures,
    options.compare ? undefined : options.out
  )
  if (options.compare)
    report("rankings compared", { ...(await compared(collection, queries, options.seed)) }, options.out)
  await collection.close()
}

/** Every ranking on the same queries. Differences are relative to our own BM25 (same index, same words). */
const compared = async (
  collection: OpenCollection,
  queries: ReadonlyArray<JudgedQuery>,
  seed: number
): Promise<Record<string, unknown>> => {
  const figures: Record<string, unknown> = {}
  const baseline = (await evaluate(collection, queries, "bm25")).scores
  for (const ranking of rankings) {
    const { scores } = await evaluate(collection, queries, ranking)
    const against = (of: (score: QueryScore) => number) => {
      const { difference, high, low } = pairedBootstrap(scores.map(of), baseline.map(of), makeRandom(seed).below)
      return `${signed(difference)} [${signed(low)}, ${signed(high)}]`
    }
    const { p50_ms, p95_ms } = await timed(collection, queries, ranking)
    figures[ranking] = {
      ...summary(scores),
      ...(ranking === "bm25"
        ? {}
        : {
            "nDCG@10 to bm25, 95 %": against(({ ndcg10 }) => ndcg10),
            "recall@100 to bm25": against(({ recall100 }) => recall100)
          }),
      p50_ms,
      p95_ms
    }
  }
  for (const ranking of rankings) {
    const clean = mean((await evaluate(collection, queries, ranking)).scores.map(({ ndcg10 }) => ndcg10))
    const under = async (name: string, change: (text: string, seed: number) => string) => {
      const runs: Array<number> = []
      for (let i = 0; i < 3; i++)
        runs.push(
          mean(
            (
              await evaluate(
                collection,
                queries.map((query, q) => ({ ...query, text: change(query.text, seed + i * 1_000 + q) })),
                ranking
              )
            ).scores.map(({ ndcg10 }) => ndcg10)
          )
        )
      return [name, `${round(mean(runs), 4)} = ${round((100 * mean(runs)) / clean, 1)} %`] as const
    }
    figures[`${ranking}, errors in queries`] = Object.fromEntries([
      await under("one typo", withTypo),
      await under("two words as one", joinedWords)
    ])
  }
  return figures
}
