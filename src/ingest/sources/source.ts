/**
 * Where documents of an ingest job come from. A source reads; the runner (`../running`) writes the batch to the engine
 * and stores the cursor after it, batch by batch, so that a process that dies costs one batch.
 *
 * A source starts at its beginning or where it was: everything up to `place.cursor` is in the engine. A source that can
 * only read from the beginning (a feed) yields those batches again; the runner skips them, and only counts their ids if
 * the job deletes what is missing.
 */
import type { DirtyValues, WriteAction } from "@dowser/engine-sdk"
import { Schema, type Effect, type Scope, type Stream } from "effect"
import type { SqlError } from "effect/sql"
import type { FeedSpaceExhausted } from "../errors.ts"

/** A document to be written, which holds its `id`, or one to be deleted. */
export type IngestChange =
  | { readonly op: "upsert"; readonly document: Readonly<Record<string, unknown>> }
  | { readonly op: "delete"; readonly id: string }

export interface IngestBatch {
  /** At most `BATCH_CHANGES_MAX`, and about `BATCH_BYTES_MAX` as JSON. */ readonly changes: ReadonlyArray<IngestChange>
  /**
   * Records, rows or pages behind which the batch ends, counted from the beginning of the source. Never less than
   * before.
   */
  readonly cursor: number
  /** What was read for it, with what could not be read. */ readonly fetched: number
  /** What could not be read: `id` names the record, row (`line 12`) or address. */
  readonly errors: ReadonlyArray<{ readonly id: string; readonly error: string }>
  /** Of the whole source, 0..1, where it is known. */ readonly progress?: number | undefined
  /** What the source must know to go on from the cursor; kept with it. */
  readonly state?: Readonly<Record<string, unknown>> | undefined
  /** Rows of the source, in the transaction that stores the cursor. */
  readonly alongside?: Effect.Effect<void, SqlError.SqlError> | undefined
  /** The source is as the pass before left it: nothing is read, and nothing is missing. */
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
  /** Which pass this is over the same source: 1 for the first, more for a job of a schedule. */ readonly pass: number
}

/** The job ends: why, as its owner reads it. */
export class IngestFailed extends Schema.TaggedError<IngestFailed>()("IngestFailed", { message: Schema.String }) {}
/**
 * Not now: the job goes on from its cursor after `after_s`, and fails with the message when that was tried five times.
 */
export class IngestLater extends Schema.TaggedError<IngestLater>()("IngestLater", {
  message: Schema.String,
  after_s: Schema.Number
}) {}

/**
 * `import`: busy with reading, two jobs of a process at a time. `wait`: waits for others most of the time (a crawl),
 * sixteen of a process.
 */
export type IngestLoad = "import" | "wait"

interface IngestWrites {
  readonly action?: WriteAction
  /** Indexes again what is stored under the id. */ readonly isRewrite?: boolean
  /** Of sources whose values are texts: numbers and flags become what their fields are. */
  readonly dirtyValues?: DirtyValues
}
export interface IngestSource<Config> {
  /** As jobs name it. */ readonly name: string
  /**
   * What a job's `config` says, beside `create_collection` and `confirm_deletes`, which are of every source; a wrong
   * one is a 400 that names every wrong field.
   */
  readonly config: Schema.Codec<Config, unknown>
  readonly load: IngestLoad
  /** Fields of the config that are sealed where it is kept and shown to nobody. */
  readonly secrets?: ReadonlyArray<string> | undefined
  /** Whether a job may delete what a complete pass did not bring (`full: true`). */
  readonly isFull: (config: Config) => boolean
  /** How documents are written; upserts where absent. */
  readonly writes?: ((config: Config) => IngestWrites) | undefined
  /** What is wrong with a config whose every field is right, such as one of two that is missing. */
  readonly refuses?: ((config: Config) => string | undefined) | undefined
  /** Why it cannot be done again by a schedule; absent where it always can. */
  readonly unrepeatable?: ((config: Config) => string | undefined) | undefined
  /**
   * What of the config stays with the job: texts that are too large for a row go elsewhere, before there is a job.
   * Absent: all of it.
   */
  readonly keep?:
    | ((organizationId: string, jobId: string, config: Config) => Effect.Effect<Config, FeedSpaceExhausted>)
    | undefined
  /** Lazy: the next batch is read when the last one is written. Closes what it opened with the scope. */
  readonly read: (
    task: IngestTask<Config>
  ) => Effect.Effect<Stream.Stream<IngestBatch, IngestFailed | IngestLater>, IngestFailed | IngestLater, Scope.Scope>
  /** Of a job that is over or was deleted: what it left behind (files, rows). */
  readonly forget?: ((organizationId: string, jobId: string) => Effect.Effect<void>) | undefined
}
