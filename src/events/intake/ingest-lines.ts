/**
 * `POST /events` as NDJSON: one event per line in one long request, judged and stored in parts, answered once with
 * the totals. Each part is checked like a batch: a token of the key's rate, which also confirms that the key is still
 * valid, and room for its bytes in the plan. The response to an interrupted stream has the reason and totals so far.
 */
import { Clock, Effect, Schedule } from "effect"
import type { Caller } from "../../identity/caller.ts"
import { FeatureNotInPlan } from "../../metering/errors.ts"
import type { Spending } from "../../metering/windowed-caps.ts"
import { parseBounded } from "../../http/body.ts"
import { InputInvalid, Throttled } from "../../http/errors.ts"
import type { DeclaredError } from "../../http/declared.ts"
import { statusOf } from "../../http/render.ts"
import type { Input } from "../../api/implement.ts"
import { EventStreamEnded } from "../errors.ts"
import { eachChunk } from "./ndjson.ts"
import { type KeptRejection, keptLine } from "@dowser/log/rejection"
import { BATCH_BYTES_MAX, EVENTS_PER_BATCH_MAX, REJECTIONS_LISTED_MAX, type Rejection } from "@dowser/log/event-schema"
import type { EventsShape } from "./service.ts"
import { PAUSE_MAX_MS, pauseOf, tokensOf } from "./stream-rate.ts"

const limits = { linesPerChunk: EVENTS_PER_BATCH_MAX, bytesPerChunk: BATCH_BYTES_MAX, lineBytesMax: BATCH_BYTES_MAX }
/** A long request waits in cases where a short one would be refused: the connection itself holds its sender back. */
const whileBusy = Schedule.max([Schedule.spaced("100 millis"), Schedule.recurs(100)])

/** The parsed line, or the reason why it is unreadable. */
const parseLine = (line: string | undefined): { readonly entry: unknown } | { readonly reason: string } => {
  if (line === undefined) return { reason: `the line is longer than ${BATCH_BYTES_MAX} bytes` }
  const parsed = parseBounded(line)
  return typeof parsed === "object"
    ? { entry: parsed.value }
    : {
        reason:
          parsed === "invalid"
            ? "the line is not valid JSON"
            : parsed === "too deep"
              ? "the line nests too deeply"
              : "the line has too many objects and lists"
      }
}
/** Separates unreadable lines, which are not validated; `numbers` are the line numbers of the readable ones. */
const parsedLines = (lines: ReadonlyArray<string | undefined>, indexFrom: number) => {
  const readable: Array<unknown> = []
  const numbers: Array<number> = []
  const bad: Array<Rejection> = []
  const unreadable: Array<KeptRejection> = []
  lines.forEach((text, i) => {
    const line = parseLine(text)
    if ("reason" in line) {
      bad.push({ index: indexFrom + i, reason: line.reason })
      unreadable.push(keptLine(text ?? "", line.reason))
      return
    }
    readable.push(line.entry)
    numbers.push(indexFrom + i)
  })
  return { readable, numbers, bad, unreadable }
}

/** Reserves bytes from the plan's daily limit; bytes that are not stored are given back. */
export const withinDay = <A, E extends DeclaredError, R>(
  spending: Spending,
  organizationId: string,
  bytes: number,
  store: Effect.Effect<A, E, R>
) =>
  Effect.andThen(
    spending.take(organizationId, bytes),
    Effect.onError(store, () => Effect.sync(() => spending.giveBack(organizationId, bytes)))
  )

/** Takes the next token; waits if one becomes available soon. */
const taken = Effect.fnUntraced(function* (again: Input<unknown, unknown>["again"]) {
  const caller = yield* Effect.catchIf(
    again,
    (error): error is Throttled =>
      error instanceof Throttled && error.kind === "rate" && error.retry_after_s * 1_000 <= PAUSE_MAX_MS,
    ({ retry_after_s }) => Effect.andThen(Effect.sleep(retry_after_s * 1_000), again)
  )
  const pause_ms = pauseOf(caller.rate, yield* Clock.currentTimeMillis)
  if (pause_ms > 0) yield* Effect.sleep(pause_ms)
})

export const ingestLines = Effect.fnUntraced(function* (
  events: EventsShape,
  spending: Spending,
  { again, caller, held, stream }: Pick<Input<unknown, unknown>, "again" | "caller" | "held" | "stream">,
  reaches: ((collection: string) => boolean) | undefined
) {
  const totals = { accepted: 0, deduplicated: 0 }
  const rejected: Array<Rejection> = []
  let rejectedTotal = 0,
    lineTotal = 0,
    byteTotal = 0
  let tokens = 1
  const reject = (rejections: ReadonlyArray<Rejection>) => {
    rejectedTotal += rejections.length
    rejected.push(...rejections.slice(0, Math.max(0, REJECTIONS_LISTED_MAX - rejected.length)))
  }
  const { organizationId }: Caller = caller
  const part = Effect.fnUntraced(function* (lines: ReadonlyArray<string | undefined>, bytes: number) {
    for (; tokens < tokensOf(lineTotal + lines.length, byteTotal + bytes); tokens++) yield* taken(again)
    const { bad, numbers, readable, unreadable } = parsedLines(lines, lineTotal)
    const stored = Effect.retry(events.ingestEvents(organizationId, readable, { reaches, unreadable }), {
      schedule: whileBusy,
      while: (error) => error._tag === "Throttled"
    })
    const answer = yield* withinDay(spending, organizationId, bytes, stored)
    totals.accepted += answer.accepted
    totals.deduplicated += answer.deduplicated
    reject(
      [
        ...bad,
        ...answer.rejected.map((rejection) => ({ index: numbers[rejection.index]!, reason: rejection.reason }))
      ].sort((a, b) => a.index - b.index)
    )
    lineTotal += lines.length
    byteTotal += bytes
  })
  const answered = () => ({
    ...totals,
    rejected,
    ...(rejectedTotal > rejected.length ? { rejected_total: rejectedTotal } : {})
  })
  yield* Effect.mapError(eachChunk(yield* stream, held(), limits, part), (error) =>
    lineTotal === 0 ? error : endedBy(error, { ...answered(), lines: lineTotal })
  )
  return answered()
})

/** The error that ended a partly stored stream, with its own status and facts, and the progress. */
const endedBy = (
  error: DeclaredError,
  totals: Pick<EventStreamEnded, "accepted" | "deduplicated" | "lines" | "rejected" | "rejected_total">
): EventStreamEnded => {
  const { retry_after_s } = error as { readonly retry_after_s?: unknown }
  const waits = typeof retry_after_s === "number" ? { retry_after_s } : {}
  const cap =
    error instanceof FeatureNotInPlan
      ? { feature: error.feature, plan: error.plan, ...(error.limit === undefined ? {} : { limit: error.limit }) }
      : {}
  const issues = error instanceof InputInvalid ? { issues: error.issues } : {}
  return new EventStreamEnded({
    message: `${error.message} The first ${totals.lines} lines were dealt with; send the others again.`,
    status: statusOf(error),
    ...waits,
    ...cap,
    ...issues,
    ...totals
  })
}
