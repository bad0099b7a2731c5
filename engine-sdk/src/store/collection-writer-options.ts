/** The dependencies of a collection's writer. */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { Allocate, Region } from "../index/sections.ts"
import type { WriteOperation } from "../plan.ts"
import type { Journal, StoredDocument } from "./journal.ts"
import { type NamespaceUse } from "./namespace-use.ts"
import { type PublisherOptions } from "./publisher.ts"
import type { WriterNeighbours } from "./references.ts"
import { type PrepareSegment } from "./segment-merger.ts"
import { type GraphOptions } from "./vector-graphs.ts"

/** Returns the next operations of a write that are still arriving; undefined: there are no more. */
export type MoreOperations = () => Promise<ReadonlyArray<WriteOperation> | undefined>

export interface CollectionWriterOptions extends PublisherOptions {
  readonly journal: Journal
  /** What the namespace stores. */ readonly use: NamespaceUse
  readonly neighbours: WriterNeighbours
  readonly allocate: Allocate
  readonly allocateLinear: Allocate
  readonly release: (region: Region) => void
  readonly prepare?: PrepareSegment | undefined
  /** A number that each search changes. */ readonly searches?: (() => number) | undefined
  readonly dictionaries?: Dictionaries
  readonly graphs: GraphOptions
}

/** Yields the documents that still exist. */
export function* storedDocuments(
  journal: Journal,
  key: number,
  seqs: Iterable<number>
): Generator<StoredDocument, void> {
  for (const seq of seqs) {
    const document = journal.document(key, seq)
    if (document !== undefined) yield document
  }
}
