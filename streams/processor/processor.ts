/**
 * What a processor is: which topics it reads, how a record splits into entries, which key each has, and one pure step.
 * The runner (`runner.ts`) handles fetching, order, failures, flushing and offsets; the processor defines the meaning.
 */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { FigureErasing } from "./erasing.ts"
import type { Outcome } from "./outcome.ts"
import type { Envelope } from "@dowser/log/record"
import type { StateStore } from "../state/state.ts"
import type { Topic } from "@dowser/log/topics"

/** An entry's position in the log: the same on every replay. */
export interface Place {
  readonly topic: string
  readonly offset: number
  /** The entry's index in its record. */
  readonly index: number
  /** The log's time of the append, ms. */
  readonly appendedAt: number
}

interface Entry<Body> {
  /** The actor that receives it: entries of a key are processed sequentially. */
  readonly key: string
  readonly body: Body
}

/** The entries of a record, by index. */
export interface Entries<Body> {
  readonly length: number
  /** The actor that receives all entries; undefined if there are several, or some entries were erased. */
  readonly key: string | undefined
  /** Undefined if the entry was erased. */
  readonly keyAt: (index: number) => string | undefined
  /** Valid until the next call. */
  readonly bodyAt: (index: number) => Body
  /** A copy that may be kept. */
  readonly keptAt: (index: number) => Body
}

/** Undefined stands for an erased entry. */
export const listed = <Body>(entries: ReadonlyArray<Entry<Body> | undefined>): Entries<Body> => {
  const bodyAt = (index: number): Body => entries[index]!.body
  return { length: entries.length, key: undefined, keyAt: (index) => entries[index]?.key, bodyAt, keptAt: bodyAt }
}

export interface Snapshot {
  readonly writes: ReadonlyArray<readonly [string, Uint8Array | undefined]>
  /** Called once the writes are stored. */
  readonly stored: () => void
}

/** `Sink` is the service that `write` needs to store emissions. */
export interface Processor<Body, State, Emitted, Sink = SqlClient.SqlClient> {
  /** The consumer group in Postgres. Changing it means that everything is counted again. */
  readonly name: string
  /** Read in this order: topics that others refer to come first. */
  readonly inputs: ReadonlyArray<Topic>
  /** Receives an opened, undecoded envelope. If it throws, the entire record becomes a dead letter. */
  readonly entriesOf: (topic: string, envelope: Envelope<unknown>) => Entries<Body>
  /** Opens the state of one partition over its store. */
  readonly open: (store: StateStore) => State
  /**
   * A function of state and entry alone: no clock, no randomness, no input or output. It changes the state it is given,
   * which is private to it, and adds to `emitted`. If it throws, state and emissions since the last flush are discarded
   * and rebuilt, and an entry that keeps throwing becomes a dead letter. Entry and place are valid until it returns.
   */
  readonly step: (state: State, entry: Body, place: Place, emitted: Emitted) => Outcome
  /**
   * Announces which entries of a record are stepped next, in order, so that their memory can be prefetched together. It
   * changes nothing that a step sees, and a step may happen without it.
   */
  readonly ahead?: (state: State, entries: Entries<Body>, from: number, to: number) => void
  /**
   * Starts new emissions for this state; nothing is added to earlier ones any more. `spent` is no longer read either,
   * so its memory may be reused.
   */
  readonly newEmitted: (state: State, spent?: Emitted) => Emitted
  readonly sizeOf: (emitted: Emitted) => number
  /** Writes the emissions; runs inside the transaction that also moves the offsets. */
  readonly write: (emitted: Emitted) => Effect.Effect<void, SqlError.SqlError, Sink>
  /**
   * Updates the store to the state. `watermark` is the log's time (ms) up to which every input has been stepped: no
   * later record can need what expires by then. Called with empty mailboxes.
   */
  readonly snapshot: (state: State, watermark: number) => Snapshot
  /**
   * A later stage, alongside the flushes, that aggregates what `write` stores: processes a bounded part in a
   * transaction of its own, and returns whether there is more. It does not matter whose flush wrote it.
   */
  readonly fold?: Effect.Effect<boolean, SqlError.SqlError, Sink>
  /** Whether the state holds so much in memory that it should not wait for the next regular snapshot. */
  readonly isLarge?: (state: State) => boolean
  /**
   * What is needed to replay one organization without the others (`replays/`); absent if results are not rebuilt from
   * the log.
   */
  readonly rebuilding?: Rebuilding<State, Emitted>
  /** How a person is erased from what it stores, if it stores personal data. */
  readonly erasing?: FigureErasing
}

export interface Rebuilding<State, Emitted> {
  /** Prefixes of all keys of the organization's part in the store. Everything else is shared and stays. */
  readonly prefixesOf: (organizationId: string) => ReadonlyArray<string>
  /** Forgets the organization's part in memory, stored or not, because the store has been exchanged. */
  readonly forget: (state: State, organizationId: string) => void
  /** Adds one organization's emissions to the shadow tables, under the shadow's name. */
  readonly writeShadow: (
    emitted: Emitted,
    organizationId: string,
    shadow: string
  ) => Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>
}
