/** Handlers of jobs. */
import { Effect } from "effect"
import { implement } from "../wire/route.ts"
import * as contract from "./contract.ts"
import { Jobs } from "./jobs.ts"

/** Empty counts as absent. */
const given = (text: string | undefined): string | undefined => text === undefined || text === "" ? undefined : text

export const routes = Effect.gen(function*() {
  const jobs = yield* Jobs
  return [
    implement(contract.listJobs, Effect.fnUntraced(function*({ caller, query }) {
      const { cursor, limit: text = 50, status, type } = yield* query
      const limit = Number(text)
      const data = yield* jobs.list(caller.organizationId, { type: given(type), status: given(status), cursor: given(cursor), limit: limit + 1 })
      return { data: data.slice(0, limit), ...(data.length > limit ? { next_cursor: data[limit - 1]!.id } : {}) }
    })),
    implement(contract.getJob, ({ caller, params }) => jobs.get(caller.organizationId, params.jobId!)),
    implement(contract.cancelJob, ({ caller, params }) => jobs.cancel(caller.organizationId, params.jobId!))
  ]
})
