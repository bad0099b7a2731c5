/**
 * Writes ids that a dedupe window treats as known: runs of fingerprints in the form that the window's own thread
 * writes, and for each run a record in the log, which marks the run as belonging to this log. Also measures what
 * `admit` costs over them.
 */
import { Effect } from "effect"
import { fingerprintsOf } from "../../src/ports/dedupe/admission.ts"
import { hourOf } from "../../log/fingerprint-table.ts"
import { digestOf } from "../../src/ports/dedupe/run-format.ts"
import { RunStore } from "../../src/ports/dedupe/run-store.ts"
import { markOf } from "../../src/ports/dedupe/sealed-window.ts"
import { DedupeWindow } from "../../src/ports/dedupe/dedupe-window.ts"
import { EventLog } from "../../log/event-log/event-log.ts"
import type { FingerprintKey } from "../../log/fingerprint.ts"
import { round } from "../harness/harness.ts"

/** As many ids as the window merges into one run. */
const RUN_IDS = 16_000_000
const CHUNK_IDS = 100_000
const organizations = ["org_known_1", "org_known_2", "org_known_3"]

const knownId = (index: number): string => `known-${index}`
const organizationOf = (index: number): string => organizations[Math.floor(index / CHUNK_IDS) % organizations.length]!

/** Takes about a second per two million ids, and 22 bytes of disk per id. */
export const writeKnownIds = (options: {
  readonly folder: string
  readonly key: FingerprintKey
  readonly topic: string
  readonly count: number
}) =>
  Effect.gen(function* () {
    const log = yield* EventLog
    const store = new RunStore({
      folder: options.folder,
      mark: markOf(options.key, options.topic),
      idsMax: Infinity,
      fanout: 4,
      runIdsMax: Infinity,
      runsMax: Infinity
    })
    const hour = hourOf(Date.now()) - 24
    for (let from = 0; from < options.count;) {
      const end = Math.min(options.count, from + RUN_IDS)
      for (let at = from; at < end; at += CHUNK_IDS) {
        const eventIds = Array.from({ length: Math.min(CHUNK_IDS, end - at) }, (_, i) => knownId(at + i))
        const { words } = fingerprintsOf(options.key, [{ organizationId: organizationOf(at), eventIds }])
        store.add(words, [hour, words.length])
      }
      const [offset] = yield* log.append([{ topic: options.topic, partition: 0, value: new Uint8Array(16) }])
      const {
        records: [record]
      } = yield* log.read({ topic: options.topic, partition: 0, from: offset!, recordsMax: 1, bytesMax: 1 })
      store.seal({
        from: offset!,
        to: offset! + 1,
        lastOffset: offset!,
        digest: digestOf(record!.appendedAt, record!.value)
      })
      from = end
    }
  })

const CALL_IDS = 2_000
const CALLS = 150

/**
 * Nanoseconds per id in calls of 2,000: new ids, known ids in runs, and known ids still in memory. Nothing is stored.
 */
export const admitCost = (count: number) =>
  Effect.gen(function* () {
    const window = yield* DedupeWindow
    let made = 0
    const cost = Effect.fnUntraced(function* (idOf: () => readonly [string, string], seenShare: number) {
      let spent_ms = 0,
        longest_ms = 0,
        seen = 0
      for (let call = 0; call < CALLS; call++) {
        const [organizationId, first] = idOf()
        const eventIds = [
          first,
          ...Array.from({ length: CALL_IDS - 1 }, () => idOf())
            .filter(([organization]) => organization === organizationId)
            .map(([, id]) => id)
        ]
        const began = performance.now()
        const {
          seen: [flags]
        } = yield* window.admit([{ organizationId, eventIds }])
        const took = ((performance.now() - began) * CALL_IDS) / eventIds.length
        // The first calls warm up the compiler.
        if (call >= CALLS / 3) spent_ms += took
        longest_ms = Math.max(longest_ms, took)
        seen += flags!.reduce((sum, flag) => sum + flag, 0) / eventIds.length
      }
      if (Math.abs(seen / CALLS - seenShare) > 0.001)
        throw new Error(`${seen / CALLS} of the ids were known, not ${seenShare}`)
      return Math.round((spent_ms * 1e6) / (CALLS - CALLS / 3) / CALL_IDS)
    })
    const fresh_ns = yield* cost(() => ["org_new", `new-${made++}`], 0)
    made = 0
    const hot_ns = yield* cost(() => ["org_new", `new-${made++}`], 1)
    const sealed_ns =
      count === 0
        ? undefined
        : yield* cost(() => {
            const index = Math.floor(Math.random() * count)
            return [organizationOf(index), knownId(index)]
          }, 1)
    return {
      new_id_ns: fresh_ns,
      known_in_memory_ns: hot_ns,
      known_in_runs_ns: sealed_ns,
      window_mb: round((yield* window.bytes) / 2 ** 20, 1)
    }
  })
