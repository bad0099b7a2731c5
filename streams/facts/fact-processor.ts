/**
 * The interface of a processor of facts. It counts what attribution finds (`facts.ts`), in the same partition and
 * transaction as attribution, so its figures are as exact as the offsets. Everything specific to it is here: what it
 * keeps of a flush and between flushes, how it writes, how its figures are replayed, and how a person is erased from
 * them. `processors/counting.ts` lists the processors; no other module names one.
 */
import type { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { FigureErasing } from "../processor/erasing.ts"
import type { FigureRebuilding } from "../processor/rebuilding.ts"
import type { Snapshot } from "../processor/processor.ts"
import type { StateStore } from "../state/state.ts"
import type { Facts, FactSink } from "./facts.ts"

type Sql<A> = Effect.Effect<A, SqlError.SqlError, SqlClient.SqlClient>

/** The part of a processor's state that belongs to one organization, exchanged by a replay. */
interface FactStatePart<State> {
  /** Prefixes of all its keys in the store, each beginning with `section`. */
  prefixesOf(section: string, organizationId: string): ReadonlyArray<string>
  /** Forgets what it keeps in memory, stored or not, because the store has been exchanged. */
  forget(state: State, organizationId: string): void
}

export interface FactProcessor<State = unknown, Emitted extends FactSink = FactSink> {
  /** Also identifies its section of the state: under a new name the state starts empty. */
  readonly name: string
  /**
   * The processor's state of a partition, kept between flushes. Its keys in the store begin with `section`; they are
   * read from `store` and written by `snapshot`. If the store is lost, it is rebuilt by repeating the facts.
   */
  open(store: StateStore, section: string): State
  /**
   * Starts the emissions of the next flush; nothing is added to earlier ones any more. `spent` is no longer read
   * either, so its memory may be reused.
   */
  newEmitted(state: State, facts: Facts, spent: Emitted | undefined): Emitted
  /** Number of facts or rows that it keeps. A flush starts when any processor keeps many, so every fact must count. */
  sizeOf(emitted: Emitted): number
  /** Runs in the transaction that moves the offsets. */
  write(emitted: Emitted): Sql<void>
  /** A later stage of `write`, like `Processor.fold`. Returns whether there is more to do. */
  readonly fold?: Sql<boolean>
  snapshot?(state: State, watermark: number): Snapshot
  isLarge?(state: State): boolean
  /** Absent if `open` reads nothing from the store. */
  readonly statePart?: FactStatePart<State>
  readonly rebuilding?: FigureRebuilding<Emitted>
  readonly erasing: FigureErasing
}
