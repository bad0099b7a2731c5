/**
 * Every cache of outside text in the program, with its bound in bytes. A new cache is a `BoundedMap`, or counts its own
 * bytes, and has a line here. A module-level `Map` that functions write to is not allowed, unless its line gives the
 * reason.
 */
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { describe, expect, it } from "vitest"
import { BoundedMap } from "../engine-sdk/src/bounded-map.ts"
import { PLAN_BASES_BYTES_MAX } from "../engine-sdk/src/lane/plan-outline.ts"
import { TEMPLATE_BYTES_MAX } from "../engine-sdk/src/query/plan-templates.ts"
import { CACHE_BYTES_MAX } from "../src/search/answer-cache.ts"

const root = new URL("..", import.meta.url).pathname
const walk = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder).flatMap((entry) => {
    const path = join(folder, entry)
    return entry === "node_modules" || entry === "dist"
      ? []
      : statSync(path).isDirectory()
        ? walk(path)
        : path.endsWith(".ts")
          ? [path]
          : []
  })
const sources = new Map(
  ["src", "streams", "log", "engine-sdk/src"]
    .flatMap((folder) => walk(join(root, folder)))
    .map((path) => [relative(root, path), readFileSync(path, "utf8")] as const)
)

/** For the whole process, unless `each` says otherwise. */
const MEGABYTE = 1_000_000
const caches: ReadonlyMap<string, { readonly bytes: number; readonly each?: string }> = new Map([
  ["src/personalization/histories.ts", { bytes: 28 * MEGABYTE }],
  ["src/personalization/tastes.ts", { bytes: 32 * MEGABYTE }],
  ["engine-sdk/src/analysis/analyzer.ts", { bytes: 32 * MEGABYTE, each: "and of each stemming dictionary" }],
  ["engine-sdk/src/diversity/shingles.ts", { bytes: 16 * MEGABYTE }],
  ["engine-sdk/src/lane/placing.ts", { bytes: MEGABYTE }],
  ["engine-sdk/src/lane/search-worker.ts", { bytes: 2 * MEGABYTE, each: "of each thread that searches" }],
  ["engine-sdk/src/documents/document-plan.ts", { bytes: 2 * MEGABYTE, each: "of each schema with dynamic fields" }],
  ["engine-sdk/src/documents/stored-document.ts", { bytes: MEGABYTE }],
  ["engine-sdk/src/search/relevance/words.ts", { bytes: 16 * MEGABYTE }],
  ["engine-sdk/src/rules/condition-index.ts", { bytes: 16 * MEGABYTE }],
  ["engine-sdk/src/documents/name-pattern.ts", { bytes: 8 * MEGABYTE }],
  [
    "engine-sdk/src/search/filter/leaf-cache.ts",
    { bytes: MEGABYTE, each: "of each segment, or 20 bytes a document of it" }
  ],
  ["engine-sdk/src/search/highlight/marks.ts", { bytes: MEGABYTE }],
  ["src/analytics/popular-documents.ts", { bytes: 32 * MEGABYTE }],
  ["src/docs/guide/site.ts", { bytes: 4 * MEGABYTE }],
  ["src/demo/pictures.ts", { bytes: 12 * MEGABYTE }],
  ["src/embedding/lsa/trained-models.ts", { bytes: 14 * MEGABYTE }],
  // The contents of robots.txt files, and the pace of hosts that are idle.
  ["src/ingest/crawl/hosts.ts", { bytes: 18 * MEGABYTE }],
  ["src/ports/embedder/pictures.ts", { bytes: 10 * MEGABYTE }],
  ["src/ports/outbound-http/node.ts", { bytes: 8 * MEGABYTE }],
  ["src/ports/text-embedder/inference/vector-cache.ts", { bytes: 24 * MEGABYTE }],
  ["src/profiles/ready-profile.ts", { bytes: 4 * MEGABYTE }],
  ["src/search/answer-cache.ts", { bytes: 64 * MEGABYTE }],
  ["engine-sdk/src/operations/seen-fields.ts", { bytes: 16 * MEGABYTE }],
  ["src/suggestions/facet-values.ts", { bytes: 64 * MEGABYTE }],
  ["src/ports/transcriber/local/transcriber-worker.ts", { bytes: 16 * MEGABYTE, each: "of its thread" }],
  ["src/voice/vocabularies.ts", { bytes: 4 * MEGABYTE }],
  ["src/understanding/language.ts", { bytes: 2 * MEGABYTE }],
  ["src/nl-search/collection-facts.ts", { bytes: 8 * MEGABYTE }],
  // Indexes of values, and the time when each was read.
  ["src/understanding/entity-indexes.ts", { bytes: 41 * MEGABYTE }]
])
/** Maps that functions write to, but that no outside text makes larger. */
const unbounded: ReadonlyMap<string, string> = new Map([
  ["engine-sdk/src/optional-package.ts: installed", "names of packages, ours"],
  ["engine-sdk/src/analysis/stemmer.ts: loaded", "languages that the library has"],
  ["engine-sdk/src/analysis/simplified-chinese.ts: SIMPLIFIED", "a table of ours"],
  ["engine-sdk/src/store/writer-worker.ts: preparing", "requests on their way"],
  ["engine-sdk/src/store/writer-worker.ts: arriving", "requests on their way"],
  ["engine-sdk/src/lane/search-worker.ts: kept", "collections that the thread was told to keep"],
  ["engine-sdk/src/lane/search-worker.ts: wanting", "some of those collections"],
  ["engine-sdk/src/lane/search-worker.ts: preparing", "some of those collections"],
  ["engine-sdk/src/lane/search-worker.ts: dictionaries", "dictionaries of those collections"],
  ["streams/host/worker.ts: listeners", "parts of the program that listen"],
  ["src/assistants/extractive/extract.ts: segmenters", "languages, at most 40"],
  ["src/assistants/extractive/terms.ts: made", "languages that have a stemmer or words of their own"],
  ["src/http/body.ts: endings", "bodies on their way"],
  ["src/ports/audio-decoder/live/live-worker.ts: streams", "streams that are decoded, at most 300"],
  ["src/ports/blob-store/files.ts: underWay", "blobs that are being written, as many as requests"],
  ["src/docs/reference-page.ts: read", "files of the viewer, by a list of ours"]
])

