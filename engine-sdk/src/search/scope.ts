/** What one search may access: the collections of its namespace, and how long it may take. */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { CollectionReader } from "../index/reader.ts"

export interface SearchScope {
  /** The open reader of a collection of the same namespace; undefined if there is none. */ collection(
    name: string
  ): CollectionReader | undefined
  /** Every collection name of the namespace, because references cross collections. */ names(): Iterable<string>
  readonly dictionaries?: Dictionaries
}
