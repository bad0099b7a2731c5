/**
 * What every phase of a run works with: the fence of the process that runs it, which group is rebuilt, and which
 * figures those are. A step is a transaction that checks the fence.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { FingerprintKey } from "@dowser/log/fingerprint"
import { deadLettersOf, partitionsOf, type Topic, TOPICS } from "@dowser/log/topics"
import type { Keeper } from "../processor/erasing.ts"
import { CONTENTS } from "../erasure/subjects.ts"
import { readTombstones } from "../erasure/tombstones.ts"
import { holdingPartition } from "../offsets/offsets.ts"
import type { FigureRebuilding } from "../processor/rebuilding.ts"
import type { Run } from "../shadow/runs.ts"

export const REPLAYS = "replays"

/** Figures of one processor, as a run sees them. */
interface Figures extends Keeper {
  readonly rebuilding?: Omit<FigureRebuilding<never>, "writeShadow">
}

export interface ReplayOptions {
  readonly visitorPartitions: number
  readonly fingerprintKey: FingerprintKey
  /** The processor that is replayed, and the figures derived from it, in the order in which they are walked. */
  readonly rebuilt: {
    readonly name: string
    readonly inputs: ReadonlyArray<Topic>
    readonly figures: ReadonlyArray<Figures>
  }
  /** Everything that stores personal data, in the order in which its rows are removed. */
  readonly keepers: ReadonlyArray<Keeper>
  /** Names of state that processes rebuild by themselves when a tombstone arrives. */
  readonly liveStates: ReadonlyArray<string>
}

export interface LogPlace {
  readonly topic: Topic
  readonly partition: number
  readonly isDeadLetters: boolean
}

export class ReplayContext {
  readonly options: ReplayOptions
  readonly fence: number | undefined

  constructor(options: ReplayOptions, fence: number | undefined) {
    this.options = options
    this.fence = fence
  }

  get group(): string {
    return this.options.rebuilt.name
  }
  get figures(): ReadonlyArray<Figures> {
    return this.options.rebuilt.figures
  }

  /** Runs a transaction that fails unless this process still holds the lease of the replays. */
  inCharge<A, E, R>(effect: Effect.Effect<A, E, R>) {
    return holdingPartition(REPLAYS, 0, this.fence, effect)
  }
  /** Like `inCharge`, while no other process counts, folds or flushes what is rebuilt. */
  withGroup<A, E, R>(effect: Effect.Effect<A, E, R>) {
    return this.inCharge(Effect.andThen(this.#lockPartitions, effect))
  }
  get #lockPartitions() {
    const { group, figures, options } = this
    return Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`SELECT pg_advisory_xact_lock(hashtext(${group}), p) FROM generate_series(0, ${options.visitorPartitions - 1}::int4) AS p`
      for (const { rebuilding } of figures) yield* rebuilding?.hold ?? Effect.void
    })
  }

  /** Every partition of a topic that contains what visitors did. */
  get contentPlaces(): ReadonlyArray<LogPlace> {
    return TOPICS.filter(({ name }) => CONTENTS.has(name)).flatMap((topic) =>
      Array.from({ length: partitionsOf(topic, this.options.visitorPartitions) }, (_, partition) => ({
        topic,
        partition,
        isDeadLetters: false
      }))
    )
  }
  /** The content partitions, followed by the dead letters of the same topics. */
  get erasedPlaces(): ReadonlyArray<LogPlace> {
    return [
      ...this.contentPlaces,
      ...TOPICS.filter(({ name }) => CONTENTS.has(name)).map((topic) => ({
        topic: deadLettersOf(topic),
        partition: 0,
        isDeadLetters: true
      }))
    ]
  }
}

/** The tombstone of a run that is an erasure. */
export const tombstoneOf = ({ jobId }: Run) =>
  Effect.map(readTombstones, (all) => all.find((tombstone) => tombstone.jobId === jobId)!)
