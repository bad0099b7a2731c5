/** How a group's offsets move: exactly once, only by their owner, together with what was counted. */
import { Data, Effect } from "effect"
import { OffsetStore } from "./offset-store.ts"
import type { Positions } from "../state/state.ts"

/**
 * The offsets are not where this consumer left them: another one moved them, Postgres was restored, or a commit of its
 * own succeeded but its answer was lost.
 */
class OffsetsMoved extends Data.TaggedError("OffsetsMoved")<{ readonly message: string }> {}

/** The partition has a new owner (`leases.ts`), which will count what this one counted since its last flush. */
class LeaseLost extends Data.TaggedError("LeaseLost")<{ readonly message: string }> {}

/** Offsets by topic; a topic never read is absent. */
export const readOffsets = (group: string, partition: number) =>
  Effect.flatMap(OffsetStore, (store) => store.offsets({ group, partition }))

export const equalPositions = (a: Positions, b: Positions): boolean =>
  Object.keys({ ...a, ...b }).every((topic) => (a[topic] ?? 0) === (b[topic] ?? 0))

/**
 * A transaction with exclusive access to a group's partition: nobody else moves its offsets until it ends. With a
 * `fence`, it fails with LeaseLost once the partition has a newer owner. Offsets alone do not suffice: a predecessor
 * that returns before its successor's first flush could still move them.
 */
export const holdingPartition = <A, E, R>(
  group: string,
  partition: number,
  fence: number | undefined,
  effect: Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const store = yield* OffsetStore
    const unit = { group, partition }
    return yield* store.transaction(
      Effect.gen(function* () {
        yield* store.lock(unit)
        if (fence !== undefined && !(yield* store.holdsFence(unit, fence)))
          return yield* new LeaseLost({ message: `${group}/${partition} has another owner` })
        return yield* effect
      })
    )
  })

/** Like `holdingPartition`, if the group is at `positions`; otherwise fails with OffsetsMoved. */
export const standingAt = <A, E, R>(
  group: string,
  partition: number,
  positions: Positions,
  fence: number | undefined,
  effect: Effect.Effect<A, E, R>
) =>
  holdingPartition(
    group,
    partition,
    fence,
    Effect.gen(function* () {
      if (!equalPositions(yield* readOffsets(group, partition), positions))
        return yield* new OffsetsMoved({ message: `offsets of ${group}/${partition} moved from under this consumer` })
      return yield* effect
    })
  )

/**
 * Runs `write` and moves the group from `from` to `to` in one transaction, unless it is at other offsets. A group
 * already at `to` means an earlier attempt whose answer was lost, or another consumer, which may have skipped what this
 * one counted into its state. The caller cannot know which, and rebuilds its state from what is stored. With a `fence`,
 * nothing is written either once the partition has a newer owner.
 */
export const commitWith = <E, R>(
  group: string,
  partition: number,
  from: Positions,
  to: Positions,
  write: Effect.Effect<void, E, R>,
  fence?: number
) =>
  standingAt(
    group,
    partition,
    from,
    fence,
    Effect.gen(function* () {
      yield* write
      yield* (yield* OffsetStore).moveOffsets({ group, partition }, to)
    })
  )
