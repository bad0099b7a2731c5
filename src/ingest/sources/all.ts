/** Every source of ingest jobs, by its name in a job. */
import { Effect } from "effect"
import { makeFeedSources } from "../feeds/feed-source.ts"
import { makeReindex } from "./reindex.ts"
import { makeSitemapSource } from "./sitemap.ts"
import type { IngestSource } from "./source.ts"
import { makeUrlSource } from "./url.ts"
import { makeYouTubeSource } from "./youtube.ts"

export const SOURCE_NAMES = [
  "yml",
  "jsonl",
  "csv",
  "google_xml",
  "inline",
  "url",
  "sitemap",
  "youtube",
  "reindex"
] as const

// A source receives only configs that its own schema decoded, so the cast is safe.
const any = <Config>(source: IngestSource<Config>) => source as unknown as IngestSource<unknown>
export const makeSources = Effect.gen(function* () {
  const feeds = yield* makeFeedSources
  const all = [
    ...feeds.map((source) => any(source as IngestSource<unknown>)),
    any(yield* makeUrlSource),
    any(yield* makeSitemapSource),
    any(yield* makeYouTubeSource),
    any(yield* makeReindex)
  ]
  return new Map(all.map((source) => [source.name, source]))
})
export type Sources = ReadonlyMap<string, IngestSource<unknown>>