describe("caches", () => {
  it("of outside text declare their bound in bytes and are all listed here", () => {
    const found = [...sources]
      .filter(
        ([name, text]) => /new (BoundedMap|TextCache)\b/.test(text) && !/(bounded-map|text-cache)\.ts$/.test(name)
      )
      .map(([name]) => name)
      .sort()
    expect(found).toEqual([...caches.keys()].sort())
  })
  it("of a process come to little more than half a gigabyte together", () => {
    const all = [...caches.values()].reduce((sum, { bytes }) => sum + bytes, TEMPLATE_BYTES_MAX + PLAN_BASES_BYTES_MAX)
    expect(all).toBeLessThan(520 * MEGABYTE)
    expect([TEMPLATE_BYTES_MAX, PLAN_BASES_BYTES_MAX, CACHE_BYTES_MAX]).toEqual([16_000_000, 2_000_000, 64_000_000])
  })
  it("are not plain maps at module level", () => {
    const maps = [...sources].flatMap(([name, text]) =>
      [...text.matchAll(/^(?:export )?(?:const|let) (\w+)[^=\n]*= new (?:Map|Set)\b/gm)].map(
        ([, variable]) => [name, variable!, text] as const
      )
    )
    const written = maps
      .filter(([, variable, text]) => new RegExp(`\\b${variable}\\.(?:set|add)\\(`).test(text))
      .map(([name, variable]) => `${name}: ${variable}`)
    expect(written.filter((each) => !unbounded.has(each))).toEqual([])
    expect([...unbounded.keys()].filter((each) => !written.includes(each))).toEqual([])
  })
})

describe("a bounded map", () => {
  it("never exceeds its bytes, evicts the oldest entry first, and frees what it evicts", () => {
    const map = new BoundedMap<string, string>({
      bytes_max: 10_000,
      bytesOf: (key, value) => 2 * (key.length + value.length)
    })
    for (let i = 0; i < 1_000; i++) {
      map.set(`k${i}`, "x".repeat(i % 700))
      expect(map.bytes).toBeLessThanOrEqual(10_000)
    }
    expect([map.has("k0"), map.has("k999")]).toEqual([false, true])
    map.set("large", "x".repeat(10_000))
    expect([map.has("large"), map.has("k999")]).toEqual([false, true])
    map.renew("k998")
    const before = map.size
    map.set("k998", "")
    expect(map.size).toBe(before)
    for (let i = 0; i < 1_000; i++) map.delete(`k${i}`)
    expect([map.bytes, map.size]).toEqual([0, 0])
  })
})
