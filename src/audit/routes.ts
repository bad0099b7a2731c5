/** Handler of the audit log. */
import { Effect } from "effect"
import { inputInvalid } from "../wire/errors.ts"
import { implement } from "../wire/route.ts"
import { makeAuditRepository } from "./audit-repository.ts"
import * as contract from "./contract.ts"

const PAGE_MAX = 250
/** Empty counts as absent; Postgres takes no zero bytes. */
const given = (text: string | undefined): string | undefined => text === undefined || text === "" ? undefined : text.replaceAll("\u0000", "")
const dayText = /^\d{4}-\d{2}-\d{2}$/
/** An ISO 8601 instant or a day (UTC); the end of a range that is a day is the end of that day. */
const instantOf = Effect.fnUntraced(function*(path: string, text: string | undefined, isEnd: boolean) {
  if (text === undefined) return undefined
  const at = /^\d{4}-\d{2}-\d{2}(T.+)?$/.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(at)) return yield* inputInvalid(path, "An ISO 8601 instant or a day, such as 2026-01-31")
  return isEnd && dayText.test(text) ? at + 86_400_000 : at
})

export const routes = Effect.gen(function*() {
  const repository = yield* makeAuditRepository
  return [
    implement(contract.listAudit, Effect.fnUntraced(function*({ caller, query }) {
      const { actor, cursor, from, limit: text = "50", subject, to } = yield* query
      const limit = Number(text)
      if (!/^\d{1,3}$/.test(text) || limit < 1 || limit > PAGE_MAX) return yield* inputInvalid("limit", `A whole number from 1 to ${PAGE_MAX}`)
      if (given(cursor) !== undefined && !/^aud_[0-9A-Z]{26}$/.test(cursor!)) return yield* inputInvalid("cursor", "The `next_cursor` of the page before")
      const about = given(subject)
      const slash = about?.indexOf("/") ?? -1
      const data = yield* Effect.orDie(repository.page(caller.organizationId, {
        kind: slash < 0 ? about : about?.slice(0, slash),
        subjectId: slash < 0 ? undefined : about?.slice(slash + 1),
        actor: given(actor),
        from: yield* instantOf("from", given(from), false),
        before: yield* instantOf("to", given(to), true),
        cursor: given(cursor),
        limit: limit + 1
      }))
      return { data: data.slice(0, limit), ...(data.length > limit ? { next_cursor: data[limit - 1]!.id } : {}) }
    }))
  ]
})
