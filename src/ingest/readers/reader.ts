/**
 * Readers of feeds. They are pure: bytes in, records and faults out, in order, with no more in memory than one record
 * and the format's globals (categories, columns). A broken or oversized record is one fault, and the feed continues
 * if its format allows; otherwise it ends with `FeedBroken`.
 */
import type { IngestChange } from "../sources/source.ts"

export type FeedItem =
  | { readonly kind: "record"; readonly change: IngestChange; readonly bytes: number }
  /** `id` is the record's own, or its line. */
  | { readonly kind: "fault"; readonly id: string; readonly error: string }
  /** State that an extractor wants stored together with everything before it. */
  | { readonly kind: "state"; readonly state: Readonly<Record<string, unknown>> }

export interface ReaderOptions {
  /** The field of a row that is its id; `id` if absent. */ readonly idField?: string | undefined
  /** Texts that are numbers in every row of the sample become numbers. */ readonly isTyped?: boolean | undefined
}
/** Yields the items of about one chunk at a time. */
export type FeedReader = (
  pieces: AsyncIterable<Uint8Array>,
  options: ReaderOptions
) => AsyncGenerator<ReadonlyArray<FeedItem>>

/** Nothing after this point can be read. */
export class FeedBroken extends Error {
  override readonly name = "FeedBroken"
}

/** Limit of one record; a larger one is a fault. */
export const RECORD_BYTES_MAX = 1_000_000
export const fault = (id: string, error: string): FeedItem => ({ kind: "fault", id, error })
export const upsert = (document: Readonly<Record<string, unknown>>, bytes: number): FeedItem => ({
  kind: "record",
  change: { op: "upsert", document },
  bytes
})
