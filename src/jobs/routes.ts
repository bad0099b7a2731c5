/** Handlers of jobs. */
import { Effect } from "effect"
import type { Caller } from "../identity/caller.ts"
import { reachesEverything } from "../identity/reach.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import { patternsOf, reachesOwnName } from "../engine-plane/reached.ts"
import { NotFound } from "../http/errors.ts"
import { byId, pageOf } from "../http/page.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { Jobs } from "./jobs.ts"
import type { Job } from "./schema.ts"

/** Empty counts as absent. */
const given = (text: string | undefined): string | undefined => (text === undefined || text === "" ? undefined : text)

export const routes = Effect.gen(function* () {
  const jobs = yield* Jobs
  const contextOf = yield* makeContexts
  const reached = (caller: Caller, job: Job): boolean => {
    const { collection } = job.config
    return (
      reachesEverything(caller) ||
      (typeof collection === "string" && reachesOwnName(contextOf(caller.organizationId), caller, collection))
    )
  }
  /** Jobs on collections beyond the key's reach, or on all collections, are treated as missing. */
  const found = (caller: Caller, id: string) =>
    Effect.flatMap(jobs.get(caller.organizationId, id), (job) =>
      reached(caller, job) ? Effect.succeed(job) : Effect.fail(new NotFound({ message: `Job ${id} does not exist.` }))
    )
  return [
    implement(
      contract.listJobs,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { cursor, limit, status, type } = yield* query
        const data = yield* jobs.list(caller.organizationId, {
          type: given(type),
          status: given(status),
          cursor: given(cursor),
          limit: limit + 1,
          collections: reachesEverything(caller) ? undefined : patternsOf(contextOf(caller.organizationId), caller)
        })
        return pageOf(data, limit, byId)
      })
    ),
    implement(contract.getJob, ({ caller, params }) => found(caller, params.jobId)),
    implement(contract.cancelJob, ({ caller, params }) =>
      Effect.flatMap(found(caller, params.jobId), ({ id }) => jobs.cancel(caller.organizationId, id))
    )
  ]
})
