/**
 * The words that the documents of a collection contain, cached between searches: a typed word stands for the best words
 * it may mean, and the cluster itself only reports which words are near. The words of a field are read once; later only
 * those of newer documents, by the cluster's sequence numbers. Deleted and replaced documents are noticed by their
 * number; if they are more than a few, all words are read again.
 */
import { ok, type Result } from "../errors.ts"
import { Joined } from "../joined.ts"
import type { ClusterClient } from "./client.ts"
import { allOf } from "./compile-filter.ts"
import { KEY_LENGTH, ownFilter, type Placement } from "./placement.ts"
import { wordListOf } from "./slots.ts"
import { askAll, type SearchResponse } from "./trips.ts"
import { WordTable, type WordUse } from "./word-table.ts"

/** Maximum documents of a collection, and words of a field, for which a vocabulary is cached. */
const DOCUMENTS_MAX = 200_000,
  WORDS_MAX = 50_000
/** Bound for all collections together; the least recently used are evicted first. */
const BYTES_MAX = 64 * 1_048_576
const ENTRY_BYTES = 256
/** Collections of this size tolerate replaced and deleted documents up to one in `STALE_SHARE`. */
const STALE_SHARE = 10,
  STALE_FROM_DOCS = 5_000

interface CachedTable {
  /** undefined if there are too many words. */ readonly table: WordTable | undefined
  /** The last change that the table includes. */ readonly seen: number
  /** Documents counted, including replaced ones. */ readonly documents: number
}
/** Where the words of a field are stored, and how they are ranked. */
export interface WordPlace {
  readonly slot: string
  readonly bestBy: string | undefined
}
const keyOf = ({ key }: Placement, { bestBy = "", slot }: WordPlace): string => `${key} ${slot} ${bestBy}`
const newer = (placement: Placement, seen: number): object =>
  allOf([ownFilter(placement), { range: { _seq_no: { gt: seen } } }])

