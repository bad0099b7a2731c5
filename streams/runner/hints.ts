/** How far the log of a partition goes, and waiting until it goes further. */
import { type Duration, Effect, Queue } from "effect"
import type { AppendedHint, EventLog } from "@dowser/log/event-log/event-log"
import type { Topic } from "@dowser/log/topics"
import type { Positions } from "../state/state.ts"

/** Asked for side by side: a log on brokers answers them together. */
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
 * Returns at the first hint of these inputs, or after `atMost`. Others' are passed over: each would cost a look at the
 * log.
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
