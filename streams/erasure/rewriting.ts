/**
 * Removes erased entries from the log itself: the records that contain one are replaced in place, with null for the
 * entry, so that offsets, indexes and neighbours stay. A log that cannot do that (brokers) keeps them hidden until
 * their retention ends. Dead letters contain entries too, single ones or entire records, and reasons that may quote
 * them.
 */
import { Effect } from "effect"
import { EventLog } from "@dowser/log/event-log/event-log"
import { decodeRecord, encodeRecord, type Envelope } from "@dowser/log/record"
import { WHOLE_RECORD } from "../reading/skipped.ts"
import type { Erasures } from "./erasures.ts"
import { CONTENTS, entriesIn } from "./subjects.ts"
import { walk } from "./walk.ts"

interface DeadLetter {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly index: number
  readonly reason: string
  readonly body: unknown
}

const ERASED = "erased"

/**
 * The record (decoded, not opened) without its erased entries, and the number of those; undefined if it has none. Pure.
 */
export const withoutErased = (
  erasures: Erasures,
  topic: string,
  partition: number,
  offset: number,
  envelope: Envelope<unknown>
): { readonly value: Uint8Array; readonly count: number } | undefined => {
  const hidden = erasures.hiddenIn(topic, partition, offset, envelope)
  if (hidden === undefined) return undefined
  const { list } = CONTENTS.get(topic)!
  const entries = entriesIn(topic, envelope)!.map((entry, index) => (hidden.has(index) ? null : entry))
  return {
    value: encodeRecord({ ...envelope, payload: { ...(envelope.payload as object), [list]: entries } }),
    count: hidden.size
  }
}

const entryOf = (body: unknown): unknown => {
  const { event, rejection, served } = (typeof body === "object" && body !== null ? body : {}) as {
    readonly event?: unknown
    readonly rejection?: unknown
    readonly served?: unknown
  }
  return event ?? rejection ?? served
}

/** The same for a dead letter; if its bytes are unreadable, they are searched for `userId`. Pure. */
export const letterWithoutErased = (
  erasures: Erasures,
  userId: string,
  envelope: Envelope<unknown>
): { readonly value: Uint8Array; readonly count: number } | undefined => {
  const letter = envelope.payload as DeadLetter
  const emptied = (body: unknown, count: number) => ({
    value: encodeRecord({ ...envelope, payload: { ...letter, reason: ERASED, body } }),
    count
  })
  if (letter.index !== WHOLE_RECORD) {
    const entry = entryOf(letter.body)
    const contents = CONTENTS.get(letter.topic)
    return entry !== undefined &&
      contents !== undefined &&
      erasures.hides(
        envelope.organization_id,
        letter.topic,
        letter.partition,
        letter.offset,
        contents.subjectOf(entry as never)
      )
      ? emptied(null, 1)
      : undefined
  }
  if (!(letter.body instanceof Uint8Array)) return undefined
  let inner: Envelope<unknown>
  try {
    inner = decodeRecord(letter.body)
  } catch {
    return Buffer.from(letter.body).includes(userId) ? emptied(null, 1) : undefined
  }
  const rewritten = withoutErased(erasures, letter.topic, letter.partition, letter.offset, inner)
  return rewritten === undefined ? undefined : emptied(rewritten.value, rewritten.count)
}

interface Rewritten {
  readonly records: number
  readonly entries: number
}

/**
 * Rewrites a partition up to `end`, or returns undefined if the log cannot. Idempotent: what was removed is not found
 * again.
 */
export const rewritePartition = Effect.fnUntraced(function* (
  erasures: Erasures,
  userId: string,
  topic: string,
  partition: number,
  end: number,
  isDeadLetters: boolean
) {
  const log = yield* EventLog
  if (!(yield* log.rewrite(topic, partition, []))) return undefined
  let records = 0
  let entries = 0
  yield* walk(topic, partition, end, (read) =>
    Effect.gen(function* () {
      const values: Array<{ readonly offset: number; readonly value: Uint8Array }> = []
      for (const { offset, value } of read) {
        let envelope: Envelope<unknown>
        try {
          envelope = decodeRecord(value)
        } catch {
          continue
        }
        const rewritten = isDeadLetters
          ? letterWithoutErased(erasures, userId, envelope)
          : withoutErased(erasures, topic, partition, offset, envelope)
        if (rewritten === undefined) continue
        values.push({ offset, value: rewritten.value })
        entries += rewritten.count
      }
      records += values.length
      if (values.length > 0) yield* log.rewrite(topic, partition, values)
    })
  )
  return { records, entries } satisfies Rewritten
})
