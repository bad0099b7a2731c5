/**
 * Documents, judged queries and rules of the pipeline bench: files in the formats of the relevance bench, or
 * generated ones. Each document gets a vector of its words (the sum of one random direction per word), so that MMR
 * works on 384 dimensions without a model.
 */
import { readFileSync } from "node:fs"
import { generateCatalog, type Product } from "../../fixtures/catalog/generate.ts"
import { generateQueries, gradeOf } from "../../fixtures/queries/generate.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { emptyRuleSet, type Pin, queryWords, type RuleSet } from "../../engine-sdk/src/rules/mod.ts"
import { readLines } from "../harness/harness.ts"
import { type JudgedQuery, readJudged } from "../lanes/relevance.ts"

const dimensions = 384
export interface PipelineInputs {
  readonly documents: ReadonlyArray<Readonly<Record<string, unknown>> & { readonly id: string }>
  readonly queries: ReadonlyArray<JudgedQuery>
  readonly queryBy: string
  /** The field whose different values are counted. */ readonly brand: string
}
export interface PipelineFiles {
  readonly docs: string | undefined
  readonly queries: string | undefined
  readonly qrels: string | undefined
  readonly queryBy: string | undefined
  readonly products: number
  readonly queryCount: number
  readonly seed: number
}

export const loadPipelineInputs = async (files: PipelineFiles): Promise<PipelineInputs> => {
  if (files.docs === undefined) return generated(files)
  if (files.queries === undefined || files.qrels === undefined)
    throw new Error("--docs needs --queries and --qrels beside it.")
  const documents = (await readLines(files.docs)).map((line) => JSON.parse(line) as PipelineInputs["documents"][number])
  const fields = new Set(
    documents.slice(0, 1_000).flatMap((document) =>
      Object.entries(document)
        .filter(([, value]) => typeof value === "string")
        .map(([name]) => name)
    )
  )
  const known = ["title", "name", "brand", "supplier", "short_description", "description", "text", "category"].filter(
    (name) => fields.has(name)
  )
  return {
    documents,
    queries: await readJudged(files.queries, files.qrels),
    queryBy: files.queryBy ?? known.join(","),
    brand: ["brand", "supplier", "manufacturer", "category"].find((name) => fields.has(name)) ?? known[0]
  }
}
/** At most this many products are judged per query, best grades first, as in a real shop. */
const judgedMax = 200
const generated = ({ products, queryCount, seed }: PipelineFiles): PipelineInputs => {
  const documents: ReadonlyArray<Product> = [...generateCatalog({ seed, products })]
  const made = [...generateQueries(documents, { seed, queries: queryCount, typoShare: 0.1, prefixShare: 0.1 })]
  const queries = made.map((query, i): JudgedQuery => ({
    id: `q${i + 1}`,
    text: query.q,
    judgments: new Map(
      documents
        .map((product) => [product.id, gradeOf(query, product)] as const)
        .filter(([, grade]) => grade > 0)
        .sort((a, b) => b[1] - a[1])
        .slice(0, judgedMax)
    )
  }))
  return {
    documents: documents as unknown as PipelineInputs["documents"],
    queries,
    queryBy: "title,brand,category,attributes",
    brand: "brand"
  }
}

const directions = new Map<string, Float32Array>()
const directionOf = (word: string): Float32Array => {
  let direction = directions.get(word)
  if (direction === undefined) {
    const random = makeRandom(word)
    directions.set(word, (direction = Float32Array.from({ length: dimensions }, () => random.next() - 0.5)))
  }
  return direction
}
/** Rounded, so that a document stays a few kilobytes of JSON. */
export const embed = (text: string): ReadonlyArray<number> => {
  const sum = new Float64Array(dimensions)
  for (const word of queryWords(text)) {
    const direction = directionOf(word)
    for (let d = 0; d < dimensions; d++) sum[d] += direction[d]
  }
  const length = Math.hypot(...sum) || 1
  return Array.from(sum, (part) => Math.round((part / length) * 10_000) / 10_000)
}

/** Rules of every kind in the proportions of a shop: most are pins and banners for single queries. */
export const generatedRules = (
  { documents, queries, queryBy, brand }: PipelineInputs,
  count: number,
  seed: number
): RuleSet => {
  const random = makeRandom(seed).fork("rules")
  const texts = queries.map(({ text }) => text)
  const phrase = (): string =>
    random.chance(0.3) ? random.pick(texts) : `${random.pick(texts)} ${random.below(1_000)}`
  const match = () => random.pick(["exact", "exact", "partial", "prefix"] as const)
  const pins = Array.from({ length: Math.ceil(count * 0.6) }, (_pin, i): Pin => ({
    query: phrase(),
    match: match(),
    filter_contains: random.chance(0.1) ? `${brand}:=` : "",
    doc_id: random.pick(documents).id,
    position: 1 + random.below(10),
    priority: i
  }))
  return {
    ...emptyRuleSet,
    ...stageRules(queryBy, brand),
    pins,
    banners: Array.from({ length: Math.ceil(count * 0.2) }, (_banner, i) => ({
      id: `b${i}`,
      query: phrase(),
      match: match(),
      filter_contains: "",
      content: { image: `${i}.png` },
      priority: i
    })),
    suggestions: Array.from({ length: Math.ceil(count * 0.1) }, () => ({
      query: phrase(),
      match: match(),
      suggestions: [random.pick(texts)]
    })),
    sponsored: Array.from({ length: Math.floor(count * 0.1) }, (_slot, i) => ({
      id: random.pick(documents).id,
      query: phrase(),
      match: match(),
      filter_by: "",
      label: "Sponsored",
      campaign_id: `c${i}`,
      position: 1 + random.below(4),
      priority: i
    }))
  }
}
/** A rule set of only rerank and diversity, for measuring quality. */
export const stageRules = (queryBy: string, brand: string): Pick<RuleSet, "rerank" | "diversity"> => ({
  rerank: { ...emptyRuleSet.rerank, enabled: true, fields: queryBy.split(",") },
  diversity: [
    {
      field: brand,
      max: 3,
      min: 4,
      from: 1,
      near_duplicate: { fields: [queryBy.split(",")[0]], threshold: 0.8 },
      mmr: { lambda: 0.9, vector_field: "embedding", text_fields: [], k: 50 }
    }
  ]
})
export const readRules = (file: string): unknown => JSON.parse(readFileSync(file, "utf8"))
