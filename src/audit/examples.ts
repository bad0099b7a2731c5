/** The description of the audit log operation, and a request that succeeds (`src/http/operation.ts`). */
import type { Described } from "../http/operation.ts"

export const described = {
  listAudit: {
    description:
      "Lists changes of the organization's configuration, newest first, each with its actor, time and request, and the state before and after. `subject` selects one kind or one thing, `actor` one key or member, `from` and `to` a time. A page has at most 250 entries; secrets are masked, and the oldest entries are removed when there are more than 100,000.",
    example: { query: { limit: "50", subject: "collection", from: "2026-01-01" } }
  }
} as const satisfies Readonly<Record<string, Described>>
