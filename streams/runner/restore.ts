/** How a life begins: with the partition's state from its store, if that is usable, and with the places to skip. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { readFingerprintKey } from "@dowser/log/fingerprint-key"
import { Erasures } from "../erasure/erasures.ts"
import { readTombstones } from "../erasure/tombstones.ts"
import { generationOf } from "../shadow/generation.ts"
import { readGeneration, readMirror } from "../shadow/runs.ts"
import type { Partition } from "./partition.ts"

/** Reads tombstones and the progress of replays; without Postgres there are none. */
const readRebuilt = Effect.fnUntraced(function* <Body, State, Emitted, Sink>({
  options: { replays },
  unit: { group, partition }
}: Partition<Body, State, Emitted, Sink>) {
  if (replays === undefined) return { generation: 0, erasures: new Erasures([], [0, 0, 0, 0]), mirror: undefined }
  return yield* Effect.provideService(
    Effect.gen(function* () {
      return {
        generation: yield* readGeneration(group, partition),
        erasures: new Erasures(yield* readTombstones, yield* readFingerprintKey),
        mirror: yield* readMirror(group, partition)
      }
    }),
    SqlClient.SqlClient,
    replays.sql
  )
})

/** Opens the store until the scope ends; a store that must not be used is emptied. */
export const restore = Effect.fnUntraced(function* <Body, State, Emitted, Sink>(
  partition: Partition<Body, State, Emitted, Sink>
) {
  const { log, offsets, options, processor, unit } = partition
  const store = yield* Effect.acquireRelease(Effect.sync(options.openStore), (opened) =>
    Effect.promise(() => opened.close())
  )
  const committed = yield* offsets.offsets(unit)
  partition.forgetPassed(committed)
  const stored = store.positions()
  if (stored !== undefined && processor.inputs.some(({ name }) => (stored[name] ?? 0) > (committed[name] ?? 0))) {
    // Postgres was restored from an earlier point in time: it does not contain what the snapshot counted.
    yield* Effect.promise(() => store.clear())
  }
  const { erasures, generation, mirror } = yield* readRebuilt(partition)
  // After the store was written, a part of the state was exchanged: it no longer matches Postgres.
  if (generationOf(store) < generation) yield* Effect.promise(() => store.clear())
  const starts = yield* Effect.forEach(processor.inputs, ({ name }) =>
    Effect.map(log.bounds(name, unit.partition), ({ startOffset }) => [name, startOffset] as const)
  )
  const skipped = new Map(yield* offsets.skipped(unit, Object.fromEntries(starts)))
  return { store, committed, erasures, generation, mirror, skipped }
})
