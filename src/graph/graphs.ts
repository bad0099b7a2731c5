/**
 * Graphs of collections: rows in Postgres, made by a job where the engine is. Nothing of them is kept in memory, since
 * no search asks for them.
 */
import type { CollectionInfo } from "@dowser/engine-sdk"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { CollectionDrops } from "../engine-plane/collection-drops.ts"
import type { Conflict } from "../http/errors.ts"
import type { Caller } from "../identity/caller.ts"
import { makeJobStarter } from "../jobs/jobs.ts"
import { makeJobWorker } from "../jobs/job-worker.ts"
import type { Job } from "../jobs/schema.ts"
import { AiSpending } from "../metering/ai-spending.ts"
import { Wallet } from "../metering/wallet.ts"
import { OwnsEngine } from "../ports/engine/engine.ts"
import { DOCUMENTS_MAX } from "./building/entity-counts.ts"
import { GENERATION, type GraphConfig, makeGenerate } from "./generate.ts"
import {
  type EntitiesAsked,
  type GraphRow,
  makeGraphsRepository,
  type StoredCommunity,
  type StoredEntity
} from "./graphs-repository.ts"

type StartError = Conflict | Effect.Error<ReturnType<AiSpending["Service"]["reserveForJob"]>>

interface GraphsShape {
  readonly graph: (organizationId: string, collection: string) => Effect.Effect<GraphRow | undefined>
  /** Newest first. */
  readonly entities: (
    organizationId: string,
    collection: string,
    asked: EntitiesAsked
  ) => Effect.Effect<ReadonlyArray<StoredEntity>>
  /** By id, behind one. */
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
  ) => Effect.Effect<Job, StartError>
  /** Jobs that were asked for since this process started. */ readonly started: Effect.Effect<number>
}
const NONE: ReadonlyArray<never> = []

const makeStart = Effect.gen(function* () {
  const jobs = yield* makeJobStarter
  const spending = yield* AiSpending
  const wallet = yield* Wallet
  const wake = (yield* OwnsEngine)
    ? (yield* makeJobWorker({ type: GENERATION, run: yield* makeGenerate, atWorkMax: 1 })).wake
    : Effect.void
  return Effect.fnUntraced(function* (
    caller: Caller,
    { created_at, num_documents, schema }: CollectionInfo,
    part: GraphConfig["part"]
  ): Effect.fn.Return<Job, StartError> {
    const { organizationId } = caller
    const reservation = yield* spending.reserveForJob(caller, "graph", Math.min(num_documents, DOCUMENTS_MAX))
    const config: GraphConfig = {
      collection: schema.name,
      created_at,
      part,
      ...(reservation === undefined ? {} : { reservation })
    }
    const started = jobs.start(organizationId, GENERATION, config, () => jobs.requirePlace(organizationId, GENERATION))
    const job = yield* Effect.onError(started, () =>
      reservation === undefined ? Effect.void : Effect.ignore(wallet.release({ ...reservation, organizationId }))
    ).pipe(Effect.catchIf((error): error is SqlError.SqlError => error._tag === "SqlError", Effect.die))
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
          if (row?.community_generation == null) return NONE
          const own = { organizationId, collection, generation: row.community_generation }
          return yield* Effect.orDie(repository.communities(own, after, limit))
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
