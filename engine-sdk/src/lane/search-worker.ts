/**
 * Entry of a thread of the lane: searches that took too long for the thread of all tenants, over the same segments in
 * shared memory. One at a time; what is derived from segments here stays until they go, or until other collections need
 * the room.
 */
import { parentPort, workerData } from "node:worker_threads"
import type { Region } from "../index/sections.ts"
import { CollectionReader, type EarlyTexts, type SegmentView } from "../index/reader.ts"
import { Segment } from "../index/segment.ts"
import { attachGraph, graphOf, openGraph } from "../index/vector-graph.ts"
import { prepareRelevance } from "../search/relevance/prepare.ts"
import type { Result } from "../errors.ts"
import type { SearchAnswer, UnionAnswer } from "../plan.ts"
import { executeSearch } from "../search/answer/answer.ts"
import { executeUnion } from "../search/answer/union.ts"
import { AnswerBudget, AnswerRefused } from "../budget/answer-budget.ts"
import { Allowance, Cutoff, within } from "../budget/cutoff.ts"
import { scanPage } from "../search/scan.ts"
import type { SearchScope } from "../search/scope.ts"
import { LmdbReads } from "../store/lmdb-journal.ts"
import type { Done, FromLane, SharedCollection, ToLane } from "./messages.ts"
import { packed, type PortableResult } from "./portable.ts"

const port = parentPort
if (port === null) throw new Error("search-worker runs in a worker thread only")
const post = (message: FromLane): void => port.postMessage(message)

interface Kept {
  readonly reader: CollectionReader
  readonly views: Map<number, SegmentView>
  early: ReadonlyMap<number, string>
}

const reads = await LmdbReads.open((workerData as { readonly path: string }).path)
/** What the searching thread believes is here, no more and no less. */
const kept = new Map<number, Kept>()
const dictionaries = new Map<string, ReadonlyMap<string, string>>()

const earlyOf = (texts: EarlyTexts["texts"]): ReadonlyMap<number, string> => new Map(texts)
const collectionOf = ({ early, key, schema, views }: SharedCollection): Kept => {
  let own = kept.get(key)
  if (own === undefined) {
    const made: Kept = {
      reader: new CollectionReader(schema!, { text: (seq) => made.early.get(seq) ?? reads.text(key, seq) }),
      views: new Map(),
      early: new Map()
    }
    own = made
  }
  kept.set(key, own)
  own.early = earlyOf(early)
  if (schema !== undefined) own.reader.schema = schema
  const before = own.views
  const now = views.map(({ deleted, graphs, id, segment }): SegmentView => {
    const known = before.get(id)
    const view: SegmentView = known ?? {
      segment: new Segment(id, segment!.meta, segment as Region),
      deleted: undefined,
      deletedCount: 0
    }
    if (deleted !== undefined) {
      view.deleted = deleted.bits
      view.deletedCount = deleted.count
    }
    for (const { file, record } of graphs)
      if (graphOf(view.segment, record.field) === undefined) attachGraph(view.segment, openGraph(record, file))
    return view
  })
  before.clear()
  for (const view of now) before.set(view.segment.id, view)
  own.reader.views = now
  own.reader.version++
  return own
}

/** Highlights are made while an answer is packed, and may be what makes it too large. */
const packedWithin = <A extends SearchAnswer | UnionAnswer>(
  budget: AnswerBudget | undefined,
  answer: Result<A>,
  plan: Parameters<typeof packed>[1]
): PortableResult<A> => {
  try {
    return packed(answer, plan)
  } catch (error) {
    if (!(error instanceof AnswerRefused)) throw error
    budget?.refuse(error)
    return { ok: false, error: error.error }
  }
}
const doneOf = (
  { left_ms, work }: ToLane,
  scope: SearchScope,
  allowance: Allowance,
  budget: AnswerBudget | undefined
): Done => {
  const budgeted = <P extends object>(plan: P): P => (budget === undefined ? plan : { ...plan, budget })
  switch (work.kind) {
    case "search":
      return {
        kind: "search",
        answers: work.plans.map((plan) =>
          packedWithin(budget, executeSearch(scope, budgeted(plan), allowance, left_ms), plan)
        )
      }
    case "union":
      return {
        kind: "union",
        answer: packedWithin(
          budget,
          executeUnion(scope, { ...work.plan, plans: work.plan.plans.map(budgeted) }, allowance, left_ms),
          work.plan
        )
      }
    case "scan": {
      const cutoff = new Cutoff(allowance, left_ms)
      const page = within(cutoff, () => scanPage(scope, scope.collection(work.request.collection)!, work.request))
      // Part of a list would pass for all of it.
      return {
        kind: "scan",
        answer: cutoff.isPast
          ? {
              ok: false,
              error: {
                kind: "Overloaded",
                message: "The filter takes longer than one request may.",
                retryAfterSeconds: 10
              }
            }
          : { ok: true, value: page }
      }
    }
  }
}
const run = async (message: ToLane): Promise<void> => {
  reads.refresh()
  for (const key of message.forgotten) kept.delete(key)
  const readers = new Map(message.collections.map((collection) => [collection.name, collectionOf(collection).reader]))
  for (const { name, words } of message.dictionaries) {
    const key = `${message.namespace}\n${name}`
    if (words === undefined) dictionaries.delete(key)
    else dictionaries.set(key, words)
  }
  const scope: SearchScope = {
    collection: (name) => readers.get(name),
    names: () => readers.keys(),
    dictionaries: (name) => dictionaries.get(`${message.namespace}\n${name}`)
  }
  const plans =
    message.work.kind === "search" ? message.work.plans : message.work.kind === "union" ? message.work.plan.plans : []
  // What a named ranking reads is made once; the search does not pay for it.
  await prepareRelevance(plans, (name) => readers.get(name))
  const givenUp = new Int32Array(message.givenUp)
  const allowance = new Allowance(Infinity, () => Atomics.load(givenUp, 0) === 1)
  const budget = message.answer === undefined ? undefined : new AnswerBudget(message.answer.bytes_max)
  budget?.holdAgain(message.answer!.held)
  const done = doneOf(message, scope, allowance, budget)
  post({
    kind: "done",
    id: message.id,
    done,
    used_ms: allowance.used_ms(),
    held: budget?.held ?? 0,
    ...(budget?.refusal === undefined ? {} : { refusal: budget.refusal })
  })
}
port.on("message", (message: ToLane) => {
  run(message).catch((error: unknown) => {
    const { message: text, stack } = error instanceof Error ? error : new Error(String(error))
    post({ kind: "failed", id: message.id, message: text, ...(stack === undefined ? {} : { stack }) })
  })
})
post({ kind: "ready" })
