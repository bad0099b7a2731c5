/**
 * Bytes of feeds, from when they begin to arrive until their job is over. Which process has taken them, any process
 * that runs jobs can read them. Who they belong to and how long they stay is said by rows of the ingest room; the store
 * knows ids alone.
 */
import { Context, Data, type Effect } from "effect"

/**
 * `source`: what was to be stored came no further (its sender went away); what had come is stored. `store`: the disk or
 * the database. `offset`: there are more or fewer bytes than was said. `too large`: nothing beyond the bound is stored.
 */
export class FeedStoreFailure extends Data.TaggedError("FeedStoreFailure")<{
  readonly kind: "source" | "store" | "offset" | "too large"
  readonly message: string
}> {}

export interface Append {
  readonly id: string
  /** How many bytes there are before. */ readonly offset: number
  /** Read no faster than it is stored. */ readonly pieces: AsyncIterable<Uint8Array>
  /** Of the whole feed; the piece that goes beyond it is not stored. */ readonly bytesMax: number
}

export class FeedStore extends Context.Service<
  FeedStore,
  {
    /** How many bytes there are then, on disk. One append of a feed at a time, which its caller sees to. */
    readonly append: (append: Append) => Effect.Effect<number, FeedStoreFailure>
    /** 0 where there is none. */ readonly length: (id: string) => Effect.Effect<number, FeedStoreFailure>
    /** Piece by piece, each at most a megabyte. Who stops reading leaves nothing open. */
    readonly read: (id: string) => AsyncIterable<Uint8Array>
    /** Takes back what an append brought: `length` is where one began. */
    readonly truncate: (id: string, length: number) => Effect.Effect<void, FeedStoreFailure>
    /** Nothing where there is none. */ readonly remove: (id: string) => Effect.Effect<void, FeedStoreFailure>
    /** Of all that is stored, at most 100,000. */ readonly ids: Effect.Effect<ReadonlyArray<string>, FeedStoreFailure>
  }
>()("dowser/ports/FeedStore") {}

export const FEED_PIECE_BYTES = 1_000_000
export const storeFailure = (error: unknown): FeedStoreFailure =>
  error instanceof FeedStoreFailure
    ? error
    : new FeedStoreFailure({ kind: "store", message: error instanceof Error ? error.message : String(error) })
/** What a sender did not finish is told apart from a store that fails. */
export const sourceFailure = (error: unknown): FeedStoreFailure =>
  new FeedStoreFailure({ kind: "source", message: error instanceof Error ? error.message : String(error) })
