/** An entry of the audit log as the API shows it. */
import { Schema } from "effect"

export const AuditEntry = Schema.Struct({
  id: Schema.String,
  /** Unix milliseconds. */ at: Schema.Int,
  actor: Schema.Struct({
    type: Schema.Literals(["key", "member", "operator", "system"]),
    /** Id of a key or a member. */ id: Schema.optionalKey(Schema.String)
  }).annotate({ identifier: "AuditActor" }),
  /** Id of the API operation; absent for what the program did by itself. */ operation: Schema.optionalKey(
    Schema.String
  ),
  request_id: Schema.optionalKey(Schema.String),
  subject: Schema.Struct({ kind: Schema.String, id: Schema.String }).annotate({ identifier: "AuditSubject" }),
  action: Schema.String,
  /** Names of the top-level fields that differ, including masked ones. */ changed: Schema.Array(Schema.String),
  /** Secrets are masked; at most 32 kB each. */ before: Schema.optionalKey(Schema.Unknown),
  after: Schema.optionalKey(Schema.Unknown),
  /** False if the program ended during the change, which may have happened. */ settled: Schema.Boolean
}).annotate({ identifier: "AuditEntry" })
export type AuditEntry = typeof AuditEntry.Type
