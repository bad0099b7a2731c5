/** Handlers of `POST /events`, in both its forms, of what it refused, and of what was made of it: replayed or erased. */
import { Effect, Schedule } from "effect"
import type { Readable } from "node:stream"
import type { Caller } from "../access/caller.ts"
import { reachesEverything } from "../access/decision.ts"
import { parseDateRange } from "../analytics/date-range.ts"
import { storable } from "../analytics/normalize-query.ts"
import { makeContexts } from "../catalog/engine-plane.ts"
import { reachesNamed } from "../catalog/reached.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { parseBounded } from "../wire/body.ts"
import { CollectionNotAllowed, inputInvalid, RestrictionNotApplicable } from "../wire/errors.ts"
import type { HeldMemory } from "../wire/request-memory.ts"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { FailedEvents } from "./failed.ts"
import { eachChunk } from "./ndjson.ts"
import { type KeptRejection, keptLine } from "./rejections.ts"
import { Replays } from "./replays.ts"
import { BATCH_BYTES_MAX, EVENT_TYPES, EVENTS_PER_BATCH_MAX, FAILED_PAGE_MAX, IDENTIFIER_BYTES_MAX, REJECTIONS_LISTED_MAX, RETRIES_MAX, type Rejection } from "./schema.ts"
import { Events, type EventsShape } from "./service.ts"

type Reach = ((collection: string) => boolean) | undefined

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
  const parsed = parseBounded(line)
  return typeof parsed === "object" ? { entry: parsed.value } : { reason: parsed === "invalid" ? "the line is not valid JSON" : "the line nests too deeply" }
}

const ingestLines = Effect.fnUntraced(function*(events: EventsShape, caller: Caller, reaches: Reach, stream: Readable, held: HeldMemory) {
  const totals = { accepted: 0, deduplicated: 0 }
  const rejected: Array<Rejection> = []
  let rejectedTotal = 0
  let index = 0
  const reject = (rejections: ReadonlyArray<Rejection>) => {
    rejectedTotal += rejections.length
    rejected.push(...rejections.slice(0, Math.max(0, REJECTIONS_LISTED_MAX - rejected.length)))
  }
  yield* eachChunk(stream, held, limits, Effect.fnUntraced(function*(lines) {
    // Judged with their neighbours' numbers: an unreadable line is a hole that the judge must not see.
    const parsed = lines.map(parseLine)
    const readable: Array<unknown> = []
    const numbers: Array<number> = []
    const bad: Array<Rejection> = []
    const unreadable: Array<KeptRejection> = []
    parsed.forEach((line, i) => {
      if ("reason" in line) {
        bad.push({ index: index + i, reason: line.reason })
        unreadable.push(keptLine(lines[i] ?? "", line.reason))
        return
      }
      readable.push(line.entry)
      numbers.push(index + i)
    })
    const answer = yield* Effect.retry(events.ingestEvents(caller.organizationId, readable, { reaches, unreadable }), { schedule: whileBusy, while: (error) => error._tag === "Throttled" })
    totals.accepted += answer.accepted
    totals.deduplicated += answer.deduplicated
    reject([...bad, ...answer.rejected.map((rejection) => ({ index: numbers[rejection.index]!, reason: rejection.reason }))].sort((a, b) => a.index - b.index))
    index += lines.length
  }))
  return { ...totals, rejected, ...(rejectedTotal > rejected.length ? { rejected_total: rejectedTotal } : {}) }
})

/** A key that reaches some collections sees what was meant for one of those. */
const checkReach = (reaches: Reach, collection: string | undefined) => {
  if (reaches === undefined) return Effect.void
  if (collection === undefined) return Effect.fail(new RestrictionNotApplicable({ message: "This key reaches only some collections; name one of them in `collection`." }))
  return reaches(collection) ? Effect.void : Effect.fail(new CollectionNotAllowed({ message: "This key does not reach the collection." }))
}
/** Empty counts as absent; a text that Postgres cannot hold names nothing there. */
const given = (text: string | undefined): string | undefined => text === undefined || text === "" ? undefined : storable(text)

