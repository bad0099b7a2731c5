/** Handlers of reindexing and ingest jobs. */
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesEverything } from "../identity/reach.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { CatalogNames } from "../catalog/names.ts"
import { deletable, patternsOf, reachesOwnName, writable } from "../engine-plane/reached.ts"
import { byId, pageOf } from "../http/page.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { CollectionMissing, JobNotFound } from "./errors.ts"
import { Ingest } from "./ingest.ts"
import { uploadRoutes } from "./upload-routes.ts"

export const routes = Effect.gen(function* () {
  const ingest = yield* Ingest
  const names = yield* CatalogNames
  const contextOf = yield* makeContexts
  /** To a key, a job on a collection that it may not access does not exist. */
  const found = (caller: Caller, id: string) =>
    Effect.flatMap(ingest.get(caller.organizationId, id), (job) =>
      reachesOwnName(contextOf(caller.organizationId), caller, job.collection)
        ? Effect.succeed(job)
        : Effect.fail(new JobNotFound({ message: `Job ${id} does not exist.` }))
    )
  return [
    ...(yield* uploadRoutes),
    implement(
      contract.createIngestJob,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const { organizationId } = caller
        const { collection, config = {}, name, schedule_cron, source } = yield* payload
        const own = names.resolve(organizationId, collection) ?? collection
        yield* writable(contextOf(organizationId), caller, own)
        if (config.full === true) yield* deletable(contextOf(organizationId), caller, own)
        return yield* ingest.create({ organizationId, name, collection: own, source, config, schedule_cron })
      })
    ),
    implement(
      contract.reindexCollection,
      Effect.fnUntraced(function* ({ bytes, caller, params, payload }) {
        const collection = names.resolve(caller.organizationId, params.collectionName)
        if (collection === undefined) return yield* new CollectionMissing({ message: "Collection not found" })
        yield* writable(contextOf(caller.organizationId), caller, collection)
        // A reindex usually has no body.
        const body = (yield* bytes).length === 0 ? {} : yield* payload
        return yield* ingest.reindex(caller.organizationId, collection, body.action ?? "upsert")
      })
    ),
    implement(
      contract.listIngestJobs,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit, status } = yield* query
        const data = yield* ingest.list(caller.organizationId, {
          status,
          cursor,
          limit: limit + 1,
          collections: reachesEverything(caller) ? undefined : patternsOf(contextOf(caller.organizationId), caller)
        })
        return pageOf(data, limit, byId)
      })
    ),
    implement(contract.getIngestJob, ({ caller, params }) => found(caller, params.jobId)),
    implement(contract.cancelIngestJob, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.jobId), ({ id }) => ingest.cancel(caller.organizationId, id))
    )
  ]
})
