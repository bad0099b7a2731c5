/** `GET /audit`: who changed what, when, with which key. */
import { Schema } from "effect"
import { optionalText } from "../http/checks.ts"
import { operation } from "../http/operation.ts"
import { pageLimit } from "../http/page.ts"
import { AuditEntry } from "./schema.ts"
import { described } from "./examples.ts"

/** An ISO 8601 instant or a day (UTC), in Unix milliseconds. */
export const instantOf = (text: string): number => (/^\d{4}-\d{2}-\d{2}(T.+)?$/.test(text) ? Date.parse(text) : NaN)
const instantRefusal = (text: string): string | undefined =>
  Number.isNaN(instantOf(text)) ? "An ISO 8601 instant or a day, such as 2026-01-31" : undefined

const text = Schema.optionalKey(Schema.String)
export const listAudit = operation({
  ...described.listAudit,
  group: "audit",
  plane: "control",
  scope: "full",
  id: "listAudit",
  summary:
    "Changes of the organization's configuration, newest first; `subject` is a kind or kind/id, `actor` the id of a key or a member, `operator` or `system`",
  method: "GET",
  path: "/v1/audit",
  query: Schema.Struct({
    limit: pageLimit({ max: 250, byDefault: 50 }),
    cursor: optionalText((given) =>
      /^aud_[0-9A-Z]{26}$/.test(given) ? undefined : "The `next_cursor` of the page before"
    ),
    subject: text,
    actor: text,
    from: optionalText(instantRefusal),
    to: optionalText(instantRefusal)
  }),
  success: Schema.Struct({ data: Schema.Array(AuditEntry), next_cursor: text }).annotate({ identifier: "AuditList" })
})
