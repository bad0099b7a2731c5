/**
 * `use_cache` (reference contract 6.11): whole successful answers, least recently used first out, each for `cache_ttl`
 * seconds, at most an hour. Writes of documents do not invalidate, as callers of this parameter expect; writes of rules do, and so
 * does what takes something away: deletes, drops, changes of aliases, erasures (`answer-epoch.ts`). What is kept is
 * keyed by organization, key and embedded parameters, so that no restriction is ever answered from another key's entry, and
 * by whatever rules tell requests apart; a hit still gets its own query_id.
 */
import type { AnsweredSearch } from "../../engine-sdk/src/operations/mod.ts"

export const cacheEntriesMax = 1_000
/** Bytes of all entries together: many large answers leave earlier than many small ones. */
export const cacheBytesMax = 64 * 1024 * 1024
export const cacheTtlDefault_s = 60
/** Decision: a longer time is lowered, not refused: what a shop changed shows within the hour everywhere. */
export const cacheTtlMax_s = 3_600
/** `cache_ttl` as it was asked for, a checked number or its text. */
export const cacheTtlOf = (asked: unknown): number => asked === undefined ? cacheTtlDefault_s : Math.min(Number(asked), cacheTtlMax_s)

/** Without what the answer holds anyway. */
export type AccountedSearch = Omit<AnsweredSearch, "facet_counts" | "trace">
/** One search inside an answer, and the query_id it was given there. */
export interface CachedSearch { readonly search: AccountedSearch; readonly query_id: string }
export interface CachedAnswer { readonly text: string; readonly searches: ReadonlyArray<CachedSearch>; readonly expiresAt: number }

export interface AnswerCache {
  /** undefined when there is none or its time is over. O(1). */ readonly get: (key: string, now_ms: number) => CachedAnswer | undefined
  readonly put: (key: string, answer: CachedAnswer) => void
}

export const makeAnswerCache = (): AnswerCache => {
  // A Map keeps insertion order: a hit is moved to the end, the first is the least recently used.
  const entries = new Map<string, CachedAnswer>()
  let bytes = 0
  const sizeOf = (key: string, { text }: CachedAnswer) => 2 * (key.length + text.length)
  const remove = (key: string, answer: CachedAnswer) => {
    entries.delete(key)
    bytes -= sizeOf(key, answer)
  }
  return {
    get: (key, now_ms) => {
      const found = entries.get(key)
      if (found === undefined) return undefined
      if (found.expiresAt <= now_ms) return void remove(key, found)
      entries.delete(key)
      entries.set(key, found)
      return found
    },
    put: (key, answer) => {
      const old = entries.get(key)
      if (old !== undefined) remove(key, old)
      entries.set(key, answer)
      bytes += sizeOf(key, answer)
      for (const [oldest, value] of entries) {
        if (entries.size <= cacheEntriesMax && bytes <= cacheBytesMax) break
        remove(oldest, value)
      }
    }
  }
}

/** The answer with fresh query ids: `fresh` accounts each search again and answers its new id. */
export const replayed = ({ searches, text }: CachedAnswer, fresh: (search: AccountedSearch) => string): string =>
  searches.reduce((answer, { query_id, search }) => answer.replace(`"query_id":"${query_id}"`, `"query_id":"${fresh(search)}"`), text)
