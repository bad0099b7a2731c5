/** Every processor by name, closed over its own types: the code that runs them needs only their topics. */
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { EventLog } from "@dowser/log/event-log/event-log"
import type { FingerprintKey } from "@dowser/log/fingerprint"
import type { OffsetStore } from "../offsets/offset-store.ts"
import { LIVE_STATES } from "../processor/erasing.ts"
import type { Processor } from "../processor/processor.ts"
import { ATTRIBUTION, FACT_PROCESSORS, makeCounting } from "./counting.ts"
import { rejections } from "./rejections/processor.ts"
import { runPartition, type RunnerOptions } from "../runner/runner.ts"
import { partitionsOf, type Topic } from "@dowser/log/topics"

export interface Runnable<Sink = SqlClient.SqlClient> {
  readonly name: string
  /** Empty for a singleton task, which reads no topic and has one partition. */
  readonly inputs: ReadonlyArray<Topic>
  readonly run: (options: RunnerOptions) => Effect.Effect<void, never, EventLog | OffsetStore | Sink>
}

export const runnable = <Body, State, Emitted, Sink>(
  processor: Processor<Body, State, Emitted, Sink>
): Runnable<Sink> => ({
  name: processor.name,
  inputs: processor.inputs,
  run: (options) => runPartition(processor, options)
})

export const makeProcessors = (fingerprintKey: FingerprintKey): ReadonlyArray<Runnable> => [
  runnable(makeCounting({ fingerprintKey })),
  runnable(rejections)
]

/**
 * What a replay rebuilds, and everything that stores personal data: refused entries first, then in the order in which
 * the processors of facts write.
 */
export const REPLAYED = {
  rebuilt: { ...ATTRIBUTION, figures: FACT_PROCESSORS },
  keepers: [rejections, ...FACT_PROCESSORS],
  liveStates: LIVE_STATES
} as const

export const partitionsOfRunnable = (
  { inputs: [first] }: Pick<Runnable, "inputs">,
  visitorPartitions: number
): number => (first === undefined ? 1 : partitionsOf(first, visitorPartitions))

/**
 * Groups that read a topic: records that one of them has not passed are neither counted nor removable. This does not
 * depend on the key.
 */
const readers = makeProcessors([0, 0, 0, 0])
export const readersOf = (topic: Topic): ReadonlyArray<string> =>
  readers.filter(({ inputs }) => inputs.includes(topic)).map(({ name }) => name)