/** A user id as events carry it (`accept-batch.ts`). */
const userIdOf = (text: string) => {
  const userId = text.toWellFormed()
  return userId === "" || userId.includes("\u0000") || Buffer.byteLength(userId) > IDENTIFIER_BYTES_MAX ? Effect.fail(inputInvalid("user_id", `1 to ${IDENTIFIER_BYTES_MAX} bytes without NUL`)) : Effect.succeed(userId)
}
export const routes = Effect.gen(function*() {
  const events = yield* Events
  const replays = yield* Replays
  const entitlements = yield* Entitlements
  const failed = yield* FailedEvents
  const contextOf = yield* makeContexts
  /** What the key may write; undefined for a key without a limit, so that the common case costs nothing. */
  const reachOf = (caller: Caller): Reach => {
    if (reachesEverything(caller) && Object.keys(caller.key.filter_by).length === 0) return undefined
    const context = contextOf(caller.organizationId)
    return (collection) => reachesNamed(context, caller, collection)
  }
  return [
    implement(contract.ingestEvents, Effect.fnUntraced(function*({ caller, headers, held, payload, stream }) {
      if ((headers["content-type"] ?? "").toLowerCase().startsWith("application/x-ndjson")) return yield* ingestLines(events, caller, reachOf(caller), yield* stream, held())
      const entries = entriesOf(yield* payload)
      if (entries === undefined) return yield* inputInvalid("events", "`events` must be a list of events")
      if (entries.length > EVENTS_PER_BATCH_MAX) return yield* inputInvalid("events", `A batch has at most ${EVENTS_PER_BATCH_MAX} events`)
      return yield* events.ingestEvents(caller.organizationId, entries, { reaches: reachOf(caller) })
    })),
    implement(contract.listFailedEvents, Effect.fnUntraced(function*({ caller, query }) {
      const { collection, cursor, limit: text = "50" } = yield* query
      const limit = Number(text)
      if (!/^\d{1,3}$/.test(text) || limit < 1 || limit > FAILED_PAGE_MAX) return yield* inputInvalid("limit", `A whole number from 1 to ${FAILED_PAGE_MAX}`)
      yield* checkReach(reachOf(caller), given(collection))
      const data = yield* failed.list(caller.organizationId, { collection: given(collection), cursor: given(cursor), limit: limit + 1 })
      return { data: data.slice(0, limit), ...(data.length > limit ? { next_cursor: data[limit - 1]!.id } : {}) }
    })),
    implement(contract.retryFailedEvents, Effect.fnUntraced(function*({ caller, payload }) {
      const { collection, cursor, ids, set } = yield* payload
      if (ids !== undefined && (ids.length === 0 || ids.length > RETRIES_MAX)) return yield* inputInvalid("ids", `1 to ${RETRIES_MAX} ids`)
      yield* checkReach(reachOf(caller), given(collection))
      return yield* failed.retry(caller.organizationId, { collection: given(collection), cursor: given(cursor), ids: ids?.map(storable), set, limit: RETRIES_MAX, reaches: reachOf(caller) })
    })),
    implement(contract.replayEvents, Effect.fnUntraced(function*({ caller, payload }) {
      const { from, target, to, types } = yield* payload
      if (target !== "analytics") return yield* inputInvalid("target", `\`${target}\` has no results that are rebuilt from events; use \`analytics\``)
      if (types !== undefined && EVENT_TYPES.some((type) => !types.includes(type))) return yield* inputInvalid("types", "Figures of analytics join events of all types: name all of them, or leave `types` out")
      const parsed = parseDateRange(from, to)
      if (!parsed.ok) return yield* inputInvalid(parsed.path, parsed.message)
      yield* entitlements.require(caller.organizationId, "event_replays")
      return yield* replays.replay(caller.organizationId, parsed.range)
    })),
    implement(contract.eraseSubject, Effect.fnUntraced(function*({ caller, params }) {
      return yield* replays.erase(caller.organizationId, yield* userIdOf(params.userId!))
    }))
  ]
})
