/** Handlers of analytics rules: the rule is looked for before the body is read. */
import { resolveCollection } from "@dowser/engine-sdk/operations"
import { fieldNamed } from "@dowser/engine-sdk/query"
import { Clock, Effect } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import type { Caller } from "../identity/caller.ts"
import { reachesCollection } from "../identity/reach.ts"
import { makeAuditRecorder } from "../audit/record.ts"
import { makeContexts } from "../engine-plane/engine-plane.ts"
import type { FeatureNotInPlan } from "../metering/errors.ts"
import { bytesOf, makeNamedResources, VALUE_BYTES_MAX } from "../metering/named-resources.ts"
import { InputInvalid, inputInvalid, NotFound } from "../http/errors.ts"
import { Reply } from "../http/reply.ts"
import { implement } from "../api/implement.ts"
import * as contract from "./contract.ts"
import { type RuleTargets, ruleOf } from "./rule-input.ts"
import { makeRulesRepository, type StoredRule } from "./rules-repository.ts"
import { EVENTS_READ_MAX, type Rule, RULES_MAX } from "./schema.ts"

const BATCH_MAX = RULES_MAX
const shown = ({ collection, event_type, name, params, rule_tag, type }: Rule): Rule => ({
  name,
  type,
  collection,
  event_type,
  ...(rule_tag === undefined ? {} : { rule_tag }),
  params
})
const missing = () => new NotFound({ message: "Rule not found" })
/** What a rule counts, and where it publishes; a rule beyond the key's reach does not exist for it. */
const isReached = (caller: Caller, { collection, params }: Rule): boolean =>
  [collection, params.destination_collection].every((name) => name === undefined || reachesCollection(caller, name))
/** One rule of a batch; its neighbours go on. */
const reasonOf = (refused: InputInvalid | FeatureNotInPlan): string => {
  const issue = refused instanceof InputInvalid ? refused.issues[0] : undefined
  return issue === undefined ? refused.message : `${issue.path}: ${issue.message}`
}
const isObject = (body: unknown): body is Readonly<Record<string, unknown>> =>
  typeof body === "object" && body !== null && !Array.isArray(body)

