/**
 * `use_cache` (reference contract 6.11): whole successful answers, least recently used first out, each for `cache_ttl`
 * seconds, at most an hour. Writes of documents do not invalidate, as callers of this parameter expect; writes of rules
 * do, and so does what takes something away: deletes, drops, changes of aliases, erasures (`answer-epoch.ts`). What is
 * kept is keyed by organization, key and embedded parameters, so that no restriction is ever answered from another
 * key's entry, and by whatever rules tell requests apart; a hit still gets its own query_id.
 */
import { createHash } from "node:crypto"
import { BoundedMap } from "../../engine-sdk/src/bounded-map.ts"
import type { AnsweredSearch } from "../../engine-sdk/src/operations/mod.ts"

/** Bytes of all entries together: many large answers leave earlier than many small ones. */
export const cacheBytesMax = 64_000_000
const cacheTtlDefault_s = 60
/** Decision: a longer time is lowered, not refused: what a shop changed shows within the hour everywhere. */
const cacheTtlMax_s = 3_600
/** `cache_ttl` as it was asked for, a checked number or its text. */
export const cacheTtlOf = (asked: unknown): number =>
  asked === undefined ? cacheTtlDefault_s : Math.min(Number(asked), cacheTtlMax_s)

/** Without what the answer holds anyway. */
export type AccountedSearch = Omit<AnsweredSearch, "facet_counts" | "trace">
/** One search inside an answer, and the query_id it was given there. */
export interface CachedSearch {
  readonly search: AccountedSearch
  readonly query_id: string
}
/** `texts`: of the one answer, or of each entry of a multi-search (`isMany`). */
export interface CachedAnswer {
  readonly texts: ReadonlyArray<string>
  readonly isMany: boolean
  readonly searches: ReadonlyArray<CachedSearch>
  readonly expiresAt: number
}

export interface AnswerCache {
  /** undefined when there is none or its time is over. O(key). */ readonly get: (
    key: string,
    now_ms: number
  ) => KeptAnswer | undefined
  readonly put: (key: string, answer: CachedAnswer) => void
}
/**
 * Texts between their query ids, so that each hit puts in its own without looking for them again: `parts` begin with
 * the text that has none before it.
 */
export interface KeptAnswer {
  readonly texts: ReadonlyArray<{
    readonly parts: ReadonlyArray<string>
    readonly searches: ReadonlyArray<AccountedSearch>
  }>
  readonly isMany: boolean
  readonly length: number
  readonly searches: ReadonlyArray<AccountedSearch>
  readonly expiresAt: number
}

const kept = ({ expiresAt, isMany, searches, texts }: CachedAnswer): KeptAnswer => {
  // They stand in the texts in the order in which they were given.
  const left = [...searches]
  const cut = texts.map((text) => {
    const parts: Array<string> = [],
      accounted: Array<AccountedSearch> = []
    let from = 0
    while (left.length > 0) {
      const at = text.indexOf(`"query_id":"${left[0]!.query_id}"`, from)
      if (at < 0) break
      const { query_id, search } = left.shift()!
      const end = at + `"query_id":"`.length
      parts.push(text.slice(from, end))
      accounted.push(search)
      from = end + query_id.length
    }
    parts.push(text.slice(from))
    return { parts, searches: accounted }
  })
  return {
    texts: cut,
    isMany,
    length: texts.reduce((sum, { length }) => sum + length, 0),
    searches: cut.flatMap((each) => each.searches),
    expiresAt
  }
}
const bytesOf = (_key: string, { length, searches }: KeptAnswer): number =>
  2 * length +
  searches.reduce(
    (sum, { parameters }) =>
      Object.keys(parameters).reduce((own, name) => own + 2 * (name.length + parameters[name]!.length), sum + 500),
    0
  )

export const makeAnswerCache = (): AnswerCache => {
  const entries = new BoundedMap<string, KeptAnswer>({ bytes_max: cacheBytesMax, bytesOf })
  // What an entry is found by may be a body of megabytes.
  const shortOf = (key: string) => createHash("sha256").update(key).digest("base64")
  return {
    get: (key, now_ms) => {
      const short = shortOf(key),
        found = entries.get(short)
      if (found === undefined) return undefined
      if (found.expiresAt <= now_ms) return void entries.delete(short)
      entries.renew(short)
      return found
    },
    put: (key, answer) => entries.set(shortOf(key), kept(answer))
  }
}

/** The texts with fresh query ids: `fresh` accounts each search again and answers its new id. */
export const replayed = ({ texts }: KeptAnswer, fresh: (search: AccountedSearch) => string): ReadonlyArray<string> =>
  texts.map(({ parts, searches }) =>
    searches.reduce((answer, search, i) => answer + fresh(search) + parts[i + 1], parts[0]!)
  )
