/**
 * The port: what Dowser requires of a search engine, and all it may assume. The in-process engine implements it here;
 * adapters over HTTP implement the same. Every call names a `namespace` (one tenant); an engine never joins it into a
 * name, and nothing of one namespace is reachable from another.
 *
 * Calls that an engine can answer synchronously may return the value itself instead of a promise (`Awaitable`), so that
 * an in-process search costs no turn of the event loop.
 */
import type { Capabilities } from "./capabilities.ts"
import type { EngineError, Result } from "./errors.ts"
import type { KeepLimits } from "./keep-limits.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "./plan.ts"
import type { Filter } from "./filter.ts"
import type { CollectionInfo, CollectionSchema, Document, Field } from "./schema.ts"

export type Awaitable<A> = A | Promise<A>
/** Time of the searching thread that one request may use over all its calls. The engine adds what it has used. */
export interface SearchBudget {
  readonly limit_ms: number
  used_ms: number
  /** A search of the request took long, so the others are not tried on the shared thread. */ isSlow?: boolean
  /** Whether the caller has disconnected; the rest is then skipped. */ readonly isGivenUp?: () => boolean
  /** Weight of the namespace if several share the same threads; default 1. */ readonly weight?: number
}
export type Namespace = string

/**
 * A checked change of a live collection (`docs/contract/collections.md#schema-changes`): drops come before additions.
 */
export interface SchemaChange {
  readonly drop: ReadonlyArray<string>
  readonly add: ReadonlyArray<Field>
  readonly metadata?: Record<string, unknown>
  readonly synonym_sets?: ReadonlyArray<string>
  readonly curation_sets?: ReadonlyArray<string>
}

/** A schema change in progress: the number of documents when it began, and how many have been rewritten. */
export interface SchemaChangeProgress {
  readonly collection: string
  readonly documents: number
  readonly altered: number
}

/** `collection` is absent if even its name cannot be read; `namespace` is empty if that cannot be read either. */
export interface StoredDamage {
  readonly namespace: Namespace
  readonly collection?: string
  readonly message: string
}
export interface WriteOptions {
  readonly returnDocuments?: boolean
  readonly keeps?: KeepLimits | undefined
  /**
   * Called at most once, before the answer: every operation has been accepted, so later writes are ordered after it,
   * although it is not on disk yet. An engine that does not know this never calls it.
   */
  readonly taken?: (() => void) | undefined
}

export interface WriteVerdict {
  readonly id?: string
  readonly result: Result<Written>
}
export interface Written {
  readonly id: string
  /** The stored document after the write (before it, for a delete). Present if requested by `returnDocuments`. */
  readonly document?: Document
  /** False for an update that changed nothing. */ readonly changed: boolean
}

export interface ScanRequest {
  readonly collection: string
  /** undefined = every document. */ readonly filter: Filter | undefined
  readonly selection?: Selection
  /** Opaque position of the last document of the previous page. */ readonly after?: number
  readonly limit: number
}
export interface ScanPage {
  readonly documents: ReadonlyArray<Document>
  /** Ids in the same order. */ readonly ids: ReadonlyArray<string>
  /** undefined if this is the last page. */ readonly next: number | undefined
}

/** Words as written; each is analysed the way each of the fields analyses its texts. */
export interface WordsRequest {
  readonly collection: string
  /** Text fields; other fields know no words. */ readonly fields: ReadonlyArray<string>
  readonly words: ReadonlyArray<string>
  /** Only documents that pass it count: the restriction of a caller. */ readonly filter?: Filter
}
export interface WordUse {
  /** Whether a document has the word in one of the fields. */ readonly isIndexed: boolean
  /** Whether an indexed word starts with the word. */ readonly isBeginning: boolean
}

export interface CollectionUsage {
  readonly documents: number
  readonly segments: number
  /** In memory. */ readonly index_bytes: number
  readonly document_bytes: number
  readonly open: boolean
  /** Vector fields of an open collection, if the engine knows them. */ readonly vectors?: ReadonlyArray<VectorUsage>
}
/** How a vector field is searched: `approximate` of its `vectors` through an index, the rest one by one. */
export interface VectorUsage {
  readonly field: string
  readonly vectors: number
  readonly approximate: number
  /** Bytes of the approximate index; part of `index_bytes`. */ readonly graph_bytes: number
  /** Bytes of the vectors in memory and of the record of which documents have one; part of `index_bytes`. */
  readonly memory_bytes: number
  /** Bytes of vectors in files, outside memory. */ readonly disk_bytes: number
  /** Share of the true ten nearest among those found, for the worst index of the field; 1 while everything is exact. */
  readonly recall: number
  /** Why something is searched exactly although it is large. */ readonly note?: string
}

export interface SearchEngine {
  capabilities(): Capabilities
  /** Conflict if the name is taken. `created_at_s` comes from the caller, because engines have no clock. */
  createCollection(
    namespace: Namespace,
    schema: CollectionSchema,
    created_at_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>>
  /** Everything is validated against the new schema before anything changes. */
  alterCollection(
    namespace: Namespace,
    name: string,
    change: SchemaChange,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>>
  /** Schema changes in progress, whoever requested them. Absent on an engine that has none to report. */
  schemaChanges?(namespace: Namespace): Promise<Result<ReadonlyArray<SchemaChangeProgress>>>
  /** Returns the collection as it was. */
  dropCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>>
  /** Namespaces that have a collection. Absent on an engine that cannot list them. */
  namespaces?(): ReadonlyArray<Namespace>
  /** Newest first. No cost beyond listing. */
  listCollections(namespace: Namespace): ReadonlyArray<CollectionInfo>
  describeCollection(namespace: Namespace, name: string): CollectionInfo | undefined
  /** One verdict per operation, in order. Durable and visible to the next search when the promise settles. */
  write(
    namespace: Namespace,
    collection: string,
    operations: ReadonlyArray<WriteOperation>,
    options?: WriteOptions
  ): Promise<Result<ReadonlyArray<WriteVerdict>>>
  /**
   * Returns one answer or one failure per plan, in order. All plans of a call share the longest `cutoff_ms` among them,
   * or what is left of the budget: a plan for which no time is left is answered as cut off.
   */
  search(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget?: SearchBudget
  ): Awaitable<ReadonlyArray<Result<SearchAnswer>>>
  union(namespace: Namespace, plan: UnionPlan, budget?: SearchBudget): Awaitable<Result<UnionAnswer>>
  /** Documents in insertion order, page by page; each page shows the collection at one moment. */
  scan(namespace: Namespace, request: ScanRequest): Awaitable<Result<ScanPage>>
  /** undefined if there is no such document. */
  get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Awaitable<Result<ReadonlyArray<Document | undefined>>>
  usage(namespace: Namespace, name: string): CollectionUsage | undefined
  /**
   * What the index knows about words; one result each, in order. Cost: one lookup per word in each field's dictionary;
   * Overloaded if that takes long. An engine that does not know leaves this method out.
   */
  words?(namespace: Namespace, request: WordsRequest): Awaitable<Result<ReadonlyArray<WordUse>>>
  /**
   * Sets the words of a stemming dictionary; undefined removes it. Engines keep it only in memory: a host must set it
   * again after opening, before the first use of a collection whose fields name it.
   */
  setDictionary?(namespace: Namespace, name: string, words: ReadonlyMap<string, string> | undefined): Promise<void>
  /** Stored data that was found to be unreadable, as far as it has been checked. */
  damaged?(): ReadonlyArray<StoredDamage>
  health(): Awaitable<Result<{ readonly ok: true }, EngineError>>
  close(): Promise<void>
}