export const routes = Effect.gen(function* () {
  const repository = yield* makeRulesRepository
  const sql = yield* SqlClient.SqlClient
  const audit = yield* makeAuditRecorder
  const named = yield* makeNamedResources
  /** A driver failure is a defect. */
  const recorded = <A>(organizationId: string, id: string, change: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.catchTag(
      sql.withTransaction(
        audit.recorded({ kind: "analytics_rule", organizationId, id }, named.within(organizationId, change))
      ),
      "SqlError",
      (error) => Effect.die(error)
    )
  const contextOf = yield* makeContexts
  const knownOf = (organizationId: string): RuleTargets => {
    const named = (name: string) => resolveCollection(contextOf(organizationId), name)
    return {
      hasCollection: (name) => named(name) !== undefined,
      fieldType: (collection, field) => {
        const found = named(collection)
        return found === undefined ? undefined : fieldNamed(found.schema, field)?.type
      }
    }
  }
  const checked = (organizationId: string, body: unknown, existing?: StoredRule) => {
    const rule = ruleOf(body, knownOf(organizationId), existing)
    if ("_tag" in rule) return Effect.fail(rule)
    return bytesOf(rule) > VALUE_BYTES_MAX
      ? Effect.fail(inputInvalid("body", `A rule may have at most ${VALUE_BYTES_MAX} bytes`))
      : Effect.succeed(rule)
  }
  const create = Effect.fnUntraced(function* (organizationId: string, body: unknown) {
    const rule = yield* checked(organizationId, body)
    const now = yield* Clock.currentTimeMillis
    const written = yield* recorded(
      organizationId,
      rule.name,
      Effect.gen(function* () {
        if ((yield* repository.lockCount(organizationId)) >= RULES_MAX) return "full"
        return (yield* repository.insert(organizationId, rule, now)) ? "written" : "there"
      })
    )
    if (written !== "written")
      return yield* inputInvalid(
        "name",
        written === "full" ? `There are ${RULES_MAX} rules already` : "Rule already exists"
      )
    return shown(rule)
  })
  const known = (caller: Caller, name: string) =>
    Effect.map(Effect.orDie(repository.get(caller.organizationId, name)), (rule) =>
      rule === undefined || !isReached(caller, rule) ? undefined : rule
    )
  const found = (caller: Caller, name: string) =>
    Effect.flatMap(known(caller, name), (rule) => (rule === undefined ? Effect.fail(missing()) : Effect.succeed(rule)))

  return [
    implement(
      contract.listAnalyticsRules,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { rule_tag } = yield* query
        return (yield* Effect.orDie(
          repository.list(
            caller.organizationId,
            rule_tag === undefined || rule_tag === "" ? undefined : rule_tag.replaceAll("\u0000", "")
          )
        ))
          .filter((rule) => isReached(caller, rule))
          .map(shown)
      })
    ),
    implement(
      contract.createAnalyticsRule,
      Effect.fnUntraced(function* ({ caller, payload }) {
        const body = yield* payload
        if (!Array.isArray(body)) return yield* create(caller.organizationId, body)
        if (body.length > BATCH_MAX) return yield* inputInvalid("body", `At most ${BATCH_MAX} rules at once`)
        return yield* Effect.forEach(body, (one) =>
          Effect.catch(create(caller.organizationId, one), (refused) => Effect.succeed({ error: reasonOf(refused) }))
        )
      })
    ),
    implement(contract.getAnalyticsRule, ({ caller, params }) => Effect.map(found(caller, params.ruleName), shown)),
    implement(
      contract.upsertAnalyticsRule,
      Effect.fnUntraced(function* ({ caller, params, payload }) {
        const existing = yield* known(caller, params.ruleName)
        const body = yield* payload
        if (!isObject(body)) return yield* inputInvalid("body", "A rule is an object")
        if (body.name !== undefined && body.name !== params.ruleName)
          return yield* inputInvalid("name", "The rule's name stands in the path")
        const named = { ...body, name: params.ruleName }
        const rule = existing === undefined ? undefined : yield* checked(caller.organizationId, named, existing)
        if (
          rule !== undefined &&
          (yield* recorded(
            caller.organizationId,
            rule.name,
            repository.update(caller.organizationId, rule, yield* Clock.currentTimeMillis)
          ))
        )
          return shown(rule)
        // It did not exist, or was deleted after the look-up.
        return new Reply(201, JSON.stringify(yield* create(caller.organizationId, named)))
      })
    ),
    implement(
      contract.deleteAnalyticsRule,
      Effect.fnUntraced(function* ({ caller, params }) {
        const rule = yield* found(caller, params.ruleName)
        if (!(yield* recorded(caller.organizationId, rule.name, repository.remove(caller.organizationId, rule.name))))
          return yield* missing()
        return shown(rule)
      })
    ),
    implement(
      contract.getAnalyticsEvents,
      Effect.fnUntraced(function* ({ caller, query }) {
        const { n = String(EVENTS_READ_MAX), name, user_id } = yield* query
        if (user_id === undefined || user_id === "")
          return yield* inputInvalid("user_id", "Missing required parameter 'user_id'.")
        if (name === undefined || name === "") return yield* inputInvalid("name", "Missing required parameter 'name'.")
        if (!/^\d{1,9}$/.test(n) || Number(n) < 1) return yield* inputInvalid("n", "A whole number from 1 up")
        if (Number(n) > EVENTS_READ_MAX) return yield* inputInvalid("n", `N cannot be greater than ${EVENTS_READ_MAX}`)
        const rule = yield* found(caller, name.replaceAll("\u0000", ""))
        return {
          events: yield* Effect.orDie(
            repository.events(caller.organizationId, rule.name, user_id.replaceAll("\u0000", ""), Number(n))
          )
        }
      })
    )
  ]
})
