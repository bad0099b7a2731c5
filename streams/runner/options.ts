/** The options of a partition's runner, and what it reports about itself. */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { ReplayRequests } from "../shadow/replay-requests.ts"
import type { Positions, StateStore } from "../state/state.ts"

export interface RunnerOptions {
  readonly partition: number
  readonly openStore: () => StateStore
  /**
   * Fence of the lease under which this partition is run, if several processes share the work; the runner ends when the
   * lease is lost.
   */
  readonly fence?: number
  readonly report?: (progress: Progress) => void
  /** Entries in the mailboxes at which fetching stops; at least as many as one record has. */
  readonly entriesMax?: number
  /** Weight of an organization (`actor.ts`): its share of a partition's time while others wait too. */
  readonly weightOf?: (organizationId: string) => number
  readonly recordsPerFetch?: number
  /** Rows of one flush: bounds the transaction, and so how stale figures get under load. */
  readonly emittedMax?: number
  /** Maximum pause between two flushes while entries keep arriving; 0 for none. */
  readonly flushPauseMax_ms?: number
  readonly snapshotEvery_ms?: number
  /** Entries stepped between two snapshots: bounds what the state holds in memory, above all in a replay. */
  readonly snapshotEntriesMax?: number
  /** The first backoff; later ones double up to 5 s. */
  readonly restartAfter_ms?: number
  /**
   * Where tombstones and replay requests are, and the store for a shadow's state. Without it there are no erasures and
   * no replays, as in stores without Postgres.
   */
  readonly replays?: {
    readonly requests: ReplayRequests
    readonly sql: SqlClient.SqlClient
    readonly openShadowStore: () => StateStore
  }
  /** Tests crash a runner between two of its steps by failing here. */
  readonly probe?: (
    point: "flushed" | "committed" | "snapshot" | "shadowed" | "adopted" | "exchanging"
  ) => Effect.Effect<void>
}

/** How far a partition has got; counters start when its runner does. */
export interface Progress {
  readonly group: string
  readonly partition: number
  readonly committed: Positions
  /** Records between the log's end and what is committed. */
  readonly lag: number
  readonly entries: number
  readonly dropped: number
  readonly deadLetters: number
  readonly restarts: number
  /** Records that retention had removed before they were read. */
  readonly lost: number
  /** Transactions, and their duration in seconds; absent in reports of older processes. */
  readonly flushes?: number
  readonly flush_s?: number
  /** The state is still being rebuilt; nothing new is counted until it is. */
  readonly isReplaying: boolean
}
