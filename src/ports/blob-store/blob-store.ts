/**
 * Bytes that stay until somebody deletes them: media of organizations. A blob is there whole or not at all, and never
 * changes. Whose it is and what it is said by rows of the room that keeps it; the store knows an organization and an
 * id, and lists what it holds, so that what no row knows can be removed.
 */
import type { Readable } from "node:stream"
import { Context, Data, type Effect } from "effect"

/**
 * `source`: what was to be stored came no further. `length`: it has more or fewer bytes than was said; `missing`: there
 * is no such blob. `store`: the disk, or the server.
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
  /** Exactly so many bytes come. */ readonly length: number
  /** Read no faster than it is stored. */ readonly pieces: AsyncIterable<Uint8Array>
}
/** Of a blob: both are within it, and `end` belongs to it. */
export interface BlobRange {
  readonly start: number
  readonly end: number
}

export class BlobStore extends Context.Service<
  BlobStore,
  {
    /** Replaces what is there. It is stored for good when this returns; where it fails, nothing new is there. */
    readonly put: (key: BlobKey, blob: NewBlob) => Effect.Effect<{ readonly sha256: string }, BlobFailure>
    /** A stream that is open: who does not read it to its end destroys it. */
    readonly get: (key: BlobKey, range?: BlobRange) => Effect.Effect<Readable, BlobFailure>
    /** Nothing where there is none; what a killed process left of it goes too. */
    readonly remove: (key: BlobKey) => Effect.Effect<void, BlobFailure>
    /** Those that have something here, in their order behind `after`: at most a thousand. */
    readonly organizations: (after: string) => Effect.Effect<ReadonlyArray<string>, BlobFailure>
    /** Of one, in their order behind `after`, what is unfinished among them: at most a thousand. */
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
/** Both are the program's own; what could lead elsewhere is none. */
export const pathOf = ({ id, organizationId }: BlobKey): string => {
  if (!ID.test(organizationId) || !ID.test(id))
    throw new BlobFailure({ kind: "store", message: "This is no id of a blob." })
  return `${organizationId}/${id}`
}
export const isBlobName = (text: string): boolean => ID.test(text)
