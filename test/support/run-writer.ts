/**
 * A child process that seals and merges runs in the folder given as its argument, for tests that trace its system
 * calls.
 */
import { fingerprintsOf } from "../../src/ports/dedupe/admission.ts"
import { RunStore } from "../../src/ports/dedupe/run-store.ts"

const store = new RunStore({
  folder: process.argv[2]!,
  mark: "m",
  idsMax: 60_000,
  fanout: 2,
  runIdsMax: 1e6,
  runsMax: 24
})
for (let seal = 0; seal < 12; seal++) {
  const { words } = fingerprintsOf(
    [1, 2, 3, 4],
    [{ organizationId: "one", eventIds: Array.from({ length: 8_000 }, (_, i) => `${seal}-${i}`) }]
  )
  store.add(words, [10, words.length])
  store.seal({ from: seal, to: seal + 1, lastOffset: seal, digest: 0 })
  for (const change of store.compact(() => 0)) if (change !== undefined) store.release(change.removed)
}
