/**
 * Question: how fast is the live state of recommendations, and how much memory does it use? Workload: generated
 * visits over a catalogue in which a few documents have most of the events, as records of the log, decoded and added
 * to the same state that the worker thread keeps, but on this thread. Then recommendations in process as one request
 * computes them: candidates from the state, documents by searches with a filter in an engine with as many documents.
 * Excluded: HTTP, the key, and the message to the thread and back.
 */
import { createEngine } from "../../engine-sdk/src/memory/create-engine.ts"
import {
  AnswerBudget,
  createCollection,
  importDocuments,
  memoryResources,
  type OperationContext
} from "../../engine-sdk/src/operations/mod.ts"
import { CollectionModel, LIMITS } from "../../engine-sdk/src/recommend/mod.ts"
import { encodeRecord } from "../../log/record.ts"
import { Answering } from "../../src/recommendations/answering.ts"
import { LiveModels } from "../../src/recommendation-models/live/live-models.ts"
import { chainOf, listParameters } from "../../src/recommendation-models/params.ts"
import { ChosenDocuments } from "../../src/search/chosen-documents.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"

export interface SpeedOptions {
  readonly items: number
  readonly sessions: number
  readonly out: string | undefined
}
const NOW = Date.UTC(2026, 10, 2)
const EVENTS_PER_RECORD = 500
const ANSWERS = 2_000
/** The largest catalogue that is also imported into the engine. */
const DOCUMENTS_MAX = 100_000
/** Sessions that arrive as records of the log; for more, only memory is measured. */
const SESSIONS_MAX = 500_000
const SESSION_S = 86_400

/** Pseudorandom numbers from a seed (xorshift). */
const random = (seed: number) => {
  let state = seed
  return (): number => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}
/** Visits of 1 to 7 documents near each other; the first few documents have most of the visits. */
function* visitsOf({ items, sessions }: SpeedOptions) {
  const next = random(42)
  for (let s = 0; s < sessions; s++) {
    const about = Math.floor(items * next() ** 3)
    const length = 1 + Math.floor(next() * 7)
    const documents = Array.from({ length }, () => (about + Math.floor(next() ** 2 * 40)) % items)
    yield { session: `session-${s}`, documents, at: NOW + Math.floor((s / sessions) * SESSION_S * 1_000) }
  }
}

const taken = (options: SpeedOptions) => {
  const models = new LiveModels(4 * 1024 ** 3)
  let events = 0,
    offset = 0,
    took_s = 0
  let waiting: Array<object> = []
  const take = () => {
    const value = encodeRecord({
      schema_version: 1,
      organization_id: "org",
      occurred_at: NOW,
      payload: { events: waiting }
    })
    events += waiting.length
    waiting = []
    const from = performance.now()
    models.take({ partition: 0, offset: offset++, appendedAt: NOW, value })
    took_s += (performance.now() - from) / 1_000
  }
  for (const { at, documents, session } of visitsOf(options)) {
    for (const [i, id] of documents.entries())
      waiting.push({
        type: i === 3 ? "purchase" : "view",
        collection: "goods",
        event_id: `${session}-${i}`,
        document_id: `p${id}`,
        session_id: session,
        timestamp: at + i * 1_000
      })
    if (waiting.length >= EVENTS_PER_RECORD) take()
  }
  take()
  return { models, events, per_s: events / took_s }
}

const engineOf = async (items: number): Promise<OperationContext> => {
  const context: OperationContext = {
    engine: createEngine(),
    resources: memoryResources(),
    namespace: "org",
    now_s: 1,
    limits: { answer_bytes_max: 16_000_000 }
  }
  const fields = [
    { name: "title", type: "string" },
    { name: "category", type: "string", facet: true },
    { name: "stock", type: "int32" }
  ]
  const made = await createCollection(context, JSON.stringify({ name: "goods", fields }))
  if (!made.ok) throw new Error(made.error.message)
  const lines = (async function* () {
    for (let at = 0; at < items; at += 10_000)
      yield new TextEncoder().encode(
        `${Array.from({ length: Math.min(10_000, items - at) }, (_, i) => JSON.stringify({ id: `p${at + i}`, title: `Product ${at + i}`, category: `category ${(at + i) % 200}`, stock: (at + i) % 5 })).join("\n")}\n`
      )
  })()
  const started = importDocuments(context, "goods", lines, {})
  if (!started.ok) throw new Error(started.error.message)
  for await (const text of started.value.lines)
    if (text.includes('"success":false')) throw new Error(text.slice(0, 300))
  return context
}

