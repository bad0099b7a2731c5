/**
 * The existing collections, stored in an index of the cluster and cached here, because the port reads them
 * synchronously. Changes by other processes are followed by the cluster's sequence numbers; a record may only be
 * replaced by a writer that read its current version.
 */
import { type EngineError, fail, notFound, ok, type Result } from "../errors.ts"
import type { Namespace } from "../engine.ts"
import type { CollectionInfo } from "../schema.ts"
import { warn } from "../warning.ts"
import type { ClusterClient } from "./client.ts"
import { Joined } from "../joined.ts"
import { placesOf, type ClusterNames } from "./placement.ts"
import { documentsProperties } from "./mapping.ts"
import { identityOf, type CollectionRecord, type Revision } from "./record.ts"

/** Records per page when changes are read. */
const PAGE = 500
/** A change may become visible after up to this many later ones, so as many are read again. */
const LATE_MAX = 100
/** Timeout for reading changes, because searches wait for it. */
const LOOK_MS = 5_000
/** Interval between two counts of documents; what this process writes is counted immediately. */
const COUNT_EVERY_MS = 15_000

export interface Entry extends Pick<CollectionInfo, "schema"> {
  record: CollectionRecord
  revision: Revision
  documents: number
  bytes: number
  /** Numbers of writes by this process: in progress, and finished. A count is discarded if one ran during it. */
  writing: number
  written: number
}
interface StoredRecord extends Revision {
  readonly _id: string
  readonly found?: boolean
  readonly _source: { readonly record: CollectionRecord }
}

export const infoOf = ({ record, documents }: Entry): CollectionInfo => ({
  schema: record.schema,
  num_documents: documents,
  created_at: record.createdAt_s
})
const idOf = (namespace: Namespace, name: string): string => encodeURIComponent(JSON.stringify([namespace, name]))

export class Directory {
  readonly #client: ClusterClient
  readonly #names: ClusterNames
  readonly #looks = new Joined<Result<void, EngineError>>()
  readonly #entries = new Map<Namespace, Map<string, Entry>>()
  /** The last change that was read. */ #seen = -1
  /** Recent changes already read; an earlier one may become visible later. */ readonly #recent = new Set<number>()
  /** The changes by which collections were dropped, by id, as long as an earlier version may still be read. */
  readonly #gone = new Map<string, number>()
  #counted_ms = 0
  readonly #count_ms: number
  #isLost = false

