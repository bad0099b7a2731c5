/**
 * Groups the items of a reader into batches of a job. Each record or fault advances the cursor by one. The same feed
 * gives the same batches, so that those before a cursor can be skipped. Pure.
 */
import { BATCH_BYTES_MAX, BATCH_CHANGES_MAX, type IngestBatch, type IngestChange } from "../sources/source.ts"
import type { FeedItem } from "../readers/reader.ts"

interface Batching {
  /** Items up to this cursor are counted but not passed on. */ readonly from: number
  /** Share of the feed that has been read, 0..1; undefined if unknown. */
  readonly progress: () => number | undefined
  /** Added to each batch's state, in addition to the feed's own state. */
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
    feedState: Readonly<Record<string, unknown>> = {}
  const batch = (): IngestBatch => {
    const made = { changes, cursor, errors, fetched, progress: progress(), state: { ...state, ...feedState } }
    changes = []
    errors = []
    fetched = 0
    bytes = 0
    return made
  }
  for await (const items of pieces)
    for (const item of items) {
      if (item.kind === "state") {
        feedState = item.state
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
  // A last batch is yielded even if it is empty, because it stores the feed's last state.
  if (fetched > 0 || Object.keys(feedState).length > 0) yield batch()
}
