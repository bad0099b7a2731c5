/** What the thread of searches asks of the writer, and what it hears from it. */
import type { Namespace, SchemaChange, WriteVerdict } from "../engine.ts"
import type { KeepLimits } from "../keep-limits.ts"
import { type Damaged, type Result } from "../errors.ts"
import { type Allocate, type Region } from "../index/sections.ts"
import type { Publication } from "../index/reader.ts"
import type { RelevanceUnit, WriteOperation } from "../plan.ts"
import type { CollectionInfo, CollectionSchema } from "../schema.ts"
import type { CollectionRecord, UnreadableRecord } from "./journal.ts"
import type { PrepareSegment } from "./segment-merger.ts"

export type WriterEvent =
  | { readonly kind: "collection"; readonly record: CollectionRecord; readonly documents: number }
  | { readonly kind: "unreadable"; readonly record: UnreadableRecord }
  | { readonly kind: "dropped"; readonly key: number }
  | { readonly kind: "published"; readonly key: number; readonly publication: Publication }
  /** What was published so far is a whole index; before it, readers wait. */
  | { readonly kind: "opened"; readonly key: number }
  | { readonly kind: "closed"; readonly key: number }

/** The writer ended, or was ended, before it answered: what was asked of it is not acknowledged. */
export class WriterGone extends Error {
  override readonly name = "WriterGone"
}

/** What an engine asks of its writer, wherever that runs. */
export interface WriterPort {
  create(
    namespace: Namespace,
    schema: CollectionSchema,
    createdAt_s: number,
    keeps?: KeepLimits
  ): Promise<Result<CollectionInfo>>
  alter(namespace: Namespace, name: string, change: SchemaChange, keeps?: KeepLimits): Promise<Result<CollectionInfo>>
  drop(namespace: Namespace, name: string): Promise<Result<CollectionInfo>>
  write(
    namespace: Namespace,
    name: string,
    operations: ReadonlyArray<WriteOperation>,
    returnDocuments: boolean,
    keeps?: KeepLimits,
    taken?: () => void
  ): Promise<Result<ReadonlyArray<WriteVerdict>>>
  /** Loads the index of a collection and publishes it. */
  open(key: number): Promise<void>
  /** Makes what relevance searches over these units read; resolves when searches find it, or must do without. */
  makeUnits(key: number, units: ReadonlyArray<RelevanceUnit>): Promise<void>
  /** Snapshots and lets go of a collection's index; its documents stay. */
  release(key: number): Promise<void>
  setDictionary(namespace: Namespace, name: string, words: ReadonlyMap<string, string> | undefined): Promise<void>
  /**
   * Takes no more calls, ends those under way, and touches the journal no more; resolves then. What readers have stays.
   */
  stop(): Promise<void>
  close(): Promise<void>
}

/** What a writer is given beside its journal. */
export interface WriterMemory {
  readonly allocate?: Allocate
  /** Of memory that compiled code reads, for graphs. */ readonly allocateLinear?: Allocate
  readonly release?: (region: Region) => void
  readonly holding?: <A>(work: () => Promise<A>) => Promise<A>
  /** Of a collection by its number; without it merged segments are published as they are. */ readonly prepare?: (
    key: number,
    ...given: Parameters<PrepareSegment>
  ) => Promise<void>
}

export const NOT_STORED = {
  kind: "Unavailable",
  message: "The write could not be stored; whether a part of it is, is not known."
} as const

export const CLOSED = { kind: "Unavailable", message: "The engine is closed." } as const

/** A collection was not opened: what is stored of it cannot be read, or everything closes. */
export class CollectionNotOpened extends Error {
  /** By it the searching thread tells them apart: of an error only name and message come from a worker. */
  override readonly name: "CollectionDamaged" | "EngineClosed"
  readonly failure: Damaged | typeof CLOSED
  constructor(failure: Damaged | typeof CLOSED) {
    super(failure.message)
    this.name = failure.kind === "Damaged" ? "CollectionDamaged" : "EngineClosed"
    this.failure = failure
  }
}
