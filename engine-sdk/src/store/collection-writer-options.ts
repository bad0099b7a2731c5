/** What a writer of one collection is given. */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { Allocate, Region } from "../index/sections.ts"
import type { WriteOperation } from "../plan.ts"
import type { Journal, StoredDocument } from "./journal.ts"
import { type NamespaceUse } from "./namespace-use.ts"
import { type PublisherOptions } from "./publisher.ts"
import type { WriterNeighbours } from "./references.ts"
import { type PrepareSegment } from "./segment-merger.ts"
import { type GraphOptions } from "./vector-graphs.ts"

/** The next operations of a write that are on their way; undefined: there are no more. */
export type MoreOperations = () => Promise<ReadonlyArray<WriteOperation> | undefined>

export interface CollectionWriterOptions extends PublisherOptions {
  readonly journal: Journal
  /** Of the namespace. */ readonly use: NamespaceUse
  readonly neighbours: WriterNeighbours
  readonly allocate: Allocate
  readonly allocateLinear: Allocate
  readonly release: (region: Region) => void
  readonly prepare?: PrepareSegment | undefined
  readonly dictionaries?: Dictionaries
  readonly graphs: GraphOptions
}

/** Those of the documents that are still there. */
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
