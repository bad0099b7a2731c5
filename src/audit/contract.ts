/** `GET /audit` (contract part 6): who changed what, when, from which key. */
import { Schema } from "effect"
import { operation } from "../wire/operation.ts"
import { AuditEntry } from "./schema.ts"

const text = Schema.optionalKey(Schema.String)
export const listAudit = operation({
  group: "audit", plane: "control", scope: "full", id: "listAudit", summary: "Changes of the organization's configuration, newest first; `subject` is a kind or kind/id, `actor` the id of a key or a member, `operator` or `system`", method: "GET", path: "/v1/audit",
  query: Schema.Struct({ limit: text, cursor: text, subject: text, actor: text, from: text, to: text }),
  success: Schema.Struct({ data: Schema.Array(AuditEntry), next_cursor: text }).annotate({ identifier: "AuditList" })
})
