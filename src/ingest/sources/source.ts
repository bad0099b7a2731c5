/**
 * Sources of documents for ingest jobs. A source reads; the runner (`../running`) writes each batch to the engine and
 * stores the cursor after it, so that a process that dies costs one batch.
 *
 * A source starts at its beginning or at its cursor: everything up to `place.cursor` is in the engine. A source that
 * can only read from the beginning (a feed) yields those batches again; the runner skips them, and only records their
 * ids if the job deletes missing documents.
 */
import type { DirtyValues, WriteAction } from "@dowser/engine-sdk"
import { Schema, type Effect, type Scope, type Stream } from "effect"
import type { SqlError } from "effect/sql"
import type { FeedSpaceExhausted } from "../errors.ts"

/** A document to write, which contains its `id`, or one to delete. */
export type IngestChange =
  | { readonly op: "upsert"; readonly document: Readonly<Record<string, unknown>> }
  | { readonly op: "delete"; readonly id: string }

export interface IngestBatch {
  /** At most `BATCH_CHANGES_MAX`, and about `BATCH_BYTES_MAX` as JSON. */ readonly changes: ReadonlyArray<IngestChange>
  /**
   * How many records, rows or pages of the source have been read at the end of this batch. Never less than in the batch
   * before.
   */
  readonly cursor: number
  /** Records read for this batch, including those that could not be read. */ readonly fetched: number
  /** What could not be read: `id` names the record, row (`line 12`) or address. */
  readonly errors: ReadonlyArray<{ readonly id: string; readonly error: string }>
  /** Share of the source that has been read, 0..1, if known. */ readonly progress?: number | undefined
  /** What the source needs in order to continue from the cursor; stored with it. */
  readonly state?: Readonly<Record<string, unknown>> | undefined
  /** Writes the source's own rows, in the transaction that stores the cursor. */
  readonly alongside?: Effect.Effect<void, SqlError.SqlError> | undefined
  /** The source has not changed since the previous pass: nothing is read, and nothing counts as missing. */
  readonly isUnchanged?: boolean | undefined
}
export const BATCH_CHANGES_MAX = 500
export const BATCH_BYTES_MAX = 2_000_000

export interface IngestPlace {
  /** 0 at the beginning. */ readonly cursor: number
  readonly state: Readonly<Record<string, unknown>>
}
export interface IngestTask<Config> {
  readonly jobId: string
  readonly organizationId: string
  readonly collection: string
  readonly config: Config
  readonly place: IngestPlace
  /** Number of this pass over the same source, from 1; only the job of a schedule makes more than one. */
  readonly pass: number
}

/** Ends the job; the message is shown to its owner. */
export class IngestFailed extends Schema.TaggedError<IngestFailed>()("IngestFailed", { message: Schema.String }) {}
/**
 * The source is temporarily unavailable: the job continues from its cursor after `after_s` seconds. After five attempts
 * without progress it fails with the message.
 */
export class IngestLater extends Schema.TaggedError<IngestLater>()("IngestLater", {
  message: Schema.String,
  after_s: Schema.Number
}) {}

/**
 * `import`: limited by the processor, so two jobs run per process. `wait`: mostly waits for other servers (a crawl), so
 * sixteen run per process.
 */
export type IngestLoad = "import" | "wait"

interface IngestWrites {
  readonly action?: WriteAction
  /** Indexes the stored document again. */ readonly isRewrite?: boolean
  /** For sources whose values are texts: they are converted to the types of their fields. */
  readonly dirtyValues?: DirtyValues
}
export interface IngestSource<Config> {
  /** The name by which jobs refer to it. */ readonly name: string
  /**
   * The schema of a job's `config`, without `create_collection` and `confirm_deletes`, which every source has. An
   * invalid config is a 400 that names every wrong field.
   */
  readonly config: Schema.Codec<Config, unknown>
  readonly load: IngestLoad
  /** Fields of the config that are sealed at rest and never shown. */
  readonly secrets?: ReadonlyArray<string> | undefined
  /** Whether a job may delete documents that a complete pass did not contain (`full: true`). */
  readonly isFull: (config: Config) => boolean
  /** How documents are written; by default they are upserted. */
  readonly writes?: ((config: Config) => IngestWrites) | undefined
  /** What is wrong with a config whose fields are valid one by one, for example if one of two is required. */
  readonly refuses?: ((config: Config) => string | undefined) | undefined
  /** Why a schedule cannot repeat the job; absent if it always can. */
  readonly unrepeatable?: ((config: Config) => string | undefined) | undefined
  /**
   * The part of the config that is stored with the job. Texts too large for a row are stored elsewhere, before the job
   * is created. By default all of it is stored.
   */
  readonly keep?:
    | ((organizationId: string, jobId: string, config: Config) => Effect.Effect<Config, FeedSpaceExhausted>)
    | undefined
  /** Lazy: a batch is read after the previous one was written. What it opens is closed with the scope. */
  readonly read: (
    task: IngestTask<Config>
  ) => Effect.Effect<Stream.Stream<IngestBatch, IngestFailed | IngestLater>, IngestFailed | IngestLater, Scope.Scope>
  /** Removes files and rows that a job left behind, once it has ended or was deleted. */
  readonly forget?: ((organizationId: string, jobId: string) => Effect.Effect<void>) | undefined
}
