/** What the searching thread requests from the writer, and the events it receives. */
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
  /** What was published so far is a complete index; until this event, readers wait. */
  | { readonly kind: "opened"; readonly key: number }
  | { readonly kind: "closed"; readonly key: number }

/** The writer ended, or was terminated, before it answered, so the request is not acknowledged. */
export class WriterGone extends Error {
  override readonly name = "WriterGone"
}

/** What an engine requests from its writer, wherever the writer runs. */
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
  /**
   * Builds what relevance searches over these units read; resolves when searches can use it, or it will not be built.
   */
  makeUnits(key: number, units: ReadonlyArray<RelevanceUnit>): Promise<void>
  /** Takes a snapshot and releases a collection's index; its documents stay stored. */
  release(key: number): Promise<void>
  setDictionary(namespace: Namespace, name: string, words: ReadonlyMap<string, string> | undefined): Promise<void>
  /**
   * Accepts no more calls, finishes pending ones, and stops using the journal; then resolves. Readers keep what they
   * have.
   */
  stop(): Promise<void>
  close(): Promise<void>
}

/** What a writer is given in addition to its journal. */
export interface WriterMemory {
  readonly allocate?: Allocate
  /** Allocates memory that compiled code reads, for graphs. */ readonly allocateLinear?: Allocate
  readonly release?: (region: Region) => void
  readonly holding?: <A>(work: () => Promise<A>) => Promise<A>
  /** Called with a collection's number; if absent, merged segments are published without preparation. */
  readonly prepare?: (key: number, ...given: Parameters<PrepareSegment>) => Promise<void>
  /**
   * A number that each search of the collection changes. Absent where the writer has a thread of its own: merging
   * costs an import nothing there.
   */
  readonly searches?: (key: number) => number
}

export const NOT_STORED = {
  kind: "Unavailable",
  message: "The write could not be stored; whether a part of it is, is not known."
} as const

export const CLOSED = { kind: "Unavailable", message: "The engine is closed." } as const

/** A collection was not opened, because its stored data cannot be read or everything is closing. */
export class CollectionNotOpened extends Error {
  /** By this, the searching thread tells errors apart: only an error's name and message pass from a worker. */
  override readonly name: "CollectionDamaged" | "EngineClosed"
  readonly failure: Damaged | typeof CLOSED
  constructor(failure: Damaged | typeof CLOSED) {
    super(failure.message)
    this.name = failure.kind === "Damaged" ? "CollectionDamaged" : "EngineClosed"
    this.failure = failure
  }
}
