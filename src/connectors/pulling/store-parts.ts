/** Stores the products of a page or a feed as pushes of the connector, part by part, each once. */
import { createHash } from "node:crypto"
import { stringifyJson } from "@dowser/engine-sdk/documents"
import { Clock, Effect, Stream } from "effect"
import type { IngestChange } from "../../ingest/sources/source.ts"
import { type PushRead, type Reading, readPush } from "../read-push.ts"
import { readingOf } from "../reading.ts"
import { makeStorePush } from "../store-push.ts"
import { makeApplied } from "./applied.ts"
import type { ComingFeed } from "./fetch-page.ts"
import { type Page, PART_ITEMS_MAX } from "./page.ts"
import { counted, type Place, withUnread } from "./place.ts"
import { makePullPages } from "./pull-pages.ts"
import { failed, ITEMS_MAX, prefixOf, type Pull, WAITING_MAX } from "./pulled.ts"

const STORED_TRIES_MAX = 60
const AS_IT_IS: Reading = { provider: undefined, map: undefined }
const eventOf = (change: IngestChange) =>
  change.op === "delete"
    ? { event: "delete", external_id: change.id }
    : { external_id: change.document.id, document: change.document }

/** Stores events of the pull as one push, once; `name` identifies the push within the pull. */
export const makeStored = Effect.gen(function* () {
  const { before, store } = yield* makeStorePush
  return Effect.fnUntraced(function* ({ connector, job }: Pull, name: string, read: PushRead) {
    const signature = prefixOf(job.id) + name
    for (let attempt = 1; ; attempt++) {
      const sent = { connector, signature, now: yield* Clock.currentTimeMillis, isPart: true }
      const pause_s = yield* Effect.flatMap(before(sent), (known) =>
        known === undefined ? Effect.as(store(sent, read), 0) : Effect.succeed(0)
      ).pipe(
        Effect.catchTag(["EventLogOverloaded", "PushesUnavailable"], ({ retry_after_s }) =>
          Effect.succeed(Math.max(1, retry_after_s))
        ),
        Effect.catchTag("EventLogUnavailable", () => Effect.succeed(5))
      )
      if (pause_s === 0) return
      if (attempt >= STORED_TRIES_MAX) return yield* failed("The changes could not be stored; start the pull again.")
      yield* Effect.sleep(pause_s * 1_000)
    }
  })
})

const makeStorePart = Effect.gen(function* () {
  const stored = yield* makeStored
  const repository = yield* makePullPages
  /** Stores at most `PART_ITEMS_MAX` events, from number `base` of the page; returns the progress after them. */
  return Effect.fnUntraced(function* (
    pull: Pull,
    place: Place,
    {
      base,
      items,
      reading
    }: { readonly base: number; readonly items: ReadonlyArray<unknown>; readonly reading: Reading }
  ) {
    const read = readPush(items, reading)
    // If the same page is read again with different content, it must not count as a repetition.
    const hash = createHash("sha256").update(stringifyJson(items)).digest("base64url")
    yield* stored(pull, `${place.pages} ${base} ${hash}`, read)
    const met = [...read.changes, ...read.rejected].flatMap(({ externalId = [] }) => externalId)
    if (pull.config.full) yield* Effect.orDie(repository.see(pull.connector.id, met))
    return counted(place, place.pages, base, read)
  })
})
/** Both functions return the progress after what they stored. */
export const makeStoreParts = Effect.gen(function* () {
  const storePart = yield* makeStorePart
  const applied = yield* makeApplied
  const storePage = Effect.fnUntraced(function* (pull: Pull, place: Place, page: Page) {
    let next = withUnread(place, place.pages, page.unread)
    for (let base = 0; base < page.items.length; base += PART_ITEMS_MAX) {
      const items = page.items.slice(base, base + PART_ITEMS_MAX)
      next = yield* storePart(pull, next, { base, items, reading: readingOf(pull.connector) })
    }
    return next
  })
  /** A feed's records are products already, so only the connector's own mapping is applied. */
  const storeFeed = (pull: Pull, place: Place) => (feed: ComingFeed) =>
    Effect.gen(function* () {
      const reading =
        pull.connector.mapping === undefined ? AS_IT_IS : { ...readingOf(pull.connector), provider: undefined }
      let next = place,
        base = 0,
        items: Array<unknown> = []
      const flush = Effect.fnUntraced(function* () {
        yield* applied(pull.connector.id, pull.job.id, WAITING_MAX)
        next = yield* storePart(pull, next, { base, items, reading })
        base += items.length
        items = []
      })
      yield* Stream.runForEach(
        feed,
        Effect.fnUntraced(function* (pieces) {
          for (const item of pieces) {
            if (item.kind === "fault")
              next = withUnread(next, place.pages, [{ line: next.received, reason: `${item.id}: ${item.error}` }])
            if (item.kind !== "record") continue
            items.push(eventOf(item.change))
            if (items.length === PART_ITEMS_MAX) yield* flush()
          }
          if (next.received > ITEMS_MAX) return yield* failed(`A catalogue has at most ${ITEMS_MAX} products.`)
        })
      )
      if (items.length > 0) yield* flush()
      return next
    })
  return { storePage, storeFeed }
})
