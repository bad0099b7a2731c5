/** How searches share the thread and what the answer cache saves, as metrics. */
import { Effect } from "effect"
import { type Measure, single } from "../metrics/measure.ts"
import { Search } from "./search.ts"

export const metrics = Effect.map(Search, ({ figures }): ReadonlyArray<Measure> => [
  {
    name: "dowser_searches_waiting",
    type: "gauge",
    help: "Searches that wait for their turn on this thread.",
    read: Effect.map(figures, ({ waiting }) => single(waiting))
  },
  {
    name: "dowser_answer_cache_bytes",
    type: "gauge",
    help: "Approximate size of cached answers (use_cache).",
    read: Effect.map(figures, ({ cache }) => single(cache.bytes))
  },
  {
    name: "dowser_answer_cache_lookups_total",
    type: "counter",
    help: "Requests with use_cache, by whether an answer was kept.",
    read: Effect.map(figures, ({ cache: { hits, misses } }) => [
      { labels: { found: "yes" }, value: hits },
      { labels: { found: "no" }, value: misses }
    ])
  }
])
