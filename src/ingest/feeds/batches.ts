/**
 * Items of a reader as batches of a job. A record, and a fault, is one place of the cursor; the same feed gives the
 * same batches, so that those before a cursor can be passed over. Pure.
 */
import { BATCH_BYTES_MAX, BATCH_CHANGES_MAX, type IngestBatch, type IngestChange } from "../sources/source.ts"
import type { FeedItem } from "../readers/reader.ts"

interface Batching {
  /** Places behind which nothing was asked for: they are counted and given to nobody. */ readonly from: number
  /** How much of the feed is read, 0..1; undefined where that is not known. */
  readonly progress: () => number | undefined
  /** What stands in each batch's state beside what the feed says. */
  readonly state: Readonly<Record<string, unknown>>
}

export async function* batchesOf(
  pieces: AsyncIterable<ReadonlyArray<FeedItem>>,
  { from, progress, state }: Batching
): AsyncGenerator<IngestBatch> {
  let cursor = 0,
    fetched = 0,
    bytes = 0,
    changes: Array<IngestChange> = [],
    errors: Array<IngestBatch["errors"][number]> = [],
    said: Readonly<Record<string, unknown>> = {}
  const batch = (): IngestBatch => {
    const made = { changes, cursor, errors, fetched, progress: progress(), state: { ...state, ...said } }
    changes = []
    errors = []
    fetched = 0
    bytes = 0
    return made
  }
  for await (const items of pieces)
    for (const item of items) {
      if (item.kind === "state") {
        said = item.state
        continue
      }
      if (++cursor <= from) continue
      fetched++
      if (item.kind === "fault") errors.push({ id: item.id, error: item.error })
      else {
        changes.push(item.change)
        bytes += item.bytes
      }
      if (changes.length === BATCH_CHANGES_MAX || errors.length === BATCH_CHANGES_MAX || bytes >= BATCH_BYTES_MAX)
        yield batch()
    }
  // The last one also where it is empty: what the feed said last is kept with it.
  if (fetched > 0 || Object.keys(said).length > 0) yield batch()
}
