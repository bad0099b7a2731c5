/** What one namespace stores, as counted by its writer. Caps on writes are checked here, in the only writing thread. */

/**
 * Documents and their bytes, including chunks that are not committed yet. If two writes compete for the last document
 * of a cap, the second is refused.
 */
export class NamespaceUse {
  documents = 0
  bytes = 0
  add(documents: number, bytes: number): void {
    this.documents += documents
    this.bytes += bytes
  }
  reset(): void {
    this.documents = 0
    this.bytes = 0
  }
}

export const exceeds = (limit: number | undefined, wanted: number): boolean => limit !== undefined && wanted > limit
