/**
 * Which collections there are, kept in an index of the cluster and remembered here: the port asks for them without
 * waiting. What other processes changed is followed by the numbers that the cluster gives to changes; the version of a
 * record that was read decides who may write it next.
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

/** Records that one look brings. */
const PAGE = 500
/** Changes of records that are made at the same moment. */
const LATE_MAX = 100
/** Searches wait for it. */
const LOOK_MS = 5_000
/** How often documents are counted again: what this process writes is counted at once. */
const COUNT_EVERY_MS = 15_000

export interface Entry extends Pick<CollectionInfo, "schema"> {
  record: CollectionRecord
  revision: Revision
  documents: number
  bytes: number
  /** Writes of this process in progress, and finished ones: a count taken during one of them is discarded. */
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
  /** Those before it: one may be found only after a later one. */ readonly #recent = new Set<number>()
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
  /** Newest first: keys only grow. */
  list(namespace: Namespace): Entry[] {
    return [...(this.#entries.get(namespace)?.values() ?? [])].sort((a, b) =>
      identityOf(a.record) < identityOf(b.record) ? 1 : -1
    )
  }
  /** A collection that this process may not have heard of yet. */
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

  /** Stored where `revision` is still the record's, undefined: where there is none. Conflict otherwise. */
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
    // Somebody may have changed it again, and have been heard of first.
    const known = this.find(record.namespace, name)
    return ok(
      known !== undefined && known.revision._seq_no > saved.value._seq_no ? known : this.#put(record, saved.value)
    )
  }
  /** Places that an index of its own does not have yet. */
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
    if (record.isGone) names.delete(schema.name)
    else names.set(schema.name, entry)
    return entry
  }
  /** An older reading than what is known changes nothing. */
  #take({ _source, _seq_no, _primary_term }: StoredRecord): void {
    const { record } = _source
    const known = this.find(record.namespace, record.schema.name)
    if (known === undefined || known.revision._seq_no <= _seq_no) this.#put(record, { _seq_no, _primary_term })
  }

  /** Reads changes since the last time. Returns the keys that documents have, when it is time to count them. */
  async follow(now_ms: number): Promise<ReadonlySet<string> | undefined> {
    const changed = await this.readChanges()
    if (this.#client.isClosed) return undefined
    // Once, not with every look.
    if (!changed.ok && !this.#isLost)
      warn("collections of the search cluster are not followed until it answers", changed.error.message)
    this.#isLost = !changed.ok
    if (!changed.ok || now_ms - this.#counted_ms < this.#count_ms) return undefined
    this.#counted_ms = now_ms
    const counted = await this.count()
    return counted.ok ? counted.value : undefined
  }
  /** Reads changes made before the call; one request serves every caller that asks before it begins. */
  readChanges(): Promise<Result<void, EngineError>> {
    return this.#looks.run("changes", () => this.#readChanges())
  }
  /**
   * Hears of every collection that was moved before the call. Where that cannot be read, what is known is gone by: a
   * search is rather as old as that than refused.
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
      // Before the first collection there need be no index of them yet.
      if (!page.ok) return page.error.kind === "NotFound" && this.#seen < 0 ? ok(undefined) : page
      const { hits } = page.value.hits
      for (const record of hits) {
        this.#take(record)
        this.#recent.add(record._seq_no)
        this.#seen = Math.max(this.#seen, record._seq_no)
      }
      for (const change of this.#recent) if (change <= this.#seen - LATE_MAX) this.#recent.delete(change)
      if (hits.length < PAGE) return ok(undefined)
    }
  }
  get entries(): Entry[] {
    return [...this.#entries.values()].flatMap((names) => [...names.values()])
  }
  /**
   * Documents and bytes of all collections, those that are written to meanwhile left as they are. Answers the keys that
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
