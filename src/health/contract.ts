/** The health probe: no key, no rate limit, and no details, which only the operator gets (`getStatus`). */
import { Schema } from "effect"
import { operation } from "../http/operation.ts"
import { Unhealthy } from "./errors.ts"
import { described } from "./examples.ts"

export const Health = Schema.Struct({
  ok: Schema.Boolean,
  status: Schema.Literals(["ok", "degraded"]),
  version: Schema.String,
  /** The parts that are degraded; only the operator sees the reasons. */ degraded: Schema.optionalKey(
    Schema.Array(Schema.String)
  )
}).annotate({ identifier: "Health" })

export const getHealth = operation({
  ...described.getHealth,
  id: "getHealth",
  group: "health",
  summary: "Health probe",
  method: "GET",
  path: "/api/v1/health",
  plane: "gateway",
  scope: "public",
  success: Health,
  isRateFree: true,
  errors: [Unhealthy]
})
/** `/health`, an alias of the probe. */
export const getHealthAlias = operation({
  ...described.getHealthAlias,
  id: "getHealthAlias",
  group: "health",
  summary: "Health probe (alias)",
  method: "GET",
  path: "/health",
  plane: "gateway",
  scope: "public",
  success: Health,
  isRateFree: true,
  errors: [Unhealthy]
})

/** Stock clients append `/health` to their base address. */
export const getTenantHealth = operation({
  ...described.getTenantHealth,
  id: "getTenantHealth",
  group: "health",
  summary: "Health probe (for clients with a base path)",
  method: "GET",
  path: "/v1/health",
  plane: "gateway",
  scope: "public",
  success: Health,
  isRateFree: true,
  errors: [Unhealthy]
})

const Circuit = Schema.Literals(["closed", "open", "half_open"])
export const Status = Schema.Struct({
  status: Schema.Literals(["ok", "degraded", "down"]),
  version: Schema.String,
  /** Unix milliseconds. */ checked_at: Schema.Int,
  parts: Schema.Array(Schema.Struct({ name: Schema.String, ok: Schema.Boolean, detail: Schema.String })),
  /**
   * `open`: requests are refused for some seconds, because the engine did not respond; `half_open`: one request is
   * let through to test it.
   */
  engine_circuits: Schema.Struct({ reads: Circuit, writes: Circuit }),
  worker_restarts: Schema.Int,
  processor_restarts: Schema.Int,
  dead_letters: Schema.Int,
  records_lost: Schema.Int,
  /** Reports of answered searches that the log could not store. */ reports_dropped: Schema.Int,
  /** Age of the oldest record that no figure shows yet; null if it cannot be read, for a reason given in `parts`. */
  streams_lag_seconds: Schema.NullOr(Schema.Finite),
  /** Counts since the start of the stream worker's thread. */
  partitions: Schema.Array(
    Schema.Struct({
      group: Schema.String,
      partition: Schema.Int,
      records_behind: Schema.Int,
      entries: Schema.Int,
      dropped: Schema.Int,
      dead_letters: Schema.Int,
      restarts: Schema.Int,
      records_lost: Schema.Int,
      is_replaying: Schema.Boolean,
      /** Average over the last seconds. */ entries_per_second: Schema.Finite
    })
  ),
  /** Each counted up to 10,000; null if they could not be counted recently. */
  webhooks: Schema.NullOr(
    Schema.Struct({
      deliveries_pending: Schema.Int,
      deliveries_failed: Schema.Int,
      /** Events not yet distributed to their endpoints. */ outbox_waiting: Schema.Int
    })
  )
}).annotate({ identifier: "Status" })

export const getStatus = operation({
  ...described.getStatus,
  id: "getStatus",
  group: "health",
  summary: "Every part of the program, for the operator",
  method: "GET",
  path: "/console/v1/status",
  plane: "control",
  scope: "operator",
  success: Status
})
