/** Handler of `POST /events`, in both its forms. */
import { Effect, Schedule } from "effect"
import type { Readable } from "node:stream"
import type { Caller } from "../access/caller.ts"
import { collectionMatches } from "../access/decision.ts"
import { nestsTooDeep } from "../wire/body.ts"
import { inputInvalid } from "../wire/errors.ts"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { eachChunk } from "./ndjson.ts"
import { BATCH_BYTES_MAX, EVENTS_PER_BATCH_MAX, REJECTIONS_LISTED_MAX, type Rejection } from "./schema.ts"
import { Events, type EventsShape } from "./service.ts"

/** What the key may write; undefined for a key without a limit, so that the common case costs nothing. */
const reachOf = ({ key }: Caller): ((collection: string) => boolean) | undefined =>
  key.collections.includes("*") ? undefined : (collection) => collectionMatches(collection, key.collections)

const entriesOf = (payload: unknown): ReadonlyArray<unknown> | undefined => {
  const events = typeof payload === "object" && payload !== null ? (payload as { readonly events?: unknown }).events : undefined
  return Array.isArray(events) ? events : undefined
}

const limits = { linesPerChunk: EVENTS_PER_BATCH_MAX, bytesPerChunk: BATCH_BYTES_MAX, lineBytesMax: BATCH_BYTES_MAX }
/** A long request waits where a short one would be sent away: its sender is held back by the connection itself. */
const whileBusy = Schedule.max([Schedule.spaced("100 millis"), Schedule.recurs(100)])

/** Parsed, or a stand-in that is refused with the right words. */
const parseLine = (line: string | undefined): { readonly entry: unknown } | { readonly reason: string } => {
  if (line === undefined) return { reason: `the line is longer than ${BATCH_BYTES_MAX} bytes` }
  if (nestsTooDeep(Buffer.from(line))) return { reason: "the line nests too deeply" }
  try {
    return { entry: JSON.parse(line) as unknown }
  } catch {
    return { reason: "the line is not valid JSON" }
  }
}

const ingestLines = Effect.fnUntraced(function*(events: EventsShape, caller: Caller, stream: Readable) {
  const reaches = reachOf(caller)
  const totals = { accepted: 0, deduplicated: 0 }
  const rejected: Array<Rejection> = []
  let rejectedTotal = 0
  let index = 0
  const reject = (rejections: ReadonlyArray<Rejection>) => {
    rejectedTotal += rejections.length
    rejected.push(...rejections.slice(0, Math.max(0, REJECTIONS_LISTED_MAX - rejected.length)))
  }
  yield* eachChunk(stream, limits, Effect.fnUntraced(function*(lines) {
    // Judged with their neighbours' numbers: an unreadable line is a hole that the judge must not see.
    const parsed = lines.map(parseLine)
    const readable: Array<unknown> = []
    const numbers: Array<number> = []
    const bad: Array<Rejection> = []
    parsed.forEach((line, i) => {
      if ("reason" in line) return bad.push({ index: index + i, reason: line.reason })
      readable.push(line.entry)
      numbers.push(index + i)
    })
    const answer = yield* Effect.retry(events.ingestEvents(caller.organizationId, readable, { reaches }), { schedule: whileBusy, while: (error) => error._tag === "Throttled" })
    totals.accepted += answer.accepted
    totals.deduplicated += answer.deduplicated
    reject([...bad, ...answer.rejected.map((rejection) => ({ index: numbers[rejection.index]!, reason: rejection.reason }))].sort((a, b) => a.index - b.index))
    index += lines.length
  }))
  return { ...totals, rejected, ...(rejectedTotal > rejected.length ? { rejected_total: rejectedTotal } : {}) }
})

export const routes = Effect.gen(function*() {
  const events = yield* Events
  return [
    implement(contract.ingestEvents, ({ caller, headers, payload, stream }) =>
      Effect.gen(function*() {
        if ((headers["content-type"] ?? "").toLowerCase().startsWith("application/x-ndjson")) return yield* ingestLines(events, caller, yield* stream)
        const entries = entriesOf(yield* payload)
        if (entries === undefined) return yield* inputInvalid("events", "`events` must be a list of events")
        if (entries.length > EVENTS_PER_BATCH_MAX) return yield* inputInvalid("events", `A batch has at most ${EVENTS_PER_BATCH_MAX} events`)
        return yield* events.ingestEvents(caller.organizationId, entries, { reaches: reachOf(caller) })
      }))
  ]
})
