/**
 * Bytes that stay until they are deleted: media of organizations. A blob exists whole or not at all, and never changes.
 * Rows of the room that keeps it say whose it is and what it is; the store knows an organization and an id, and lists
 * its contents, so that what no row names can be removed.
 */
import type { Readable } from "node:stream"
import { Context, Data, type Effect } from "effect"

/**
 * `source`: the input broke off. `length`: it has more or fewer bytes than stated; `missing`: there is no such blob.
 * `store`: the disk, or the server.
 */
export class BlobFailure extends Data.TaggedError("BlobFailure")<{
  readonly kind: "source" | "length" | "missing" | "store"
  readonly message: string
}> {}

export interface BlobKey {
  readonly organizationId: string
  readonly id: string
}
export interface NewBlob {
  /** Exactly this many bytes follow. */ readonly length: number
  /** Read no faster than it is stored. */ readonly pieces: AsyncIterable<Uint8Array>
}
/** Of a blob: both are within it, and `end` is included. */
export interface BlobRange {
  readonly start: number
  readonly end: number
}

export class BlobStore extends Context.Service<
  BlobStore,
  {
    /** Replaces what exists. Durable when it returns; a failure stores nothing new. */
    readonly put: (key: BlobKey, blob: NewBlob) => Effect.Effect<{ readonly sha256: string }, BlobFailure>
    /** An open stream: a reader that does not read it to its end must destroy it. */
    readonly get: (key: BlobKey, range?: BlobRange) => Effect.Effect<Readable, BlobFailure>
    /** Nothing if there is none; leftovers of a killed process are removed too. */
    readonly remove: (key: BlobKey) => Effect.Effect<void, BlobFailure>
    /** Organizations with blobs here, in order after `after`: at most a thousand. */
    readonly organizations: (after: string) => Effect.Effect<ReadonlyArray<string>, BlobFailure>
    /** Blobs of one, in order after `after`, unfinished ones included: at most a thousand. */
    readonly ids: (organizationId: string, after: string) => Effect.Effect<ReadonlyArray<string>, BlobFailure>
  }
>()("dowser/ports/BlobStore") {}

/** Of one answer of a list. */
export const LISTED_MAX = 1_000
export const blobFailure = (error: unknown): BlobFailure =>
  error instanceof BlobFailure
    ? error
    : new BlobFailure({ kind: "store", message: error instanceof Error ? error.message : String(error) })
export const missingBlob = (): BlobFailure => new BlobFailure({ kind: "missing", message: "There is no such blob." })
export const shortBlob = (length: number, came: number): BlobFailure =>
  new BlobFailure({ kind: "length", message: `It has ${came} bytes instead of ${length}.` })

const ID = /^[A-Za-z0-9_]{1,64}$/
/** Both are the program's own; names that could lead elsewhere are refused. */
export const pathOf = ({ id, organizationId }: BlobKey): string => {
  if (!ID.test(organizationId) || !ID.test(id))
    throw new BlobFailure({ kind: "store", message: "This is no id of a blob." })
  return `${organizationId}/${id}`
}
export const isBlobName = (text: string): boolean => ID.test(text)
