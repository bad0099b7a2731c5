/** Handlers of `POST /events` in both forms, of refused entries, and of replays and erasures. */
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesEverything } from "../identity/reach.ts"
import { parseDateRange } from "../analytics/date-range.ts"
import { storable } from "@dowser/log/normalize-query"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { reachesNamed } from "../engine-plane/reached.ts"
import { Entitlements } from "../metering/entitlements.ts"
import { WindowedCaps } from "../metering/windowed-caps.ts"
import { Search } from "../search/search.ts"
import { invalidFields } from "../http/checks.ts"
import { CollectionNotAllowed, inputInvalid, RestrictionNotApplicable } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { FailedEvents } from "./failed/failed.ts"
import { ingestLines, withinDay } from "./intake/ingest-lines.ts"
import { PersonErasures } from "../identity/person-erasures.ts"
import { Replays } from "./replays/replays.ts"
import { EVENTS_PER_BATCH_MAX, IDENTIFIER_BYTES_MAX, RETRIES_MAX } from "@dowser/log/event-schema"
import { Events } from "./intake/service.ts"

type Reach = ((collection: string) => boolean) | undefined

const entriesOf = (payload: unknown): ReadonlyArray<unknown> | undefined => {
  const events =
    typeof payload === "object" && payload !== null ? (payload as { readonly events?: unknown }).events : undefined
  return Array.isArray(events) ? events : undefined
}

/** A key for some collections may access only the refused entries of one of these, which it must name. */
const checkReach = (reaches: Reach, collection: string | undefined) => {
  if (reaches === undefined) return Effect.void
  if (collection === undefined)
    return Effect.fail(
      new RestrictionNotApplicable({
        message: "This key reaches only some collections; name one of them in `collection`."
      })
    )
  return reaches(collection)
    ? Effect.void
    : Effect.fail(new CollectionNotAllowed({ message: "This key does not reach the collection." }))
}
/** Empty counts as absent; a text that Postgres cannot store matches nothing there. */
const given = (text: string | undefined): string | undefined =>
  text === undefined || text === "" ? undefined : storable(text)

/** A user id as events carry it (`accept-batch.ts`). */
const userIdOf = (text: string) => {
  const userId = text.toWellFormed()
  return userId === "" || userId.includes("\u0000") || Buffer.byteLength(userId) > IDENTIFIER_BYTES_MAX
    ? Effect.fail(inputInvalid("user_id", `1 to ${IDENTIFIER_BYTES_MAX} bytes without NUL`))
    : Effect.succeed(userId)
}
/** Erases a person from the log by a job, and immediately from the data that rooms store elsewhere. */
const makeErased = Effect.gen(function* () {
  const replays = yield* Replays
  const erasures = yield* PersonErasures
  return Effect.fnUntraced(function* (organizationId: string, userId: string) {
    const job = yield* replays.erase(organizationId, userId)
    yield* erasures.erased(organizationId, userId)
    return job
  })
})

export const routes = Effect.gen(function* () {
  const events = yield* Events
  const replays = yield* Replays
  const erased = yield* makeErased
  const entitlements = yield* Entitlements
  const failed = yield* FailedEvents
  const search = yield* Search
  const { event_bytes_per_day } = yield* WindowedCaps
  const contextOf = yield* makeContexts
  /** Whether the key may access a collection; undefined for an unrestricted key, so the common case costs nothing. */
  const reachOf = (caller: Caller): Reach => {
    if (reachesEverything(caller) && Object.keys(caller.key.filter_by).length === 0) return undefined
    const context = contextOf(caller.organizationId)
    return (collection) => reachesNamed(context, caller, collection)
  }
  return [
    implement(
      contract.ingestEvents,
      Effect.fnUntraced(function* (input) {
        const { bytes, caller, headers, payload } = input
        if ((headers["content-type"] ?? "").toLowerCase().startsWith("application/x-ndjson"))
          return yield* ingestLines(events, event_bytes_per_day, input, reachOf(caller))
        const entries = entriesOf(yield* payload)
        if (entries === undefined) return yield* inputInvalid("events", "`events` must be a list of events")
        if (entries.length > EVENTS_PER_BATCH_MAX)
          return yield* inputInvalid("events", `A batch has at most ${EVENTS_PER_BATCH_MAX} events`)
        return yield* withinDay(
          event_bytes_per_day,
          caller.organizationId,
          (yield* bytes).length,
          events.ingestEvents(caller.organizationId, entries, { reaches: reachOf(caller) })
        )
      })
    ),
    implement(
      contract.listFailedEvents,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { collection, cursor, limit } = yield* query
        yield* checkReach(reachOf(caller), given(collection))
        const data = yield* failed.list(caller.organizationId, {
          collection: given(collection),
          cursor: given(cursor),
          limit: limit + 1
        })
        return pageOf(data, limit, byId)
      })
    ),
    implement(
      contract.retryFailedEvents,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const { collection, cursor, ids, set } = yield* payload
        yield* checkReach(reachOf(caller), given(collection))
        return yield* failed.retry(caller.organizationId, {
          collection: given(collection),
          cursor: given(cursor),
          ids: ids?.map(storable),
          set,
          limit: RETRIES_MAX,
          reaches: reachOf(caller)
        })
      })
    ),
    implement(
      contract.replayEvents,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const { from, target, to } = yield* payload
        const parsed = parseDateRange(from, to)
        if (!parsed.ok) return yield* invalidFields(parsed.issues)
        yield* entitlements.require(caller.organizationId, "event_replays")
        return yield* replays.replay(caller.organizationId, parsed.range, target)
      })
    ),
    implement(
      contract.eraseSubject,
      Effect.fnUntraced(function* ({ caller, params }) {
        const job = yield* erased(caller.organizationId, yield* userIdOf(params.userId))
        // Suggested refinements in cached answers are queries that people made.
        search.forgetAnswers(caller.organizationId)
        return job
      })
    )
  ]
})
