/** Handler of the audit log. */
import { Effect } from "effect"
import { byId, pageOf } from "../http/page.ts"
import { implement } from "../api/implement.ts"
import { makeAuditRepository } from "./audit-repository.ts"
import * as contract from "./contract.ts"

/** Empty counts as absent; NUL characters, which Postgres rejects, are removed. */
const given = (text: string | undefined): string | undefined =>
  text === undefined || text === "" ? undefined : text.replaceAll("\u0000", "")
const dayText = /^\d{4}-\d{2}-\d{2}$/
/** A range that ends on a day includes that day. */
const boundOf = (text: string | undefined, isEnd: boolean): number | undefined =>
  text === undefined ? undefined : contract.instantOf(text) + (isEnd && dayText.test(text) ? 86_400_000 : 0)

export const routes = Effect.gen(function* () {
  const repository = yield* makeAuditRepository
  return [
    implement(
      contract.listAudit,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { actor, cursor, from, limit, subject, to } = yield* query
        const about = given(subject)
        const slash = about?.indexOf("/") ?? -1
        const data = yield* Effect.orDie(
          repository.page(caller.organizationId, {
            kind: slash < 0 ? about : about?.slice(0, slash),
            subjectId: slash < 0 ? undefined : about?.slice(slash + 1),
            actor: given(actor),
            from: boundOf(given(from), false),
            before: boundOf(given(to), true),
            cursor: given(cursor),
            limit: limit + 1
          })
        )
        return pageOf(data, limit, byId)
      })
    )
  ]
})
