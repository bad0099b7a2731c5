/** The three error bodies as schemas, for the OpenAPI document and for tests that check answers against it. */
import { Schema } from "effect"
import type { Plane } from "./plane.ts"

/** Facts of a case (spec part 7), each where it applies. */
const facts = {
  reason: Schema.optionalKey(Schema.String),
  feature: Schema.optionalKey(Schema.String),
  plan: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int),
  job_id: Schema.optionalKey(Schema.String),
  available: Schema.optionalKey(Schema.Finite),
  requested: Schema.optionalKey(Schema.Finite),
  retry_after: Schema.optionalKey(Schema.Int),
  /** In which a new key would be wider than its maker. */ fields: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Of a stream that ended before its end: how many lines were dealt with, and how. */
  lines: Schema.optionalKey(Schema.Int),
  accepted: Schema.optionalKey(Schema.Int),
  deduplicated: Schema.optionalKey(Schema.Int),
  rejected: Schema.optionalKey(Schema.Array(Schema.Struct({ index: Schema.Int, reason: Schema.String }))),
  rejected_total: Schema.optionalKey(Schema.Int)
}

const EngineError = Schema.Struct({
  message: Schema.String,
  ...facts,
  resets_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "EngineError", description: "Shape A: operations of the search engine." })

const ControlError = Schema.Struct({
  defined: Schema.Boolean,
  code: Schema.Literals(["BAD_REQUEST", "UNAUTHORIZED", "PAYMENT_REQUIRED", "FORBIDDEN", "NOT_FOUND", "CONFLICT", "TOO_MANY_REQUESTS", "INTERNAL_SERVER_ERROR"]),
  status: Schema.Int,
  message: Schema.String,
  data: Schema.Record(Schema.String, Schema.Unknown),
  ...facts,
  resets_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "ControlError", description: "Shape B: operations of the control plane. The facts in `data` also stand at top level." })

const GatewayError = Schema.Struct({
  error: Schema.String,
  message: Schema.optionalKey(Schema.String),
  ...facts,
  resetAt: Schema.optionalKey(Schema.String),
  topUpUrl: Schema.optionalKey(Schema.String),
  requestId: Schema.optionalKey(Schema.String),
  issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
}).annotate({ identifier: "GatewayError", description: "Errors of the search gateway." })

export const errorSchemaOf = (plane: Plane) => plane === "engine" ? EngineError : plane === "control" ? ControlError : GatewayError
