/** The end offsets of a partition's inputs, and waiting until they grow. */
import { type Duration, Effect, Queue } from "effect"
import type { AppendedHint, EventLog } from "@dowser/log/event-log/event-log"
import type { Topic } from "@dowser/log/topics"
import type { Positions } from "../state/state.ts"

/** In parallel, because a log on brokers answers them together. */
export const endsOf = (log: EventLog["Service"], inputs: ReadonlyArray<Topic>, partition: number) =>
  Effect.forEach(
    inputs,
    ({ name }) => Effect.map(log.bounds(name, partition), ({ endOffset }) => ({ name, endOffset })),
    { concurrency: "unbounded" }
  )

export const isBehind = (
  log: EventLog["Service"],
  inputs: ReadonlyArray<Topic>,
  partition: number,
  reached: Positions
) =>
  Effect.map(endsOf(log, inputs, partition), (ends) =>
    ends.some(({ endOffset, name }) => endOffset > (reached[name] ?? 0))
  )

/**
 * Returns at the first hint for these inputs, or after `atMost`. Hints for others are ignored, because each would cost
 * a read of the log.
 */
export const waitForHint = (
  hints: Queue.Dequeue<AppendedHint>,
  inputs: ReadonlyArray<Topic>,
  partition: number,
  atMost: Duration.Duration
) =>
  Effect.andThen(
    Effect.timeoutOption(
      Effect.repeat(Queue.take(hints), {
        until: (hint) => hint.partition === partition && inputs.some(({ name }) => name === hint.topic)
      }),
      atMost
    ),
    Effect.ignore(Queue.clear(hints))
  )
