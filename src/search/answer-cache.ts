/**
 * `use_cache` (`docs/contract/search.md#cache`): complete successful answers, evicted by least recent use, each kept
 * for `cache_ttl` seconds, at most an hour. Writes of documents do not invalidate, as callers of this parameter expect;
 * writes of rules do, and so does everything that removes something: deletes, drops, changes of aliases, erasures
 * (`answer-epoch.ts`). Entries are keyed by organization, key and embedded parameters, so that no restriction is ever
 * answered from another key's entry, and by whatever rules distinguish requests by; a hit still gets its own query_id.
 */
import { createHash } from "node:crypto"
import { BoundedMap } from "@dowser/engine-sdk/host"
import type { Written } from "./asked-search.ts"

/** Bytes of all entries together: large answers are evicted sooner than small ones. */
export const CACHE_BYTES_MAX = 64_000_000
const CACHE_TTL_DEFAULT_S = 60
/** Decision: a longer time is reduced, not refused, so that a shop's changes appear everywhere within the hour. */
const CACHE_TTL_MAX_S = 3_600
/** `cache_ttl` as it was requested, a checked number or its text. */
export const cacheTtlOf = (asked: unknown): number =>
  asked === undefined ? CACHE_TTL_DEFAULT_S : Math.min(Number(asked), CACHE_TTL_MAX_S)

export interface KeptAnswer extends Pick<Written, "isMany" | "searches"> {
  readonly expiresAt: number
}
export interface AnswerCache {
  /** Undefined if there is none or it has expired. O(key). */
  readonly get: (key: string, now_ms: number) => KeptAnswer | undefined
  readonly put: (key: string, answer: KeptAnswer) => void
  readonly figures: () => CacheFigures
}
/** Counts since this process started; `bytes` is the current value. */
export interface CacheFigures {
  readonly hits: number
  readonly misses: number
  readonly bytes: number
}
/** Characters of all texts. */
export const lengthOf = ({ searches }: Pick<Written, "searches">): number =>
  searches.reduce((sum, { open, rest }) => sum + open.length + rest.length, 0)

const bytesOf = (_key: string, kept: KeptAnswer): number =>
  2 * lengthOf(kept) +
  kept.searches.reduce(
    (sum, { search: { parameters } }) =>
      Object.keys(parameters).reduce((own, name) => own + 2 * (name.length + parameters[name]!.length), sum + 500),
    0
  )

export const makeAnswerCache = (): AnswerCache => {
  const entries = new BoundedMap<string, KeptAnswer>({ bytes_max: CACHE_BYTES_MAX, bytesOf })
  // Hashed, because the key of an entry may be a body of megabytes.
  const shortOf = (key: string) => createHash("sha256").update(key).digest("base64")
  let hits = 0,
    misses = 0
  const current = (short: string, now_ms: number): KeptAnswer | undefined => {
    const found = entries.get(short)
    if (found === undefined) return undefined
    if (found.expiresAt <= now_ms) return void entries.delete(short)
    entries.renew(short)
    return found
  }
  return {
    get: (key, now_ms) => {
      const found = current(shortOf(key), now_ms)
      if (found === undefined) misses++
      else hits++
      return found
    },
    figures: () => ({ hits, misses, bytes: entries.bytes }),
    put: (key, answer) => entries.set(shortOf(key), answer)
  }
}
