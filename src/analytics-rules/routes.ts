/** Handlers of analytics rules: the rule is looked up before the body is read. */
import { Effect } from "effect"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { InputInvalid, inputInvalid } from "../http/errors.ts"
import { Reply } from "../http/reply.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { makeRules, shown } from "./rules.ts"
import { EVENTS_READ_MAX, RULES_MAX } from "./schema.ts"

const BATCH_MAX = RULES_MAX
/** The reason for one rule of a batch; the others continue. */
const reasonOf = (refused: InputInvalid | FeatureNotInPlan): string => {
  const issue = refused instanceof InputInvalid ? refused.issues[0] : undefined
  return issue === undefined ? refused.message : `${issue.path}: ${issue.message}`
}
const isObject = (body: unknown): body is Readonly<Record<string, unknown>> =>
  typeof body === "object" && body !== null && !Array.isArray(body)

export const routes = Effect.gen(function* () {
  const rules = yield* makeRules
  return [
    implement(
      contract.listAnalyticsRules,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { rule_tag } = yield* query
        return yield* rules.list(
          caller,
          rule_tag === undefined || rule_tag === "" ? undefined : rule_tag.replaceAll("\u0000", "")
        )
      })
    ),
    implement(
      contract.createAnalyticsRule,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const body = yield* payload
        if (!Array.isArray(body)) return yield* rules.create(caller.organizationId, body)
        if (body.length > BATCH_MAX) return yield* inputInvalid("body", `At most ${BATCH_MAX} rules at once`)
        return yield* Effect.forEach(body, (one) =>
          Effect.catch(rules.create(caller.organizationId, one), (refused) =>
            Effect.succeed({ error: reasonOf(refused) })
          )
        )
      })
    ),
    implement(contract.getAnalyticsRule, ({ caller, params }) =>
      Effect.map(rules.found(caller, params.ruleName), shown)
    ),
    implement(
      contract.upsertAnalyticsRule,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const existing = yield* rules.known(caller, params.ruleName)
        const body = yield* payload
        if (!isObject(body)) return yield* inputInvalid("body", "A rule is an object")
        if (body.name !== undefined && body.name !== params.ruleName)
          return yield* inputInvalid("name", "The rule's name stands in the path")
        const named = { ...body, name: params.ruleName }
        const updated = yield* rules.update(caller.organizationId, named, existing)
        if (updated !== undefined) return updated
        // The rule did not exist, or was deleted after the look-up.
        return new Reply(201, JSON.stringify(yield* rules.create(caller.organizationId, named)))
      })
    ),
    implement(contract.deleteAnalyticsRule, ({ caller, params }) => rules.remove(caller, params.ruleName)),
    implement(
      contract.getAnalyticsEvents,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { n = String(EVENTS_READ_MAX), name, user_id } = yield* query
        if (user_id === undefined || user_id === "")
          return yield* inputInvalid("user_id", "Missing required parameter 'user_id'.")
        if (name === undefined || name === "") return yield* inputInvalid("name", "Missing required parameter 'name'.")
        if (!/^\d{1,9}$/.test(n) || Number(n) < 1) return yield* inputInvalid("n", "A whole number from 1 up")
        if (Number(n) > EVENTS_READ_MAX) return yield* inputInvalid("n", `N cannot be greater than ${EVENTS_READ_MAX}`)
        return {
          events: yield* rules.events(
            caller,
            name.replaceAll("\u0000", ""),
            user_id.replaceAll("\u0000", ""),
            Number(n)
          )
        }
      })
    )
  ]
})
