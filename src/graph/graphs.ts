/**
 * Graphs of collections: rows in Postgres, built by a job in a process with an engine. Nothing is cached in memory,
 * because no search needs it.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { Caller } from "../identity/caller.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import { makePaidJobStarter, type PaidJobError } from "../jobs/paid-jobs.ts"
import type { Job } from "../jobs/schema.ts"
import { OwnsEngine } from "../ports/engine/engine.ts"
import { DOCUMENTS_MAX } from "./building/entity-counts.ts"
import { GENERATION, type GraphConfig, makeGenerate } from "./generate.ts"
import { makeCommunitiesRepository, type StoredCommunity } from "./communities-repository.ts"
import { type EntitiesAsked, type GraphRow, makeGraphsRepository, type StoredEntity } from "./graphs-repository.ts"

interface GraphsShape {
  readonly graph: (organizationId: string, collection: string) => Effect.Effect<GraphRow | undefined>
  /** Newest first. */
  readonly entities: (
    organizationId: string,
    collection: string,
    asked: EntitiesAsked
  ) => Effect.Effect<ReadonlyArray<StoredEntity>>
  /** Ordered by id, after a given one. */
  readonly entitiesById: (
    organizationId: string,
    collection: string,
    asked: Omit<EntitiesAsked, "community"> & { readonly after: string }
  ) => Effect.Effect<ReadonlyArray<StoredEntity>>
  readonly communities: (
    organizationId: string,
    collection: string,
    after: number,
    limit: number
  ) => Effect.Effect<ReadonlyArray<StoredCommunity>>
  readonly generate: (
    caller: Caller,
    collection: CollectionInfo,
    part: GraphConfig["part"]
  ) => Effect.Effect<Job, PaidJobError>
  /** Jobs requested since this process started. */ readonly started: Effect.Effect<number>
}
const NONE: ReadonlyArray<never> = []

const makeStart = Effect.gen(function* () {
  const paid = yield* makePaidJobStarter
  const wake = (yield* OwnsEngine)
    ? (yield* makeJobWorker({ type: GENERATION, run: yield* makeGenerate, atWorkMax: 1 })).wake
    : Effect.void
  return Effect.fnUntraced(function* (
    caller: Caller,
    { created_at, num_documents, schema }: CollectionInfo,
    part: GraphConfig["part"]
  ) {
    const config: GraphConfig = { collection: schema.name, created_at, part }
    const job = yield* paid(caller, GENERATION, "graph", Math.min(num_documents, DOCUMENTS_MAX), config)
    yield* wake
    return job
  })
})

export class Graphs extends Context.Service<Graphs, GraphsShape>()("dowser/graph/Graphs") {
  static readonly layer = Layer.effect(
    Graphs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repository = yield* makeGraphsRepository
      const communityRows = yield* makeCommunitiesRepository
      const drops = yield* CollectionDrops
      const start = yield* makeStart
      let started = 0
      const graph = (organizationId: string, collection: string) =>
        Effect.orDie(repository.get(organizationId, collection))
      yield* drops.register((organizationId, collection) =>
        Effect.orDie(
          sql.withTransaction(
            Effect.andThen(repository.lock(organizationId, collection), repository.remove(organizationId, collection))
          )
        )
      )
      return Graphs.of({
        graph,
        started: Effect.sync(() => started),
        entities: Effect.fnUntraced(function* (organizationId, collection, asked) {
          const row = yield* graph(organizationId, collection)
          if (row === undefined) return NONE
          const own = { organizationId, collection, generation: row.entity_generation }
          return yield* Effect.orDie(repository.entities(own, asked))
        }),
        entitiesById: Effect.fnUntraced(function* (organizationId, collection, asked) {
          const row = yield* graph(organizationId, collection)
          if (row === undefined) return NONE
          const own = { organizationId, collection, generation: row.entity_generation }
          return yield* Effect.orDie(repository.entitiesById(own, asked))
        }),
        communities: Effect.fnUntraced(function* (organizationId, collection, after, limit) {
          const row = yield* graph(organizationId, collection)
          if (row === undefined || row.community_generation === null) return NONE
          const own = { organizationId, collection, generation: row.community_generation }
          return yield* Effect.orDie(communityRows.communities(own, after, limit))
        }),
        generate: Effect.fn("Graphs.generate")(function* (caller, collection, part) {
          const job = yield* start(caller, collection, part)
          started++
          return job
        })
      })
    })
  )
}
