/**
 * What a processor is: which topics it reads, how a record splits into entries, whose they are, and one pure step. The
 * runner (`runner.ts`) owns fetching, order, failure, flushing and offsets; the processor owns meaning.
 */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { FigureErasing } from "./erasing.ts"
import type { Outcome } from "./outcome.ts"
import type { Envelope } from "@dowser/log/record"
import type { StateStore } from "../state/state.ts"
import type { Topic } from "@dowser/log/topics"

/** An entry's place in the log: the same on every replay. */
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

/** The entries of a record, by index. */
export interface Entries<Body> {
  readonly length: number
  /** The one actor that every entry is for; undefined where they are for several, or some were erased. */
  readonly key: string | undefined
  /** Undefined where the entry was erased. */
  readonly keyAt: (index: number) => string | undefined
  /** Good until the next call. */
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

/** `Sink` is what emissions are written with. */
export interface Processor<Body, State, Emitted, Sink = SqlClient.SqlClient> {
  /** The consumer group in Postgres. Changing it means counting everything again. */
  readonly name: string
  /** Read in this order: topics that others refer to come first. */
  readonly inputs: ReadonlyArray<Topic>
  /** Takes an opened, undecoded envelope. Throws on what it cannot read; the whole record is then dead-lettered. */
  readonly entriesOf: (topic: string, envelope: Envelope<unknown>) => Entries<Body>
  /** State of one partition over its store. */
  readonly open: (store: StateStore) => State
  /**
   * A function of state and entry alone: no clock, no randomness, no input or output. It changes the state it is given,
   * which nothing else sees, and adds to `emitted`. If it throws, state and emissions since the last flush are
   * discarded and rebuilt, and an entry that keeps throwing becomes a dead letter. Entry and place are valid until it
   * returns.
   */
  readonly step: (state: State, entry: Body, place: Place, emitted: Emitted) => Outcome
  /**
   * Announces which entries of a record are stepped next, in order, so that their memory can be prefetched together.
   * Changes nothing that a step sees, and a step may come without it.
   */
  readonly ahead?: (state: State, entries: Entries<Body>, from: number, to: number) => void
  /**
   * Emissions made with this state from here on; earlier ones receive no more. `spent` is no longer read either: its
   * memory may be reused.
   */
  readonly newEmitted: (state: State, spent?: Emitted) => Emitted
  readonly sizeOf: (emitted: Emitted) => number
  /** Writes the emissions; runs inside the transaction that also moves the offsets. */
  readonly write: (emitted: Emitted) => Effect.Effect<void, SqlError.SqlError, Sink>
  /**
   * Brings the store up to the state. `watermark` is the log's time (ms) up to which every input has been stepped: no
   * later record can ask for what expires by it. Called with empty mailboxes.
   */
  readonly snapshot: (state: State, watermark: number) => Snapshot
  /**
   * A later stage that sums up what `write` leaves, beside the flushes: processes a bounded part in a transaction of
   * its own, and returns whether there is more. It does not matter whose flush wrote it.
   */
  readonly fold?: Effect.Effect<boolean, SqlError.SqlError, Sink>
  /** Whether the state holds more in memory than should wait for the next regular snapshot. */
  readonly isLarge?: (state: State) => boolean
  /**
   * What is needed to replay one organization beside the others (`replays/`); absent where results are not rebuilt from
   * the log.
   */
  readonly rebuilding?: Rebuilding<State, Emitted>
  /** What it keeps of a person, if anything. */
  readonly erasing?: FigureErasing
}

export interface Rebuilding<State, Emitted> {
  /** Prefixes of all keys of the organization's part in the store. Everything else is shared and stays. */
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
