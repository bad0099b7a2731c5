/**
 * The words of a collection's documents, by which transcripts are corrected: read page by page on first use, one
 * collection at a time, and kept for some minutes. They come from all documents, so `understanding.ts` checks that the
 * caller may see a word before it becomes part of a query.
 */
import type { CollectionInfo, Document } from "@dowser/engine-sdk"
import { sourceOf } from "@dowser/engine-sdk/embedding"
import { BoundedMap } from "@dowser/engine-sdk/host"
import { Clock, Effect, Semaphore } from "effect"
import { nextTurn } from "@dowser/log/process/next-turn"
import { sourcesOf } from "../embedding/own-field.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { wordsOf } from "../understanding/words-of.ts"
import { bytesOfKept, type KeptWords, keptWords, Vocabulary } from "./vocabulary.ts"

const BYTES_MAX = 4_000_000
const DOCUMENTS_MAX = 10_000
const PAGE = 200
/** The most text read of one document. */
const TEXT_CHARACTERS_MAX = 2_000
const WORDS_MAX = 10_000
/** The first words of a document, which usually contain its name. */
const OPENING_WORDS = 14,
  OPENING_CHARACTERS_MAX = 120
/** The most distinct words counted; the most frequent `WORDS_MAX` of them are kept. */
const COUNTED_MAX = 100_000
const KEPT_MS = 5 * 60_000
/** After this wait, a search goes on without corrections. */
const WAIT_MS = 3_000
const LETTERS = /^\p{L}[\p{L}\p{M}'’]{2,23}$/u

interface CachedWords {
  readonly created_at: number
  readonly kept: KeptWords
  readonly until: number
}

/** The most frequent words, in that order. */
const mostUsed = (counts: ReadonlyMap<string, number>): ReadonlyArray<string> =>
  [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, WORDS_MAX)
    .map(([word]) => word)

export const makeVocabularies = Effect.gen(function* () {
  const contextOf = yield* makeContexts
  const cache = new BoundedMap<string, CachedWords>({
    bytes_max: BYTES_MAX,
    bytesOf: (key, { kept }) => 2 * key.length + bytesOfKept(kept)
  })
  const one = Semaphore.makeUnsafe(1)

  const counted = Effect.fnUntraced(function* (organizationId: string, { schema }: CollectionInfo) {
    const fields = sourcesOf(schema)
    const analyzer = wordsOf(schema)
    const counts = new Map<string, number>()
    const openings = new Set<string>()
    const count = (document: Document) => {
      const text = sourceOf({ from: fields }, document) ?? ""
      const words = analyzer.tokenize(text.slice(0, TEXT_CHARACTERS_MAX))
      openings.add(words.slice(0, OPENING_WORDS).join(" ").slice(0, OPENING_CHARACTERS_MAX))
      for (const word of new Set(words))
        if (LETTERS.test(word) && (counts.size < COUNTED_MAX || counts.has(word)))
          counts.set(word, (counts.get(word) ?? 0) + 1)
    }
    const selection = { include: ["id", ...fields], exclude: [], joins: [] }
    let after: number | undefined
    for (let read = 0; read < DOCUMENTS_MAX; read += PAGE) {
      const page = yield* Effect.promise(async () =>
        contextOf(organizationId).engine.scan(organizationId, {
          collection: schema.name,
          filter: undefined,
          selection,
          limit: PAGE,
          ...(after === undefined ? {} : { after })
        })
      )
      if (!page.ok) return undefined
      for (const document of page.value.documents) count(document)
      after = page.value.next
      if (after === undefined) break
      yield* nextTurn
    }
    return keptWords(
      mostUsed(counts),
      [...openings].filter((opening) => opening !== "")
    )
  })
  const keyOf = (organizationId: string, { schema }: CollectionInfo) => `${organizationId}\n${schema.name}`
  const known = (key: string, { created_at }: CollectionInfo, now: number): KeptWords | undefined => {
    const found = cache.get(key)
    return found !== undefined && found.created_at === created_at && found.until > now ? found.kept : undefined
  }
  const read = Effect.fnUntraced(function* (organizationId: string, collection: CollectionInfo) {
    const key = keyOf(organizationId, collection)
    const now = yield* Clock.currentTimeMillis
    const kept = known(key, collection, now)
    if (kept !== undefined) return kept
    const made = yield* counted(organizationId, collection)
    if (made !== undefined) cache.set(key, { created_at: collection.created_at, kept: made, until: now + KEPT_MS })
    return made
  })

  return {
    /** Undefined if the words cannot be read in time; nothing is corrected then. */
    of: Effect.fnUntraced(function* (organizationId: string, collection: CollectionInfo) {
      const now = yield* Clock.currentTimeMillis
      const kept =
        known(keyOf(organizationId, collection), collection, now) ??
        (yield* Effect.timeoutOrElse(one.withPermits(1)(read(organizationId, collection)), {
          duration: WAIT_MS,
          orElse: () => Effect.succeed(undefined)
        }))
      return kept === undefined ? undefined : new Vocabulary(kept)
    })
  }
})
