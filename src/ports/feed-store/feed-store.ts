/**
 * Bytes of feeds, from their arrival until their job is over. Any process that runs jobs can read them, whichever
 * received them. Rows of the ingest room say whose they are and how long they stay; the store knows only ids.
 */
import { Context, Data, type Effect } from "effect"

/**
 * `source`: the input broke off (its sender left); what had arrived is stored. `store`: the disk or the database.
 * `offset`: there are more or fewer bytes than stated. `too large`: nothing beyond the bound is stored.
 */
export class FeedStoreFailure extends Data.TaggedError("FeedStoreFailure")<{
  readonly kind: "source" | "store" | "offset" | "too large"
  readonly message: string
}> {}

export interface Append {
  readonly id: string
  /** How many bytes there are before. */ readonly offset: number
  /** Read no faster than it is stored. */ readonly pieces: AsyncIterable<Uint8Array>
  /** Of the whole feed; a piece that exceeds it is not stored. */ readonly bytesMax: number
}

export class FeedStore extends Context.Service<
  FeedStore,
  {
    /** The number of bytes afterwards, on disk. The caller makes sure that a feed has one append at a time. */
    readonly append: (append: Append) => Effect.Effect<number, FeedStoreFailure>
    /** 0 if there is none. */ readonly length: (id: string) => Effect.Effect<number, FeedStoreFailure>
    /** Piece by piece, each at most a megabyte. A reader that stops leaves nothing open. */
    readonly read: (id: string) => AsyncIterable<Uint8Array>
    /** Takes back what an append brought: `length` is where one began. */
    readonly truncate: (id: string, length: number) => Effect.Effect<void, FeedStoreFailure>
    /** Nothing if there is none. */ readonly remove: (id: string) => Effect.Effect<void, FeedStoreFailure>
    /** Of everything stored, at most 100,000. */ readonly ids: Effect.Effect<ReadonlyArray<string>, FeedStoreFailure>
  }
>()("dowser/ports/FeedStore") {}

export const FEED_PIECE_BYTES = 1_000_000
export const storeFailure = (error: unknown): FeedStoreFailure =>
  error instanceof FeedStoreFailure
    ? error
    : new FeedStoreFailure({ kind: "store", message: error instanceof Error ? error.message : String(error) })
/** Distinguishes an unfinished upload from a failing store. */
export const sourceFailure = (error: unknown): FeedStoreFailure =>
  new FeedStoreFailure({ kind: "source", message: error instanceof Error ? error.message : String(error) })
