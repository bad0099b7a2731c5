/** What an engine keeps of a collection, open or not. */
import type { CollectionReader } from "../index/reader.ts"
import type { CollectionRecord } from "../store/journal.ts"

export interface Entry {
  record: CollectionRecord
  reader: CollectionReader | undefined
  /** Filled by publications until the writer reports that it is complete. */ staged: CollectionReader | undefined
  /** Whether it was released: publications of the closing writer are ignored. */ isClosing: boolean
  /** Number of live documents, as far as known while it is closed. */ documents: number
  lastUse: number
  /** Number of searches since the engine was opened. */ searches: number
  opening: Promise<void> | undefined
  isMapping: boolean
  /** Runs until nothing has been published for a while. */ quiet: ReturnType<typeof setTimeout> | undefined
  /** Why it could not be opened. */ damage: string | undefined
  /** Number of searches on other threads that read it. */ pins: number
}
export const newEntry = (record: CollectionRecord, documents: number): Entry => ({
  record,
  reader: undefined,
  staged: undefined,
  isClosing: false,
  documents,
  lastUse: 0,
  searches: 0,
  opening: undefined,
  isMapping: false,
  quiet: undefined,
  damage: undefined,
  pins: 0
})