/** One recommendation of ten documents for a product page, with a filter. */
const answering = (models: LiveModels, context: OperationContext) => {
  const schema = context.engine.describeCollection("org", "goods")?.schema
  const parts = {
    profiles: { get: () => undefined, byId: () => undefined, defaultOf: () => undefined },
    policies: { get: () => undefined },
    rules: { compiled: () => ({ ok: true, value: undefined }) },
    now_ms: () => NOW
  }
  const request = {
    caller: { organizationId: "org", key: { collections: ["*"], filter_by: {}, fields: [] } },
    shared: { q: "*", filter_by: "stock:>0" }
  }
  const environment = { now_us: () => Math.round(performance.now() * 1_000), popular: () => [] }
  return async (seed: string, asked: Array<number>) => {
    const from = performance.now()
    const { candidates } = models.answer({
      organizationId: "org",
      collections: ["goods"],
      since: 0,
      chain: chainOf("also_viewed"),
      seeds: [seed],
      visitor: "",
      person: "",
      now: NOW + SESSION_S * 1_000,
      most: 50,
      parameters: listParameters({})
    })
    asked.push(performance.now() - from)
    const own = { ...context, budget: new AnswerBudget(16_000_000) }
    const documents = new ChosenDocuments(
      parts as never,
      request as never,
      { unit: {} } as never,
      own,
      environment,
      "goods"
    )
    const hits = await new Answering(documents, {
      type: "also_viewed",
      params: {},
      seeds: [seed],
      excluded: new Set([seed]),
      candidates,
      limit: 10,
      category: "category",
      schema,
      hidesId: false
    }).hits()
    if (!hits.ok) throw new Error(JSON.stringify(hits.error))
    return hits.value.length
  }
}

/** Bytes of a model alone, for a million documents and ten million visits. */
const held = (items: number, sessions: number) => {
  const model = new CollectionModel(LIMITS)
  const before = process.memoryUsage().rss
  const next = random(7)
  for (let s = 0; s < sessions; s++) {
    const about = Math.floor(items * next())
    for (let i = 0; i < 3; i++)
      model.add({
        kind: 0,
        documents: [`p${(about + i * i) % items}`],
        visitor: `s${s}`,
        person: "",
        at: NOW + s * 10 + i
      })
  }
  return {
    items: model.items,
    sessions,
    state_mb: round(model.bytes / 1e6, 0),
    rss_grown_mb: round((process.memoryUsage().rss - before) / 1e6, 0)
  }
}

export const benchRecommendationSpeed = async (options: SpeedOptions): Promise<void> => {
  const { events, models, per_s } = taken({ ...options, sessions: Math.min(SESSIONS_MAX, options.sessions) })
  const { bytes } = models.figures()
  const documents = Math.min(DOCUMENTS_MAX, options.items)
  const answer = answering(models, await engineOf(documents))
  const next = random(11)
  const times: Array<number> = [],
    asked: Array<number> = []
  let hits = 0
  let before = process.cpuUsage()
  for (let i = 0; i < ANSWERS + 200; i++) {
    if (i === 200) before = process.cpuUsage()
    const seed = `p${Math.floor(documents * next() ** 3)}`
    const from = performance.now()
    hits += await answer(seed, asked)
    if (i >= 200) times.push(performance.now() - from)
  }
  const used = process.cpuUsage(before)
  const { p50_ms, p99_ms } = percentiles(times)
  report(
    `recommendations: ${options.items} documents, ${options.sessions} visits`,
    {
      state_mb: round(bytes / 1e6, 1),
      bytes_per_event: round(bytes / events, 1),
      large: options.sessions >= 1_000_000 ? held(options.items, options.sessions) : undefined,
      events,
      taken_events_per_s: round(per_s, 0),
      answer: { p50_ms, p99_ms, processor_ms: round((used.user + used.system) / 1_000 / ANSWERS, 3) },
      of_it_candidates: { p50_ms: percentiles(asked).p50_ms, p99_ms: percentiles(asked).p99_ms },
      hits,
      machine: machine()
    },
    options.out
  )
}