  constructor(client: ClusterClient, names: ClusterNames, count_ms = COUNT_EVERY_MS) {
    this.#count_ms = count_ms
    this.#client = client
    this.#names = names
  }
  find(namespace: Namespace, name: string): Entry | undefined {
    return this.#entries.get(namespace)?.get(name)
  }
  /** Newest first, because keys only increase. */
  list(namespace: Namespace): Entry[] {
    return [...(this.#entries.get(namespace)?.values() ?? [])].sort((a, b) =>
      identityOf(a.record) < identityOf(b.record) ? 1 : -1
    )
  }
  /** Finds a collection, even one that this process has not seen yet. */
  async known(namespace: Namespace, name: string): Promise<Result<Entry>> {
    const entry = this.find(namespace, name)
    if (entry !== undefined) return ok(entry)
    await this.reload(namespace, name)
    const found = this.find(namespace, name)
    return found === undefined ? fail(notFound("Collection not found")) : ok(found)
  }
  async reload(namespace: Namespace, name: string): Promise<Result<StoredRecord | undefined>> {
    const read = await this.#client.ask<StoredRecord>({
      method: "GET",
      path: `/${this.#names.collections}/_doc/${idOf(namespace, name)}`,
      isRepeatable: true
    })
    if (!read.ok) return read.error.kind === "NotFound" ? ok(undefined) : read
    this.#take(read.value)
    return ok(read.value)
  }

  /** Saves a record if `revision` is still current (undefined: if there is no record). Conflict otherwise. */
  async save(record: CollectionRecord, revision: Revision | undefined): Promise<Result<Entry>> {
    const name = record.schema.name
    const condition =
      revision === undefined
        ? "op_type=create"
        : `if_seq_no=${revision._seq_no}&if_primary_term=${revision._primary_term}`
    const saved = await this.#client.ask<Revision>({
      method: "PUT",
      path: `/${this.#names.collections}/_doc/${idOf(record.namespace, name)}?refresh=true&${condition}`,
      body: { record },
      isRepeatable: false
    })
    if (!saved.ok) return saved
    // Another process may have changed it again, and that change may already have been read.
    const known = this.find(record.namespace, name)
    return ok(
      known !== undefined && known.revision._seq_no > saved.value._seq_no ? known : this.#put(record, saved.value)
    )
  }
  /** Adds slots that a collection's own index does not have yet. */
  async makeRoom({ placement, slots }: Pick<CollectionRecord, "placement" | "slots">): Promise<Result<unknown>> {
    return this.#client.ask({
      method: "PUT",
      path: `/${placement.index}/_mapping`,
      body: { properties: documentsProperties(placesOf(placement.kind, slots), slots) },
      isRepeatable: true
    })
  }
  #put(record: CollectionRecord, { _seq_no, _primary_term }: Revision): Entry {
    const { namespace, schema } = record
    const revision = { _seq_no, _primary_term }
    let names = this.#entries.get(namespace)
    if (names === undefined) this.#entries.set(namespace, (names = new Map()))
    const known = names.get(schema.name)
    const isSame = known !== undefined && identityOf(known.record) === identityOf(record)
    const entry: Entry = isSame
      ? Object.assign(known, { record, revision, schema })
      : { record, revision, schema, documents: 0, bytes: 0, writing: 0, written: 0 }
    if (record.isGone) {
      names.delete(schema.name)
      this.#gone.set(idOf(namespace, schema.name), _seq_no)
    } else names.set(schema.name, entry)
    return entry
  }
  /** A version older than the known one changes nothing. */
  #take({ _source, _seq_no, _primary_term }: StoredRecord): void {
    const { record } = _source
    const { namespace, schema } = record
    const known = this.find(namespace, schema.name)?.revision._seq_no ?? this.#gone.get(idOf(namespace, schema.name))
    if (known === undefined || known <= _seq_no) this.#put(record, { _seq_no, _primary_term })
  }

  /** Reads changes since the last call. Returns the keys that documents have, if it is time to count them. */
  async follow(now_ms: number): Promise<ReadonlySet<string> | undefined> {
    const changed = await this.readChanges()
    if (this.#client.isClosed) return undefined
    // Warn once, not on every attempt.
    if (!changed.ok && !this.#isLost)
      warn("collections of the search cluster are not followed until it answers", changed.error.message)
    this.#isLost = !changed.ok
    if (!changed.ok || now_ms - this.#counted_ms < this.#count_ms) return undefined
    this.#counted_ms = now_ms
    const counted = await this.count()
    return counted.ok ? counted.value : undefined
  }
  /** Reads changes made before the call; callers that arrive before a request starts share it. */
  readChanges(): Promise<Result<void, EngineError>> {
    return this.#looks.run("changes", () => this.#readChanges())
  }
  /**
   * Learns of every collection that was moved before the call. If that cannot be read, the known state is used: a
   * search on slightly outdated state is better than a refused one.
   */
  async hear(): Promise<void> {
    await this.readChanges()
  }
  async #readChanges(): Promise<Result<void, EngineError>> {
    for (;;) {
      const page = await this.#client.ask<{ hits: { hits: ReadonlyArray<StoredRecord> } }>({
        method: "POST",
        path: `/${this.#names.collections}/_search?seq_no_primary_term=true`,
        body: {
          size: PAGE,
          query: {
            bool: {
              filter: [{ range: { _seq_no: { gt: this.#seen - LATE_MAX } } }],
              must_not: [{ terms: { _seq_no: [...this.#recent] } }]
            }
          },
          sort: [{ _seq_no: "asc" }],
          seq_no_primary_term: true
        },
        timeout_ms: LOOK_MS,
        isRepeatable: true
      })
      // Before the first collection there may be no index of records.
      if (!page.ok) return page.error.kind === "NotFound" && this.#seen < 0 ? ok(undefined) : page
      const { hits } = page.value.hits
      for (const record of hits) {
        this.#take(record)
        this.#recent.add(record._seq_no)
        this.#seen = Math.max(this.#seen, record._seq_no)
      }
      for (const change of this.#recent) if (change <= this.#seen - LATE_MAX) this.#recent.delete(change)
      for (const [id, change] of this.#gone) if (change <= this.#seen - LATE_MAX) this.#gone.delete(id)
      if (hits.length < PAGE) return ok(undefined)
    }
  }
  get entries(): Entry[] {
    return [...this.#entries.values()].flatMap((names) => [...names.values()])
  }
  /**
   * Counts documents and bytes of all collections, except those written to in the meantime. Returns the keys that
   * documents have.
   */
  async count(): Promise<Result<ReadonlySet<string>>> {
    const before = new Map(
      this.entries
        .filter(({ writing }) => writing === 0)
        .map((entry) => [entry.record.placement.key, { entry, written: entry.written }])
    )
    const isAtRest = (key: string, { entry, written }: { readonly entry: Entry; readonly written: number }): boolean =>
      entry.writing === 0 && entry.written === written && entry.record.placement.key === key
    let after: { readonly key: string } | undefined
    const counted = new Set<string>()
    do {
      const page = await this.#client.ask<CountedPage>({
        method: "POST",
        path: `/${this.#names.documents}/_search`,
        body: {
          size: 0,
          aggs: {
            by: {
              composite: {
                size: PAGE,
                sources: [{ key: { terms: { field: "c" } } }],
                ...(after === undefined ? {} : { after })
              },
              aggs: { bytes: { sum: { field: "size" } } }
            }
          }
        },
        isRepeatable: true
      })
      if (!page.ok) return page
      const { buckets, after_key } = page.value.aggregations?.by ?? { buckets: [] }
      for (const { key, doc_count, bytes } of buckets) {
        counted.add(key.key)
        const known = before.get(key.key)
        if (known === undefined || !isAtRest(key.key, known)) continue
        known.entry.documents = doc_count
        known.entry.bytes = bytes.value
      }
      after = after_key
    } while (after !== undefined)
    for (const [key, known] of before)
      if (!counted.has(key) && isAtRest(key, known)) known.entry.documents = known.entry.bytes = 0
    return ok(counted)
  }
}
interface CountedPage {
  readonly aggregations?: {
    readonly by: {
      readonly buckets: ReadonlyArray<{
        readonly key: { readonly key: string }
        readonly doc_count: number
        readonly bytes: { readonly value: number }
      }>
      readonly after_key?: { readonly key: string }
    }
  }
}
