/**
 * Runs one processor over one partition: fetch → mailboxes by key → step → flush with offsets in one transaction →
 * occasional snapshots. After any failure the partition restarts from its snapshot: the state is replayed to Postgres'
 * offset with emissions discarded, and counting continues from there, so that every entry is counted exactly once.
 *
 *   opening   state from the snapshot, unless that is ahead of Postgres (then from the log's start)
 *   replaying entries between snapshot and offset, emissions suppressed; snapshots on the way, so that a lost state
 *             folder costs time and not memory, and an interrupted replay continues where it was
 *   running   fetch, step, flush; woken by the log's hints
 *   failed    an error: back to opening after a back-off; an entry that threw twice is a dead letter from then on. If
 *             Postgres refused the batch permanently, back immediately with smaller flushes (`refusal.ts`), down to one
 *             record, whose entries are then tried one by one; what is refused becomes a dead letter
 *   ended     another process holds the partition's lease (`ownership.ts`): this life has written nothing since
 */
import { Cause, Effect, Option, Random } from "effect"
import { EventLog } from "@dowser/log/event-log/event-log"
import { type LifeEnd, supervised } from "@dowser/log/process/supervised"
import { OffsetStore } from "../offsets/offset-store.ts"
import { live } from "./life.ts"
import type { RunnerOptions } from "./options.ts"
import { Partition } from "./partition.ts"
import type { Processor } from "../processor/processor.ts"

const RESTART_AFTER_MS = 100
const RESTART_AFTER_MAX_MS = 5_000
/** A failure after running this long starts a new series: the next restart is quick again. */
const HEALTHY_AFTER_MS = 60_000

/** Runs until the partition's lease is lost, or until interrupted. */
export const runPartition = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  processor: Processor<Body, State, Emitted, Sink>,
  options: RunnerOptions
) {
  const partition = new Partition(processor, options, yield* EventLog, yield* OffsetStore)
  const name = `Processor ${partition.unit.group}/${partition.unit.partition}`
  const life = Effect.gen(function* () {
    const cause = yield* Effect.flip(Effect.sandbox(Effect.scoped(live(partition))))
    // Another process continues from the last flush; what was counted here since then is discarded.
    if (Cause.findErrorOption(cause).pipe(Option.exists((error) => error._tag === "LeaseLost")))
      return "over" satisfies LifeEnd
    const refusal = Cause.findErrorOption(cause).pipe(Option.filter((error) => error._tag === "FlushRefused"))
    if (refusal._tag === "Some") {
      // Each refusal halves the batch or skips an entry, so the pause does not grow.
      yield* Effect.logWarning(`${name} continues with smaller flushes after ${refusal.value.message}`)
      return "soon" satisfies LifeEnd
    }
    partition.counters.restarts++
    yield* Effect.logError(`${name} restarts`, cause)
    return "failed" satisfies LifeEnd
  })
  yield* supervised(
    {
      first_ms: options.restartAfter_ms ?? RESTART_AFTER_MS,
      max_ms: RESTART_AFTER_MAX_MS,
      healthyAfter_ms: HEALTHY_AFTER_MS,
      jitter: Effect.map(Random.next, (random) => 0.5 + random)
    },
    life
  )
})

export type { Progress, RunnerOptions } from "./options.ts"
