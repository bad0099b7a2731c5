/**
 * Bytes that stay until they are deleted: media of organizations. A blob exists completely or not at all, and never
 * changes. Rows of the room that keeps a blob record its owner and its kind. The store knows only an organization and
 * an id, and lists its contents so that blobs without a row can be removed.
 */
import type { Readable } from "node:stream"
import { Context, Data, type Effect } from "effect"

/**
 * `source`: the input ended early. `length`: the input has more or fewer bytes than stated. `missing`: no such blob.
 * `store`: the disk or the server failed.
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
  /** The exact number of bytes that follow. */ readonly length: number
  /** Read no faster than they are stored. */ readonly pieces: AsyncIterable<Uint8Array>
}
/** A range within a blob; `end` is inclusive. */
export interface BlobRange {
  readonly start: number
  readonly end: number
}

export class BlobStore extends Context.Service<
  BlobStore,
  {
    /** Replaces an existing blob. Durable when it returns; a failure stores nothing new. */
    readonly put: (key: BlobKey, blob: NewBlob) => Effect.Effect<{ readonly sha256: string }, BlobFailure>
    /** Returns an open stream: a reader that does not read it to the end must destroy it. */
    readonly get: (key: BlobKey, range?: BlobRange) => Effect.Effect<Readable, BlobFailure>
    /** Does nothing if there is no such blob; also removes what a killed process left behind. */
    readonly remove: (key: BlobKey) => Effect.Effect<void, BlobFailure>
    /** Lists the organizations that have blobs here, in order after `after`: at most a thousand. */
    readonly organizations: (after: string) => Effect.Effect<ReadonlyArray<string>, BlobFailure>
    /** Lists the blobs of one organization, in order after `after`, unfinished ones included: at most a thousand. */
    readonly ids: (organizationId: string, after: string) => Effect.Effect<ReadonlyArray<string>, BlobFailure>
  }
>()("dowser/ports/BlobStore") {}

/** Maximum number of entries that one list call returns. */
export const LISTED_MAX = 1_000
export const blobFailure = (error: unknown): BlobFailure =>
  error instanceof BlobFailure
    ? error
    : new BlobFailure({ kind: "store", message: error instanceof Error ? error.message : String(error) })
export const missingBlob = (): BlobFailure => new BlobFailure({ kind: "missing", message: "There is no such blob." })
export const shortBlob = (length: number, came: number): BlobFailure =>
  new BlobFailure({ kind: "length", message: `It has ${came} bytes instead of ${length}.` })

const ID = /^[A-Za-z0-9_]{1,64}$/
/** The program generates both; names that could leave the folder are refused. */
export const pathOf = ({ id, organizationId }: BlobKey): string => {
  if (!ID.test(organizationId) || !ID.test(id))
    throw new BlobFailure({ kind: "store", message: "This is no id of a blob." })
  return `${organizationId}/${id}`
}
export const isBlobName = (text: string): boolean => ID.test(text)
