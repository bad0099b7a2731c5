/**
 * Writes the results of attempts, a batch in one transaction: the deliveries, the state of their endpoints, and which
 * outbox rows are settled by that. Locks are taken in the same order everywhere (endpoints, deliveries, outbox).
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeOutboxSettling } from "../outbox/outbox-settling.ts"
import { type DeliveryResult, makeDeliveriesRepository } from "./deliveries-repository.ts"
import { disabledReason, failingSince, isDisabledFor } from "./endpoint-failing.ts"
import { makeEndpointsRepository } from "./endpoints-repository.ts"

export interface RecordedAttempt extends DeliveryResult {
  readonly isSuccess: boolean
  /** Whether the endpoint was failing when the attempt began, as far as is known. */ readonly wasFailing: boolean
}

export const makeRecordAttempts = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const endpoints = yield* makeEndpointsRepository
  const deliveries = yield* makeDeliveriesRepository
  const outbox = yield* makeOutboxSettling
  const audit = yield* makeAuditRecorder
  /** `attempts` in the order in which they ended. */
  return (attempts: ReadonlyArray<RecordedAttempt>, now: number) =>
    sql.withTransaction(
      Effect.gen(function* () {
        // An endpoint that is healthy and stays so costs nothing here.
        const touched = [
          ...new Set(
            attempts.flatMap(({ endpoint_id, isSuccess, wasFailing }) =>
              isSuccess && !wasFailing ? [] : [endpoint_id]
            )
          )
        ]
        const locked = touched.length === 0 ? [] : yield* endpoints.lockMany(touched)
        const settled = [...(yield* deliveries.record(attempts))]
        for (const endpoint of locked) {
          const own = attempts.filter(({ endpoint_id }) => endpoint_id === endpoint.id)
          const failing_since = failingSince(
            endpoint.failing_since,
            own.map(({ ended_at, isSuccess }) => ({ isSuccess, at: ended_at }))
          )
          if (endpoint.enabled && failing_since !== undefined && isDisabledFor(failing_since, now)) {
            const disabled_reason = disabledReason(failing_since)
            yield* audit.recorded(
              { kind: "webhook", organizationId: endpoint.organization_id, id: endpoint.id },
              endpoints.save({ ...endpoint, failing_since, enabled: false, disabled_at: now, disabled_reason })
            )
            settled.push(...(yield* deliveries.failPending(endpoint.id, disabled_reason, now)))
            yield* Effect.logWarning(
              `Webhook endpoint ${endpoint.id} of ${endpoint.organization_id} was disabled: ${disabled_reason}`
            )
          } else if (failing_since !== endpoint.failing_since) yield* endpoints.save({ ...endpoint, failing_since })
        }
        yield* outbox.settle(settled, now)
      })
    )
})
