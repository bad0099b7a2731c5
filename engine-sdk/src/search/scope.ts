/** What one search may reach: the collections of its namespace, and how long it may take. */
import type { Dictionaries } from "../analysis/tokens.ts"
import type { CollectionReader } from "../index/reader.ts"

export interface SearchScope {
  /** The open reader of a collection of the same namespace; undefined where there is none. */ collection(
    name: string
  ): CollectionReader | undefined
  /** Every collection name of the namespace: references point across them. */ names(): Iterable<string>
  readonly dictionaries?: Dictionaries
}
