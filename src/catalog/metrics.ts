/** Metrics of the engine's contents and calls. */
import { Effect } from "effect"
import { type Measure, single, spreadOver, tallied } from "../metrics/measure.ts"
import { CurrentCalls, CurrentSearchThreads, Engine } from "../ports/engine/engine.ts"

export const metrics = Effect.gen(function* () {
  const engine = yield* Engine
  const calls = yield* CurrentCalls
  const threads = yield* CurrentSearchThreads
  /** Iterates over the list in memory: some 0.1 µs per collection. */
  const collections = () => (engine.namespaces?.() ?? []).flatMap((namespace) => engine.listCollections(namespace))
  const measures: ReadonlyArray<Measure> = [
    {
      name: "dowser_engine_collections",
      type: "gauge",
      help: "Collections of all organizations.",
      read: Effect.sync(() => single(collections().length))
    },
    {
      name: "dowser_engine_documents",
      type: "gauge",
      help: "Documents of all organizations; with an engine of several processes up to 15 s old.",
      read: Effect.sync(() => single(collections().reduce((sum, { num_documents }) => sum + num_documents, 0)))
    },
    {
      name: "dowser_engine_call_seconds",
      type: "histogram",
      help: "Time until the engine answered, by call.",
      read: Effect.sync(() => spreadOver("call", calls.times))
    },
    {
      name: "dowser_engine_calls_total",
      type: "counter",
      help: "Calls of the engine by outcome: answered, unavailable, failed, or refused while its circuit was open.",
      read: Effect.sync(() => tallied("outcome", calls.outcomes))
    },
    {
      name: "dowser_search_workers_ready",
      type: "gauge",
      help: "Search workers that are up.",
      read: Effect.sync(() => single(threads()?.ready ?? 0))
    },
    {
      name: "dowser_search_worker_searches_total",
      type: "counter",
      help: "Searches that went to a search worker since the engine was opened.",
      read: Effect.sync(() => single(threads()?.searches ?? 0))
    },
    {
      name: "dowser_search_worker_bytes",
      type: "gauge",
      help: "Memory of a search worker beside the shared index, as last reported.",
      read: Effect.sync(() =>
        (threads()?.own_bytes ?? []).map((value, i) => ({ labels: { worker: String(i + 1) }, value }))
      )
    }
  ]
  return measures
})
