/** The embedded model's work, as metrics. */
import { Effect } from "effect"
import { type Measure, type Sample, single } from "../metrics/measure.ts"
import { CurrentEmbedderFigures, type EmbedderFigures } from "../ports/text-embedder/inference/local-embedder.ts"

export const metrics = Effect.map(CurrentEmbedderFigures, (figures): ReadonlyArray<Measure> => {
  const read = (of: (now: EmbedderFigures) => ReadonlyArray<Sample>) =>
    Effect.sync(() => {
      const now = figures()
      return now === undefined ? [] : of(now)
    })
  return [
    {
      name: "dowser_embedder_texts_total",
      type: "counter",
      help: "Texts that became vectors, by source: the model, or the cache.",
      read: read(({ known, texts }) => [
        { labels: { from: "model" }, value: texts },
        { labels: { from: "kept" }, value: known }
      ])
    },
    {
      name: "dowser_embedder_seconds_total",
      type: "counter",
      help: "Time of the thread that runs the model, in texts.",
      read: read(({ seconds }) => single(seconds))
    },
    {
      name: "dowser_embedder_waiting",
      type: "gauge",
      help: "Texts that wait for the model or are in it, from requests (query) and imports (document).",
      read: read(({ documentsWaiting, queriesWaiting }) => [
        { labels: { priority: "query" }, value: queriesWaiting },
        { labels: { priority: "document" }, value: documentsWaiting }
      ])
    },
    {
      name: "dowser_embedder_cache_bytes",
      type: "gauge",
      help: "Vectors that are kept of texts.",
      read: read(({ cacheBytes }) => single(cacheBytes))
    },
    {
      name: "dowser_embedder_losses_total",
      type: "counter",
      help: "Times that the thread of the model died or did not begin.",
      read: read(({ losses }) => single(losses))
    },
    {
      name: "dowser_embedder_loaded",
      type: "gauge",
      help: "1 if the model is in memory, by its runtime: native, or WebAssembly (portable).",
      read: read(({ engine }) => (engine === undefined ? [] : [{ labels: { engine }, value: 1 }]))
    }
  ]
})