export class Vocabularies {
  readonly #client: ClusterClient
  readonly #documents_max: number
  /** Least recently used first. */ readonly #kept = new Map<string, CachedTable>()
  readonly #joined = new Joined<Result<unknown>>()
  #bytes = 0
  constructor(client: ClusterClient, documents_max = DOCUMENTS_MAX) {
    this.#client = client
    this.#documents_max = documents_max
  }
  /** Larger collections are searched by the cluster's fuzzy matching. */
  isFor(documents: number): boolean {
    return documents <= this.#documents_max
  }
  /** Whether all are cached. A field that had too many words is read again once the collection is half as large. */
  hasAll(placement: Placement, places: ReadonlyArray<WordPlace>, documents: number): boolean {
    return places.every((place) => {
      const kept = this.#kept.get(keyOf(placement, place))
      return kept !== undefined && (kept.table !== undefined || documents * 2 > kept.documents)
    })
  }
  /** undefined if a field has more words than are cached. */
  tables(placement: Placement, places: ReadonlyArray<WordPlace>): ReadonlyArray<WordTable> | undefined {
    const tables: WordTable[] = []
    for (const place of places) {
      const key = keyOf(placement, place),
        kept = this.#kept.get(key)
      if (kept?.table === undefined) return undefined
      this.#kept.delete(key)
      this.#kept.set(key, kept)
      tables.push(kept.table)
    }
    return tables
  }
  /** Searches whose responses show `isCurrent` whether anything was written since. */
  checks(placement: Placement, places: ReadonlyArray<WordPlace>): object[] {
    const counting = { size: 0, track_total_hits: true }
    const seen = Math.min(...places.map((place) => this.#kept.get(keyOf(placement, place))?.seen ?? -1))
    return [
      { query: ownFilter(placement), ...counting },
      { query: newer(placement, seen), ...counting }
    ]
  }
  isCurrent(
    placement: Placement,
    places: ReadonlyArray<WordPlace>,
    [all, fresh]: ReadonlyArray<SearchResponse>
  ): boolean {
    const total = all.hits?.total?.value ?? 0
    return (
      (fresh.hits?.total?.value ?? 0) === 0 && places.every((place) => this.#isNear(keyOf(placement, place), total))
    )
  }
  #isNear(key: string, total: number): boolean {
    const kept = this.#kept.get(key)
    if (kept === undefined) return false
    const gone = kept.documents - total
    return gone === 0 || (total >= STALE_FROM_DOCS && gone > 0 && gone * STALE_SHARE < total)
  }
  /** Reads new words. Concurrent callers share one read. */
  refresh(placement: Placement, places: ReadonlyArray<WordPlace>, left_ms: number): Promise<Result<unknown>> {
    const key = places.map((place) => keyOf(placement, place)).join()
    return this.#joined.run(key, () => this.#read(placement, places, left_ms))
  }
  async #read(placement: Placement, places: ReadonlyArray<WordPlace>, left_ms: number): Promise<Result<unknown>> {
    const counted = await askAll(this.#client, placement, this.checks(placement, places).slice(0, 1), left_ms)
    if (!counted.ok) return counted
    const total = counted.value[0].hits?.total?.value ?? 0
    const before = places.map((place) => {
      const kept = this.#kept.get(keyOf(placement, place))
      // Deleted words cannot be removed individually, so everything is read again.
      return kept !== undefined && kept.documents <= total + (total >= STALE_FROM_DOCS ? total / STALE_SHARE : 0)
        ? kept
        : undefined
    })
    const read = await askAll(
      this.#client,
      placement,
      places.map((place, i) => wordsSince(placement, place, before[i]?.seen ?? -1)),
      left_ms
    )
    if (!read.ok) return read
    let isMissing = false
    for (const [i, place] of places.entries()) {
      const kept = merged(before[i], read.value[i], place.bestBy !== undefined)
      // A change that became visible after a later one was missed.
      isMissing ||= before[i] !== undefined && kept.documents < total
      this.#keep(keyOf(placement, place), kept)
    }
    if (!isMissing) return ok(undefined)
    for (const place of places) this.#forget(keyOf(placement, place))
    return this.#read(placement, places, left_ms)
  }
  #keep(key: string, kept: CachedTable): void {
    this.#forget(key)
    this.#kept.set(key, kept)
    this.#bytes += bytesOf(kept)
    for (const other of this.#kept.keys()) {
      if (this.#bytes <= BYTES_MAX || other === key) break
      this.#forget(other)
    }
  }
  #forget(key: string): void {
    const kept = this.#kept.get(key)
    if (kept !== undefined) this.#bytes -= bytesOf(kept)
    this.#kept.delete(key)
  }
}
const bytesOf = ({ table }: CachedTable): number => (table?.bytes ?? 0) + ENTRY_BYTES

const wordsSince = (placement: Placement, { bestBy, slot }: WordPlace, seen: number): object => ({
  size: 0,
  track_total_hits: true,
  query: newer(placement, seen),
  aggs: {
    seq: { max: { field: "_seq_no" } },
    words: {
      // `map`, because global ordinals over the words of all tenants would be rebuilt after every change.
      terms: { field: wordListOf(slot), size: WORDS_MAX, execution_hint: "map" },
      ...(bestBy === undefined ? {} : { aggs: { by: { max: { field: bestBy } } } })
    }
  }
})
const merged = (
  before: CachedTable | undefined,
  { aggregations, hits }: SearchResponse,
  hasBest: boolean
): CachedTable => {
  const { seq, words } = aggregations ?? {}
  const documents = (before?.documents ?? 0) + (hits?.total?.value ?? 0)
  const seen = Math.max(before?.seen ?? -1, seq?.value ?? -1)
  const uses = new Map<string, WordUse>()
  for (const { by, doc_count, key } of words?.buckets ?? [])
    uses.set(String(key).slice(KEY_LENGTH), { frequency: doc_count, best: by?.value ?? -Infinity })
  const isOver = (words?.sum_other_doc_count ?? 0) > 0 || (before !== undefined && before.table === undefined)
  const table = isOver
    ? undefined
    : before?.table === undefined
      ? WordTable.of(uses, hasBest)
      : uses.size === 0
        ? before.table
        : before.table.with(uses)
  return { table: table !== undefined && table.terms.size > WORDS_MAX ? undefined : table, seen, documents }
}
