/** The three error bodies as schemas, for the OpenAPI document and for tests that check responses against it. */
import { Schema } from "effect"
import type { ErrorClass } from "../http/declared.ts"
import type { Plane } from "../http/plane.ts"
import { isShown } from "../http/render.ts"

/** The only field whose format depends on the plane: the gateway formats it as a date. */
const WRITTEN_BY_PLANE = "resets_at"
const required = (field: Schema.Constraint): Schema.Constraint =>
  "schema" in field && Schema.isSchema(field.schema) ? field.schema : field

/** The fields of the errors besides their message, by name; each is optional. */
const factsOf = (classes: Iterable<ErrorClass>) => {
  const found = new Map<string, Set<Schema.Constraint>>()
  for (const declared of classes) {
    for (const [name, field] of Object.entries(declared.fields)) {
      if (!isShown(declared.identifier, name) || name === WRITTEN_BY_PLANE) continue
      found.set(name, (found.get(name) ?? new Set()).add(required(field)))
    }
  }
  // A field that is free text in one error and an enumeration in another is free text.
  return Object.fromEntries(
    [...found].map(([name, kinds]) => {
      const [kind, ...others] = kinds.has(Schema.String) ? [Schema.String] : kinds
      return [name, Schema.optionalKey(others.length === 0 ? kind! : Schema.Union([kind!, ...others]))]
    })
  )
}

/**
 * The bodies of the three planes, with the fields of these errors. The operation's refusals say which field occurs in
 * which error; each is optional.
 */
export const errorSchemasOf = (classes: Iterable<ErrorClass>) => {
  const facts = factsOf(classes)
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
    description: "Shape B: operations of the control plane. The facts in `data` also appear at the top level."
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
