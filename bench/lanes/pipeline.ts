/**
 * Question: what does merchandising cost in addition to the engine call, and what do rerank and diversity gain?
 * Workload: a collection with a 384-dimension vector per document, a rule set (1,000 generated rules of every kind by
 * default), judged queries, and a page of 50 from a window of 250. Times are those of the trace, over windows that
 * the engine has returned before: matching, plan, stages, placing and the trace itself; not the engine call with its
 * reading of values and rendering of hits. The linear model is trained on clicks that are simulated from the
 * judgments of the other half of the queries. Excluded: HTTP, an embedding model. Differences of nDCG below .03 on
 * fifty queries are noise.
 */
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import {
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext,
  planSearch
} from "../../engine-sdk/src/operations/mod.ts"
import { merchandise, type Merchandised, type MerchandiseEnvironment } from "../../engine-sdk/src/pipeline/mod.ts"
import type { SearchPlan } from "../../engine-sdk/src/plan.ts"
import { DEFAULT_LIMITS, fieldContextOf, parseFilter } from "../../engine-sdk/src/query/mod.ts"
import {
  featuresOf,
  linearReranker,
  trainLinear,
  type ClickedSearch,
  type LinearModel
} from "../../engine-sdk/src/rerank/mod.ts"
import {
  checkRuleSet,
  compileRules,
  emptyRuleSet,
  matchRules,
  queryWords,
  type CompiledRules,
  type RuleContext,
  type RuleSet
} from "../../engine-sdk/src/rules/mod.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { chunksOf, checksum, machine, percentiles, report, round } from "../harness/harness.ts"
import {
  embed,
  generatedRules,
  loadPipelineInputs,
  readRules,
  stageRules,
  type PipelineFiles,
  type PipelineInputs
} from "../inputs/pipeline.ts"
import { qualityOf, type Listed, type Quality } from "../inputs/pipeline-quality.ts"
import type { JudgedQuery } from "./relevance.ts"

export interface PipelineOptions extends PipelineFiles {
  readonly rules: string | undefined
  readonly ranking: "plain" | "relevance"
  readonly out: string | undefined
}
const windowsMax = 50
const pageSize = 50,
  rulesGenerated = 1_000,
  matchRulesGenerated = 10_000,
  timedRuns = 2_000
const now_us = (): number => performance.now() * 1_000

/** The text from which a vector is computed: the most informative fields. */
const embeddedText = (
  document: PipelineInputs["documents"][number],
  { queryBy }: Pick<PipelineInputs, "queryBy">
): string =>
  queryBy
    .split(",")
    .slice(0, 3)
    .map((name) => document[name] ?? "")
    .join(" ")

