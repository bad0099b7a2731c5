/**
 * The port: what Dowser asks of a search engine, and all it may assume. The in-process engine implements it here;
 * adapters over HTTP implement the same. Every call names a `namespace` (one tenant); an engine never joins it into a
 * name, and nothing of one namespace is reachable from another.
 *
 * Calls that an engine can answer without waiting may return the value itself instead of a promise (`Awaitable`), so
 * that a search in process costs no turn of the event loop.
 */
import type { Capabilities } from "./capabilities.ts"
import type { EngineError, Result } from "./errors.ts"
import type { KeepLimits } from "./keep-limits.ts"
import type { SearchAnswer, SearchPlan, Selection, UnionAnswer, UnionPlan, WriteOperation } from "./plan.ts"
import type { Filter } from "./filter.ts"
import type { CollectionInfo, CollectionSchema, Document, Field } from "./schema.ts"

export type Awaitable<A> = A | Promise<A>
/** Time of the searching thread that one request may use, over all its calls. The engine adds what it used. */
export interface SearchBudget {
  readonly limit_ms: number
  used_ms: number
  /** A search of the request took long: the others need not be tried on the thread of all. */ isSlow?: boolean
  /** The caller has gone: searches not yet started can be skipped. */ readonly isGivenUp?: () => boolean
  /** Weight of the namespace where searches of several share the same threads; default 1. */ readonly weight?: number
}
export type Namespace = string

/**
 * A checked change of a live collection (`docs/contract/collections.md#schema-changes`): drops happen before additions.
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

/** `collection` is absent where even its name cannot be read, `namespace` is empty where not even that can. */
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
   * though it is not on disk yet. An engine that cannot tell never calls it.
   */
  readonly taken?: (() => void) | undefined
}

export interface WriteVerdict {
  readonly id?: string
  readonly result: Result<Written>
}
export interface Written {
  readonly id: string
  /** The stored document after the write (before it, for a delete). Present when asked by `returnDocuments`. */
  readonly document?: Document
  /** False for an update that changed nothing. */ readonly changed: boolean
}

export interface ScanRequest {
  readonly collection: string
  /** undefined = every document. */ readonly filter: Filter | undefined
  readonly selection?: Selection
  /** Opaque position of the last document of the page before. */ readonly after?: number
  readonly limit: number
}
export interface ScanPage {
  readonly documents: ReadonlyArray<Document>
  /** Ids in the same order. */ readonly ids: ReadonlyArray<string>
  /** undefined when this was the last page. */ readonly next: number | undefined
}

/** Words as they are written; each is analysed as each of the fields analyses its texts. */
export interface WordsRequest {
  readonly collection: string
  /** Fields of text; others know no word. */ readonly fields: ReadonlyArray<string>
  readonly words: ReadonlyArray<string>
  /** Only documents that pass it count: what restricts a caller. */ readonly filter?: Filter
}
export interface WordUse {
  /** Whether a document holds it in some field. */ readonly isIndexed: boolean
  /** Whether an indexed word begins with it. */ readonly isBeginning: boolean
}

export interface CollectionUsage {
  readonly documents: number
  readonly segments: number
  /** In memory. */ readonly index_bytes: number
  readonly document_bytes: number
  readonly open: boolean
  /** Vector fields of an open collection, where the engine knows. */ readonly vectors?: ReadonlyArray<VectorUsage>
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
  /** Share of the true ten nearest among those found, the worst index of the field; 1 while everything is exact. */
  readonly recall: number
  /** Why something is searched exactly although it is large. */ readonly note?: string
}

export interface SearchEngine {
  capabilities(): Capabilities
  /** Conflict when the name is taken. `created_at_s` comes from the caller: engines have no clock. */
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
  /** Schema changes in progress, whoever asked for them. Absent on an engine that has none to report. */
  schemaChanges?(namespace: Namespace): Promise<Result<ReadonlyArray<SchemaChangeProgress>>>
  /** Answers the collection as it was. */
  dropCollection(namespace: Namespace, name: string): Promise<Result<CollectionInfo>>
  /** Namespaces that have a collection. Absent on an engine that cannot list them. */
  namespaces?(): ReadonlyArray<Namespace>
  /** Newest first. No cost beyond the list. */
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
   * One answer or one failure per plan, in order. All plans of a call share the longest `cutoff_ms` among them, or what
   * the budget leaves: a plan for which nothing is left is answered cut off.
   */
  search(
    namespace: Namespace,
    plans: ReadonlyArray<SearchPlan>,
    budget?: SearchBudget
  ): Awaitable<ReadonlyArray<Result<SearchAnswer>>>
  union(namespace: Namespace, plan: UnionPlan, budget?: SearchBudget): Awaitable<Result<UnionAnswer>>
  /** Documents in insertion order, page by page; a page is one consistent moment. */
  scan(namespace: Namespace, request: ScanRequest): Awaitable<Result<ScanPage>>
  /** undefined where there is no such document. */
  get(
    namespace: Namespace,
    collection: string,
    ids: ReadonlyArray<string>,
    selection?: Selection
  ): Awaitable<Result<ReadonlyArray<Document | undefined>>>
  usage(namespace: Namespace, name: string): CollectionUsage | undefined
  /**
   * How the index knows words, one answer each, in order. Cost: one look into each field's dictionary a word;
   * Overloaded where that takes long. An engine that cannot say has none.
   */
  words?(namespace: Namespace, request: WordsRequest): Awaitable<Result<ReadonlyArray<WordUse>>>
  /**
   * Words of a stemming dictionary; undefined removes it. Engines keep it in memory only: a host repeats it after
   * opening, before the first use of a collection whose fields name it.
   */
  setDictionary?(namespace: Namespace, name: string, words: ReadonlyMap<string, string> | undefined): Promise<void>
  /** Stored data found unreadable, as far as it has been checked. */
  damaged?(): ReadonlyArray<StoredDamage>
  health(): Awaitable<Result<{ readonly ok: true }, EngineError>>
  close(): Promise<void>
}
