/** The three error bodies as schemas, for the OpenAPI document and for tests that check answers against it. */
import { Schema } from "effect"
import type { Plane } from "../http/plane.ts"

/** Facts that errors of no room say. What a room's errors say more stands in its `room.ts` (`facts`). */
const ownFacts = {
  reason: Schema.optionalKey(Schema.String),
  limit: Schema.optionalKey(Schema.Int)
}

/**
 * The bodies of the three planes. Which fact stands where is said by the operation's refusals; each may be left out.
 */
export const errorSchemasOf = (roomFacts: Schema.Struct.Fields) => {
  const facts = { ...ownFacts, ...roomFacts }
  const engine = Schema.Struct({
    message: Schema.String,
    ...facts,
    resets_at: Schema.optionalKey(Schema.Int)
  }).annotate({ identifier: "EngineError", description: "Shape A: operations of the search engine." })
  const control = Schema.Struct({
    defined: Schema.Boolean,
    code: Schema.Literals([
      "BAD_REQUEST",
      "UNAUTHORIZED",
      "PAYMENT_REQUIRED",
      "FORBIDDEN",
      "NOT_FOUND",
      "CONFLICT",
      "TOO_MANY_REQUESTS",
      "INTERNAL_SERVER_ERROR"
    ]),
    status: Schema.Int,
    message: Schema.String,
    data: Schema.Record(Schema.String, Schema.Unknown),
    ...facts,
    resets_at: Schema.optionalKey(Schema.Int)
  }).annotate({
    identifier: "ControlError",
    description: "Shape B: operations of the control plane. The facts in `data` also stand at top level."
  })
  const gateway = Schema.Struct({
    error: Schema.String,
    message: Schema.optionalKey(Schema.String),
    ...facts,
    resetAt: Schema.optionalKey(Schema.String),
    topUpUrl: Schema.optionalKey(Schema.String),
    requestId: Schema.optionalKey(Schema.String),
    issues: Schema.optionalKey(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
  }).annotate({ identifier: "GatewayError", description: "Errors of the search gateway." })
  return { engine, control, gateway } satisfies Record<Plane, unknown>
}
export type ErrorSchemas = ReturnType<typeof errorSchemasOf>
