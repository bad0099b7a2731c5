/**
 * What a processor is: which topics it reads, how a record falls into entries, whose they are, and one pure step. The
 * runner (`runner.ts`) owns fetching, order, failure, flushing and offsets; a processor owns meaning.
 */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { FigureErasing } from "./erasing.ts"
import type { Outcome } from "./outcome.ts"
import type { Envelope } from "@dowser/log/record"
import type { StateStore } from "../state/state.ts"
import type { Topic } from "@dowser/log/topics"

/** Where an entry stands in the log: the same on every replay. */
export interface Place {
  readonly topic: string
  readonly offset: number
  /** Within its record. */
  readonly index: number
  /** The log's time of the append, ms. */
  readonly appendedAt: number
}

interface Entry<Body> {
  /** The actor it is for: sequential within a key. */
  readonly key: string
  readonly body: Body
}

/** What a record holds, by index. */
export interface Entries<Body> {
  readonly length: number
  /** The one actor that every entry is for; undefined where they are for several, or some were erased. */
  readonly key: string | undefined
  /** Undefined where the entry was erased. */
  readonly keyAt: (index: number) => string | undefined
  /** Good until the next call. */
  readonly bodyAt: (index: number) => Body
  /** One that may be kept. */
  readonly keptAt: (index: number) => Body
}

/** Undefined stands for an entry that was erased. */
export const listed = <Body>(entries: ReadonlyArray<Entry<Body> | undefined>): Entries<Body> => {
  const bodyAt = (index: number): Body => entries[index]!.body
  return { length: entries.length, key: undefined, keyAt: (index) => entries[index]?.key, bodyAt, keptAt: bodyAt }
}

export interface Snapshot {
  readonly writes: ReadonlyArray<readonly [string, Uint8Array | undefined]>
  /** Called once the writes are stored. */
  readonly stored: () => void
}

/** `Sink`: what the emissions are written with. */
export interface Processor<Body, State, Emitted, Sink = SqlClient.SqlClient> {
  /** The consumer group in Postgres. Changing it means counting everything again. */
  readonly name: string
  /** Read in this order: what others refer to comes first. */
  readonly inputs: ReadonlyArray<Topic>
  /**
   * Of an envelope that was opened, not decoded. Throws on what it cannot read; the record is then dead-lettered whole.
   */
  readonly entriesOf: (topic: string, envelope: Envelope<unknown>) => Entries<Body>
  /** State of one partition over its store. */
  readonly open: (store: StateStore) => State
  /**
   * A function of state and entry alone: no clock, no randomness, no input or output. It changes the state it is given,
   * which nobody else sees, and adds to `emitted`. If it throws, state and emissions since the last flush are thrown
   * away and rebuilt, and the entry that keeps throwing becomes a dead letter. Entry and place are good until it
   * returns.
   */
  readonly step: (state: State, entry: Body, place: Place, emitted: Emitted) => Outcome
  /**
   * Told which entries of a record are stepped next, one after the other: what they will ask memory for may be asked
   * for at once. Changes nothing that a step sees, and a step may come without it.
   */
  readonly ahead?: (state: State, entries: Entries<Body>, from: number, to: number) => void
  /**
   * What is emitted with this state from here on; whatever was made before is added to no more. `spent` is not even
   * read any more: its memory may be used again.
   */
  readonly newEmitted: (state: State, spent?: Emitted) => Emitted
  readonly sizeOf: (emitted: Emitted) => number
  /** Writes the emissions; runs inside the transaction that also moves the offsets. */
  readonly write: (emitted: Emitted) => Effect.Effect<void, SqlError.SqlError, Sink>
  /**
   * What brings the store up to the state. `watermark` is the log's time (ms) up to which every input has been stepped:
   * what is to expire by it no later record can ask for. Called with nothing in the mailboxes.
   */
  readonly snapshot: (state: State, watermark: number) => Snapshot
  /**
   * A later stage of what `write` leaves to be summed up, beside the flushes: works off a bounded part of it, in a
   * transaction of its own, and answers whether there is more. Whose flush wrote it does not matter.
   */
  readonly fold?: Effect.Effect<boolean, SqlError.SqlError, Sink>
  /** Whether the state holds more in memory than should wait for the next regular snapshot. */
  readonly isLarge?: (state: State) => boolean
  /**
   * What it takes to replay one organization beside the others (`replays/`); absent where results are not rebuilt from
   * the log.
   */
  readonly rebuilding?: Rebuilding<State, Emitted>
  /** What it keeps of a person, where that is anything. */
  readonly erasing?: FigureErasing
}

export interface Rebuilding<State, Emitted> {
  /**
   * Beginnings of all keys that the organization's part of the state has in the store. What is kept otherwise is shared
   * and stays.
   */
  readonly prefixesOf: (organizationId: string) => ReadonlyArray<string>
  /** Forgets what memory holds of the organization, stored or not: the store has been exchanged. */
  readonly forget: (state: State, organizationId: string) => void
  /** Adds one organization's emissions to the shadow tables, under the shadow's name. */
  readonly writeShadow: (
    emitted: Emitted,
    organizationId: string,
    shadow: string
  ) => Effect.Effect<void, SqlError.SqlError, SqlClient.SqlClient>
}