interface Opened {
  readonly engine: SearchEngine
  readonly context: OperationContext
  readonly rules: RuleContext
  plan(text: string): Promise<SearchPlan>
}
const open = async (
  { documents, queryBy, brand }: PipelineInputs,
  ranking: PipelineOptions["ranking"]
): Promise<Opened> => {
  // The window is read from columns, so an approximate index would only cost time here.
  const engine = createEngine({ approximateFrom: Infinity })
  const context: OperationContext = { engine, resources: memoryResources(), namespace: "bench", now_s: 0 }
  const fields = [...new Set([...queryBy.split(","), brand])].map((name) => ({
    name,
    type: documents.some((document) => Array.isArray(document[name])) ? "string[]" : "string",
    optional: true,
    facet: name === brand
  }))
  const created = await createCollection(
    context,
    JSON.stringify({
      name: "judged",
      fields: [...fields, { name: "embedding", type: "float[]", num_dim: 384, optional: true }]
    })
  )
  if (!created.ok) throw new Error(created.error.message)
  const lines = documents.map((document) =>
    JSON.stringify({ ...document, embedding: embed(embeddedText(document, { queryBy })) })
  )
  const imported = importDocuments(context, "judged", chunksOf(lines), { action: "create" })
  if (!imported.ok) throw new Error(imported.error.message)
  for await (const verdicts of imported.value.lines)
    if (verdicts.includes('"success":false'))
      throw new Error(verdicts.split("\n").find((line) => line.includes("false")))
  const info = engine.describeCollection("bench", "judged")!
  const fieldContext = fieldContextOf(
    info,
    { collectionOf: () => undefined, limits: DEFAULT_LIMITS, resources: { stemmingDictionary: () => undefined } },
    true,
    4
  )
  return {
    engine,
    context,
    rules: { parseFilter: (text) => parseFilter(text, fieldContext) },
    plan: async (text) => {
      // Quotation marks or a minus in a query text are text here, not syntax.
      const plan = await planSearch(context, info, {
        q: text.replace(/["“”]|(?<=\s|^)-/g, " "),
        query_by: queryBy,
        per_page: String(pageSize),
        exclude_fields: "embedding",
        highlight_fields: "id",
        ...(ranking === "plain" ? {} : { ranking })
      })
      if (!plan.ok) throw new Error(plan.error.message)
      return plan.value
    }
  }
}

/** The first search of a ranking may wait for its index. */
const run = async (
  { engine }: Pick<Opened, "engine">,
  plan: SearchPlan,
  rules: CompiledRules | undefined,
  q: string,
  model: LinearModel | undefined
): Promise<Merchandised> => {
  const environment: MerchandiseEnvironment = {
    engine,
    namespace: "bench",
    now_us,
    reranker: (name) => (name === "linear" && model !== undefined ? linearReranker(model) : undefined)
  }
  const [result] = await merchandise(environment, [{ plan, rules, request: { q, now_ms: 0 } }])
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

export const benchPipeline = async (options: PipelineOptions): Promise<void> => {
  const inputs = await loadPipelineInputs(options)
  const opened = await open(inputs, options.ranking)
  const plans = await Promise.all(inputs.queries.map(async (query) => ({ query, plan: await opened.plan(query.text) })))
  const ruleSet = ruleSetOf(options, inputs, opened)
  const times = await timesOf(opened, plans, compileRules(ruleSet, opened.rules))
  const matching = options.rules === undefined ? generatedRules(inputs, matchRulesGenerated, options.seed) : ruleSet
  const quality = await qualities(opened, inputs, plans, options.seed)
  report(
    `pipeline: ${inputs.documents.length} documents, ${inputs.queries.length} queries, ranking ${options.ranking}`,
    {
      rules: countOf(ruleSet),
      candidates: times.candidates,
      match_p99_ms: matchTime(matching, opened.rules, inputs),
      match_rules: countOf(matching),
      p50_ms: times.p50_ms,
      p99_ms: times.p99_ms,
      stages: times.stages,
      quality,
      checksum: times.checksum,
      machine: machine()
    },
    options.out
  )
  await opened.engine.close()
}
const ruleSetOf = (options: PipelineOptions, inputs: PipelineInputs, { rules }: Opened): RuleSet => {
  if (options.rules === undefined) return generatedRules(inputs, rulesGenerated, options.seed)
  const checked = checkRuleSet(readRules(options.rules), rules)
  if (!checked.ok) throw new Error(checked.issues.map(({ path, message }) => `${path} ${message}`).join("; "))
  return checked.value
}
const countOf = ({ pins, banners, suggestions, sponsored, redirects, boosts }: RuleSet): number =>
  pins.length + banners.length + suggestions.length + sponsored.length + redirects.length + boosts.length

/** An engine that queries once and then always returns the same result. */
const remembering = (engine: SearchEngine): SearchEngine => {
  let known: Awaited<ReturnType<SearchEngine["search"]>> | undefined
  const search: SearchEngine["search"] = async (namespace, plans) => {
    known ??= await engine.search(namespace, plans)
    for (const answer of known) if (answer.ok) answer.value.window?.keep()
    return known
  }
  const ask: SearchEngine["search"] = (namespace, plans) => known ?? search(namespace, plans)
  return Object.assign(Object.create(engine) as SearchEngine, { search: ask })
}

type Planned = ReadonlyArray<{ readonly query: JudgedQuery; readonly plan: SearchPlan }>
/** Times only queries that fill the window, if there are any. */
const timesOf = async (opened: Opened, plans: Planned, rules: CompiledRules) => {
  const sizes: Array<number> = []
  for (const { plan, query } of plans)
    sizes.push(Math.min(250, (await run(opened, plan, undefined, query.text, undefined)).answer.found))
  const widest = Math.max(...sizes)
  const wide = plans.filter((_plan, i) => sizes[i] === widest).slice(0, windowsMax)
  const engines = wide.map(() => remembering(opened.engine))
  const totals: Array<number> = [],
    stages = new Map<string, Array<number>>(),
    seen: Array<string> = []
  for (let i = -timedRuns / 4; i < timedRuns; i++) {
    const at = (i + timedRuns) % wide.length,
      { plan, query } = wide[at]
    const { answer, trace } = await run({ engine: engines[at] }, plan, rules, query.text, undefined)
    if (i < 0) continue
    if (i < wide.length) seen.push((answer.hits ?? []).map(({ document }) => document.id).join(","))
    const elsewhere = trace.stages
      .filter(({ name }) => ["engine", "fallback", "render"].includes(name))
      .reduce((sum, { us }) => sum + us, 0)
    totals.push((trace.total_us - elsewhere) / 1_000)
    for (const { name, us } of trace.stages) stages.set(name, [...(stages.get(name) ?? []), us])
  }
  const { p50_ms, p99_ms } = percentiles(totals)
  const ofStage = (us: Array<number>) => {
    const { p50_ms: p50, p99_ms: p99 } = percentiles(us)
    return { p50_us: round(p50, 1), p99_us: round(p99, 1) }
  }
  return {
    candidates: widest,
    p50_ms,
    p99_ms,
    stages: Object.fromEntries([...stages].map(([name, us]) => [name, ofStage(us)])),
    checksum: checksum(seen)
  }
}
const matchTime = (ruleSet: RuleSet, context: RuleContext, { queries, brand }: PipelineInputs): number => {
  const rules = compileRules(ruleSet, context)
  const times: Array<number> = []
  for (let i = 0; i < timedRuns * 2; i++) {
    const q = queries[i % queries.length].text
    const started = performance.now()
    matchRules(rules, { q, now_ms: 0, filter_by: i % 2 === 0 ? "" : `${brand}:=Acme && price:<100` })
    if (i >= timedRuns) times.push(performance.now() - started)
  }
  return percentiles(times).p99_ms
}

/** Simulated clicks: on relevant hits, less often farther down. */
const simulatedClicks = async (
  opened: Opened,
  inputs: PipelineInputs,
  plans: Planned,
  seed: number
): Promise<ReadonlyArray<ClickedSearch>> => {
  const random = makeRandom(seed).fork("clicks")
  const searches: Array<ClickedSearch> = []
  for (const { plan, query } of plans) {
    const [answer] = await opened.engine.search("bench", [
      { ...plan, window: { size: pageSize, fields: inputs.queryBy.split(",") } }
    ])
    const window = answer.ok ? answer.value.window : undefined
    if (window === undefined) continue
    const features = featuresOf(
      window.organic.map((hit, rank) => ({
        id: window.ids[rank],
        rank,
        hit,
        value: (field) => window.value(rank, field)
      })),
      queryWords(query.text),
      inputs.queryBy.split(",")
    )
    const clicked = window.ids.flatMap((id, rank) =>
      random.chance((query.judgments.get(id) ?? 0) / 3 / Math.log2(rank + 2)) ? [rank] : []
    )
    if (clicked.length > 0) searches.push({ features, clicked })
  }
  return searches
}

/** Each half of the queries is answered with the model that was trained on the other half. */
const qualities = async (
  opened: Opened,
  inputs: PipelineInputs,
  plans: Planned,
  seed: number
): Promise<Record<string, number>> => {
  const halves = [plans.filter((_plan, i) => i % 2 === 0), plans.filter((_plan, i) => i % 2 === 1)]
  const models = [
    trainLinear(await simulatedClicks(opened, inputs, halves[0], seed), { seed }),
    trainLinear(await simulatedClicks(opened, inputs, halves[1], seed), { seed })
  ]
  const rules = stageRules(inputs.queryBy, inputs.brand)
  const listed = new Map(
    inputs.documents.map((document) => [
      document.id,
      (): Listed => ({
        id: document.id,
        brand: String(document[inputs.brand] ?? ""),
        vector: Float32Array.from(embed(embeddedText(document, inputs)))
      })
    ])
  )
  const measured = async (own: Partial<RuleSet> | undefined, isTrained: boolean): Promise<Quality> => {
    const compiled = own === undefined ? undefined : compileRules({ ...emptyRuleSet, ...own }, opened.rules)
    const lists: Array<{ readonly hits: ReadonlyArray<Listed>; readonly judgments: JudgedQuery["judgments"] }> = []
    for (const [h, half] of halves.entries())
      for (const { plan, query } of half) {
        const { answer } = await run(opened, plan, compiled, query.text, isTrained ? models[1 - h] : undefined)
        lists.push({
          judgments: query.judgments,
          hits: (answer.hits ?? []).slice(0, 10).flatMap(({ document }) => listed.get(String(document.id))?.() ?? [])
        })
      }
    return qualityOf(lists)
  }
  const before = await measured(undefined, false),
    after = await measured(rules, true)
  const reranked = await measured({ rerank: rules.rerank }, true),
    untrained = await measured({ rerank: rules.rerank }, false),
    diverse = await measured({ diversity: rules.diversity }, false)
  const figures = {
    ndcg_before: before.ndcg,
    ndcg_after: after.ndcg,
    distinct_brands_before: before.distinct_brands,
    distinct_brands_after: after.distinct_brands,
    intra_list_distance_before: before.intra_list_distance,
    intra_list_distance_after: after.intra_list_distance,
    ndcg_rerank: reranked.ndcg,
    ndcg_rerank_untrained: untrained.ndcg,
    ndcg_diversity: diverse.ndcg,
    distinct_brands_diversity: diverse.distinct_brands
  }
  return Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, round(value, 4)]))
}
