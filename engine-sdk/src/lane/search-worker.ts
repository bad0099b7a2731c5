/**
 * Entry point of a thread that searches over the segments in shared memory for the main thread. It runs one search at a
 * time, in order of arrival; data that it derives from segments is kept until they are removed, or until other
 * collections need the memory.
 */
import { getHeapStatistics } from "node:v8"
import { parentPort, workerData } from "node:worker_threads"
import { attachSections } from "../index/derived-sections.ts"
import type { Region } from "../index/sections.ts"
import { CollectionReader, type EarlyTexts, PREPARED_DOCS_MIN, type SegmentView } from "../index/reader.ts"
import { Segment } from "../index/segment.ts"
import { attachGraph, graphOf, VectorGraph } from "../index/vector-graph.ts"
import { facetsToPrepare, prepareFacets, prepareOpened } from "../search/prepare-segment.ts"
import type { Result } from "../errors.ts"
import { BoundedMap } from "../bounded-map.ts"
import type { SearchAnswer, SearchPlan, UnionAnswer } from "../plan.ts"
import { executeSearch } from "../search/answer/answer.ts"
import { executeUnion } from "../search/answer/union.ts"
import { AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
import { Allowance, Cutoff, GIVE_WAY, within } from "../budget/cutoff.ts"
import { scanPage } from "../search/scan.ts"
import type { SearchScope } from "../search/scope.ts"
import { LmdbReads } from "../store/lmdb-reads.ts"
import { yieldToQuickSearches } from "../thread-priority.ts"
import type {
  Done,
  Finished,
  FromLane,
  SentPlan,
  Shared,
  SharedCollection,
  Task,
  TaskMessage,
  ToLane,
  Work
} from "./messages.ts"
import { ReceivedBases } from "./plan-outline.ts"
import { packed, type PortableResult, Texts } from "./portable.ts"
import { joined, sealed, unsealed } from "./sealed.ts"

const port = parentPort
if (port === null) throw new Error("search-worker runs in a worker thread only")
const post = (message: FromLane): void => port.postMessage(message)

interface OpenCollection {
  readonly reader: CollectionReader
  readonly views: Map<number, SegmentView>
  early: ReadonlyMap<number, string>
}

const { isForLong, path } = workerData as { readonly path: string; readonly isForLong: boolean }
if (isForLong) yieldToQuickSearches()
const reads = await LmdbReads.open(path)
/** Must match exactly what the main thread has recorded for this thread. */
const kept = new Map<number, OpenCollection>()
const dictionaries = new Map<string, Map<string, ReadonlyMap<string, string>>>()

const earlyOf = (texts: EarlyTexts["texts"]): ReadonlyMap<number, string> => new Map(texts)
const update = ({ early, isNew, key, schema, views }: SharedCollection): void => {
  let own = isNew ? undefined : kept.get(key)
  if (own === undefined) {
    const made: OpenCollection = {
      reader: new CollectionReader(schema!, { text: (seq) => made.early.get(seq) ?? reads.text(key, seq) }),
      views: new Map(),
      early: new Map()
    }
    own = made
    preparing.delete(key)
  }
  kept.set(key, own)
  own.early = earlyOf(early)
  if (schema !== undefined) own.reader.schema = schema
  const before = own.views
  const now = views.map(({ deleted, graphs, id, sections, segment }): SegmentView => {
    const known = before.get(id)
    const view: SegmentView = known ?? {
      segment: new Segment(id, segment!.meta, segment as Region),
      deleted: undefined,
      deletedCount: 0
    }
    if (deleted !== undefined) {
      view.deleted = new Uint32Array(deleted.bits)
      view.deletedCount = deleted.count
    }
    if (sections !== undefined) attachSections(view.segment, sections)
    for (const { record, region } of graphs)
      if (graphOf(view.segment, record.field) === undefined) attachGraph(view.segment, new VectorGraph(record, region))
    return view
  })
  if (now.some(({ segment }) => segment.docs >= PREPARED_DOCS_MIN && !before.has(segment.id))) wanting.add(key)
  before.clear()
  for (const view of now) before.set(view.segment.id, view)
  own.reader.views = now
  own.reader.version++
}
const learn = ({ collections, dictionaries: changedDictionaries, forgotten }: Shared): void => {
  for (const key of forgotten) {
    kept.delete(key)
    wanting.delete(key)
    preparing.delete(key)
  }
  for (const collection of collections) update(collection)
  for (const { name, namespace, words } of changedDictionaries) {
    const own = dictionaries.get(namespace) ?? new Map<string, ReadonlyMap<string, string>>()
    if (words === undefined) own.delete(name)
    else own.set(name, words)
    if (own.size === 0) dictionaries.delete(namespace)
    else dictionaries.set(namespace, own)
  }
}

/** Highlights are made while an answer is packed, and may make it too large. */
const packedWithin = <A extends SearchAnswer | UnionAnswer>(
  budget: AnswerBudget | undefined,
  answer: Result<A>,
  plan: Parameters<typeof packed>[1],
  texts: Texts
): PortableResult<A> => {
  const before = texts.text
  try {
    return packed(answer, plan, texts)
  } catch (error) {
    if (!(error instanceof AnswerRefused)) throw error
    // What was written of a refused answer would be read as the next one's.
    texts.text = before
    budget?.refuse(error)
    return { ok: false, error: error.error }
  }
}
interface Running {
  readonly scope: SearchScope
  readonly allowance: Allowance
  readonly budget: AnswerBudget | undefined
  readonly texts: Texts
}
/** Searches that were done when the quantum ran out are answered; for other work than searches there are none. */
const doneOf = ({ left_ms, names }: Task, work: Work, { allowance, budget, scope, texts }: Running): Done => {
  const budgeted = <P extends object>(plan: P): P => (budget === undefined ? plan : { ...plan, budget })
  const answers: Array<PortableResult<SearchAnswer>> = []
  try {
    switch (work.kind) {
      case "search":
        for (const plan of work.plans)
          answers.push(packedWithin(budget, executeSearch(scope, budgeted(plan), allowance, left_ms), plan, texts))
        return { kind: "search", answers }
      case "union": {
        const union = { ...work.plan, plans: work.plan.plans.map(budgeted) }
        return {
          kind: "union",
          answer: packedWithin(budget, executeUnion(scope, union, allowance, left_ms), work.plan, texts)
        }
      }
      case "prepare": {
        const [[name, key]] = names
        return { kind: "prepared", isDone: prepare(key, scope.collection(name)!) }
      }
      case "scan": {
        const cutoff = new Cutoff(allowance, left_ms)
        const page = within(cutoff, () => scanPage(scope, scope.collection(work.request.collection)!, work.request))
        // A partial list would be mistaken for a complete one.
        return { kind: "scan", answer: cutoff.isPast ? SCAN_TOO_LONG : { ok: true, value: page } }
      }
    }
  } catch (error) {
    if (error !== GIVE_WAY) throw error
    return { kind: "gave_way", answers }
  }
}
const SCAN_TOO_LONG = {
  ok: false,
  error: { kind: "Overloaded", message: "The filter takes longer than one request may.", retryAfterSeconds: 10 }
} as const

/**
 * Parts of a plan that do not depend on its words recur with every keystroke. Each is kept as one object, as on the
 * thread that compiled it, so that data cached by that object is found.
 */
const parts = new BoundedMap<string, object>({ bytes_max: 2_000_000, bytesOf: (text) => 12 * text.length })
const sameEachTime = <A extends object>(part: A): A => {
  const text = JSON.stringify(part)
  const known = parts.get(text)
  if (known === undefined) parts.set(text, part)
  return (known ?? part) as A
}
const withKnownParts = (plan: SearchPlan): SearchPlan => ({
  ...plan,
  highlight: sameEachTime(plan.highlight),
  selection: sameEachTime(plan.selection),
  ...(plan.text === undefined ? {} : { text: { ...plan.text, fields: sameEachTime(plan.text.fields) } })
})

const bases = new ReceivedBases()
const receive = ({ bases: sent = [], basesFrom }: Task): void =>
  bases.receive(
    basesFrom,
    sent.map(({ number, plan }) => ({ number, plan: withKnownParts(plan) }))
  )
const restored = (sent: SentPlan): SearchPlan => {
  const plan = bases.restored(sent)
  return "base" in sent ? plan : withKnownParts(plan)
}
const workOf = ({ work }: Task): Work => {
  switch (work.kind) {
    case "search":
      return { ...work, plans: work.plans.map(restored) }
    case "union":
      return { ...work, plan: { ...work.plan, plans: work.plan.plans.map(restored) } }
    case "scan":
    case "prepare":
      return work
  }
}

/** Collections with something to prepare before a quick search may use it, and the work in progress. */
const wanting = new Set<number>()
const preparing = new Map<number, Generator<void, void>>()
/** Duration of one task, for which the next one may have to wait. */
const PREPARE_MS = 4
/** Yields between steps. A step runs only while its task's collection is unchanged; later its memory may be reused. */
function* makingReady(reader: CollectionReader): Generator<void, void> {
  yield* prepareOpened(reader)
  yield* reader.mappingPublished()
  yield* prepareFacets(reader)
}
/**
 * Work that has begun continues even if the collection has changed; otherwise one that changes constantly would never
 * be ready.
 */
const prepare = (key: number, reader: CollectionReader): boolean => {
  let work = preparing.get(key)
  if (work === undefined) {
    wanting.delete(key)
    preparing.set(key, (work = makingReady(reader)))
  }
  const until = performance.now() + PREPARE_MS
  do
    if (work.next().done === true) {
      preparing.delete(key)
      return !wanting.has(key)
    }
  while (performance.now() < until)
  return false
}
/** Whether a facet's values must be numbered first, which for a large facet takes too long for a quick search. */
const isUnready = (
  { names, quantum_ms }: Task,
  work: Work,
  readers: ReadonlyMap<string, CollectionReader>
): boolean => {
  if (quantum_ms === undefined || work.kind === "scan" || work.kind === "prepare") return false
  let isMissing = false
  for (const { collection, facets } of work.kind === "search" ? work.plans : work.plan.plans) {
    const reader = facets.length === 0 ? undefined : readers.get(collection)
    if (reader === undefined || facetsToPrepare(reader, facets) === undefined) continue
    wanting.add(names.find(([name]) => name === collection)![1])
    isMissing = true
  }
  return isMissing
}

/** Number of searches between two checks of this thread's own memory. */
const OWN_EVERY = 64
let searches = 0
const ownBytes = (): { readonly own_bytes?: number } => {
  if (searches++ % OWN_EVERY !== 0) return {}
  // In one runtime `process.memoryUsage` walks the heap, which takes ten milliseconds for a large one.
  const { external_memory, used_heap_size } = getHeapStatistics()
  return { own_bytes: external_memory + used_heap_size }
}
const answer = (given: Finished, texts: string): void => {
  const wants = wanting.size + preparing.size === 0 ? {} : { wants: [...new Set([...preparing.keys(), ...wanting])] }
  const finished = { ...given, ...ownBytes(), ...wants }
  const { text } = sealed(finished)
  post(text === undefined ? { kind: "done", finished, texts } : joined(text, texts))
}
const run = async (task: Task, { givenUp, shared }: Omit<TaskMessage, "task">): Promise<void> => {
  let work: Work
  try {
    reads.refresh()
    if (shared !== undefined) learn(shared)
    receive(task)
    work = workOf(task)
  } catch (error) {
    // The main thread's record of this thread is wrong, so every later search would be too. This ends the thread.
    queueMicrotask(() => {
      throw error
    })
    return new Promise(() => {})
  }
  const readers = new Map(task.names.map(([name, key]) => [name, kept.get(key)!.reader]))
  const own = dictionaries.get(task.namespace)
  const scope: SearchScope = {
    collection: (name) => readers.get(name),
    names: () => readers.keys(),
    dictionaries: (name) => own?.get(name)
  }
  if (isUnready(task, work, readers)) {
    answer({ id: task.id, done: { kind: "gave_way", answers: [] }, used_ms: 0, held: task.answer?.held ?? 0 }, "")
    return
  }
  const isGivenUp = givenUp === undefined ? undefined : new Int32Array(givenUp)
  const allowance = new Allowance(
    task.quantum_ms,
    isGivenUp === undefined ? undefined : () => Atomics.load(isGivenUp, 0) === 1
  )
  const budget = task.answer === undefined ? undefined : new AnswerBudget(task.answer.bytes_max)
  budget?.holdAgain(task.answer!.held)
  const texts = new Texts()
  const done = doneOf(task, work, { scope, allowance, budget, texts })
  answer(
    {
      id: task.id,
      done,
      used_ms: allowance.used_ms(),
      held: budget?.held ?? 0,
      ...(budget?.refusal === undefined ? {} : { refusal: budget.refusal })
    },
    texts.text
  )
}
/** The index must not change during a search that awaits something, so messages are handled one after another. */
let before = Promise.resolve()
port.on("message", (message: ToLane) => {
  const isText = typeof message === "string",
    task = isText ? (JSON.parse(message) as Task) : unsealed(message.task)
  before = before
    .then(() => run(task, isText ? {} : message))
    .catch((error: unknown) => {
      const { message: text, stack } = error instanceof Error ? error : new Error(String(error))
      post({ kind: "failed", id: task.id, message: text, ...(stack === undefined ? {} : { stack }) })
    })
})
post({ kind: "ready" })
