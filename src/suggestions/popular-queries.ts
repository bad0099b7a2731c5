/**
 * The popular queries of requested collections, in memory and ready for completion. Read from Postgres on a
 * collection's first request and updated in the background while it is in use: changes are polled every second, or
 * down to every eight seconds while there are none. Only that first request waits, briefly.
 */
import { Clock, Context, Deferred, Effect, FiberSet, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { makePopularQueriesRepository } from "./popular-queries-repository.ts"
import { inSlices } from "./typeahead/sliced.ts"
import { type Completable, Typeahead } from "./typeahead/typeahead.ts"

/** Limit of all indexes together, about 250 a query; the least recently used collection is evicted. */
const BYTES_MAX = 256 * 1024 * 1024
const COLLECTIONS_MAX = 10_000
const LOOK_EVERY_MS = 1_000
const LOOK_EVERY_MAX_MS = 8_000
/** Queries that a sweep removed leave an index with the next complete read. */
const READ_WHOLE_EVERY_MS = 6 * 3_600_000
/** The latest after which typos are corrected to the words of a new query. */
const BUILD_WITHIN_MS = 10 * 60_000
const FIRST_WAIT_MS = 2_000

interface CachedQueries {
  index: Typeahead<Completable>
  /** Where the next read of changes starts; undefined before the first read. */ horizon: string | undefined
  bytes: number
  read_at: number
  built_at: number
  looked_at: number
  lookEvery_ms: number
  isBusy: boolean
  readonly first: Deferred.Deferred<void>
}

const nothingYet = (): CachedQueries => ({
  index: Typeahead.of<Completable>([]),
  horizon: undefined,
  bytes: 0,
  read_at: 0,
  built_at: 0,
  looked_at: Number.NEGATIVE_INFINITY,
  lookEvery_ms: LOOK_EVERY_MS,
  isBusy: false,
  first: Deferred.makeUnsafe()
})

/** Collections in order of use, limited by number and bytes of indexes: the first is the least recently used. */
class HeldCollections {
  readonly #held = new Map<string, CachedQueries>()
  #bytes = 0

  /** Created if missing. */
  use(key: string): CachedQueries {
    const collection = this.#held.get(key) ?? nothingYet()
    this.#held.delete(key)
    this.#held.set(key, collection)
    return collection
  }
  resize(key: string, collection: CachedQueries): void {
    if (this.#held.get(key) !== collection) return
    this.#bytes += collection.index.bytes - collection.bytes
    collection.bytes = collection.index.bytes
    for (const [oldest, { bytes: freed }] of this.#held) {
      if ((this.#bytes <= BYTES_MAX && this.#held.size <= COLLECTIONS_MAX) || oldest === key) break
      this.#held.delete(oldest)
      this.#bytes -= freed
    }
  }
}

const build = (items: ReadonlyArray<Completable>) => inSlices(Typeahead.build(items))

/** Reads what changed since the last read, or everything if that was long ago. */
const makeLook = Effect.gen(function* () {
  const repository = yield* makePopularQueriesRepository
  return Effect.fnUntraced(function* (organizationId: string, name: string, collection: CachedQueries, now: number) {
    const horizon = yield* repository.horizon
    if (collection.horizon === undefined || now - collection.read_at > READ_WHOLE_EVERY_MS) {
      collection.index = yield* build(yield* repository.all(organizationId, name))
      collection.read_at = collection.built_at = now
      collection.lookEvery_ms = LOOK_EVERY_MS
    } else {
      const changed = yield* repository.changed(organizationId, name, collection.horizon)
      for (const item of changed) collection.index.put(item)
      const isStale = collection.index.fresh > 0 && now - collection.built_at > BUILD_WITHIN_MS
      if (collection.index.wantsBuild || isStale) {
        collection.index = yield* build(collection.index.items().filter(({ score }) => score > 0))
        collection.built_at = now
      }
      collection.lookEvery_ms =
        changed.length > 0 ? LOOK_EVERY_MS : Math.min(2 * collection.lookEvery_ms, LOOK_EVERY_MAX_MS)
    }
    collection.horizon = horizon
  })
})

export class PopularQueries extends Context.Service<
  PopularQueries,
  {
    /** For the collection under that name (or alias). Waits at most two seconds for the first read. */
    readonly index: (organizationId: string, name: string) => Effect.Effect<Typeahead<Completable>>
    /** What is in memory; never waits. Undefined before the first read, which this call starts. */
    readonly known: (organizationId: string, name: string) => Typeahead<Completable> | undefined
  }
>()("dowser/suggestions/PopularQueries") {
  static readonly layer: Layer.Layer<PopularQueries, never, SqlClient.SqlClient> = Layer.effect(
    PopularQueries,
    Effect.gen(function* () {
      const look = yield* makeLook
      const clock = yield* Clock.Clock
      const fork = yield* FiberSet.makeRuntime<never>()
      const held = new HeldCollections()
      const now = () => clock.currentTimeMillisUnsafe()

      const refresh = (key: string, organizationId: string, name: string, collection: CachedQueries) =>
        look(organizationId, name, collection, now()).pipe(
          Effect.catch((error) =>
            Effect.logError("Popular queries could not be read; the ones of before are suggested meanwhile", error)
          ),
          Effect.ensuring(
            Effect.sync(() => {
              collection.isBusy = false
              collection.looked_at = now()
              held.resize(key, collection)
              Deferred.doneUnsafe(collection.first, Effect.void)
            })
          )
        )
      const asked = (organizationId: string, name: string): CachedQueries => {
        const key = `${organizationId}\n${name}`
        const collection = held.use(key)
        if (!collection.isBusy && now() - collection.looked_at >= collection.lookEvery_ms) {
          collection.isBusy = true
          fork(refresh(key, organizationId, name, collection))
        }
        return collection
      }
      return PopularQueries.of({
        index: (organizationId, name) =>
          Effect.suspend(() => {
            const collection = asked(organizationId, name)
            return collection.horizon !== undefined
              ? Effect.succeed(collection.index)
              : Effect.map(
                  Effect.timeoutOption(Deferred.await(collection.first), FIRST_WAIT_MS),
                  () => collection.index
                )
          }),
        known: (organizationId, name) => {
          const { horizon, index } = asked(organizationId, name)
          return horizon === undefined ? undefined : index
        }
      })
    })
  )
}
