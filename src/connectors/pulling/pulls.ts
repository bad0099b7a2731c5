/** Pulls of connectors: started by their owner or their schedule, one per connector at a time, run by jobs. */
import type { EventLog } from "@dowser/log/event-log/event-log"
import type { Identifiers } from "@dowser/log/identifiers"
import { Context, Effect, Layer } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Seal } from "../../access/seal.ts"
import type { RowReaders } from "../../identity/row-readers.ts"
import type { Installation } from "../../installation.ts"
import { makeJobStarter } from "../../jobs/jobs.ts"
import { makeJobWorker } from "../../jobs/job-worker.ts"
import type { Job } from "../../jobs/schema.ts"
import type { Organizations } from "../../organizations/organizations.ts"
import { OwnsEngine } from "../../ports/engine/engine.ts"
import type { OutboundHttp } from "../../ports/outbound-http/outbound-http.ts"
import type { StoredConnector } from "../connectors-repository.ts"
import { Connectors, noConnector } from "../connectors.ts"
import { ConnectorDisabled, type ConnectorNotFound, ConnectorNotPulled, SyncInProgress } from "../errors.ts"
import type { SyncConnector } from "../schema.ts"
import { makePull, PULL } from "./pull.ts"
import type { PullConfig } from "./pulled.ts"
import { makePullsRepository } from "./pulls-repository.ts"
import { makeScheduler } from "./scheduler.ts"

/** Concurrent pulls per process, each of another organization: they mostly wait for shop systems. */
const AT_WORK_MAX = 16

/** Queues a pull, and marks it in the connector's row in the same transaction. */
const makeStart = Effect.gen(function* () {
  const jobs = yield* makeJobStarter
  const repository = yield* makePullsRepository
  return (
    { collection, id, organization_id }: StoredConnector,
    { confirm_deletes = false, full = false }: SyncConnector
  ): Effect.Effect<Job, SqlError.SqlError | SyncInProgress> => {
    const config: PullConfig = { connector_id: id, collection, full, confirm_deletes }
    return jobs.start(
      organization_id,
      PULL,
      { ...config },
      Effect.fnUntraced(function* (job) {
        const live = yield* repository.lock(id)
        if (live !== undefined)
          return yield* new SyncInProgress({ message: `A pull of ${id} is queued or running: ${live}.`, job_id: live })
        yield* repository.queue(id, job.id)
      })
    )
  }
})

const make = Effect.gen(function* () {
  const connectors = yield* Connectors
  const start = yield* makeStart
  const isAtWork = yield* OwnsEngine
  const wake = isAtWork
    ? (yield* makeJobWorker({ type: PULL, run: yield* makePull, atWorkMax: AT_WORK_MAX })).wake
    : Effect.void
  const scheduled = (connector: StoredConnector) =>
    start(connector, {}).pipe(
      Effect.as(true),
      Effect.catchTag("SyncInProgress", () => Effect.succeed(false))
    )
  if (isAtWork) yield* makeScheduler(scheduled, wake)
  return Pulls.of({
    sync: Effect.fn("Pulls.sync")(function* (organizationId, connectorId, fields) {
      const connector = connectors.byId(connectorId)
      if (connector === undefined || connector.organization_id !== organizationId)
        return yield* noConnector(connectorId)
      if (connector.sync_mode !== "pull")
        return yield* new ConnectorNotPulled({
          message: `Connector ${connectorId} receives pushes; it has no \`pull_url\`.`
        })
      if (!connector.enabled)
        return yield* new ConnectorDisabled({ message: `Connector ${connectorId} is disabled; enable it first.` })
      const job = yield* Effect.catchTag(start(connector, fields), "SqlError", Effect.die)
      yield* wake
      return job
    })
  })
})

export class Pulls extends Context.Service<
  Pulls,
  {
    /** Returns the queued job. */
    readonly sync: (
      organizationId: string,
      connectorId: string,
      fields: SyncConnector
    ) => Effect.Effect<Job, ConnectorDisabled | ConnectorNotFound | ConnectorNotPulled | SyncInProgress>
  }
>()("dowser/connectors/Pulls") {
  static readonly layer: Layer.Layer<
    Pulls,
    never,
    | Connectors
    | EventLog
    | Identifiers
    | Installation
    | Organizations
    | OutboundHttp
    | RowReaders
    | Seal
    | SqlClient.SqlClient
  > = Layer.effect(Pulls, make)
}
