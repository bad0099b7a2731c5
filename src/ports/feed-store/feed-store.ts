/**
 * Bytes of feeds, from their arrival until their job ends. Any process that runs jobs can read them, whichever received
 * them. Rows of the ingest room record their owner and how long they are kept; the store knows only ids.
 */
import { Context, Data, type Effect } from "effect"

/**
 * `source`: the input ended early (its sender disconnected); what had arrived is stored. `store`: the disk or the
 * database failed. `offset`: more or fewer bytes exist than stated. `too large`: nothing beyond the bound is stored.
 */
export class FeedStoreFailure extends Data.TaggedError("FeedStoreFailure")<{
  readonly kind: "source" | "store" | "offset" | "too large"
  readonly message: string
}> {}

export interface Append {
  readonly id: string
  /** Number of bytes stored before. */ readonly offset: number
  /** Read no faster than they are stored. */ readonly pieces: AsyncIterable<Uint8Array>
  /** Limit of the entire feed; a chunk that exceeds it is not stored. */ readonly bytesMax: number
}

export class FeedStore extends Context.Service<
  FeedStore,
  {
    /** Returns the number of bytes afterwards, on disk. The caller makes sure that a feed has one append at a time. */
    readonly append: (append: Append) => Effect.Effect<number, FeedStoreFailure>
    /** Returns 0 if there is no such feed. */ readonly length: (id: string) => Effect.Effect<number, FeedStoreFailure>
    /** Yields chunks of at most a megabyte. A reader that stops early leaves nothing open. */
    readonly read: (id: string) => AsyncIterable<Uint8Array>
    /** Undoes an append that began at `length`. */
    readonly truncate: (id: string, length: number) => Effect.Effect<void, FeedStoreFailure>
    /** Does nothing if there is no such feed. */ readonly remove: (id: string) => Effect.Effect<void, FeedStoreFailure>
    /** Ids of stored feeds, at most 100,000. */ readonly ids: Effect.Effect<ReadonlyArray<string>, FeedStoreFailure>
  }
>()("dowser/ports/FeedStore") {}

export const FEED_PIECE_BYTES = 1_000_000
export const storeFailure = (error: unknown): FeedStoreFailure =>
  error instanceof FeedStoreFailure
    ? error
    : new FeedStoreFailure({ kind: "store", message: error instanceof Error ? error.message : String(error) })
/** Distinguishes an interrupted upload from a failing store. */
export const sourceFailure = (error: unknown): FeedStoreFailure =>
  new FeedStoreFailure({ kind: "source", message: error instanceof Error ? error.message : String(error) })
