/** Handlers of reindex and ingest jobs. */
import { Effect } from "effect"
import { CatalogNames } from "../catalog/names.ts"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { CollectionMissing } from "./errors.ts"
import { Ingest } from "./ingest.ts"

export const routes = Effect.gen(function*() {
  const ingest = yield* Ingest
  const names = yield* CatalogNames
  return [
    implement(contract.reindexCollection, Effect.fnUntraced(function*({ bytes, caller, params, payload }) {
      const collection = names.resolve(caller.organizationId, params.collectionName)
      if (collection === undefined) return yield* new CollectionMissing({ message: "Collection not found" })
      // A reindex without a body is the common call.
      const body = (yield* bytes).length === 0 ? {} : yield* payload
      return yield* ingest.reindex(caller.organizationId, collection, body.action ?? "upsert")
    })),
    implement(contract.listIngestJobs, Effect.fnUntraced(function*({ caller, query }) {
      const { cursor, limit: given = 50, status } = yield* query
      const limit = Number(given)
      const data = yield* ingest.list(caller.organizationId, { status, cursor, limit: limit + 1 })
      return { data: data.slice(0, limit), ...(data.length > limit ? { next_cursor: data[limit - 1].id } : {}) }
    })),
    implement(contract.getIngestJob, ({ caller, params }) => ingest.get(caller.organizationId, params.jobId)),
    implement(contract.cancelIngestJob, ({ caller, params }) => ingest.cancel(caller.organizationId, params.jobId))
  ]
})
