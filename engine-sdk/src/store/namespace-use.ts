/**
 * What one namespace keeps, as its writer counts it: the caps of whoever writes are asked here, in the only thread that
 * writes.
 */

/**
 * Documents and their bytes, with those of chunks that are not committed yet: of two writes at the last place the
 * second finds it taken.
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
